/* The pages of a query: where they begin and end, and what is in them. */
#include "table/scan.h"

#include "random.h"
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

enum { ROWS = 300 };

static const int64_t MINUTE_NS = INT64_C(60000000000);

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

static tv_query query_of(const char *filter, size_t top)
{
    tv_query query = {.top = top};
    tv_error_info info = {0};

    CHECK_OK(tv_filter_parse(&arena, tv_slice_of(filter), &query.filter, &info));
    return query;
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

        CHECK(pages <= ROWS);
        tv_scan scan = {.table = &people,
                        .op = &op,
                        .query = &query,
                        .time_max_ns = MINUTE_NS,
                        .arena = &arena,
                        .out = &page};

        tv_scan_plan(&scan);
        CHECK_OK(tv_scan_run(&scan, engine));
        CHECK(scan.page.examined >= scan.page.returned && scan.page.returned <= query.top);
        tv_continuation next = scan.next;
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

    read_pages(query_of("", 1000), &whole);
    CHECK_INT(count_objects(tv_buf_slice(&whole)), count_rows(people.prefix));
    for (size_t top = 1; top < 40; top += 1 + top / 4)
        CHECK_SLICE(read_pages(query_of("", top), &pages), tv_buf_slice(&whole));
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
        char filter[64];

        snprintf(filter, sizeof filter, "PartitionKey eq '%s'", keys[i]);
        t_row = filter;
        for (size_t top = 1; top <= 6; top++) {
            tv_slice text = read_pages(query_of(filter, top), &pages);

            CHECK_INT(count_objects(text), 5);
        }
    }
    /* A key that no entity can have is an empty page, and so is one that none has. */
    CHECK_INT(read_pages(query_of("PartitionKey eq 'a/b'", 9), &pages).len, 0);
    CHECK_INT(read_pages(query_of("PartitionKey eq 'c'", 9), &pages).len, 0);
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
    tv_query query = query_of("PartitionKey eq 'b'", 9);

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

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(pages_of_any_size_make_the_same_whole),
        ONE(a_partition_is_all_of_itself_and_nothing_else),
        ONE(a_forged_continuation_does_not_leave_the_partition),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
