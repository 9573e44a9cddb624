/*
 * From text to trees: the grammar, every form of a literal, the texts of errors.
 * Trees are compared by how they print.
 */
#include "base/buf.h"
#include "check.h"
#include "model/odata/filter.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_arena arena;
static tv_buf printed;
static tv_error_info info;

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_arena_done(&arena);
    tv_buf_done(&printed);
    return 0;
}

static tv_err parse(tv_slice text, tv_filter **ret_filter)
{
    info = (tv_error_info){0};
    return tv_filter_parse(&arena, text, ret_filter, &info);
}

/* How the tree of a filter prints. */
static tv_slice tree_of(tv_slice text)
{
    tv_filter *filter;

    CHECK_OK(parse(text, &filter));
    printed.len = 0;
    tv_filter_print(&printed, filter, filter->root);
    return tv_buf_slice(&printed);
}

static const struct {
    const char *filter, *tree;
} trees[] = {
    {"", ""},
    {"  ", ""},
    {"a eq 1", "a eq 1"},
    {"\ta  eq\n1 ", "a eq 1"},
    {"a ne 1", "a ne 1"},
    {"a gt 1", "a gt 1"},
    {"a ge 1", "a ge 1"},
    {"a lt 1", "a lt 1"},
    {"a le 1", "a le 1"},
    {"(a eq 1)", "a eq 1"},
    {"(((a eq 1)))", "a eq 1"},
    /* and binds tighter than or, not tighter than both */
    {"a eq 1 or b eq 2 and c eq 3", "a eq 1 or (b eq 2 and c eq 3)"},
    {"a eq 1 and b eq 2 or c eq 3", "(a eq 1 and b eq 2) or c eq 3"},
    {"(a eq 1 or b eq 2) and c eq 3", "(a eq 1 or b eq 2) and c eq 3"},
    {"a or b and c or d and e", "a or (b and c) or (d and e)"},
    {"not a eq 1 and b eq 2", "not (a eq 1) and b eq 2"},
    {"not (a eq 1 and b eq 2)", "not (a eq 1 and b eq 2)"},
    {"not a or b", "not (a) or b"},
    {"not not a", "a"},
    {"not not not a", "not (a)"},
    {"not (not (a or b)) or c", "a or b or c"},
    {"a and not not (b and c)", "a and b and c"},
    {"not(a)", "not (a)"},
    {"not (not (not (a eq 1)))", "not (a eq 1)"},
    /* chains are flat, however they were written */
    {"a and b and c", "a and b and c"},
    {"(a and b) and c", "a and b and c"},
    {"a and (b and c)", "a and b and c"},
    {"(a and (b and (c and d))) and (e and f)", "a and b and c and d and e and f"},
    {"a or (b or c) or d", "a or b or c or d"},
    {"a or (b and (c and d)) or e", "a or (b and c and d) or e"},
    {"(a or b) and ((c or d) and e)", "(a or b) and (c or d) and e"},
    {"not (a and b) and c", "not (a and b) and c"},
    /* the literal on the left */
    {"1 eq a", "a eq 1"},
    {"1 ne a", "a ne 1"},
    {"1 gt a", "a lt 1"},
    {"1 ge a", "a le 1"},
    {"1 lt a", "a gt 1"},
    {"1 le a", "a ge 1"},
    {"'x' le PartitionKey and 'y' gt PartitionKey", "PartitionKey ge 'x' and PartitionKey lt 'y'"},
    {"-INF lt a", "a gt -INF"},
    {"true eq paid", "paid eq true"},
    /* bare properties */
    {"paid", "paid"},
    {"not paid", "not (paid)"},
    {"paid and qty gt 3", "paid and qty gt 3"},
    {"(paid)", "paid"},
    /* constants are folded, whatever is around them */
    {"true", ""},
    {"(true)", ""},
    {"false", "false"},
    {"((false))", "false"},
    {"not true", "false"},
    {"a and True", "a"},
    {"not TRUE", "false"},
    {"a eq False", "a eq false"},
    {"not not false", "false"},
    {"not false", ""},
    {"true or a", ""},
    {"a or true", ""},
    {"false or a", "a"},
    {"a or false or b", "a or b"},
    {"true and a", "a"},
    {"a and true and b", "a and b"},
    {"a and false", "false"},
    {"false and a", "false"},
    {"false and a or b", "b"},
    {"a eq 1 and (b eq 2 or true) and not (c and false)", "a eq 1"},
    {"not (a and not false)", "not (a)"},
    {"(true and a or false) and (b or c)", "a and (b or c)"},
    {"a and (true and b)", "a and b"},
    /* words that are keywords elsewhere */
    {"eq eq 5", "eq eq 5"},
    {"and and and", "and and and"},
    {"datetime eq 1", "datetime eq 1"},
    {"Not eq 1", "Not eq 1"},
    /* literals */
    {"a eq ''", "a eq ''"},
    {"a eq 'it''s'", "a eq 'it''s'"},
    {"a eq ''''", "a eq ''''"},
    {"a eq '\xF0\x9F\x98\x80'", "a eq '\xF0\x9F\x98\x80'"},
    {"a eq 0", "a eq 0"},
    {"a eq -0", "a eq 0"},
    {"a eq 007", "a eq 7"},
    {"a eq 2147483647", "a eq 2147483647"},
    {"a eq -2147483648", "a eq -2147483648"},
    {"a eq 5L", "a eq 5L"},
    {"a eq 5l", "a eq 5L"},
    {"a eq -9223372036854775808L", "a eq -9223372036854775808L"},
    {"a eq 9223372036854775807l", "a eq 9223372036854775807L"},
    {"a eq 4.1", "a eq 4.1"},
    {"a eq 4.0", "a eq 4.0"},
    {"a eq 4d", "a eq 4.0"},
    {"a eq 4.1D", "a eq 4.1"},
    {"a eq 4f", "a eq 4.0"},
    {"a eq 4.5m", "a eq 4.5"},
    {"a eq 1E5", "a eq 100000.0"},
    {"a eq 1e-7", "a eq 1E-07"},
    {"a eq -0.5", "a eq -0.5"},
    {"a eq 1.7976931348623157E+308", "a eq 1.7976931348623157E+308"},
    {"a eq 99999999999d", "a eq 99999999999.0"},
    {"a eq NaN", "a eq NaN"},
    {"a eq INF", "a eq INF"},
    {"a eq -INF", "a eq -INF"},
    {"a eq true", "a eq true"},
    {"a eq false", "a eq false"},
    {"a eq datetime'2019-07-10T19:00:00.000Z'", "a eq datetime'2019-07-10T19:00:00Z'"},
    {"a eq datetime'2019-07-10T19:00:00'", "a eq datetime'2019-07-10T19:00:00Z'"},
    {"a eq datetime'2019-07-10T19:00:00.1234567Z'", "a eq datetime'2019-07-10T19:00:00.1234567Z'"},
    {"a eq datetime'2019-07-10T19:00:00+02:00'", "a eq datetime'2019-07-10T17:00:00Z'"},
    {"a eq datetime'1601-01-01T00:00:00Z'", "a eq datetime'1601-01-01T00:00:00Z'"},
    {"a eq guid'C9DA6455-213d-42c9-9a79-3e9149a57833'",
     "a eq guid'c9da6455-213d-42c9-9a79-3e9149a57833'"},
    {"a eq X'62696E'", "a eq X'62696e'"},
    {"a eq x'62'", "a eq X'62'"},
    {"a eq X''", "a eq X''"},
    {"a eq binary'00ff'", "a eq X'00ff'"},
    {"Timestamp ge datetime'2020-01-01T00:00:00Z'", "Timestamp ge datetime'2020-01-01T00:00:00Z'"},
};

