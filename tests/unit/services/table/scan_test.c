/* The pages of a query: where they begin and end, and what is in them. */
#include "services/table/scan.h"

#include "model/entity/entity.h"
#include "random.h"
#include "services/table/scans.h"
#include "services/table/token.h"
#include "store.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_container people = {.id = 7};

static int set_up(__attribute__((unused)) void **state)
{
    store_start();
    people.account = ACCOUNT;
    people.prefix = tv_key_table(&arena, ACCOUNT, people.id);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    store_stop();
    return 0;
}

enum { ROWS = 300 };

static const int64_t MINUTE_NS = INT64_C(60000000000);

static void put(tv_slice key, tv_slice value)
{
    tv_write_batch batch = {0};

    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, key, value});
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
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
    tv_entity_properties none = {NULL, 0};
    tv_slice partition, key;

    CHECK_OK(tv_key_partition(&arena, ACCOUNT, table_id, partition_key, &partition));
    CHECK_OK(tv_key_row(&arena, partition, row_key, &key));
    put(key, tv_entity_encode(&arena, &none));
}

static tv_table_query query_of(const char *filter, size_t top)
{
    tv_table_query query = {.top = top};
    tv_error_info info = {0};

    CHECK_OK(tv_filter_parse(&arena, tv_slice_of(filter), &query.filter, &info));
    return query;
}

