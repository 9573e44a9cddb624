/* Filters from text, with values bound to question marks. */
#include "check.h"
#include "client/memory_faults.h"
#include "client/query/filter.h"
#include "client/values.h"

enum { VALUES_MAX = 3 };

TEST(binds_values_to_question_marks)
{
    static const struct {
        const char *label, *text;
        size_t count; /* of the values "it's", 7, 8 */
        const char *want;
    } cases[] = {
        {"one", "A eq ?", 1, "A eq 'it''s'"},
        {"two", "A eq ? and B gt ?", 2, "A eq 'it''s' and B gt 7"},
        {"in parentheses", "(?eq)", 0, "INVALID"},
        {"right next to parentheses", "not (A eq ?) or (? lt B)", 2,
         "not (A eq 'it''s') or (7 lt B)"},
        {"with blanks of all kinds", "A\teq\n?\r\n", 1, "A\teq\n'it''s'\r\n"},
        {"none", "A eq 1", 0, "A eq 1"},
        {"in a string", "A eq 'what?' and B eq ?", 1, "A eq 'what?' and B eq 'it''s'"},
        {"after a doubled quote", "A eq 'it''s ?' and B eq ?", 1,
         "A eq 'it''s ?' and B eq 'it''s'"},
        {"in typed literals", "A eq guid'?' and B eq datetime'?' or C eq X'?' and D eq ?", 1,
         "A eq guid'?' and B eq datetime'?' or C eq X'?' and D eq 'it''s'"},
        {"in an empty string next to one", "A eq '' and B eq ?", 1, "A eq '' and B eq 'it''s'"},
        {"too few values", "A eq ? and B eq ?", 1, "INVALID"},
        {"too many values", "A eq ?", 2, "INVALID"},
        {"quotes around a mark", "A eq '?'", 1, "INVALID"},
        {"part of a word", "A eq x?", 1, "INVALID"},
        {"before a word", "A eq ?and B", 1, "INVALID"},
        {"after a string", "A eq ''?", 1, "INVALID"},
        {"two in a row", "A eq ??", 2, "INVALID"},
        {"a string without an end", "A eq ? and B eq 'x", 1, "INVALID"},
        {"a parenthesis too many", "A eq ?)", 1, "INVALID"},
        {"a parenthesis too few", "(A eq ?", 1, "INVALID"},
        {"parentheses the wrong way round", "A eq ?) or (B eq 1", 1, "INVALID"},
        {"not UTF-8", "A eq ? or \xff", 1, "INVALID"},
        {"nothing", "", 0, "INVALID"},
        {"blanks", " \t", 0, "INVALID"},
        {"no text", NULL, 0, "INVALID"},
    };
    const tavola_value values[VALUES_MAX] = {string_of("it's"), int32_of(7), int32_of(8)};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].label;

        tavola_filter *filter = tavola_filter_bind(cases[i].text, values, cases[i].count);
        char *text = tavola_filter_text(filter);

        CHECK_TEXT(tv_slice_of(text ? text : tavola_err_name(tavola_filter_error(filter))),
                   cases[i].want);
        tavola_free(text);
        tavola_filter_free(filter);
    }
}

TEST(refuses_values_that_cannot_be_bound)
{
    const tavola_value none = {.type = TAVOLA_NONE};
    static char large[TVC_FILTER_BYTES_MAX];
    tavola_filter *filter;

    filter = tavola_filter_bind("A eq ?", &none, 1);
    assert_int_equal(tavola_filter_error(filter), TAVOLA_ERR_INVALID);
    tavola_filter_free(filter);
    filter = tavola_filter_bind("A eq ?", NULL, 1);
    assert_int_equal(tavola_filter_error(filter), TAVOLA_ERR_INVALID);
    tavola_filter_free(filter);
    memset(large, 'x', sizeof large - 1);
    filter = TAVOLA_BIND("A eq ?", string_of(large));
    assert_int_equal(tavola_filter_error(filter), TAVOLA_ERR_TOO_LARGE);
}

TEST(keeps_a_bound_text_one_operand)
{
    tavola_filter *filter =
        tavola_and(TAVOLA_BIND("A eq ? or B eq ?", int32_of(1), string_of("') or ('")),
                   tavola_filter_raw("C eq 1"));
    char *text = tavola_filter_text(filter);

    assert_string_equal(text, "(A eq 1 or B eq ''') or (''') and (C eq 1)");
    tavola_free(text);
    tavola_filter_free(filter);
}

TEST(survives_a_lack_of_memory)
{
    MEMORY_FAULTS(fault)
    {
        tavola_filter *filter = TAVOLA_BIND("A eq ? and B ge ?", string_of("x"), int32_of(5));
        char *text = tavola_filter_text(filter);

        if (text)
            assert_string_equal(text, "A eq 'x' and B ge 5");
        else
            assert_true(memory_fault_was_hit());
        tavola_free(text);
        tavola_filter_free(filter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binds_values_to_question_marks),
        cmocka_unit_test(refuses_values_that_cannot_be_bound),
        cmocka_unit_test(keeps_a_bound_text_one_operand),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
