/* The leader's passes over a pool in memory: what the policy wants is done, and is to be seen. */
#include "balancer_world.h"
#include "base/point.h"

#include "base/clock.h"
#include "base/json.h"
#include "server/cluster/stats.h"
#include "store/engine/rados/ranges.h"

TEST(a_range_that_has_grown_too_large_is_split_in_the_middle)
{
    world w;
    tv_routes routes;
    tv_arena arena;

    begin(&w);
    write_partitions(&w, 51, 1000, true);
    for (int i = 0; i < 6; i++)
        pass(&w);
    CHECK_INT(count_ranges(&w), 2);
    CHECK_INT(count_rows(&w), 51000);
    tv_arena_init(&arena);
    CHECK_OK(tv_routes_load_all(w.pool, &arena, &routes));
    CHECK(memmem(routes.ranges[1].start.data, routes.ranges[1].start.len, "p02", 3) != NULL);
    CHECK_INT(routes.intent_count, 0);
    tv_arena_done(&arena);
    CHECK(status_has(&w, "\"op\":\"split\""));
    CHECK(status_has(&w, "\"reason\":\"size\""));

    /* And stays as it is, and its leftovers go. */
    for (int i = 0; i < 10; i++)
        pass(&w);
    CHECK_INT(count_ranges(&w), 2);
    CHECK(!status_has(&w, "dirty"));
    end(&w);
}

TEST(a_node_that_does_not_lead_changes_nothing)
{
    world w;

    begin(&w);
    w.is_leader = false;
    write_partitions(&w, 51, 1000, true);
    for (int i = 0; i < 6; i++)
        pass(&w);
    CHECK_INT(count_ranges(&w), 1);
    end(&w);
}

TEST(a_single_partition_is_not_split_and_it_is_said_why)
{
    world w;

    begin(&w);
    write_rows(&w, "all", 0, 51000, true);
    for (int i = 0; i < 6; i++)
        pass(&w);
    CHECK_INT(count_ranges(&w), 1);
    CHECK(status_has(&w, "\"refused\":\"single_partition\""));
    end(&w);
}

TEST(ranges_that_have_become_small_are_merged_after_an_hour)
{
    world w;
    int64_t split_ms;

    begin(&w);
    write_partitions(&w, 51, 1000, true);
    for (int i = 0; i < 6 && count_ranges(&w) == 1; i++)
        pass(&w);
    CHECK_INT(count_ranges(&w), 2);
    split_ms = w.now_ms;
    write_partitions(&w, 51, 900, false);
    while (w.now_ms < split_ms + HOUR - MINUTE)
        pass(&w);
    CHECK_INT(count_ranges(&w), 2);
    while (w.now_ms < split_ms + HOUR + 2 * MINUTE)
        pass(&w);
    CHECK_INT(count_ranges(&w), 1);
    CHECK_INT(count_rows(&w), 5100);
    end(&w);
}

/* Another node takes over: what it knows of the ranges' ages is in their history. */
TEST(a_new_leader_merges_ranges_that_are_old)
{
    tv_slice cut;
    tv_arena arena;
    tv_range_result result;
    world w;

    begin(&w);
    write_partitions(&w, 10, 10, true);
    tv_arena_init(&arena);
    CHECK_OK(tv_key_partition(&arena, TV_LIT("acct"), 7, TV_LIT("p005"), &cut));
    CHECK_OK(
        tv_range_split(&(tv_range_changer){w.pool, TV_LIT("n3")}, cut, TV_LIT("test"), &result));
    tv_arena_done(&arena);
    tv_clock_shift(2 * (int64_t)HOUR * (TV_TICKS_PER_SECOND / 1000));
    for (int i = 0; i < 11 * MINUTE / PASS; i++) /* it must be quiet for ten minutes */
        pass(&w);
    tv_clock_shift(0);
    CHECK_INT(count_ranges(&w), 1);
    CHECK_INT(count_rows(&w), 100);
    end(&w);
}