/* All pages of a query as one text of keys; checks that each page but the last is full. */
static tv_slice read_pages(tv_table_query query, tv_buf *all)
{
    tv_table_command command = {.kind = TV_TABLE_OP_QUERY_ENTITIES,
                                .level = TV_TABLE_METADATA_NONE,
                                .endpoint = {.account = ACCOUNT},
                                .resource = {.table = TV_LIT("people")}};

    all->len = 0;
    CHECK_OK(tv_table_select_parse(&arena, TV_LIT("PartitionKey,RowKey"), &command.select));
    for (int pages = 0;; pages++) {
        tv_buf page = TV_BUF_EMPTY;

        CHECK(pages <= ROWS);
        tv_table_scan scan = {.table = &people,
                              .command = &command,
                              .query = &query,
                              .time_max_ns = MINUTE_NS,
                              .arena = &arena,
                              .out = &page};

        tv_table_scan_plan(&scan);
        CHECK_OK(run_scan(&scan, engine));
        CHECK(scan.page.examined >= scan.page.returned && scan.page.returned <= query.top);
        tv_table_continuation next = scan.next;
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
        CHECK_OK(tv_table_token_parse(&arena, next.next_partition, &query.next_partition));
        CHECK_OK(tv_table_token_parse(&arena, next.next_row, &query.next_row));
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

    add_entity(people.id, TV_LIT("a"), TV_LIT("1"));
    add_entity(people.id, TV_LIT("b"), TV_LIT("1"));
    add_entity(people.id, TV_LIT("c"), TV_LIT("1"));
    tv_table_query query = query_of("PartitionKey eq 'b'", 9);

    /* From before the partition it begins at its start; from after it there is nothing. */
    query.next_partition = query.next_row = TV_LIT("");
    CHECK_INT(count_objects(read_pages(query, &pages)), 1);
    query.next_partition = TV_LIT("c");
    CHECK_INT(count_objects(read_pages(query, &pages)), 0);
    query.next_partition = TV_LIT("b");
    query.next_row = TV_LIT("2");
    CHECK_INT(count_objects(read_pages(query, &pages)), 0);
    tv_buf_done(&pages);
}

/* --- where a page ends, and what it says --- */

static void add_entities(int count, size_t text_bytes)
{
    char *text = memset(tv_arena_bytes(&arena, text_bytes), 'x', text_bytes);
    tv_property property = {
        .name = TV_LIT("text"), .type = TV_EDM_STRING, .bytes = {text, text_bytes}};
    tv_entity_properties properties = {&property, 1};
    tv_slice partition, key;

    for (int i = 0; i < count; i++) {
        CHECK_OK(tv_key_partition(&arena, ACCOUNT, people.id, TV_LIT("p"), &partition));
        CHECK_OK(tv_key_row(&arena, partition, tv_arena_printf(&arena, "%04d", i), &key));
        put(key, tv_entity_encode(&arena, &properties));
    }
}

static tv_table_command plain_command = {.kind = TV_TABLE_OP_QUERY_ENTITIES,
                                         .level = TV_TABLE_METADATA_NONE};

static tv_table_scan scan_of(const tv_table_query *query, int64_t time_max_ns, tv_buf *out)
{
    tv_table_scan scan = {.table = &people,
                          .command = &plain_command,
                          .query = query,
                          .time_max_ns = time_max_ns,
                          .arena = &arena,
                          .out = out};

    out->len = 0;
    tv_table_scan_plan(&scan);
    return scan;
}

/* Run pages to the end; how many there were, and what they examined and returned. */
static size_t run_pages(tv_table_query query, int64_t time_max_ns, size_t *ret_examined,
                        size_t *ret_returned)
{
    tv_buf out = TV_BUF_EMPTY;
    size_t pages = 0;

    *ret_examined = *ret_returned = 0;
    for (;;) {
        tv_table_scan scan = scan_of(&query, time_max_ns, &out);

        CHECK_OK(run_scan(&scan, engine));
        CHECK(out.len < TV_TABLE_PAGE_BYTES_MAX + 100000);
        CHECK(scan.page.examined > 0);
        pages++;
        *ret_examined += scan.page.examined;
        *ret_returned += scan.page.returned;
        if (scan.next.next_partition.data == NULL)
            break;
        CHECK_OK(tv_table_token_parse(&arena, scan.next.next_partition, &query.next_partition));
        CHECK_OK(tv_table_token_parse(&arena, scan.next.next_row, &query.next_row));
    }
    tv_buf_done(&out);
    return pages;
}

/* However little time there is, a page makes progress; and an empty one is legal. */
TEST(a_page_ends_when_its_time_is_up)
{
    size_t examined, returned;

    add_entities(1000, 10);
    CHECK(run_pages(query_of("text eq 'nobody'", 1000), -1, &examined, &returned) > 3);
    CHECK_INT(examined, 1000);
    CHECK_INT(returned, 0);
    CHECK(run_pages(query_of("", 1000), -1, &examined, &returned) > 3);
    CHECK_INT(returned, 1000);
    CHECK_INT(run_pages(query_of("text eq 'nobody'", 1000), MINUTE_NS, &examined, &returned), 1);
    CHECK_INT(examined, 1000);
}

TEST(a_page_ends_at_4_mib)
{
    size_t examined, returned;

    add_entities(200, 60000);
    CHECK_INT(run_pages(query_of("", 1000), MINUTE_NS, &examined, &returned), 3);
    CHECK_INT(returned, 200);
    CHECK_INT(examined, 200);
}

static const struct {
    const char *filter;
    const char *kind;
    size_t ranges, examined, returned;
} metrics[] = {
    /* Of 1,000 rows "0000" to "0999" in partition p. */
    {"PartitionKey eq 'p' and RowKey eq '0007'", "point", 1, 1, 1},
    {"PartitionKey eq 'p' and RowKey eq 'nobody'", "point", 1, 0, 0},
    {"PartitionKey eq 'p' and (RowKey eq '0121' or RowKey eq '0322')", "point", 2, 2, 2},
    {"PartitionKey eq 'p' and RowKey ge '0010' and RowKey lt '0020'", "range", 1, 10, 10},
    {"PartitionKey eq 'p' and RowKey gt '0010' and RowKey le '0020' and text eq 'y'", "range", 1,
     10, 0},
    {"PartitionKey eq 'p' and text lt 'y'", "partition", 1, 1000, 1000},
    {"PartitionKey eq 'q'", "partition", 1, 0, 0},
    {"RowKey eq '0007'", "table", 1, 1000, 1},
    {"PartitionKey eq 'p' and PartitionKey eq 'q'", "point", 0, 0, 0},
};

TEST(a_page_tells_what_it_did)
{
    tv_buf out = TV_BUF_EMPTY;

    add_entities(1000, 10);
    for (size_t i = 0; i < COUNT(metrics); i++) {
        tv_table_query query = query_of(metrics[i].filter, 1000);
        tv_table_scan scan = scan_of(&query, MINUTE_NS, &out);

        t_row = metrics[i].filter;
        CHECK_OK(run_scan(&scan, engine));
        CHECK_TEXT(tv_slice_of(tv_plan_kind_name(scan.plan.kind)), metrics[i].kind);
        CHECK_INT(scan.plan.count, metrics[i].ranges);
        CHECK_INT(scan.page.examined, metrics[i].examined);
        CHECK_INT(scan.page.returned, metrics[i].returned);
        CHECK(scan.next.next_partition.data == NULL);
    }
    t_row = "";
    tv_buf_done(&out);
}

TEST(a_token_without_a_row_begins_with_the_partition)
{
    tv_buf pages = TV_BUF_EMPTY;
    tv_table_query query = query_of("", 1000);

    add_entity(people.id, TV_LIT("a"), TV_LIT("1"));
    add_entity(people.id, TV_LIT("b"), TV_LIT(""));
    add_entity(people.id, TV_LIT("b"), TV_LIT("1"));
    query.next_partition = TV_LIT("b");
    CHECK_INT(count_objects(read_pages(query, &pages)), 2);
    tv_buf_done(&pages);
}

/* The row that a token names may be gone; the next one is as good. */
TEST(a_token_outlives_its_row)
{
    tv_table_query query = query_of("", 3);
    tv_buf out = TV_BUF_EMPTY;
    tv_slice partition, key;
    tv_write_batch batch = {0};

    add_entities(10, 1);
    tv_table_scan scan = scan_of(&query, MINUTE_NS, &out);
    CHECK_OK(run_scan(&scan, engine));
    CHECK_OK(tv_table_token_parse(&arena, scan.next.next_row, &query.next_row));
    CHECK_OK(tv_table_token_parse(&arena, scan.next.next_partition, &query.next_partition));
    CHECK_TEXT(query.next_row, "0003");

    CHECK_OK(tv_key_partition(&arena, ACCOUNT, people.id, TV_LIT("p"), &partition));
    CHECK_OK(tv_key_row(&arena, partition, TV_LIT("0003"), &key));
    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_DELETE, key, TV_NONE});
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);

    tv_table_scan second = scan_of(&query, MINUTE_NS, &out);
    CHECK_OK(run_scan(&second, engine));
    CHECK_INT(second.page.returned, 3);
    CHECK_OK(tv_table_token_parse(&arena, second.next.next_row, &query.next_row));
    CHECK_TEXT(query.next_row, "0007");
    tv_buf_done(&out);
}