TEST(filters_become_trees)
{
    for (size_t i = 0; i < COUNT(trees); i++) {
        t_row = trees[i].filter;
        CHECK_TEXT(tree_of(tv_slice_of(trees[i].filter)), trees[i].tree);
    }
}

#define SINGLE_BOOLEAN "The $filter expression must evaluate to a single boolean value."

static const struct {
    const char *filter;
    tv_err err;
    const char *text; /* NULL: the error's own */
} refused[] = {
    /* the position is the end of the token that does not fit */
    {"aaa bbb ccc", TV_ERR_FILTER_SYNTAX, "Syntax error at position 7 in 'aaa bbb ccc'."},
    {"a eq 1 b", TV_ERR_FILTER_SYNTAX, "Syntax error at position 8 in 'a eq 1 b'."},
    {"a eq 1 'b'", TV_ERR_FILTER_SYNTAX, "Syntax error at position 10 in 'a eq 1 'b''."},
    {"a eq 1)", TV_ERR_FILTER_SYNTAX, "Syntax error at position 7 in 'a eq 1)'."},
    {"a EQ 1", TV_ERR_FILTER_SYNTAX, "Syntax error at position 4 in 'a EQ 1'."},
    {"a eq 1 AND b eq 2", TV_ERR_FILTER_SYNTAX,
     "Syntax error at position 10 in 'a eq 1 AND b eq 2'."},
    {"a eq 1 eq 1", TV_ERR_FILTER_SYNTAX, "Syntax error at position 9 in 'a eq 1 eq 1'."},
    {"a eq 5abc", TV_ERR_FILTER_SYNTAX, "Syntax error at position 9 in 'a eq 5abc'."},
    {"a eq what'x'", TV_ERR_FILTER_SYNTAX, "Syntax error at position 12 in 'a eq what'x''."},
    {"a eq Guid'c9da6455-213d-42c9-9a79-3e9149a57833'", TV_ERR_FILTER_SYNTAX,
     "Syntax error at position 47 in 'a eq Guid'c9da6455-213d-42c9-9a79-3e9149a57833''."},
    /* something is missing */
    {"a eq", TV_ERR_FILTER_SYNTAX, "Expression expected at position 4 in 'a eq'."},
    {"a and", TV_ERR_FILTER_SYNTAX, "Expression expected at position 5 in 'a and'."},
    {"not", TV_ERR_FILTER_SYNTAX, "Expression expected at position 3 in 'not'."},
    {"a eq )", TV_ERR_FILTER_SYNTAX, "Expression expected at position 5 in 'a eq )'."},
    {"()", TV_ERR_FILTER_SYNTAX, "Expression expected at position 1 in '()'."},
    {",", TV_ERR_FILTER_SYNTAX, "Expression expected at position 0 in ','."},
    {"(a eq 1", TV_ERR_FILTER_SYNTAX, "')' or operator expected at position 7 in '(a eq 1'."},
    {"(a b)", TV_ERR_FILTER_SYNTAX, "')' or operator expected at position 3 in '(a b)'."},
    {"a eq 'b", TV_ERR_FILTER_SYNTAX,
     "There is an unterminated string literal at position 7 in 'a eq 'b'."},
    {"a = 1", TV_ERR_FILTER_SYNTAX,
     "Syntax error: character '=' is not valid at position 2 in 'a = 1'."},
    /* "not" is not a property, on either side */
    {"not eq 5", TV_ERR_FILTER_SYNTAX, "Syntax error at position 8 in 'not eq 5'."},
    {"5 eq not", TV_ERR_FILTER_SYNTAX, "Syntax error at position 8 in '5 eq not'."},
    /* literals beyond their type */
    {"field eq 1498179600055", TV_ERR_INVALID_INPUT,
     "Unrecognized 'Edm.Int32' literal '1498179600055' at '8' in 'field eq 1498179600055'."},
    {"a eq 2147483648", TV_ERR_INVALID_INPUT,
     "Unrecognized 'Edm.Int32' literal '2147483648' at '4' in 'a eq 2147483648'."},
    {"a eq -2147483649", TV_ERR_INVALID_INPUT,
     "Unrecognized 'Edm.Int32' literal '-2147483649' at '4' in 'a eq -2147483649'."},
    {"a eq 9223372036854775808L", TV_ERR_INVALID_INPUT,
     "Unrecognized 'Edm.Int64' literal '9223372036854775808L' at '4' in "
     "'a eq 9223372036854775808L'."},
    {"a eq 1.5L", TV_ERR_INVALID_INPUT,
     "Unrecognized 'Edm.Int64' literal '1.5L' at '4' in 'a eq 1.5L'."},
    {"a eq 1E999", TV_ERR_INVALID_INPUT,
     "Unrecognized 'Edm.Double' literal '1E999' at '4' in 'a eq 1E999'."},
    {"a eq datetime'yesterday'", TV_ERR_INVALID_INPUT,
     "Unrecognized 'Edm.DateTime' literal 'datetime'yesterday'' at '4' in "
     "'a eq datetime'yesterday''."},
    {"a eq guid'1'", TV_ERR_INVALID_INPUT,
     "Unrecognized 'Edm.Guid' literal 'guid'1'' at '4' in 'a eq guid'1''."},
    {"a eq X'0'", TV_ERR_INVALID_INPUT,
     "Unrecognized 'Edm.Binary' literal 'X'0'' at '4' in 'a eq X'0''."},
    {"a eq X'0g'", TV_ERR_INVALID_INPUT,
     "Unrecognized 'Edm.Binary' literal 'X'0g'' at '4' in 'a eq X'0g''."},
    {"a eq null", TV_ERR_INVALID_INPUT, NULL},
    {"null eq a", TV_ERR_INVALID_INPUT, NULL},
    /* the keys and Timestamp have a type without an entity */
    {"PartitionKey eq 1", TV_ERR_INVALID_INPUT,
     "A binary operator with incompatible types was detected. Found operand types 'Edm.String' and "
     "'Edm.Int32' for operator kind 'Equal'."},
    {"1L lt RowKey", TV_ERR_INVALID_INPUT,
     "A binary operator with incompatible types was detected. Found operand types 'Edm.Int64' and "
     "'Edm.String' for operator kind 'LessThan'."},
    {"RowKey ne guid'c9da6455-213d-42c9-9a79-3e9149a57833'", TV_ERR_INVALID_INPUT,
     "A binary operator with incompatible types was detected. Found operand types 'Edm.String' and "
     "'Edm.Guid' for operator kind 'NotEqual'."},
    {"Timestamp ge '2020'", TV_ERR_INVALID_INPUT,
     "A binary operator with incompatible types was detected. Found operand types 'Edm.DateTime' "
     "and 'Edm.String' for operator kind 'GreaterThanOrEqual'."},
    {"PartitionKey and a eq 1", TV_ERR_INVALID_INPUT,
     "A binary operator with incompatible types was detected. Found operand types 'Edm.String' and "
     "'Edm.Boolean' for operator kind 'And'."},
    {"not RowKey", TV_ERR_INVALID_INPUT,
     "A binary operator with incompatible types was detected. Found operand types 'Edm.String' and "
     "'Edm.Boolean' for operator kind 'And'."},
    /* what the service does not do */
    {"startswith(a,'b')", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"startswith(a,'b') eq true", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"substringof('b',a)", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"a eq 1 and year(b) eq 2020", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"2020 eq year(b)", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"tolower (a) eq 'x'", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"a add 1 eq 2", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"a eq 1 sub 2", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"a mul 2 gt 5", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"a div 2 gt 5", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"a mod 2 eq 0", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"-a eq 1", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"a/b eq 1", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"a eq b", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"PartitionKey eq RowKey", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"1 eq 1", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"true eq false", TV_ERR_NOT_IMPLEMENTED, NULL},
    /* A literal alone must be a Boolean. */
    {"1", TV_ERR_INVALID_INPUT, SINGLE_BOOLEAN},
    {"'a'", TV_ERR_INVALID_INPUT, SINGLE_BOOLEAN},
    {"a eq 1 and 1", TV_ERR_INVALID_INPUT, SINGLE_BOOLEAN},
    {"not 1L", TV_ERR_INVALID_INPUT, SINGLE_BOOLEAN},
    /* What a constant decides must be right all the same. */
    {"false and startswith(a,'b')", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"true or a eq", TV_ERR_FILTER_SYNTAX, "Expression expected at position 12 in 'true or a eq'."},
};