TEST(rows_are_shown_as_they_are_after_a_split)
{
    world w;

    begin(&w);
    write_partitions(&w, 60, 1000, true);
    for (int i = 0; i < 6 && count_ranges(&w) == 1; i++)
        pass(&w);
    CHECK_INT(count_ranges(&w), 2);
    CHECK(!status_has(&w, "\"rows\":60000,\"bytes\"")); /* in the pass that has split it */
    CHECK(status_has(&w, "\"measured\":true,\"rows\":30000,"));
    CHECK(!status_has(&w, "\"measured\":false"));
    end(&w);
}

/* Wait for a job; its error, "" if there is none. */
static void force(world *w, tv_force_op op, const char *range, const char *key, const char *error)
{
    char text[100];
    uint64_t job;

    CHECK(tv_balancer_force(w->balancer, op, tv_slice_of(range), tv_slice_of(key), &job));
    snprintf(text, sizeof text, "\"job\":%llu,\"state\":\"done\",\"error\":\"%s\"",
             (unsigned long long)job, error);
    for (int i = 0; i < 3000 && !status_has(w, text); i++)
        w->pool->ops->pause(w->pool, 10);
    CHECK(status_has(w, text));
}

TEST(rows_are_shown_as_they_are_after_a_forced_split)
{
    world w;

    begin(&w);
    write_partitions(&w, 10, 10, true);
    pass(&w);
    CHECK(status_has(&w, "\"measured\":true,\"rows\":100,"));
    force(&w, TV_FORCE_SPLIT, "", "racct%0100000007p003%01", "");
    pass(&w);
    CHECK(status_has(&w, "\"measured\":true,\"rows\":30,"));
    CHECK(status_has(&w, "\"measured\":true,\"rows\":70,"));
    force(&w, TV_FORCE_MERGE, "racct%0100000007p003%01", "", "");
    pass(&w);
    CHECK(status_has(&w, "\"measured\":true,\"rows\":100,"));
    end(&w);
}

TEST(an_operator_can_split_and_merge_and_fence)
{
    world w;

    begin(&w);
    write_partitions(&w, 10, 10, true);
    force(&w, TV_FORCE_SPLIT, "", "racct%0100000007p005%01", "");
    CHECK_INT(count_ranges(&w), 2);
    force(&w, TV_FORCE_SPLIT, "racct%0100000007p005%01", "", "");
    CHECK_INT(count_ranges(&w), 3);
    force(&w, TV_FORCE_SPLIT, "", "racct%0100000007p005%01", "NOT_FOUND");
    force(&w, TV_FORCE_SPLIT, "", "not coded\x01", "OUT_OF_RANGE");
    force(&w, TV_FORCE_FENCE, "r", "s", "");
    force(&w, TV_FORCE_SPLIT, "", "racct%0100000008x%01", "");
    CHECK(status_has(&w, "\"start\":\"r/acct/00000008x\"")); /* no catalogue knows it */
    force(&w, TV_FORCE_MERGE, "racct%0100000008x%01", "", "");
    force(&w, TV_FORCE_MOVE, "racct%0100000007p005%01", "n1", "");
    force(&w, TV_FORCE_MERGE, "racct%0100000007p005%01", "", "");
    CHECK_INT(count_ranges(&w), 2);
    force(&w, TV_FORCE_COLLECT, "", "", "");
    CHECK(!status_has(&w, "dirty"));
    CHECK_INT(count_rows(&w), 100);
    end(&w);
}

/* It may be the leader that has died, and its lock outlives it. */
TEST(what_a_dead_node_has_begun_is_ended_by_one_that_does_not_lead)
{
    world w;

    begin(&w);
    write_partitions(&w, 10, 10, true);
    tv_points_enable();
    CHECK(tv_point_set(TV_LIT("split.3"), TV_POINT_FAIL, 0, 1));
    force(&w, TV_FORCE_SPLIT, "", "racct%0100000007p005%01", "STOPPED");
    tv_point_clear();
    w.is_leader = false;
    pass(&w);
    CHECK(!status_has(&w, "\"intents\":[]"));
    for (int i = 0; i < 10 * SECOND / PASS; i++)
        pass(&w);
    CHECK(status_has(&w, "\"intents\":[]"));
    CHECK_INT(count_ranges(&w), 1);
    CHECK_INT(count_rows(&w), 100);
    end(&w);
}

/* --- what nobody names --- */

