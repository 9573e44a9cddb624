/*
 * Ranges under load: two nodes write through their engines, the leader splits what is busy, merges
 * what is quiet, and says why it does not.  An operation takes as long as the test says: the
 * monotonic clock skips that time.
 */
#include "balancer_world.h"

#include "base/clock.h"

enum { ROWS_PER_OP = 130, OPS_PER_PASS = 32, PARTITIONS = 32, OP_MS = 4 * PASS / OPS_PER_PASS };

/* The second node, which does not lead. */
typedef struct load {
    world w;
    tv_pool *pool;
    tv_engine *engine;
    tv_balancer *balancer;
    int next; /* partition */
} load;

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static size_t two_nodes(void *ctx, tv_arena *arena, tv_slice **ret_incarnations)
{
    (void)ctx;
    *ret_incarnations = tv_arena_alloc(arena, 2 * sizeof **ret_incarnations);
    (*ret_incarnations)[0] = TV_LIT("n1");
    (*ret_incarnations)[1] = TV_LIT("n2");
    return 2;
}

static bool is_slow;

/* Before each change; those of rows take their time. */
static void on_change(void *ctx, tv_pool *client, const tv_pool_change *change)
{
    (void)ctx;
    (void)client;
    if (is_slow && strncmp(change->object, "tv.R.", 5) == 0)
        tv_clock_skip_ns(OP_MS * INT64_C(1000000));
}

static void begin_load(load *l)
{
    tv_balancer_options options = {.has_no_thread = true, .live_nodes = two_nodes, .ctx = &l->w};
    char text[200];

    *l = (load){.next = 0};
    begin(&l->w);
    fake_on_change(l->w.cluster, on_change, NULL);
    tv_balancer_free(l->w.balancer);
    options.pool = l->w.pool;
    options.maps = tv_rados_maps(l->w.engine);
    options.incarnation = TV_LIT("n1");
    options.is_leader = is_leader;
    l->w.balancer = tv_balancer_new(&options);

    l->pool = fake_client_new(l->w.cluster);
    CHECK_OK(tv_rados_engine_open(&(tv_rados_options){.pool = l->pool, .has_no_keeper = true},
                                  &l->engine, text, sizeof text));
    options.pool = l->pool;
    options.maps = tv_rados_maps(l->engine);
    options.incarnation = TV_LIT("n2");
    options.is_leader = never;
    l->balancer = tv_balancer_new(&options);
}

static void end_load(load *l)
{
    tv_balancer_free(l->balancer);
    tv_engine_close(l->engine);
    l->pool->ops->close(l->pool);
    end(&l->w);
}

static void pass_both(load *l)
{
    l->w.now_ms += PASS;
    tv_balancer_pass(l->balancer, l->w.now_ms);
    tv_balancer_pass(l->w.balancer, l->w.now_ms);
}

/* The same rows of a partition again and again: a range does not grow by it. */
static void write_partition(tv_engine *engine, int number, int rows)
{
    tv_write_batch batch = {0};
    tv_slice partition, key;
    char name[16];
    tv_arena arena;

    tv_arena_init(&arena);
    snprintf(name, sizeof name, "p%05d", number);
    CHECK_OK(tv_key_partition(&arena, TV_LIT("acct"), 7, tv_slice_of(name), &partition));
    for (int i = 0; i < rows; i++) {
        char row[16];

        snprintf(row, sizeof row, "%06d", i);
        CHECK_OK(tv_key_row(&arena, partition, tv_slice_of(row), &key));
        tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, key, TV_LIT("value")});
    }
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
    tv_arena_done(&arena);
}

typedef enum pattern { EVEN, HOT, APPENDING } pattern;

/* What clients write between two passes, half of it through each node; then the passes. */
static void write_and_pass(load *l, pattern how)
{
    is_slow = true;
    for (int i = 0; i < OPS_PER_PASS; i++) {
        int number = how == EVEN ? i % PARTITIONS : how == HOT && i % 4 ? 5 : l->next;

        write_partition(i % 2 ? l->engine : l->w.engine, number, ROWS_PER_OP);
        l->next += how == APPENDING;
    }
    is_slow = false;
    pass_both(l);
}

static bool metrics_have(load *l, const char *text)
{
    tv_buf out = TV_BUF_EMPTY;
    bool is_there;

    tv_balancer_write_metrics(l->w.balancer, &out);
    is_there = memmem(out.data, out.len, text, strlen(text)) != NULL;
    tv_buf_done(&out);
    return is_there;
}

