/* What each kind of request counts as in traffic by key, and of which table. */
#include "fixture.h"

enum { START = 29700000 };

static const struct {
    const char *what;
    uint8_t op, outcome, throttle;
    uint64_t want[TV_MEASURES]; /* reads, writes, deletes, bytes, scanned, conflicts, throttled, inserts */
} rows[] = {
    {"a point read", TV_ENTITY_OP_QUERY_ENTITY, TV_WATCH_FOUND, 0, {1, 0, 0, 500, 0, 0, 0}},
    {"one that misses", TV_ENTITY_OP_QUERY_ENTITY, TV_WATCH_MISSING, 0, {1, 0, 0, 0, 0, 0, 0}},
    {"an insert", TV_ENTITY_OP_INSERT_ENTITY, TV_WATCH_CREATED, 0, {0, 1, 0, 500, 0, 0, 0, 1}},
    {"one that is there", TV_ENTITY_OP_INSERT_ENTITY, TV_WATCH_EXISTS, 0, {0, 0, 0, 0, 0, 0, 0}},
    {"an update", TV_ENTITY_OP_UPDATE_ENTITY, TV_WATCH_CHANGED, 0, {0, 1, 0, 500, 0, 0, 0}},
    {"a delete", TV_ENTITY_OP_DELETE_ENTITY, TV_WATCH_DELETED, 0, {0, 0, 1, 0, 0, 0, 0}},
    {"another ETag", TV_ENTITY_OP_MERGE_ENTITY, TV_WATCH_CONFLICT, 0, {0, 0, 0, 0, 0, 1, 0}},
    {"refused", TV_ENTITY_OP_MERGE_ENTITY, TV_WATCH_REFUSED, 0, {0, 0, 0, 0, 0, 0, 0}},
    {"throttled",
     TV_ENTITY_OP_MERGE_ENTITY,
     TV_WATCH_REFUSED,
     TV_WATCH_THROTTLED_PARTITION,
     {0, 0, 0, 0, 0, 0, 1}},
};

static tv_traffic *traffic;

static int set_up_traffic(void **state)
{
    traffic =
        tv_traffic_open(&(tv_traffic_options){.shard_count = 2, .now_minute = START}, NULL, 0);
    set_up(state);
    tv_watch_free(watch);
    watch = tv_watch_new(&(tv_watch_options){
        .shard_count = 2, .samples_all = true, .is_clock_manual = true, .traffic = traffic});
    table = tv_watch_table(watch, TV_LIT("acct"), TV_LIT("People"), 1);
    return 0;
}

static int tear_down_traffic(void **state)
{
    tear_down(state);
    tv_traffic_free(traffic);
    return 0;
}

#define WITH_TRAFFIC(name) cmocka_unit_test_setup_teardown(name, set_up_traffic, tear_down_traffic)

static void check_sums_of(int64_t id, uint32_t minute, const uint64_t want[TV_MEASURES])
{
    tv_view_query query = {.account = TV_LIT("acct"),
                           .table_id = id,
                           .grain = TV_GRAIN_MINUTE,
                           .from = minute,
                           .to = minute + 1,
                           .buckets_max = 1,
                           .measures = (1u << TV_MEASURES) - 1};
    tv_view view;

    CHECK_OK(tv_traffic_close_minute(traffic, minute));
    CHECK_OK(tv_traffic_read(traffic, &query, &view));
    for (int k = 0; k < TV_MEASURES; k++)
        CHECK_INT(tv_view_cell(&view, (tv_traffic_measure)k, 0, 0), want[k]);
    tv_view_done(&view);
}

static void check_sums(uint32_t minute, const uint64_t want[TV_MEASURES])
{
    check_sums_of(1, minute, want);
}

TEST(each_entity_counts_at_its_key)
{
    uint32_t minute = START;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_watch_key key = {.key = TV_LIT("p\x01r"),
                            .partition_len = 1,
                            .op = rows[i].op,
                            .outcome = rows[i].outcome,
                            .bytes = 500};
        tv_watch_event event = event_of((tv_entity_op)rows[i].op, 200);
        static const uint64_t none[TV_MEASURES];

        t_row = rows[i].what;
        event.throttle = rows[i].throttle;
        event.keys = &key;
        event.key_count = 1;
        record(&event);
        check_sums(minute++, rows[i].want);
        event.client.is_own_tool = true;
        record(&event);
        check_sums(minute++, none);
    }
}