static void make_object(world *w, const char *name, const char *epoch)
{
    const tv_pool_step steps[] = {
        {TV_POOL_CREATE, TV_NONE, TV_NONE},
        {TV_POOL_SET_ATTR, TV_RANGE_WRITE_EPOCH, tv_slice_of(epoch)},
    };

    CHECK_OK(tv_pool_change_now(w->pool, name, steps, 2, NULL));
}

TEST(objects_that_nobody_names_are_removed_or_told_of)
{
    world w;

    begin(&w);
    write_partitions(&w, 10, 10, true);
    force(&w, TV_FORCE_SPLIT, "", "", "");
    pass(&w);
    make_object(&w, "tv.R.c900", "Bc900"); /* as a split makes it */
    make_object(&w, "tv.R.c901", "c901");  /* as nobody does */
    make_object(&w, "tv.stats.n7", "-");
    make_object(&w, "tv.stats.n1x", "-");
    force(&w, TV_FORCE_CHECK, "", "", "");
    CHECK(status_has(&w, "\"removed\":3,\"strays\":[\"tv.R.c901\"]"));
    CHECK_INT(fake_object_count(w.cluster, "tv.R."), 3);
    CHECK_INT(fake_object_count(w.cluster, "tv.stats."), 1);
    CHECK_INT(count_rows(&w), 100);

    /* The leader looks by itself, an hour later. */
    make_object(&w, "tv.R.c902", "Bc902");
    for (int i = 0; i <= (HOUR + MINUTE) / PASS; i++)
        pass(&w);
    CHECK_INT(fake_object_count(w.cluster, "tv.R.c902"), 0);
    CHECK(status_has(&w, "\"removed\":1,\"strays\":[\"tv.R.c901\"]"));
    end(&w);
}

/* Before a split makes its object, others give the split up and tidy up after it. */
static void overtake(void *ctx, tv_pool *client, const tv_pool_change *change)
{
    world *w = ctx;
    tv_range_changer other = {w->pool, TV_LIT("n2")};

    if (client == w->pool || strncmp(change->object, "tv.R.", 5) != 0 ||
        change->steps[0].kind != TV_POOL_CREATE)
        return;
    CHECK_OK(tv_range_recover(&other, TV_LIT("racct")));
    CHECK_OK(tv_range_collect(&other, INT64_MAX));
}

TEST(what_a_split_makes_that_was_given_up_is_removed)
{
    world w;
    tv_pool *sleeper;
    tv_range_result result;
    tv_slice cut;
    tv_arena arena;

    begin(&w);
    tv_arena_init(&arena);
    write_partitions(&w, 10, 10, true);
    CHECK_OK(tv_key_partition(&arena, TV_LIT("acct"), 7, TV_LIT("p005"), &cut));
    sleeper = fake_client_new(w.cluster);
    fake_on_change(w.cluster, overtake, &w);
    CHECK_ERR(
        tv_range_split(&(tv_range_changer){sleeper, TV_LIT("n3")}, cut, TV_LIT("test"), &result),
        TV_ERR_CONFLICT);
    fake_on_change(w.cluster, NULL, NULL);
    sleeper->ops->close(sleeper);
    CHECK_INT(fake_object_count(w.cluster, "tv.R."), 2);
    force(&w, TV_FORCE_CHECK, "", "", "");
    CHECK_INT(fake_object_count(w.cluster, "tv.R."), 1);
    CHECK(status_has(&w, "\"removed\":1,\"strays\":[]"));
    CHECK_INT(count_ranges(&w), 1);
    CHECK_INT(count_rows(&w), 100);
    tv_arena_done(&arena);
    end(&w);
}

TEST(a_node_tells_its_own_name_before_its_first_beat)
{
    world w;

    begin(&w);
    CHECK(status_has(&w, "\"version\":0") && status_has(&w, "\"self\":\"n1\""));
    end(&w);
}

