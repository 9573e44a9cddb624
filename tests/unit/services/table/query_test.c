/* The options of a query, out of its URL. */
#include "services/table/query.h"

#include "parameters.h"
#include "requests.h"
#include "services/table/token.h"
#include "store.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static int set_up(__attribute__((unused)) void **state)
{
    store_start();
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    store_stop();
    return 0;
}

static tv_slice error_text; /* of the last parse */

static tv_err parse(tv_table_op_kind kind, tv_slice url_query, tv_table_query *query)
{
    tv_request request = request_new(&arena, "GET", "people()", "");
    tv_table_command command = {.kind = kind};
    tv_error_info info = {0};
    tv_err err;

    request.query = query_of(&arena, url_query);
    err = tv_table_query_parse(&arena, &request, &command, query, &info);
    error_text = info.text;
    return err;
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
    {"$top=0", TV_OK, 0},
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
        tv_table_query query;

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
    const char *filter; /* as it would be printed */
} filters[] = {
    {"", TV_OK, ""},
    {"$filter=", TV_OK, ""},
    {"$filter=%20", TV_OK, ""},
    {"$filter=PartitionKey%20eq%20'a'", TV_OK, "PartitionKey eq 'a'"},
    {"$filter=PartitionKey+eq+'a'", TV_OK, "PartitionKey eq 'a'"},
    {"%24filter=PartitionKey+eq+%27a%27", TV_OK, "PartitionKey eq 'a'"},
    {"$filter=PartitionKey+eq+'it''s'", TV_OK, "PartitionKey eq 'it''s'"},
    {"$filter=PartitionKey+eq+''''''", TV_OK, "PartitionKey eq ''''''"},
    {"$filter=+PartitionKey+eq+'a'+", TV_OK, "PartitionKey eq 'a'"},
    {"$top=3&$filter=x+eq+1&timeout=5", TV_OK, "x eq 1"},
    {"$filter=x+eq+'%F0%9F%98%80'", TV_OK, "x eq '\xF0\x9F\x98\x80'"},
    {"$filter=PartitionKey+eq+'%zz'", TV_ERR_URL_UNPARSABLE, NULL},
    {"$filter=PartitionKey+eq+'", TV_ERR_FILTER_SYNTAX, NULL},
    {"$filter=PartitionKey+eq+a", TV_ERR_NOT_IMPLEMENTED, NULL},
};

TEST(a_filter_is_decoded_and_parsed)
{
    for (size_t i = 0; i < COUNT(filters); i++) {
        tv_buf printed = TV_BUF_EMPTY;
        tv_table_query query;

        t_row = filters[i].query;
        CHECK_ERR(parse(TV_TABLE_OP_QUERY_ENTITIES, tv_slice_of(filters[i].query), &query),
                  filters[i].err);
        if (filters[i].err)
            continue;
        tv_filter_print(&printed, query.filter, query.filter->root);
        CHECK_TEXT(tv_buf_slice(&printed), filters[i].filter);
        tv_buf_done(&printed);
    }
}

TEST(a_refused_filter_comes_with_its_text)
{
    tv_table_query query;

    CHECK_ERR(parse(TV_TABLE_OP_QUERY_ENTITIES, TV_LIT("$filter=aaa+bbb+ccc"), &query),
              TV_ERR_FILTER_SYNTAX);
    CHECK_TEXT(error_text, "Syntax error at position 7 in 'aaa bbb ccc'.");
}

TEST(an_explanation_is_asked_for_by_a_header)
{
    static const struct {
        const char *headers;
        bool is_explained;
    } rows[] = {
        {"", false},
        {"x-tavola-explain: true\n", true},
        {"X-Tavola-Explain: True\n", true},
        {"x-tavola-explain: false\n", false},
        {"x-tavola-explain:\n", false},
    };
    tv_table_command command = {.kind = TV_TABLE_OP_QUERY_ENTITIES};

    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_request request = request_new(&arena, "GET", "people()", rows[i].headers);
        tv_error_info info = {0};
        tv_table_query query;

        t_row = rows[i].headers;
        CHECK_OK(tv_table_query_parse(&arena, &request, &command, &query, &info));
        CHECK_INT(query.is_explained, rows[i].is_explained);
    }
}

