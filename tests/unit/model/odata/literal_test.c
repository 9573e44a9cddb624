/* Literals: from tokens to values, and back. */
#include "model/odata/literal.h"

#include <math.h>

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_err parse(tv_arena *arena, const char *text, bool *is_literal, tv_property *literal,
                    tv_error_info *info)
{
    tv_lexer lexer;
    tv_token token;

    tv_lexer_init(&lexer, arena, tv_slice_of(text));
    CHECK_OK(tv_lexer_next(&lexer, &token, info));
    return tv_literal_parse(arena, tv_slice_of(text), &token, is_literal, literal, info);
}

static const struct {
    const char *text;
    tv_edm_type type; /* 0: no literal */
    const char *printed;
} rows[] = {
    {"'a'", TV_EDM_STRING, "'a'"},
    {"''", TV_EDM_STRING, "''"},
    {"'it''s'", TV_EDM_STRING, "'it''s'"},
    {"40", TV_EDM_INT32, "40"},
    {"-3", TV_EDM_INT32, "-3"},
    {"1099511627776L", TV_EDM_INT64, "1099511627776L"},
    {"7l", TV_EDM_INT64, "7L"},
    {"4.1", TV_EDM_DOUBLE, "4.1"},
    {"1E5", TV_EDM_DOUBLE, "100000.0"},
    {"1E15", TV_EDM_DOUBLE, "1E+15"},
    {"-0.5", TV_EDM_DOUBLE, "-0.5"},
    {"4.1d", TV_EDM_DOUBLE, "4.1"},
    {"NaN", TV_EDM_DOUBLE, "NaN"},
    {"INF", TV_EDM_DOUBLE, "INF"},
    {"true", TV_EDM_BOOLEAN, "true"},
    {"false", TV_EDM_BOOLEAN, "false"},
    {"True", TV_EDM_BOOLEAN, "true"},
    {"FALSE", TV_EDM_BOOLEAN, "false"},
    {"datetime'2019-07-10T19:00:00.000Z'", TV_EDM_DATETIME, "datetime'2019-07-10T19:00:00Z'"},
    {"guid'c9da6455-213d-42c9-9a79-3e9149a57833'", TV_EDM_GUID,
     "guid'c9da6455-213d-42c9-9a79-3e9149a57833'"},
    {"X'62696e617279'", TV_EDM_BINARY, "X'62696e617279'"},
    {"x'AB'", TV_EDM_BINARY, "X'ab'"},
    {"binary'62696e617279'", TV_EDM_BINARY, "X'62696e617279'"},
    {"Age", 0, NULL},
    {"nan", 0, NULL},
    {"Truth", 0, NULL},
    {"(", 0, NULL},
    {"", 0, NULL},
};

TEST(literals_are_read_and_written)
{
    tv_buf printed = TV_BUF_EMPTY;
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_error_info info = {0};
        tv_property literal;
        bool is_literal;

        t_row = rows[i].text;
        CHECK_OK(parse(&arena, rows[i].text, &is_literal, &literal, &info));
        CHECK_INT(is_literal, rows[i].type != 0);
        if (!is_literal)
            continue;
        CHECK_INT(literal.type, rows[i].type);
        printed.len = 0;
        tv_literal_print(&printed, &literal);
        CHECK_TEXT(tv_buf_slice(&printed), rows[i].printed);
    }
    tv_arena_done(&arena);
    tv_buf_done(&printed);
}

TEST(values_are_the_ones_that_were_written)
{
    tv_error_info info = {0};
    tv_property literal;
    bool is_literal;
    tv_arena arena;

    tv_arena_init(&arena);
    CHECK_OK(parse(&arena, "-2147483648", &is_literal, &literal, &info));
    CHECK_INT(literal.int32, INT32_MIN);
    CHECK_OK(parse(&arena, "-9223372036854775808L", &is_literal, &literal, &info));
    CHECK(literal.int64 == INT64_MIN);
    CHECK_OK(parse(&arena, "4.1d", &is_literal, &literal, &info));
    CHECK(literal.real == 4.1);
    CHECK_OK(parse(&arena, "NaN", &is_literal, &literal, &info));
    CHECK(isnan(literal.real));
    CHECK_OK(parse(&arena, "INF", &is_literal, &literal, &info));
    CHECK(isinf(literal.real) && literal.real > 0);
    CHECK_OK(parse(&arena, "datetime'2000-01-01T00:00:00.0000001Z'", &is_literal, &literal, &info));
    CHECK_INT(literal.ticks, INT64_C(630822816000000001));
    CHECK_OK(parse(&arena, "X'00fF'", &is_literal, &literal, &info));
    CHECK_SLICE(literal.bytes, TV_LIT("\x00\xff"));
    CHECK_OK(
        parse(&arena, "guid'00010203-0405-0607-0809-0A0B0C0D0E0F'", &is_literal, &literal, &info));
    for (int i = 0; i < 16; i++)
        CHECK_INT(literal.guid.bytes[i], i);
    tv_arena_done(&arena);
}

TEST(what_cannot_be_read_says_so)
{
    tv_error_info info = {0};
    tv_property literal;
    bool is_literal;
    tv_arena arena;

    tv_arena_init(&arena);
    CHECK_ERR(parse(&arena, "2147483648", &is_literal, &literal, &info), TV_ERR_INVALID_INPUT);
    CHECK_TEXT(info.text, "Unrecognized 'Edm.Int32' literal '2147483648' at '0' in '2147483648'.");
    CHECK_ERR(parse(&arena, "null", &is_literal, &literal, &info), TV_ERR_INVALID_INPUT);
    CHECK_ERR(parse(&arena, "time'PT1H'", &is_literal, &literal, &info), TV_ERR_FILTER_SYNTAX);
    CHECK_TEXT(info.text, "Syntax error at position 10 in 'time'PT1H''.");
    tv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_are_read_and_written),
        cmocka_unit_test(values_are_the_ones_that_were_written),
        cmocka_unit_test(what_cannot_be_read_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