TEST(the_status_is_json)
{
    static const char *const members[] = {"version", "level", "leader", "self",    "force",  "pool",
                                          "check",   "nodes", "ranges", "intents", "history"};
    tv_buf out = TV_BUF_EMPTY;
    tv_json_reader reader;
    tv_json_member member;
    tv_arena arena;
    size_t count = 0;
    world w;

    begin(&w);
    write_partitions(&w, 10, 10, true);
    force(&w, TV_FORCE_SPLIT, "", "", "");
    pass(&w);
    pass(&w);
    tv_arena_init(&arena);
    tv_balancer_write_status(w.balancer, &out, true);
    tv_json_reader_init(&reader, &arena, tv_buf_slice(&out));
    while (tv_json_next(&reader, &member))
        CHECK_TEXT(member.name, members[count++]);
    CHECK(!reader.failed);
    CHECK_INT(count, 11);
    CHECK(status_has(&w, "\"leader\":\"n1\""));
    CHECK(status_has(&w, "\"start\":\"acct/Sales/p005\""));
    CHECK(status_has(&w, "\"key\":\"acct/Sales/p005\",\"reason\":\"forced\"")); /* in history */

    /* Not everybody may see keys. */
    out.len = 0;
    count = 0;
    tv_balancer_write_status(w.balancer, &out, false);
    tv_json_reader_init(&reader, &arena, tv_buf_slice(&out));
    while (tv_json_next(&reader, &member))
        CHECK_TEXT(member.name, members[count++]);
    CHECK(!reader.failed);
    CHECK_INT(count, 11);
    CHECK(memmem(out.data, out.len, "\"key\":null,\"reason\":\"forced\"", 28));
    CHECK(!memmem(out.data, out.len, "p005", 4) && !memmem(out.data, out.len, "Sales", 5));

    tv_buf_reset(&out);
    tv_balancer_write_metrics(w.balancer, &out);
    CHECK(memmem(out.data, out.len, "tavola_range_splits_total{reason=\"forced\"} 1\n", 45));
    tv_buf_done(&out);
    tv_arena_done(&arena);
    end(&w);
}

TEST(figures_come_back_as_they_were)
{
    tv_slice partitions[] = {TV_LIT("racct\x01"
                                    "00000007a b\x01"),
                             TV_LIT("-")};
    tv_stats_row row = {.object = TV_LIT("tv.R.1"),
                        .read_keys = 1,
                        .read_bytes = 2,
                        .write_ops = 3,
                        .write_rows = 4,
                        .write_bytes = 5,
                        .write_ns = 6,
                        .rows_more = -7,
                        .partitions = partitions,
                        .partition_count = 2};
    tv_stats_row back;
    tv_arena arena;

    tv_arena_init(&arena);
    CHECK_OK(tv_stats_decode(&arena, row.object, tv_stats_encode(&arena, &row), &back));
    CHECK_INT(back.read_keys, 1);
    CHECK_INT(back.write_ns, 6);
    CHECK_INT(back.rows_more, -7);
    CHECK_INT(back.partition_count, 2);
    CHECK_SLICE(back.partitions[0], partitions[0]);
    CHECK_SLICE(back.partitions[1], partitions[1]);
    CHECK_ERR(tv_stats_decode(&arena, row.object, TV_LIT("1 2 3"), &back), TV_ERR_CORRUPT);
    tv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_that_has_grown_too_large_is_split_in_the_middle),
        cmocka_unit_test(a_node_that_does_not_lead_changes_nothing),
        cmocka_unit_test(a_single_partition_is_not_split_and_it_is_said_why),
        cmocka_unit_test(ranges_that_have_become_small_are_merged_after_an_hour),
        cmocka_unit_test(a_new_leader_merges_ranges_that_are_old),
        cmocka_unit_test(rows_are_shown_as_they_are_after_a_split),
        cmocka_unit_test(rows_are_shown_as_they_are_after_a_forced_split),
        cmocka_unit_test(an_operator_can_split_and_merge_and_fence),
        cmocka_unit_test(what_a_dead_node_has_begun_is_ended_by_one_that_does_not_lead),
        cmocka_unit_test(objects_that_nobody_names_are_removed_or_told_of),
        cmocka_unit_test(what_a_split_makes_that_was_given_up_is_removed),
        cmocka_unit_test(a_node_tells_its_own_name_before_its_first_beat),
        cmocka_unit_test(the_status_is_json),
        cmocka_unit_test(figures_come_back_as_they_were),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
