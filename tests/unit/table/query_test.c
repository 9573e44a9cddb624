/* The options of a query, out of its URL. */
#include "table/query.h"

#include "check.h"
#include "requests.h"
#include "table/token.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_arena arena;

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_arena_done(&arena);
    return 0;
}

static tv_err parse(tv_table_op_kind kind, tv_slice url_query, tv_query *query)
{
    tv_request request = request_new(&arena, "GET", "people()", "");
    tv_table_op op = {.kind = kind};

    request.query = url_query;
    return tv_query_parse(&arena, &request, &op, query);
}

static const struct {
    const char *text;
    tv_err err;
    size_t top;
} tops[] = {
    {"", TV_OK, 1000},
    {"$top=1", TV_OK, 1},
    {"$top=1000", TV_OK, 1000},
    {"%24top=5", TV_OK, 5},
    {"$top=0", TV_ERR_INVALID_INPUT, 0},
    {"$top=1001", TV_ERR_INVALID_INPUT, 0},
    {"$top=-1", TV_ERR_INVALID_INPUT, 0},
    {"$top=", TV_ERR_INVALID_INPUT, 0},
    {"$top=1.0", TV_ERR_INVALID_INPUT, 0},
    {"$top=99999999999999999999", TV_ERR_INVALID_INPUT, 0},
    {"$top=%zz", TV_ERR_URL_UNPARSABLE, 0},
};

TEST(top_is_1_to_1000)
{
    for (size_t i = 0; i < COUNT(tops); i++) {
        tv_query query;

        t_row = tops[i].text;
        CHECK_ERR(parse(TV_TABLE_OP_QUERY_ENTITIES, tv_slice_of(tops[i].text), &query),
                  tops[i].err);
        if (tops[i].err == TV_OK)
            CHECK_INT(query.top, tops[i].top);
        CHECK_ERR(parse(TV_TABLE_OP_QUERY_TABLES, tv_slice_of(tops[i].text), &query), tops[i].err);
    }
}

static const struct {
    const char *query;
    tv_err err;
    const char *partition_key; /* NULL: no such filter */
} filters[] = {
    {"$filter=", TV_OK, NULL},
    {"$filter=%20", TV_OK, NULL},
    {"$filter=PartitionKey%20eq%20'a'", TV_OK, "a"},
    {"$filter=PartitionKey+eq+'a'", TV_OK, "a"},
    {"%24filter=PartitionKey+eq+%27a%27", TV_OK, "a"},
    {"$filter=PartitionKey+eq+''", TV_OK, ""},
    {"$filter=PartitionKey+eq+'it''s'", TV_OK, "it's"},
    {"$filter=PartitionKey+eq+''''''", TV_OK, "''"},
    {"$filter=+PartitionKey+eq+'a'+", TV_OK, "a"},
    {"$filter=PartitionKey+eq+'", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"$filter=PartitionKey+eq+'''", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"$filter=PartitionKey+eq+'a'+or+PartitionKey+eq+'b'", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"$filter=PartitionKey+eq+'a'+and+RowKey+eq+'b'", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"$filter=PartitionKey+eq+a", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"$filter=RowKey+eq+'a'", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"$filter=partitionkey+eq+'a'", TV_ERR_NOT_IMPLEMENTED, NULL},
    {"$filter=PartitionKey+eq+'%zz'", TV_ERR_URL_UNPARSABLE, NULL},
};

/* This version knows one filter; all others say so rather than return too much. */
TEST(the_one_filter_is_a_partition)
{
    for (size_t i = 0; i < COUNT(filters); i++) {
        tv_query query;

        t_row = filters[i].query;
        CHECK_ERR(parse(TV_TABLE_OP_QUERY_ENTITIES, tv_slice_of(filters[i].query), &query),
                  filters[i].err);
        if (filters[i].err)
            continue;
        CHECK_INT(query.has_partition, filters[i].partition_key != NULL);
        if (filters[i].partition_key)
            CHECK_TEXT(query.partition_key, filters[i].partition_key);
    }
}

TEST(continuations_are_tokens)
{
    tv_slice a = tv_token_format(&arena, TV_LIT("pk")), b = tv_token_format(&arena, TV_LIT(""));
    tv_query query;

    CHECK_OK(parse(
        TV_TABLE_OP_QUERY_ENTITIES,
        tv_arena_printf(&arena, "NextPartitionKey=%.*s&NextRowKey=%.*s", TV_FMT(a), TV_FMT(b)),
        &query));
    CHECK_TEXT(query.next_partition, "pk");
    CHECK_TEXT(query.next_row, "");
    CHECK(query.next_row.data != NULL);
    CHECK(query.next_table.data == NULL);

    CHECK_OK(parse(TV_TABLE_OP_QUERY_TABLES,
                   tv_arena_printf(&arena, "NextTableName=%.*s", TV_FMT(a)), &query));
    CHECK_TEXT(query.next_table, "pk");
    CHECK(query.next_partition.data == NULL && query.next_row.data == NULL);
    CHECK_OK(parse(TV_TABLE_OP_QUERY_ENTITIES, TV_NONE, &query));
    CHECK(query.next_partition.data == NULL && query.next_row.data == NULL);
}

static const struct {
    tv_table_op_kind kind;
    const char *query;
    tv_err err;
} forged[] = {
    {TV_TABLE_OP_QUERY_ENTITIES, "NextPartitionKey=", TV_ERR_INVALID_INPUT},
    {TV_TABLE_OP_QUERY_ENTITIES, "NextPartitionKey=pk", TV_ERR_INVALID_INPUT},
    {TV_TABLE_OP_QUERY_ENTITIES, "NextPartitionKey=1!4!YWJj&NextRowKey=x", TV_ERR_INVALID_INPUT},
    {TV_TABLE_OP_QUERY_ENTITIES, "NextRowKey=%zz", TV_ERR_URL_UNPARSABLE},
    {TV_TABLE_OP_QUERY_TABLES, "NextTableName=people", TV_ERR_INVALID_INPUT},
    {TV_TABLE_OP_QUERY_TABLES, "$filter=TableName%20eq%20'x'", TV_ERR_NOT_IMPLEMENTED},
    {TV_TABLE_OP_QUERY_TABLES, "$filter=", TV_OK},
    {TV_TABLE_OP_QUERY_TABLES, "NextPartitionKey=ignored", TV_OK},
    {TV_TABLE_OP_QUERY_ENTITIES, "timeout=30&sig=x&unknown=%2", TV_OK},
};

TEST(forged_continuations_are_refused_and_foreign_parameters_ignored)
{
    for (size_t i = 0; i < COUNT(forged); i++) {
        tv_query query;

        t_row = forged[i].query;
        CHECK_ERR(parse(forged[i].kind, tv_slice_of(forged[i].query), &query), forged[i].err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(top_is_1_to_1000),
        cmocka_unit_test(the_one_filter_is_a_partition),
        cmocka_unit_test(continuations_are_tokens),
        cmocka_unit_test(forged_continuations_are_refused_and_foreign_parameters_ignored),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