TEST(continuations_are_tokens)
{
    tv_slice a = tv_table_token_format(&arena, TV_LIT("pk")),
             b = tv_table_token_format(&arena, TV_LIT(""));
    tv_slice table = tv_table_token_format(&arena, TV_LIT("people\x01"
                                                          "0000000000000000"));
    tv_table_query query;

    CHECK_OK(parse(
        TV_TABLE_OP_QUERY_ENTITIES,
        tv_arena_printf(&arena, "NextPartitionKey=%.*s&NextRowKey=%.*s", TV_FMT(a), TV_FMT(b)),
        &query));
    CHECK_TEXT(query.next_partition, "pk");
    CHECK_TEXT(query.next_row, "");
    CHECK(query.next_row.data != NULL);
    CHECK(query.next_table.data == NULL);

    CHECK_OK(parse(TV_TABLE_OP_QUERY_TABLES,
                   tv_arena_printf(&arena, "NextTableName=%.*s", TV_FMT(table)), &query));
    CHECK_TEXT(query.next_table, "people");
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
    {TV_TABLE_OP_QUERY_TABLES, "NextTableName=1!4!cGs-", TV_ERR_INVALID_INPUT},      /* no name */
    {TV_TABLE_OP_QUERY_ENTITIES, "NextPartitionKey=1!4!YS9i", TV_ERR_INVALID_INPUT}, /* a/b */
    {TV_TABLE_OP_QUERY_TABLES, "$filter=TableName%20eq%20'x'", TV_OK},
    {TV_TABLE_OP_QUERY_TABLES, "$filter=", TV_OK},
    {TV_TABLE_OP_QUERY_TABLES, "NextPartitionKey=ignored", TV_OK},
    {TV_TABLE_OP_QUERY_ENTITIES, "timeout=30&sig=x&unknown=%2", TV_OK},
};

TEST(forged_continuations_are_refused_and_foreign_parameters_ignored)
{
    for (size_t i = 0; i < COUNT(forged); i++) {
        tv_table_query query;

        t_row = forged[i].query;
        CHECK_ERR(parse(forged[i].kind, tv_slice_of(forged[i].query), &query), forged[i].err);
    }
}

/* What takes long is left to a thread that may take long. */
TEST(a_long_filter_is_not_parsed_at_once)
{
    tv_buf text = TV_BUF_EMPTY;
    tv_error_info info = {0};
    tv_table_query query;

    tv_buf_add_lit(&text, "$top=7&$filter=n+eq+0");
    for (int i = 0; text.len < 2 * TV_TABLE_QUERY_SHORT_FILTER_BYTES; i++)
        tv_buf_printf(&text, "+or+n+eq+%d", i);
    CHECK_OK(parse(TV_TABLE_OP_QUERY_ENTITIES, tv_buf_slice(&text), &query));
    CHECK(query.filter == NULL);
    CHECK_INT(query.top, 7);
    CHECK_OK(tv_table_query_complete(&arena, &query, &info));
    CHECK_INT(query.filter->root->kind, TV_NODE_OR);

    /* Whatever is wrong with it is reported then. */
    tv_buf_add_lit(&text, "+or");
    CHECK_OK(parse(TV_TABLE_OP_QUERY_ENTITIES, tv_buf_slice(&text), &query));
    CHECK_ERR(tv_table_query_complete(&arena, &query, &info), TV_ERR_FILTER_SYNTAX);
    CHECK(tv_slice_starts_with(info.text, TV_LIT("Expression expected at position ")));

    /* And nothing is read when nothing is requested. */
    text.data[5] = '0';
    text.len -= 3;
    CHECK_OK(parse(TV_TABLE_OP_QUERY_ENTITIES, tv_buf_slice(&text), &query));
    CHECK_OK(tv_table_query_complete(&arena, &query, &info));
    CHECK(tv_filter_passes_nothing(query.filter));
    tv_buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_long_filter_is_not_parsed_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(top_is_1_to_1000, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_filter_is_decoded_and_parsed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refused_filter_comes_with_its_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_explanation_is_asked_for_by_a_header, set_up, tear_down),
        cmocka_unit_test_setup_teardown(continuations_are_tokens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            forged_continuations_are_refused_and_foreign_parameters_ignored, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