TEST(a_page_ends_where_the_memory_does)
{
    tv_budget *budget = tv_budget_new(4 * 1024 * 1024);
    tv_table_query query = query_of("", 1000);
    tv_buf out = TV_BUF_EMPTY;
    size_t returned = 0;
    tv_charge charge;

    /* A request gets three eighths of the budget. */
    add_entities(100, 30000);
    tv_charge_init(&charge, tv_budget_share(budget, ACCOUNT));
    out.charge = &charge;
    for (int pages = 0; pages == 0 || query.next_row.data; pages++) {
        tv_table_scan scan = scan_of(&query, MINUTE_NS, &out);

        CHECK(pages < 20);
        out.len = 0;
        CHECK_OK(run_scan(&scan, engine));
        CHECK(scan.page.returned > 0 && scan.page.returned < 100);
        CHECK(tv_slice_eq(tv_slice_skip(tv_buf_slice(&out), out.len - 3), TV_LIT("}]}")));
        returned += scan.page.returned;
        query.next_row = query.next_partition = TV_NONE;
        if (scan.next.next_row.data == NULL)
            break;
        CHECK_OK(tv_table_token_parse(&arena, scan.next.next_row, &query.next_row));
        CHECK_OK(tv_table_token_parse(&arena, scan.next.next_partition, &query.next_partition));
    }
    CHECK_INT(returned, 100);

    /* Not even one row fits. */
    tv_buf_done(&out);
    tv_charge_use(&charge, 3 * 512 * 1024);
    tv_table_scan scan = scan_of(&query, MINUTE_NS, &out);
    CHECK_ERR(run_scan(&scan, engine), TV_ERR_OVERLOADED);
    tv_buf_done(&out);
    tv_charge_done(&charge);
    tv_budget_free(budget);
}

