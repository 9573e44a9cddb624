/* A plan as JSON: its bounds in terms of keys, and what is left to test. */
#include "services/table/explain.h"

#include "check.h"
#include "store/engine/key.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Key of a bound, "+" when it is included, "-" when not. */
#define PK(key, sign) "{\"PartitionKey\":\"" key "\",\"isIncluded\":" sign "}"
#define RK(key, row, sign)                                                                         \
    "{\"PartitionKey\":\"" key "\",\"RowKey\":\"" row "\",\"isIncluded\":" sign "}"
#define RANGE(kind, from, to) "{\"plan\":\"" kind "\",\"from\":" from ",\"to\":" to "}"

static const struct {
    const char *filter, *plan, *ranges, *residual;
} rows[] = {
    {"", "table", RANGE("table", "null", "null"), "null"},
    {"PartitionKey eq 'p' and RowKey eq 'r'", "point",
     RANGE("point", RK("p", "r", "true"), RK("p", "r", "true")), "null"},
    {"PartitionKey eq 'p' and RowKey eq ''", "point",
     RANGE("point", RK("p", "", "true"), RK("p", "", "true")), "null"},
    {"PartitionKey eq 'p'", "partition", RANGE("partition", PK("p", "true"), PK("p", "true")),
     "null"},
    {"PartitionKey eq 'p' and RowKey gt 'a' and RowKey lt 'b'", "range",
     RANGE("range", RK("p", "a", "false"), RK("p", "b", "false")), "null"},
    {"PartitionKey eq 'p' and RowKey ge 'a' and RowKey le 'b' and Age gt 5", "range",
     RANGE("range", RK("p", "a", "true"), RK("p", "b", "true")), "\"Age gt 5\""},
    {"PartitionKey gt 'a' and PartitionKey lt 'b'", "table",
     RANGE("table", PK("a", "false"), PK("b", "false")), "null"},
    {"PartitionKey ge 'a'", "table", RANGE("table", PK("a", "true"), "null"), "null"},
    {"PartitionKey le '\xF0\x9F\x98\x80'", "table",
     RANGE("table", "null", PK("\\ud83d\\ude00", "true")), "null"},
    {"PartitionKey eq 'a' or PartitionKey eq 'it''s'", "partition",
     RANGE("partition", PK("a", "true"), PK("a", "true")) "," RANGE("partition", PK("it's", "true"),
                                                                    PK("it's", "true")),
     "null"},
    {"name eq '\"'", "table", RANGE("table", "null", "null"), "\"name eq '\\\"'\""},
    {"PartitionKey eq 'a' and PartitionKey eq 'b'", "point", "", "null"},
};

/* What is between `before` and `after` in the text, which has both. */
static tv_slice between(tv_slice text, const char *before, const char *after)
{
    const char *from = memmem(text.data, text.len, before, strlen(before));

    CHECK(from != NULL);
    from += strlen(before);

    const char *to = memmem(from, (size_t)(text.data + text.len - from), after, strlen(after));

    CHECK(to != NULL);
    return (tv_slice){from, (size_t)(to - from)};
}

TEST(plans_are_shown_in_terms_of_keys)
{
    tv_buf out = TV_BUF_EMPTY;
    tv_arena arena;

    tv_arena_init(&arena);
    tv_container table = {.id = 7, .prefix = tv_key_table(&arena, TV_LIT("acct"), 7)};
    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_table_query query = {.top = 1000};
        tv_table_scan scan = {.table = &table, .query = &query, .arena = &arena, .out = &out};
        tv_error_info info = {0};

        t_row = rows[i].filter;
        CHECK_OK(tv_filter_parse(&arena, tv_slice_of(rows[i].filter), &query.filter, &info));
        tv_table_scan_plan(&scan);
        out.len = 0;
        CHECK_OK(tv_table_explain(&out, &scan));
        tv_slice text = tv_buf_slice(&out);
        CHECK_TEXT(between(text, "{\"value\":[],\"plan\":\"", "\""), rows[i].plan);
        CHECK_TEXT(between(text, "\"ranges\":[", "],\"residual\""), rows[i].ranges);
        CHECK_TEXT(between(text, "\"residual\":", ",\"advice\""), rows[i].residual);
    }
    tv_arena_done(&arena);
    tv_buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_shown_in_terms_of_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
