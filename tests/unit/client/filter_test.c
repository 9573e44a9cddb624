/* Filters made of comparisons. */
#include <math.h>

#include "base/utf8.h"
#include "check.h"
#include "client/memory_faults.h"
#include "client/query/filter.h"
#include "client/values.h"

/* Check a filter and free it; `want` is its text, or the name of its error. */
static void check_filter(tavola_filter *filter, const char *want)
{
    char *text = tavola_filter_text(filter);

    CHECK_TEXT(tv_slice_of(text ? text : tavola_err_name(tavola_filter_error(filter))), want);
    CHECK((text == NULL) == (tavola_filter_error(filter) != TAVOLA_OK));
    tavola_free(text);
    tavola_filter_free(filter);
}

TEST(writes_literals_as_the_service_reads_them)
{
    static const struct {
        const char *label;
        tavola_value value;
        const char *literal;
    } cases[] = {
        {"a string", {TAVOLA_STRING, 3, {.ptr = "abc"}}, "'abc'"},
        {"an empty string", {TAVOLA_STRING, 0, {.ptr = ""}}, "''"},
        {"quotes are doubled", {TAVOLA_STRING, 8, {.ptr = "O'Hara''"}}, "'O''Hara'''''"},
        {"an attempt to break out",
         {TAVOLA_STRING, 15, {.ptr = "x' or 'a' eq 'a"}},
         "'x'' or ''a'' eq ''a'"},
        {"other alphabets", {TAVOLA_STRING, 2, {.ptr = "\xc3\xb6"}}, "'\xc3\xb6'"},
        {"an Int32", {TAVOLA_INT32, 0, {.int32 = 7}}, "7"},
        {"the least Int32", {TAVOLA_INT32, 0, {.int32 = INT32_MIN}}, "-2147483648"},
        {"an Int64", {TAVOLA_INT64, 0, {.int64 = 7}}, "7L"},
        {"the least Int64", {TAVOLA_INT64, 0, {.int64 = INT64_MIN}}, "-9223372036854775808L"},
        {"a whole Double", {TAVOLA_DOUBLE, 0, {.real = 7}}, "7.0"},
        {"a Double", {TAVOLA_DOUBLE, 0, {.real = -0.1}}, "-0.1"},
        {"a large Double", {TAVOLA_DOUBLE, 0, {.real = 1e300}}, "1E+300"},
        {"not a number", {TAVOLA_DOUBLE, 0, {.real = NAN}}, "NaN"},
        {"infinity", {TAVOLA_DOUBLE, 0, {.real = INFINITY}}, "INF"},
        {"minus infinity", {TAVOLA_DOUBLE, 0, {.real = -INFINITY}}, "-INF"},
        {"true", {TAVOLA_BOOLEAN, 0, {.boolean = true}}, "true"},
        {"false", {TAVOLA_BOOLEAN, 0, {.boolean = false}}, "false"},
        {"a DateTime has seven digits",
         {TAVOLA_DATETIME, 0, {.ticks = 639029198451234567}},
         "datetime'2026-01-02T03:04:05.1234567Z'"},
        {"also when they are zero",
         {TAVOLA_DATETIME, 0, {.ticks = 621355968000000000}},
         "datetime'1970-01-01T00:00:00.0000000Z'"},
        {"a Guid",
         {TAVOLA_GUID,
          0,
          {.guid = {{0xc9, 0xda, 0x64, 0x55, 0x21, 0x3d, 0x42, 0xc9, 0x9a, 0x79, 0x3e, 0x91, 0x49,
                     0xa5, 0x78, 0x33}}}},
         "guid'c9da6455-213d-42c9-9a79-3e9149a57833'"},
        {"a Binary", {TAVOLA_BINARY, 4, {.ptr = "\x0a\xff\x00\x10"}}, "X'0aff0010'"},
        {"an empty Binary", {TAVOLA_BINARY, 0, {.ptr = NULL}}, "X''"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[200];

        t_row = cases[i].label;
        snprintf(want, sizeof want, "Name eq %s", cases[i].literal);
        check_filter(tavola_where("Name", TAVOLA_EQ, cases[i].value), want);
    }
}

TEST(knows_every_comparison)
{
    static const char *const words[] = {"eq", "ne", "gt", "ge", "lt", "le"};

    for (int cmp = TAVOLA_EQ; cmp <= TAVOLA_LE; cmp++) {
        char want[40];

        snprintf(want, sizeof want, "Age %s 30", words[cmp]);
        check_filter(tavola_where("Age", (tavola_cmp)cmp, int32_of(30)), want);
    }
}

TEST(refuses_what_no_filter_can_hold)
{
    static const struct {
        const char *label, *name;
        int cmp;
        tavola_value value;
    } cases[] = {
        {"no name", NULL, TAVOLA_EQ, {TAVOLA_INT32, 0, {.int32 = 1}}},
        {"an empty name", "", TAVOLA_EQ, {TAVOLA_INT32, 0, {.int32 = 1}}},
        {"a name with a blank", "a eq 1 or b", TAVOLA_EQ, {TAVOLA_INT32, 0, {.int32 = 1}}},
        {"a name with a dot", "odata.etag", TAVOLA_EQ, {TAVOLA_INT32, 0, {.int32 = 1}}},
        {"a name that begins with a digit", "1a", TAVOLA_EQ, {TAVOLA_INT32, 0, {.int32 = 1}}},
        {"a word of the grammar", "not", TAVOLA_EQ, {TAVOLA_INT32, 0, {.int32 = 1}}},
        {"a name that is not UTF-8", "a\xff", TAVOLA_EQ, {TAVOLA_INT32, 0, {.int32 = 1}}},
        {"no such comparison", "a", 6, {TAVOLA_INT32, 0, {.int32 = 1}}},
        {"a negative comparison", "a", -1, {TAVOLA_INT32, 0, {.int32 = 1}}},
        {"no value", "a", TAVOLA_EQ, {TAVOLA_NONE, 0, {.int32 = 1}}},
        {"no such type", "a", TAVOLA_EQ, {(tavola_type)99, 0, {.int32 = 1}}},
        {"a string of NULL", "a", TAVOLA_EQ, {TAVOLA_STRING, 0, {.ptr = NULL}}},
        {"a string that is not UTF-8", "a", TAVOLA_EQ, {TAVOLA_STRING, 1, {.ptr = "\xff"}}},
        {"bytes of NULL", "a", TAVOLA_EQ, {TAVOLA_BINARY, 1, {.ptr = NULL}}},
        {"a time before all", "a", TAVOLA_EQ, {TAVOLA_DATETIME, 0, {.ticks = -1}}},
        {"a time after all", "a", TAVOLA_EQ, {TAVOLA_DATETIME, 0, {.ticks = INT64_MAX}}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].label;
        check_filter(tavola_where(cases[i].name, (tavola_cmp)cases[i].cmp, cases[i].value),
                     "INVALID");
    }
}

static tavola_filter *a_is(int32_t number)
{
    return tavola_where("A", TAVOLA_EQ, int32_of(number));
}

TEST(joins_filters)
{
    check_filter(tavola_and(a_is(1), a_is(2)), "(A eq 1) and (A eq 2)");
    check_filter(tavola_or(a_is(1), a_is(2)), "(A eq 1) or (A eq 2)");
    check_filter(tavola_not(a_is(1)), "not (A eq 1)");
    check_filter(tavola_not(tavola_not(a_is(1))), "not (not (A eq 1))");
    check_filter(tavola_and(tavola_and(a_is(1), a_is(2)), tavola_and(a_is(3), a_is(4))),
                 "(A eq 1) and (A eq 2) and (A eq 3) and (A eq 4)");
    check_filter(tavola_and(a_is(1), tavola_or(a_is(2), a_is(3))),
                 "(A eq 1) and ((A eq 2) or (A eq 3))");
    check_filter(tavola_or(tavola_and(a_is(1), a_is(2)), a_is(3)),
                 "((A eq 1) and (A eq 2)) or (A eq 3)");
    check_filter(tavola_and(tavola_not(a_is(1)), tavola_filter_raw("B eq 1 or C eq 2")),
                 "(not (A eq 1)) and (B eq 1 or C eq 2)");
}

TEST(keeps_the_first_error)
{
    tavola_value none = {.type = TAVOLA_NONE};
    tavola_filter *twice = a_is(1);

    check_filter(tavola_and(a_is(1), tavola_where("", TAVOLA_EQ, none)), "INVALID");
    check_filter(tavola_or(tavola_filter_raw(NULL), a_is(1)), "INVALID");
    check_filter(tavola_not(tavola_and(NULL, a_is(1))), "INVALID");
    check_filter(tavola_or(a_is(1), NULL), "INVALID");
    check_filter(tavola_not(NULL), "INVALID");
    check_filter(tavola_and(twice, twice), "INVALID");
    assert_int_equal(tavola_filter_error(NULL), TAVOLA_ERR_NO_MEMORY);
    assert_null(tavola_filter_text(NULL));
    tavola_filter_free(NULL);
}

TEST(makes_ranges_of_prefixes)
{
    static const struct {
        const char *label, *name, *prefix, *want;
    } cases[] = {
        {"a letter", "RowKey", "B", "(RowKey ge 'B') and (RowKey lt 'C')"},
        {"more of them", "Name", "Sm", "(Name ge 'Sm') and (Name lt 'Sn')"},
        {"a quote", "Name", "O'", "(Name ge 'O''') and (Name lt 'O(')"},
        {"the one before a quote", "Name", "O&", "(Name ge 'O&') and (Name lt 'O''')"},
        {"every string", "Name", "", "Name ge ''"},
        {"the last of all", "Name", "\xef\xbf\xbf", "Name ge '\xef\xbf\xbf'"},
        {"carried to the one before", "Name", "a\xef\xbf\xbf\xef\xbf\xbf",
         "(Name ge 'a\xef\xbf\xbf\xef\xbf\xbf') and (Name lt 'b')"},
        {"before the surrogates", "Name", "\xed\x9f\xbf",
         "(Name ge '\xed\x9f\xbf') and (Name lt '\xf0\x90\x80\x80')"},
        {"the last beyond U+FFFF", "Name", "\xf4\x8f\xbf\xbf",
         "(Name ge '\xf4\x8f\xbf\xbf') and (Name lt '\xee\x80\x80')"},
        {"keys have no control characters", "RowKey", "a~",
         "(RowKey ge 'a~') and (RowKey lt 'a\xc2\xa0')"},
        {"other strings have", "Name", "a~", "(Name ge 'a~') and (Name lt 'a\x7f')"},
        {"no prefix", "Name", NULL, "INVALID"},
        {"no name", NULL, "a", "INVALID"},
        {"a bad name", "a b", "a", "INVALID"},
        {"not UTF-8", "Name", "a\xc3", "INVALID"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].label;
        check_filter(tavola_where_prefix(cases[i].name, cases[i].prefix), cases[i].want);
    }
    check_filter(tavola_and(a_is(1), tavola_where_prefix("B", "x")),
                 "(A eq 1) and (B ge 'x') and (B lt 'y')");
}

TEST(has_limits)
{
    static char text[TVC_FILTER_BYTES_MAX + 2];
    tavola_filter *deep = a_is(1), *wide = a_is(1), *many = a_is(1);

    memset(text, 'x', sizeof text - 1);
    check_filter(tavola_where("Name", TAVOLA_EQ, string_of(text)), "TOO_LARGE");
    check_filter(tavola_filter_raw(text), "TOO_LARGE");
    check_filter(tavola_where("Name", TAVOLA_EQ,
                              (tavola_value){TAVOLA_STRING, TVC_FILTER_BYTES_MAX, {.ptr = text}}),
                 "TOO_LARGE");
    check_filter(
        tavola_where("Name", TAVOLA_EQ, (tavola_value){TAVOLA_BINARY, sizeof text, {.ptr = text}}),
        "TOO_LARGE");
    check_filter(tavola_where("Name", TAVOLA_EQ,
                              (tavola_value){TAVOLA_BINARY, sizeof text / 2, {.ptr = text}}),
                 "TOO_LARGE");

    for (int i = 0; i < TVC_FILTER_DEPTH_MAX; i++)
        deep = tavola_not(deep);
    assert_int_equal(tavola_filter_error(deep), TAVOLA_OK);
    check_filter(tavola_not(deep), "TOO_LARGE");

    /* A long chain does not nest. */
    for (int i = 0; i < 2 * TVC_FILTER_DEPTH_MAX; i++)
        wide = tavola_or(wide, a_is(i));
    assert_int_equal(tavola_filter_error(wide), TAVOLA_OK);
    assert_int_equal(wide->depth, 1);
    tavola_filter_free(wide);

    for (int i = 0; i < TVC_FILTER_BYTES_MAX / 10; i++)
        many = tavola_and(many, a_is(1));
    check_filter(many, "TOO_LARGE");
}

TEST(survives_a_lack_of_memory)
{
    char longer[251];

    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    MEMORY_FAULTS(growth)
    {
        tavola_filter *filter =
            tavola_not(tavola_and(tavola_where("Name", TAVOLA_EQ, string_of(longer)), a_is(1)));

        filter = tavola_or(filter, tavola_where_prefix("Name", longer));
        if (tavola_filter_error(filter))
            assert_true(memory_fault_was_hit());
        else
            assert_int_equal(filter->text.buf.len, 818);
        tavola_filter_free(filter);
    }
    MEMORY_FAULTS(fault)
    {
        tavola_filter *filter =
            tavola_and(tavola_or(tavola_where("PartitionKey", TAVOLA_EQ, string_of("Sales")),
                                 tavola_not(tavola_where_prefix("RowKey", "B"))),
                       tavola_filter_raw("Age gt 30"));
        tavola_filter *copy = tvc_filter_copy(filter);
        char *text = tavola_filter_text(copy);

        if (tavola_filter_error(copy)) {
            assert_int_equal(tavola_filter_error(copy), TAVOLA_ERR_NO_MEMORY);
            assert_true(memory_fault_was_hit());
            assert_null(text);
        } else if (text) {
            assert_string_equal(text, "((PartitionKey eq 'Sales') or (not ((RowKey ge 'B') and "
                                      "(RowKey lt 'C')))) and (Age gt 30)");
        }
        tavola_free(text);
        tavola_filter_free(copy);
        tavola_filter_free(filter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_literals_as_the_service_reads_them),
        cmocka_unit_test(knows_every_comparison),
        cmocka_unit_test(refuses_what_no_filter_can_hold),
        cmocka_unit_test(joins_filters),
        cmocka_unit_test(keeps_the_first_error),
        cmocka_unit_test(makes_ranges_of_prefixes),
        cmocka_unit_test(has_limits),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
