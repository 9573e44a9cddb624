/* Query Tables: filters on TableName, pages, and which account's tables they are. */
#include "services/table/table_list.h"

#include "services/table/scans.h"
#include "services/table/service.h"
#include "services/table/token.h"
#include "store.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_catalog *catalog;

static const char *const tables[] = {"Zebra", "apple", "Banana", "cherry", "Bananas", "apple2"};

static void create(tv_slice account, const char *name)
{
    tv_catalog_create create_op = {
        .catalog = catalog, .account = account, .name = tv_slice_of(name), .arena = &arena};
    tv_write write = {0};

    tv_catalog_prepare_create(&create_op, &write);
    CHECK_OK(commit(&write));
}

static int set_up(__attribute__((unused)) void **state)
{
    store_start();
    if (tv_catalog_open(&tv_table_catalog, engine, pipeline, &catalog))
        return -1;
    for (size_t i = 0; i < COUNT(tables); i++)
        create(ACCOUNT, tables[i]);
    create(TV_LIT("acc"), "strangers");
    create(TV_LIT("acct2"), "strangers");
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_catalog_close(catalog);
    store_stop();
    return 0;
}

/* For run_in_turns: the catalogue knows its engine. */
static tv_err list_some(tv_table_scan *scan, tv_engine *from, tv_turn *turn, bool *ret_is_done)
{
    (void)from;
    return tv_table_list(scan, catalog, turn, ret_is_done);
}

/* The names that a query finds, page after page, with a blank between names. */
static tv_slice list(const char *filter, size_t top, tv_buf *out)
{
    tv_table_command command = {.kind = TV_TABLE_OP_QUERY_TABLES,
                                .level = TV_TABLE_METADATA_NONE,
                                .endpoint = {.account = ACCOUNT}};
    tv_table_query query = {.top = top};
    tv_error_info info = {0};

    out->len = 0;
    CHECK_OK(tv_filter_parse(&arena, tv_slice_of(filter), &query.filter, &info));
    for (;;) {
        tv_buf page_text = TV_BUF_EMPTY;
        tv_table_scan scan = {.command = &command,
                              .query = &query,
                              .time_max_ns = INT64_C(60000000000),
                              .arena = &arena,
                              .out = &page_text};
        tv_slice rest;
        size_t count = 0;

        CHECK_OK(run_in_turns(list_some, &scan, engine, (tv_turn){.end_ns = 0}, NULL));
        tv_table_continuation next = scan.next;
        rest = tv_buf_slice(&page_text);
        CHECK(tv_slice_starts_with(rest, TV_LIT("{\"value\":[")));
        rest = tv_slice_skip(rest, 10);
        while (tv_slice_starts_with(rest, TV_LIT("{\"TableName\":\""))) {
            rest = tv_slice_skip(rest, 14);
            tv_buf_printf(out, out->len ? " %.*s" : "%.*s", (int)tv_slice_find(rest, '"'),
                          rest.data);
            rest = tv_slice_skip(rest, tv_slice_find(rest, '}') + 1);
            if (rest.data[0] == ',')
                rest = tv_slice_skip(rest, 1);
            count++;
        }
        CHECK_TEXT(rest, "]}");
        tv_buf_done(&page_text);
        CHECK_INT(scan.page.returned, count);
        CHECK(scan.page.examined >= count && count <= top);
        CHECK(next.next_partition.data == NULL && next.next_row.data == NULL);
        if (next.next_table.data == NULL)
            return tv_buf_slice(out);
        CHECK_INT(count, top);
        CHECK_OK(tv_table_token_parse(&arena, next.next_table, &query.next_table));
        CHECK_INT(query.next_table.len - tv_slice_find(query.next_table, '\x01'), 17);
        query.next_table.len = tv_slice_find(query.next_table, '\x01');
    }
}

static const struct {
    const char *filter, *names;
} rows[] = {
    {"", "apple apple2 Banana Bananas cherry Zebra"},
    {"TableName eq 'Banana'", "Banana"},
    {"TableName eq 'banana'", ""}, /* names are compared as they were created */
    {"TableName ge 'Banana' and TableName lt 'Bananb'", "Banana Bananas"},
    {"TableName eq 'apple' or TableName eq 'Zebra' or TableName eq 'nobody'", "apple Zebra"},
    {"TableName gt 'Z'", "apple apple2 cherry Zebra"},
    {"not (TableName lt 'a')", "apple apple2 cherry"},
    {"TableName ne 'cherry' and TableName gt 'b'", ""},
    {"TableName ne 'apple'", "apple2 Banana Bananas cherry Zebra"},
    {"'apple' le TableName", "apple apple2 cherry"},
    {"PartitionKey eq 'apple'", ""},
    {"Other ne 1", ""},
    {"not (Other ne 1)", "apple apple2 Banana Bananas cherry Zebra"},
};

TEST(filters_on_the_name_on_pages_of_any_size)
{
    tv_buf out = TV_BUF_EMPTY;

    for (size_t i = 0; i < COUNT(rows); i++) {
        t_row = rows[i].filter;
        for (size_t top = 1; top <= 8; top++)
            CHECK_TEXT(list(rows[i].filter, top, &out), rows[i].names);
        CHECK_TEXT(list(rows[i].filter, 1000, &out), rows[i].names);
    }
    tv_buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(filters_on_the_name_on_pages_of_any_size, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