TEST(a_damaged_row_is_an_error)
{
    tv_table_query query = query_of("text eq 'x'", 1000);
    tv_buf out = TV_BUF_EMPTY;
    tv_slice partition, key;

    add_entities(3, 1);
    CHECK_OK(tv_key_partition(&arena, ACCOUNT, people.id, TV_LIT("p"), &partition));
    CHECK_OK(tv_key_row(&arena, partition, TV_LIT("0001"), &key));
    put(key, TV_LIT("\1\2\3"));
    tv_table_scan scan = scan_of(&query, MINUTE_NS, &out);
    CHECK_ERR(run_scan(&scan, engine), TV_ERR_CORRUPT);
    tv_buf_done(&out);
}

TEST(only_one_point_is_read_as_one)
{
    static const struct {
        const char *filter;
        bool is_point;
    } rows[] = {
        {"PartitionKey eq 'p' and RowKey eq '0001'", true},
        {"PartitionKey eq 'p' and RowKey eq '0001' and text eq 'x'", true},
        {"PartitionKey eq 'p' and (RowKey eq '0001' or RowKey eq '0002')", false},
        {"PartitionKey eq 'p'", false},
        {"PartitionKey eq 'p' and PartitionKey eq 'q'", false},
        {"", false},
    };
    tv_buf out = TV_BUF_EMPTY;

    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_table_query query = query_of(rows[i].filter, 1000);
        tv_table_scan scan = scan_of(&query, MINUTE_NS, &out);

        t_row = rows[i].filter;
        CHECK_INT(tv_table_scan_is_point(&scan), rows[i].is_point);
        query.next_partition = TV_LIT("p");
        CHECK(!tv_table_scan_is_point(&scan));
    }
    t_row = "";
    tv_buf_done(&out);
}

/* --- turns --- */

/* However it is cut into turns, a page is the same, and sees one moment. */
TEST(a_page_goes_on_where_its_last_turn_ended)
{
    tv_table_query query = query_of("text eq 'x' or RowKey lt '0100'", 1000);
    tv_buf whole = TV_BUF_EMPTY, in_turns = TV_BUF_EMPTY;
    tv_table_scan scan;
    bool is_done;
    int turns;

    add_entities(200, 1);
    scan = scan_of(&query, MINUTE_NS, &whole);
    CHECK_OK(run_in_turns(tv_table_scan_run, &scan, engine, tv_turn_endless(), &turns));
    CHECK_INT(turns, 1);

    scan = scan_of(&query, MINUTE_NS, &in_turns);
    tv_turn turn = {.end_ns = 0};
    CHECK_OK(tv_table_scan_run(&scan, engine, &turn, &is_done));
    CHECK(!is_done);
    if (engine->ops->has_snapshots)
        add_entities(300, 1); /* too late to be seen */
    CHECK_OK(run_in_turns(tv_table_scan_run, &scan, engine, (tv_turn){.end_ns = 0}, &turns));
    CHECK(turns > 5);
    CHECK_SLICE(tv_buf_slice(&in_turns), tv_buf_slice(&whole));
    tv_buf_done(&whole);
    tv_buf_done(&in_turns);
}

/* Ranges without rows are work, too. */
TEST(many_empty_ranges_are_many_turns)
{
    tv_buf text = TV_BUF_EMPTY, out = TV_BUF_EMPTY;
    int turns;

    for (int i = 0; i < 200; i++)
        tv_buf_printf(&text, "%sPartitionKey eq 'nobody%d'", i ? " or " : "", i);
    tv_buf_add(&text, TV_LIT("\0"));
    add_entities(10, 1);
    tv_table_query query = query_of(text.data, 1000);
    tv_table_scan scan = scan_of(&query, MINUTE_NS, &out);
    CHECK_OK(run_in_turns(tv_table_scan_run, &scan, engine, (tv_turn){.end_ns = 0}, &turns));
    CHECK_INT(scan.plan.count, 200);
    CHECK(turns > 20);
    tv_buf_done(&text);
    tv_buf_done(&out);
}

