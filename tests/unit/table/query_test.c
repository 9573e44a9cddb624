/* The options of a query, out of its URL, and the pages that they make. */
#include "table/query.h"

#include "random.h"
#include "requests.h"
#include "store.h"
#include "table/entity.h"
#include "table/token.h"

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

/* --- pages --- */

enum { ROWS = 300 };

static tv_table people = {.id = 7};

static void put(tv_slice key, tv_slice value)
{
    tv_batch batch = {0};

    tv_batch_add(&batch, (tv_change){TV_CHANGE_PUT, key, value});
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_batch_done(&batch);
}

/* A key of few, odd characters, so that partitions share beginnings; may be empty. */
static tv_slice random_key(void)
{
    static const char *const characters[] = {
        "a", "b", " ", "'", "\xC3\xB4", "\xEF\xBF\xBD", "\xF0\x9F\x98\x80"};
    tv_slice key = TV_LIT("");

    for (uint64_t i = t_random() % 4; i > 0; i--)
        key = tv_arena_printf(&arena, "%.*s%s", TV_FMT(key),
                              characters[t_random() % COUNT(characters)]);
    return key;
}

static void add_entity(int64_t table_id, tv_slice partition_key, tv_slice row_key)
{
    tv_properties none = {NULL, 0};
    tv_slice partition, key;

    CHECK_OK(tv_key_partition(&arena, ACCOUNT, table_id, partition_key, &partition));
    CHECK_OK(tv_key_row(&arena, partition, row_key, &key));
    put(key, tv_entity_encode(&arena, &none));
}

/* All pages of a query as one text of keys; checks that each page but the last is full. */
static tv_slice read_pages(tv_query query, tv_buf *all)
{
    tv_table_op op = {.kind = TV_TABLE_OP_QUERY_ENTITIES,
                      .level = TV_METADATA_NONE,
                      .endpoint = {.account = ACCOUNT},
                      .resource = {.table = TV_LIT("people")}};

    all->len = 0;
    CHECK_OK(tv_select_parse(&arena, TV_LIT("PartitionKey,RowKey"), &op.select));
    for (int pages = 0;; pages++) {
        tv_buf page = TV_BUF_EMPTY;
        tv_continuation next;

        CHECK(pages <= ROWS);
        CHECK_OK(tv_query_entities(engine, &people, &op, &query, &arena, &page, &next));
        tv_slice text = tv_buf_slice(&page);
        CHECK(tv_slice_starts_with(text, TV_LIT("{\"value\":[")));
        text = tv_slice_take(tv_slice_skip(text, 10), text.len - 12);
        if (all->len && text.len)
            tv_buf_add_char(all, ',');
        tv_buf_add(all, text);
        tv_buf_done(&page);

        CHECK_INT(next.next_partition.data != NULL, next.next_row.data != NULL);
        if (next.next_partition.data == NULL)
            return tv_buf_slice(all);
        CHECK_OK(tv_token_parse(&arena, next.next_partition, &query.next_partition));
        CHECK_OK(tv_token_parse(&arena, next.next_row, &query.next_row));
    }
}

static size_t count_objects(tv_slice text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == '{';
    return count;
}

TEST(pages_of_any_size_make_the_same_whole)
{
    tv_buf whole = TV_BUF_EMPTY, pages = TV_BUF_EMPTY;

    t_random_seed(0x9a6e);
    people.account = ACCOUNT;
    people.prefix = tv_key_table(&arena, ACCOUNT, people.id);
    for (int i = 0; i < ROWS; i++)
        add_entity(people.id, random_key(), random_key());
    /* The neighbours' rows are never seen. */
    add_entity(people.id - 1, TV_LIT("a"), TV_LIT("a"));
    add_entity(people.id + 1, TV_LIT("a"), TV_LIT("a"));

    read_pages((tv_query){.top = 1000}, &whole);
    CHECK_INT(count_objects(tv_buf_slice(&whole)), count_rows(people.prefix));
    for (size_t top = 1; top < 40; top += 1 + top / 4)
        CHECK_SLICE(read_pages((tv_query){.top = top}, &pages), tv_buf_slice(&whole));
    tv_buf_done(&whole);
    tv_buf_done(&pages);
}

TEST(a_partition_is_all_of_itself_and_nothing_else)
{
    static const char *const keys[] = {"", "a", "a ", "aa", "ab", "b", "\xF0\x9F\x98\x80"};
    tv_buf pages = TV_BUF_EMPTY;

    people.account = ACCOUNT;
    people.prefix = tv_key_table(&arena, ACCOUNT, people.id);
    for (size_t i = 0; i < COUNT(keys); i++) {
        for (int row = 0; row < 5; row++)
            add_entity(people.id, tv_slice_of(keys[i]), tv_arena_printf(&arena, "%d", row));
    }
    for (size_t i = 0; i < COUNT(keys); i++) {
        t_row = keys[i];
        for (size_t top = 1; top <= 6; top++) {
            tv_slice text = read_pages((tv_query){.top = top,
                                                  .has_partition = true,
                                                  .partition_key = tv_slice_of(keys[i])},
                                       &pages);

            CHECK_INT(count_objects(text), 5);
        }
    }
    /* A key that no entity can have is an empty page, and so is one that none has. */
    CHECK_INT(
        read_pages((tv_query){.top = 9, .has_partition = true, .partition_key = TV_LIT("a/b")},
                   &pages)
            .len,
        0);
    CHECK_INT(read_pages((tv_query){.top = 9, .has_partition = true, .partition_key = TV_LIT("c")},
                         &pages)
                  .len,
              0);
    tv_buf_done(&pages);
}

TEST(a_forged_continuation_does_not_leave_the_partition)
{
    tv_buf pages = TV_BUF_EMPTY;

    people.account = ACCOUNT;
    people.prefix = tv_key_table(&arena, ACCOUNT, people.id);
    add_entity(people.id, TV_LIT("a"), TV_LIT("1"));
    add_entity(people.id, TV_LIT("b"), TV_LIT("1"));
    add_entity(people.id, TV_LIT("c"), TV_LIT("1"));
    tv_query query = {.top = 9, .has_partition = true, .partition_key = TV_LIT("b")};

    /* From before the partition it begins at its start; from behind it there is nothing. */
    query.next_partition = query.next_row = TV_LIT("");
    CHECK_INT(count_objects(read_pages(query, &pages)), 1);
    query.next_partition = TV_LIT("c");
    CHECK_INT(count_objects(read_pages(query, &pages)), 0);
    query.next_partition = TV_LIT("b");
    query.next_row = TV_LIT("2");
    CHECK_INT(count_objects(read_pages(query, &pages)), 0);
    tv_buf_done(&pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_of_any_size_make_the_same_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_partition_is_all_of_itself_and_nothing_else, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_forged_continuation_does_not_leave_the_partition, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(top_is_1_to_1000, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_one_filter_is_a_partition, set_up, tear_down),
        cmocka_unit_test_setup_teardown(continuations_are_tokens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            forged_continuations_are_refused_and_foreign_parameters_ignored, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