TEST(errors_have_the_service_s_texts)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        tv_filter *filter = NULL;

        t_row = refused[i].filter;
        CHECK_ERR(parse(tv_slice_of(refused[i].filter), &filter), refused[i].err);
        CHECK(filter == NULL);
        if (refused[i].text)
            CHECK_TEXT(info.text, refused[i].text);
        else
            CHECK(info.text.data == NULL);
    }
}

/* `count` times `open`, then `inner`, then `count` times `close`. */
static tv_slice nested(size_t count, const char *open, const char *inner, const char *close)
{
    tv_buf text = TV_BUF_EMPTY;
    tv_slice copy;

    for (size_t i = 0; i < count; i++)
        tv_buf_add(&text, tv_slice_of(open));
    tv_buf_add(&text, tv_slice_of(inner));
    for (size_t i = 0; i < count; i++)
        tv_buf_add(&text, tv_slice_of(close));
    copy = tv_arena_dup(&arena, tv_buf_slice(&text));
    tv_buf_done(&text);
    return copy;
}

TEST(nesting_has_a_limit)
{
    static const char *const forms[][3] = {
        {"(", "a eq 1", ")"},
        {"not ", "a eq 1", ""},
        {"a and (b or ", "c", ")"},
        {"a or b and (", "c", ")"},
    };

    for (size_t i = 0; i < COUNT(forms); i++) {
        tv_filter *filter;

        t_row = forms[i][0];
        CHECK_OK(parse(nested(1000, forms[i][0], forms[i][1], forms[i][2]), &filter));
        CHECK_ERR(parse(nested(1001, forms[i][0], forms[i][1], forms[i][2]), &filter),
                  TV_ERR_FILTER_SYNTAX);
        CHECK_TEXT(info.text, "The filter is nested more than 1000 deep.");
        CHECK_ERR(parse(nested(100000, forms[i][0], forms[i][1], forms[i][2]), &filter),
                  TV_ERR_FILTER_SYNTAX);
    }
    /* Depth is what counts: as much side by side is fine. */
    CHECK_OK(parse(nested(5000, "(not a) and ", "b", ""), &(tv_filter *){NULL}));
}