TEST(busy_ranges_are_split_up_to_four_for_each_osd_and_merged_when_all_is_quiet)
{
    load l;
    int rows;

    begin_load(&l);
    fake_set_osd_count(l.w.cluster, 1);
    for (int i = 0; i < 40; i++)
        write_and_pass(&l, EVEN);
    CHECK_INT(count_ranges(&l.w), 4);
    CHECK(status_has(&l.w, "\"op\":\"split\""));
    CHECK(status_has(&l.w, "\"reason\":\"writes\""));
    CHECK(status_has(&l.w, "\"busy_percent\":100"));
    CHECK(metrics_have(&l, "tavola_range_splits_total{reason=\"writes\"} 3\n"));

    /* One more OSD: more ranges pay. */
    fake_set_osd_count(l.w.cluster, 2);
    for (int i = 0; i < 40 && count_ranges(&l.w) < 6; i++)
        write_and_pass(&l, EVEN);
    CHECK_INT(count_ranges(&l.w), 6);

    /* Hours of a write now and then, one for each doubling, and they are one again. */
    rows = count_rows(&l.w);
    for (int i = 0; i < 6 * HOUR / PASS && count_ranges(&l.w) > 1; i++) {
        if (i % 12 == 0)
            write_partition(l.engine, i / 12 % PARTITIONS, 1);
        pass_both(&l);
    }
    CHECK_INT(count_ranges(&l.w), 1);
    CHECK_INT(count_rows(&l.w), rows);
    CHECK_INT(rows, PARTITIONS * ROWS_PER_OP);
    CHECK(status_has(&l.w, "\"op\":\"merge\""));
    CHECK(status_has(&l.w, "\"reason\":\"small\""));
    CHECK(metrics_have(&l, "tavola_range_merges_total 5\n"));
    CHECK(metrics_have(&l, "tavola_range_pause_ms_count{} 10\n"));
    end_load(&l);
}

TEST(a_hot_partition_is_not_split_off)
{
    load l;

    begin_load(&l);
    write_partition(l.engine, 9, 10);
    for (int i = 0; i < 6; i++)
        write_and_pass(&l, HOT);
    CHECK_INT(count_ranges(&l.w), 1);
    CHECK(status_has(&l.w, "\"refused\":\"hot_partition\""));
    CHECK(metrics_have(&l, "tavola_range_refused_total{reason=\"hot_partition\"} 1\n"));
    end_load(&l);
}

TEST(a_range_that_is_appended_to_is_not_split_for_its_load)
{
    load l;

    begin_load(&l);
    /* Not busy for four minutes: a row every ten seconds or so, each in a partition of its own. */
    for (int minute = 0; minute < 5; minute++) {
        for (int i = 0; i < 20; i++)
            write_partition(i % 2 ? l.engine : l.w.engine, l.next++, 1);
        for (int i = 0; i < MINUTE / PASS; i++) {
            tv_clock_skip_ns(PASS * INT64_C(1000000));
            pass_both(&l);
        }
    }
    CHECK_INT(count_ranges(&l.w), 1);
    for (int i = 0; i < 6; i++)
        write_and_pass(&l, APPENDING);
    CHECK_INT(count_ranges(&l.w), 1);
    CHECK(status_has(&l.w, "\"refused\":\"append\""));
    end_load(&l);
}

TEST(a_range_that_was_not_split_for_its_load_is_split_when_it_is_too_large)
{
    load l;

    begin_load(&l);
    for (int i = 0; i < 6; i++)
        write_and_pass(&l, HOT);
    CHECK(status_has(&l.w, "\"refused\":\"hot_partition\""));
    write_partitions(&l.w, 51, 1000, true);
    for (int i = 0; i < 6; i++)
        pass_both(&l);
    CHECK_INT(count_ranges(&l.w), 2);
    end_load(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            busy_ranges_are_split_up_to_four_for_each_osd_and_merged_when_all_is_quiet),
        cmocka_unit_test(a_hot_partition_is_not_split_off),
        cmocka_unit_test(a_range_that_is_appended_to_is_not_split_for_its_load),
        cmocka_unit_test(a_range_that_was_not_split_for_its_load_is_split_when_it_is_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