TEST(a_page_is_divided_between_the_buckets_it_goes_through)
{
    static const uint64_t want[TV_MEASURES] = {100, 0, 0, 40000, 1003, 0, 0};
    tv_watch_event page = query_of("", TV_PLAN_TABLE, 1003, 100);
    char text[16];
    uint32_t minute = START;

    /* Many buckets, by some minutes of reads. */
    for (; minute < START + 8; minute++) {
        for (int i = 0; i < 1000; i++) {
            snprintf(text, sizeof text, "%03d", i);
            get(text, "");
        }
        tv_watch_fold(watch);
        CHECK_OK(tv_traffic_close_minute(traffic, minute));
    }
    CHECK(tv_traffic_read_usage(traffic).buckets > 16);
    page.bytes_out = 40000;
    page.query.first_looked = TV_LIT("100\x01");
    page.query.last_looked = TV_LIT("799\x01");
    page.query.first_key = TV_LIT("300\x01");
    page.query.last_key = TV_LIT("301\x01");
    record(&page);
    check_sums(minute, want);

    tv_view_query query = {.account = TV_LIT("acct"),
                           .table_id = 1,
                           .grain = TV_GRAIN_MINUTE,
                           .from = minute,
                           .to = minute + 1,
                           .buckets_max = 512,
                           .measures = 1 << TV_MEASURE_SCANNED};
    tv_view view;
    size_t low, high;

    CHECK_OK(tv_traffic_read(traffic, &query, &view));
    low = tv_axis_find(view.axis, TV_LIT("100\x01"));
    high = tv_axis_find(view.axis, TV_LIT("799\x01"));
    CHECK(high > low + 4);
    for (size_t i = 0; i < view.axis->count; i++) {
        uint64_t part = 1003 / (high - low + 1),
                 got = tv_view_cell(&view, TV_MEASURE_SCANNED, 0, i);

        if (i < low || i > high)
            CHECK_INT(got, 0);
        else
            CHECK(got == part || got == part + 1);
    }
    tv_view_done(&view);
}

TEST(a_query_that_was_throttled_before_it_had_a_plan_has_no_key)
{
    static const uint64_t none[TV_MEASURES], one[TV_MEASURES] = {[TV_MEASURE_THROTTLED] = 1};
    tv_watch_event page = query_of("", TV_PLAN_TABLE, 0, 0);

    page.throttle = TV_WATCH_THROTTLED_ACCOUNT;
    record(&page);
    check_sums(START, none);
    page.query.from = TV_LIT("");
    record(&page);
    check_sums(START + 1, one);
}

/* What happens after a drop belongs to the next table of that name, whoever hears of it late. */
TEST(a_table_that_was_made_again_has_traffic_of_its_own)
{
    static const uint64_t one[TV_MEASURES] = {1, 0, 0, 100}, two[TV_MEASURES] = {2, 0, 0, 200},
                          none[TV_MEASURES];

    get("p", "r");
    CHECK_INT(tv_watch_table(watch, TV_LIT("acct"), TV_LIT("people"), 2), table);
    get("p", "r");
    tv_watch_drop_table(watch, table, 1);
    get("p", "r");
    check_sums_of(1, START, one);
    check_sums_of(2, START, two);
    CHECK_INT(tv_traffic_read_usage(traffic).tables, 2);
    tv_watch_fold(watch);
    check_sums_of(1, START + 1, none);
    CHECK_INT(tv_traffic_read_usage(traffic).tables, 1);

    tv_watch_drop_table(watch, table, 2);
    get("p", "r");
    tv_watch_fold(watch);
    check_sums_of(2, START + 2, none);
    CHECK_INT(tv_traffic_read_usage(traffic).tables, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TRAFFIC(each_entity_counts_at_its_key),
        WITH_TRAFFIC(a_page_is_divided_between_the_buckets_it_goes_through),
        WITH_TRAFFIC(a_query_that_was_throttled_before_it_had_a_plan_has_no_key),
        WITH_TRAFFIC(a_table_that_was_made_again_has_traffic_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