/* n different names, ored. */
static tv_slice names(size_t count)
{
    tv_slice text = TV_LIT("n0 eq 1");

    for (size_t i = 1; i < count; i++)
        text = tv_arena_printf(&arena, "%.*s or n%zu eq 1 or n%zu", TV_FMT(text), i, i / 2);
    return text;
}

TEST(there_are_255_names_at_most)
{
    tv_filter *filter;

    CHECK_OK(parse(names(255), &filter));
    CHECK_INT(filter->names.count, 255);
    for (int i = 0; i < 255; i++)
        CHECK_SLICE(filter->names.list[i], tv_arena_printf(&arena, "n%d", i));
    CHECK_ERR(parse(names(256), &filter), TV_ERR_INVALID_INPUT);
}

TEST(each_name_is_there_once)
{
    tv_filter *filter;

    CHECK_OK(parse(TV_LIT("a eq 1 or b and 'x' gt a or A eq 2 or not b"), &filter));
    CHECK_INT(filter->names.count, 3);
    CHECK_TEXT(filter->names.list[0], "a");
    CHECK_TEXT(filter->names.list[1], "b");
    CHECK_TEXT(filter->names.list[2], "A");
}

/* 32 KiB of comparisons, as clients send that look for many keys at once. */
static tv_slice long_filter(const char *form, size_t *ret_count)
{
    tv_buf text = TV_BUF_EMPTY;
    tv_slice copy;

    for (*ret_count = 0; text.len < 32 * 1024 - 60; ++*ret_count)
        tv_buf_printf(&text, "%s%s '%04zu'", *ret_count ? " or " : "", form, *ret_count);
    copy = tv_arena_dup(&arena, tv_buf_slice(&text));
    tv_buf_done(&text);
    return copy;
}

TEST(filters_of_32_kib_are_parsed)
{
    static const char *const forms[] = {"RowKey eq", "a eq", "PartitionKey eq 'p' and RowKey eq"};

    for (size_t i = 0; i < COUNT(forms); i++) {
        size_t count, children = 0;
        tv_slice text = long_filter(forms[i], &count);
        tv_filter *filter;

        t_row = forms[i];
        CHECK(count > 600);
        CHECK_OK(parse(text, &filter));
        CHECK_INT(filter->root->kind, TV_NODE_OR);
        for (const tv_node *node = filter->root->first; node; node = node->next)
            children++;
        CHECK_INT(children, count);
    }
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(filters_become_trees),    ONE(errors_have_the_service_s_texts),
        ONE(nesting_has_a_limit),     ONE(there_are_255_names_at_most),
        ONE(each_name_is_there_once), ONE(filters_of_32_kib_are_parsed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
