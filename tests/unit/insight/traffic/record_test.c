/* What each kind of request counts as. */
#include <string.h>

#include "check.h"
#include "insight/traffic/record.h"

enum { START = 29700000 };

static const struct {
    const char *what;
    uint8_t op, outcome, throttle;
    uint64_t want[TV_MEASURES]; /* reads, writes, deletes, bytes, scanned, conflicts, throttled */
} rows[] = {
    {"a point read", TV_ENTITY_OP_QUERY_ENTITY, TV_WATCH_FOUND, 0, {1, 0, 0, 500, 0, 0, 0}},
    {"one that misses", TV_ENTITY_OP_QUERY_ENTITY, TV_WATCH_MISSING, 0, {1, 0, 0, 0, 0, 0, 0}},
    {"an insert", TV_ENTITY_OP_INSERT_ENTITY, TV_WATCH_CREATED, 0, {0, 1, 0, 500, 0, 0, 0}},
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

static void check_sums(tv_traffic *traffic, uint32_t minute, const uint64_t want[TV_MEASURES])
{
    tv_view_query query = {.account = TV_LIT("a"),
                           .table_id = 1,
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

TEST(each_entity_counts_at_its_key)
{
    tv_traffic_options options = {.shard_count = 1, .now_minute = START};
    tv_traffic *traffic = tv_traffic_open(&options, NULL, 0);
    tv_traffic_table *table = tv_traffic_table_get(traffic, TV_LIT("a"), 1);
    uint32_t minute = START;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_watch_key key = {.key = TV_LIT("p\x01r"),
                            .partition_len = 1,
                            .op = rows[i].op,
                            .outcome = rows[i].outcome,
                            .bytes = 500};
        tv_watch_event event = {
            .op = rows[i].op, .throttle = rows[i].throttle, .keys = &key, .key_count = 1};
        static const uint64_t none[TV_MEASURES];

        t_row = rows[i].what;
        tv_traffic_record(tv_traffic_shard_at(traffic, 0), table, &event);
        check_sums(traffic, minute++, rows[i].want);
        event.client.is_own_tool = true;
        tv_traffic_record(tv_traffic_shard_at(traffic, 0), table, &event);
        check_sums(traffic, minute++, none);
    }
    tv_traffic_table_unref(table);
    tv_traffic_free(traffic);
}

TEST(a_page_is_divided_between_the_buckets_it_goes_through)
{
    tv_traffic_options options = {.shard_count = 1, .now_minute = START};
    tv_traffic *traffic = tv_traffic_open(&options, NULL, 0);
    tv_traffic_table *table = tv_traffic_table_get(traffic, TV_LIT("a"), 1);
    static const uint64_t want[TV_MEASURES] = {100, 0, 0, 40000, 1003, 0, 0};
    tv_watch_event page = {.op = TV_ENTITY_OP_QUERY_ENTITIES,
                           .bytes_out = 40000,
                           .query = {.examined = 1003,
                                     .returned = 100,
                                     .first_looked = TV_LIT("100\x01"),
                                     .last_looked = TV_LIT("799\x01"),
                                     .first_key = TV_LIT("300\x01"),
                                     .last_key = TV_LIT("301\x01")}};
    char text[16];
    uint32_t minute = START;

    /* Many buckets, by some minutes of reads. */
    for (; minute < START + 8; minute++) {
        for (int i = 0; i < 1000; i++) {
            tv_watch_key key = {.key = {text, 4}, .op = TV_ENTITY_OP_QUERY_ENTITY};
            tv_watch_event read = {.op = TV_ENTITY_OP_QUERY_ENTITY, .keys = &key, .key_count = 1};

            snprintf(text, sizeof text, "%03d\x01", i);
            tv_traffic_record(tv_traffic_shard_at(traffic, 0), table, &read);
            tv_traffic_sample(traffic, table, key.key, 1);
        }
        CHECK_OK(tv_traffic_close_minute(traffic, minute));
    }
    CHECK(tv_traffic_read_usage(traffic).buckets > 16);
    tv_traffic_record(tv_traffic_shard_at(traffic, 0), table, &page);
    check_sums(traffic, minute, want);

    tv_view_query query = {.account = TV_LIT("a"),
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
    tv_traffic_table_unref(table);
    tv_traffic_free(traffic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_entity_counts_at_its_key),
        cmocka_unit_test(a_page_is_divided_between_the_buckets_it_goes_through),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