/* A page that must end has looked at a row, and its token leads on. */
TEST(a_page_that_must_end_has_a_token)
{
    tv_table_query query = query_of("text eq 'nobody'", 1000);
    tv_buf out = TV_BUF_EMPTY;
    tv_turn last = {.must_end = true};
    bool is_done;

    add_entities(100, 1);
    tv_table_scan scan = scan_of(&query, MINUTE_NS, &out);
    CHECK_OK(tv_table_scan_run(&scan, engine, &last, &is_done));
    CHECK(is_done);
    CHECK_INT(scan.page.examined, 1);
    CHECK_OK(tv_table_token_parse(&arena, scan.next.next_row, &query.next_row));
    CHECK_TEXT(query.next_row, "0001");
    CHECK_TEXT(tv_buf_slice(&out), "{\"value\":[]}");
    tv_buf_done(&out);
}

/* --- names --- */

/*
 * As many names in the filter as properties in the row: each property is looked for
 * once, by bisection, and the walk ends with the last one that is needed.
 */
TEST(every_name_of_a_filter_finds_its_property)
{
    tv_buf text = TV_BUF_EMPTY, out = TV_BUF_EMPTY;
    tv_property list[TV_ENTITY_PROPERTIES_MAX];
    tv_entity_properties properties = {list, TV_ENTITY_PROPERTIES_MAX};
    tv_slice partition, key;

    for (int i = 0; i < TV_ENTITY_PROPERTIES_MAX; i++) {
        list[i] = (tv_property){.name = tv_arena_printf(&arena, "n%d", (i * 37) % 252),
                                .type = TV_EDM_INT32,
                                .int32 = i};
        tv_buf_printf(&text, "%s%.*s eq %d", i ? " and " : "", TV_FMT(list[i].name), i);
    }
    tv_buf_printf(&text, " and not (gone eq 1) and Timestamp gt datetime'1990-01-01T00:00:00Z'");
    CHECK_OK(tv_key_partition(&arena, ACCOUNT, people.id, TV_LIT("p"), &partition));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(tv_key_row(&arena, partition, tv_arena_printf(&arena, "%d", i), &key));
        list[100].int32 = i == 1 ? 100 : 7;
        tv_slice value = tv_entity_encode(&arena, &properties);
        tv_entity_set_timestamp(value, INT64_C(630822816000000000));
        put(key, value);
    }

    tv_table_query query = {.top = 1000};
    tv_error_info info = {0};
    CHECK_OK(tv_filter_parse(&arena, tv_buf_slice(&text), &query.filter, &info));
    tv_table_scan scan = scan_of(&query, MINUTE_NS, &out);
    CHECK_OK(run_scan(&scan, engine));
    CHECK_INT(scan.page.examined, 3);
    CHECK_INT(scan.page.returned, 1);
    tv_buf_done(&text);
    tv_buf_done(&out);
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(pages_of_any_size_make_the_same_whole),
        ONE(a_partition_is_all_of_itself_and_nothing_else),
        ONE(a_forged_continuation_does_not_leave_the_partition),
        ONE(a_page_ends_when_its_time_is_up),
        ONE(a_page_ends_at_4_mib),
        ONE(a_page_tells_what_it_did),
        ONE(a_token_without_a_row_begins_with_the_partition),
        ONE(a_token_outlives_its_row),
        ONE(a_page_ends_where_the_memory_does),
        ONE(a_damaged_row_is_an_error),
        ONE(only_one_point_is_read_as_one),
        ONE(a_page_goes_on_where_its_last_turn_ended),
        ONE(many_empty_ranges_are_many_turns),
        ONE(a_page_that_must_end_has_a_token),
        ONE(every_name_of_a_filter_finds_its_property),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
