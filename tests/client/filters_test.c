/* Filters as the service understands them: literals, prefixes, bound texts, plans. */
#include "live.h"

/* How many entities pass; takes the filter over. */
static int passes(tavola_filter *filter)
{
    tavola_query *query = tavola_query_new(filter);
    uint64_t count = 0;

    CHECK_OK(tavola_count(t.table, query, t.call, &count));
    tavola_query_free(query);
    return (int)count;
}

static void insert_value(const char *row_key, tavola_value value)
{
    tavola_entity *entity = tavola_entity_new("p", row_key);

    tavola_entity_set(entity, "V", value);
    CHECK_OK(tavola_insert(t.table, entity, t.call));
    tavola_entity_free(entity);
}

/* Each value is found by its own literal, alone. */
TEST(every_type_is_found_by_its_literal)
{
    AZURITE_DIFFERS("compares values of different types, and fails for an Int64 and a String");

    tavola_guid guid;
    tavola_value values[] = {
        tavola_string("it's '' ? & + % / \\ \xc3\xb6 \xf0\x9f\x98\x80"),
        tavola_string(""),
        tavola_int32(INT32_MIN),
        tavola_int64(INT64_MAX),
        tavola_double(0.1),
        tavola_double(7e300),
        tavola_boolean(true),
        tavola_datetime(INT64_C(639029198451234567)),
        tavola_binary("\x00\xff\x10\x0a", 4),
        tavola_string(NULL), /* a guid */
    };

    CHECK(tavola_guid_parse("c9da6455-213d-42c9-9a79-3e9149a57833", &guid));
    values[COUNT_OF(values) - 1] = tavola_guid_value(guid);
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        char row[8];

        snprintf(row, sizeof row, "%zu", i);
        insert_value(row, values[i]);
    }
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        char row[8];

        snprintf(row, sizeof row, "%zu", i);
        t_row = row;
        CHECK_INT(passes(tavola_where("V", TAVOLA_EQ, values[i])), 1);
        CHECK_INT(passes(TAVOLA_BIND("PartitionKey eq ? and (V eq ? and RowKey eq ?)",
                                     tavola_string("p"), values[i], tavola_string(row))),
                  1);
    }
}

/* Keys in the service's order, which is that of UTF-16 units. */
static const char *const keys[] = {
    "a",
    "a.",
    "a.b",
    "a0",
    "ab",
    "abc",
    "ac",
    "a~",
    "a~b",
    "a\xc2\xa0",
    "b",
    "\xed\x9f\xbf",
    "\xf0\x90\x80\x80",
    "\xf4\x8f\xbf\xbd",
    "\xee\x80\x80",
    "\xef\xbf\xbd",
};

TEST(prefixes_find_what_begins_with_them)
{
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        tavola_entity *entity = tavola_entity_new(keys[i], keys[i]);

        t_row = keys[i];
        tavola_entity_set_string(entity, "V", keys[i]);
        CHECK_OK(tavola_insert(t.table, entity, t.call));
        tavola_entity_free(entity);
    }
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        int want = 0;

        t_row = keys[i];
        for (size_t j = 0; j < COUNT_OF(keys); j++)
            want += strncmp(keys[j], keys[i], strlen(keys[i])) == 0;
        CHECK_INT(passes(tavola_where_prefix("RowKey", keys[i])), want);
        CHECK_INT(passes(tavola_where_prefix("PartitionKey", keys[i])), want);
        CHECK_INT(passes(tavola_where_prefix("V", keys[i])), want);
    }
    CHECK_INT(passes(tavola_where_prefix("V", "")), (int)COUNT_OF(keys));
}

/* A long chain of comparisons arrives whole. */
TEST(many_comparisons_can_be_joined)
{
    tavola_filter *filter = NULL;

    for (int i = 0; i < 100; i++) {
        char row[8];
        tavola_filter *one;

        snprintf(row, sizeof row, "%03d", i);
        if (i % 2)
            insert_new("p", row, i);
        one = tavola_where("RowKey", TAVOLA_EQ, tavola_string(row));
        filter = filter ? tavola_or(filter, one) : one;
    }
    CHECK_INT(passes(tavola_and(
                  tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("p")),
                  tavola_and(filter, tavola_not(tavola_where("N", TAVOLA_GT, tavola_int32(51)))))),
              26);
}

/* What we call a plan is what tavolad does. */
TEST(plans_are_those_of_the_server)
{
    static const struct {
        const char *filter, *plan, *header;
    } cases[] = {
        {"PartitionKey eq 'p' and RowKey eq 'r'", "point", "point"},
        {"PartitionKey eq 'p' and (RowKey eq 'r' or RowKey eq 's')", "point", "point"},
        {"PartitionKey eq 'p' and RowKey ge 'r' and RowKey lt 's'", "range", "range"},
        {"PartitionKey eq 'p' and N gt 5", "partition scan", "partition"},
        {"PartitionKey eq 'p' or PartitionKey eq 'q'", "partition scan", "partition"},
        {"RowKey eq 'r'", "table scan", "table"},
        {"N gt 5", "table scan", "table"},
    };

    AZURITE_DIFFERS("tells no plans");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tavola_filter *filter = tavola_filter_raw(cases[i].filter);
        const char *plan = tavola_filter_plan(filter), *header;

        t_row = cases[i].filter;
        CHECK_TEXT(plan, cases[i].plan);
        passes(filter);
        header = tavola_call_plan(t.call);
        CHECK(header != NULL);
        if (strncmp(header, cases[i].header, strlen(cases[i].header)) != 0)
            CHECK_FAIL("the server says \"%s\"", header);
    }
}

TEST(a_filter_that_failed_asks_for_nothing)
{
    tavola_query *query = tavola_query_new(tavola_where("no name", TAVOLA_EQ, tavola_int32(1)));
    uint64_t count = 7;
    tavola_scan *scan = NULL;
    tavola_page *page = NULL;

    CHECK_REFUSED(tavola_count(t.table, query, t.call, &count), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_query_page(t.table, query, NULL, t.call, &page), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_scan_open(t.table, query, t.call, &scan), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_delete_where(t.table, tavola_filter_raw("("), t.call, &count),
                  TAVOLA_ERR_INVALID);
    CHECK_INT(count, 7);
    tavola_query_free(query);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(every_type_is_found_by_its_literal),
        LIVE_TEST(prefixes_find_what_begins_with_them),
        LIVE_TEST(many_comparisons_can_be_joined),
        LIVE_TEST(plans_are_those_of_the_server),
        LIVE_TEST(a_filter_that_failed_asks_for_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
