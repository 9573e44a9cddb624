/* What the cluster engine promises beyond the contract: ranges, epochs, clocks, groups of reads. */
#include <semaphore.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/log.h"
#include "base/point.h"
#include "fake_pool.h"
#include "fixture.h"
#include "store/engine/instant.h"
#include "store/engine/key.h"
#include "store/engine/rados/internal.h"
#include "store/engine/txn.h"

static const tv_slice cuts[] = {{"h", 1}, {"p", 1}};

static fake_cluster *cluster;
static tv_pool *pool, *other_pool;
static tv_engine *engine, *other; /* two nodes; the store has ranges "", "h" and "p" */
static tv_arena arena;

static tv_engine *open_node(tv_pool *by, int reserve_percent)
{
    tv_rados_options options = {.pool = by,
                                .cuts = cuts,
                                .cut_count = 2,
                                .reserve_percent = reserve_percent,
                                .has_no_keeper = true};
    tv_engine *opened = NULL;
    char text[300] = "";

    if (tv_rados_engine_open(&options, &opened, text, sizeof text) != TV_OK)
        CHECK_FAIL("%s", text);
    return opened;
}

static int set_up_with(const fake_options *options)
{
    tv_log_set_level(TV_LOG_OFF);
    tv_arena_init(&arena);
    cluster = fake_cluster_new(options);
    pool = fake_client_new(cluster);
    other_pool = fake_client_new(cluster);
    engine = open_node(pool, 0);
    other = open_node(other_pool, 0);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with(NULL);
}

/* A store whose nodes all know that writes may be late. */
static int set_up_late(void **state)
{
    set_up(state);
    CHECK_OK(tv_route_raise_level(pool, TV_ROUTE_LEVEL_LATE));
    tv_engine_close(engine);
    tv_engine_close(other);
    engine = open_node(pool, 0);
    other = open_node(other_pool, 0);
    return 0;
}

static int set_up_threads(void **state)
{
    (void)state;
    return set_up_with(&(fake_options){.is_threaded = true});
}

static int tear_down(void **state)
{
    (void)state;
    tv_engine_close(engine);
    tv_engine_close(other);
    pool->ops->close(pool);
    other_pool->ops->close(other_pool);
    fake_cluster_free(cluster);
    tv_arena_done(&arena);
    return 0;
}

static double metric_value;
static const char *metric_name;

static void take_metric(void *ctx, const char *name, const char *help, double value)
{
    (void)ctx, (void)help;
    if (strcmp(name, metric_name) == 0)
        metric_value = value;
}

static double metric(tv_engine *of, const char *name)
{
    metric_name = name;
    metric_value = -1;
    of->ops->metrics(of, take_metric, NULL);
    return metric_value;
}

static tv_err write_stamped(tv_engine *by, int64_t stamp, tv_change change)
{
    tv_write_batch batch = {.stamp = stamp};

    tv_write_batch_add(&batch, change);
    tv_err err = tv_engine_write(by, &batch);
    tv_write_batch_done(&batch);
    return err;
}

/* Change an attribute of a range's object behind the engines' backs. */
static void set_attr(const char *object, tv_slice name, const char *value)
{
    const tv_pool_step step = {TV_POOL_SET_ATTR, name, tv_slice_of(value)};

    CHECK_OK(tv_pool_change_now(other_pool, object, &step, 1, NULL));
}

/* --- ranges --- */

TEST(a_batch_is_of_one_range)
{
    tv_write_batch batch = {0};

    tv_write_batch_add(&batch, put("a", "1"));
    tv_write_batch_add(&batch, expect_absent("h"));
    CHECK_ERR(tv_engine_write(engine, &batch), TV_ERR_MOVED);
    tv_write_batch_done(&batch);
    CHECK_ROW(engine, "a", "-");

    CHECK(engine->ops->range_of(engine, TV_LIT("a")) == engine->ops->range_of(engine, TV_LIT("g")));
    CHECK(engine->ops->range_of(engine, TV_LIT("a")) != engine->ops->range_of(engine, TV_LIT("h")));
    CHECK(engine->ops->range_of(engine, TV_LIT("z")) == engine->ops->range_of(engine, TV_LIT("p")));
    CHECK_INT(metric(engine, "ranges"), 3);
}

TEST(rows_lie_in_the_object_of_their_range_behind_a_sentinel)
{
    CHECK_OK(WRITE(engine, put("a", "1"), put("b", "")));
    CHECK_OK(WRITE(engine, put("p", "3")));
    CHECK_TEXT(fake_rows_text(cluster, "tv.R.1", &arena), "!=! a=.1 b=. ");
    CHECK_TEXT(fake_rows_text(cluster, "tv.R.2", &arena), "!=! ");
    CHECK_TEXT(fake_rows_text(cluster, "tv.R.3", &arena), "!=! p=.3 ");
    CHECK_SCAN(other, "!", "~", "a=1 b= p=3 ");
}

TEST(leftovers_outside_of_a_range_are_nobodys)
{
    const tv_pool_step left = {TV_POOL_PUT_ROW, TV_LIT("hx"), TV_LIT(".old")};

    CHECK_OK(tv_pool_change_now(pool, "tv.R.1", &left, 1, NULL));
    CHECK_OK(WRITE(engine, put("a", "1")));
    CHECK_OK(WRITE(engine, put("h", "2")));
    CHECK_SCAN(engine, "a", "~", "a=1 h=2 ");
    CHECK_ROW(engine, "hx", "-");
}

TEST(a_row_of_an_unknown_form_is_damage)
{
    const tv_pool_step odd = {TV_POOL_PUT_ROW, TV_LIT("c"), TV_LIT("?value")};
    tv_slice value;
    tv_iter *iter;

    CHECK_OK(tv_pool_change_now(pool, "tv.R.1", &odd, 1, NULL));
    CHECK_ERR(tv_engine_get(engine, TV_READ_ANY, TV_LIT("c"), &arena, &value), TV_ERR_CORRUPT);
    CHECK_OK(tv_engine_iter(engine, TV_LIT("a"), TV_LIT("d"), &iter));
    tv_iter_seek(iter, TV_LIT("a"));
    CHECK(!tv_iter_is_valid(iter));
    CHECK_ERR(tv_iter_status(iter), TV_ERR_CORRUPT);
    tv_iter_free(iter);
}

/* --- many rows at once --- */

TEST(many_rows_are_read_in_one_view)
{
    tv_slice keys[] = {TV_LIT("c"), TV_LIT("a"), TV_LIT("b"), TV_LIT("a"), TV_LIT("x")};
    tv_slice values[5];

    CHECK_OK(WRITE(engine, put("a", "1"), put("c", "")));
    CHECK_OK(engine->ops->get_many(engine, keys, 4, &arena, values));
    CHECK(values[0].data != NULL && values[0].len == 0);
    CHECK_TEXT(values[1], "1");
    CHECK(values[2].data == NULL);
    CHECK_TEXT(values[3], "1");
    CHECK_ERR(engine->ops->get_many(engine, keys, 5, &arena, values), TV_ERR_MOVED);
    CHECK_OK(engine->ops->get_many(engine, keys, 0, &arena, values));
}

/* --- reads in groups --- */

enum { READS = 2000, ROWS = 50 };

typedef struct asked {
    tv_engine_read read;
    tv_arena arena;
    char key[16];
    int row;
} asked;

static tv_mailbox mailbox;
static sem_t mail_has_come;
static int delivered;

static void wake(void *ctx)
{
    (void)ctx;
    sem_post(&mail_has_come);
}

static void deliver(tv_mail *mail)
{
    asked *a = (asked *)mail;
    char want[16];

    snprintf(want, sizeof want, "value %d", a->row);
    if (a->row % 5 == 4)
        CHECK_ERR(a->read.result, TV_ERR_NOT_FOUND);
    else
        CHECK_OK(a->read.result);
    if (a->read.result == TV_OK)
        CHECK_TEXT(a->read.value, want);
    delivered++;
}

static asked *ask(tv_engine *by, int count)
{
    asked *all = tv_calloc((size_t)count, sizeof *all);

    sem_init(&mail_has_come, 0, 0);
    tv_mailbox_init(&mailbox, wake, NULL);
    delivered = 0;
    for (int i = 0; i < count; i++) {
        asked *a = &all[i];

        a->row = i * 7 % ROWS;
        snprintf(a->key, sizeof a->key, "%c%02d", "ahp"[a->row % 3], a -> row);
        tv_arena_init(&a->arena);
        a->read = (tv_engine_read){.mail = {.deliver = deliver},
                                   .reply_to = &mailbox,
                                   .key = tv_slice_of(a->key),
                                   .arena = &a->arena};
        by->ops->read(by, &a->read);
    }
    return all;
}

static void take(asked *all, int count)
{
    while (delivered < count) {
        sem_wait(&mail_has_come);
        tv_mailbox_deliver(&mailbox);
    }
    for (int i = 0; i < count; i++)
        tv_arena_done(&all[i].arena);
    free(all);
    tv_mailbox_done(&mailbox);
    sem_destroy(&mail_has_come);
}

static void put_rows(void)
{
    for (int row = 0; row < ROWS; row++) {
        char key[16], value[16];

        snprintf(key, sizeof key, "%c%02d", "ahp"[row % 3], row);
        snprintf(value, sizeof value, "value %d", row);
        if (row % 5 != 4)
            CHECK_OK(WRITE(engine, put(key, value)));
    }
}

TEST(reads_that_come_together_go_together)
{
    put_rows();
    take(ask(other, READS), READS);
    CHECK_INT(metric(other, "rados_read_keys_total"), READS);
    CHECK(metric(other, "rados_read_ops_total") < READS / 2);
}

/* The balancer goes by what is noted here. */
TEST(reads_of_one_row_are_noted_as_its_partitions)
{
    asked *all = tv_calloc(READS, sizeof *all);
    tv_slice partition, row;

    CHECK_OK(tv_key_partition(&arena, TV_LIT("acct"), 1, TV_LIT("p"), &partition));
    CHECK_OK(tv_key_row(&arena, partition, TV_LIT("r"), &row));
    sem_init(&mail_has_come, 0, 0);
    tv_mailbox_init(&mailbox, wake, NULL);
    delivered = 0;
    for (int i = 0; i < READS; i++) {
        asked *a = &all[i];

        a->row = 4; /* which is not there */
        tv_arena_init(&a->arena);
        a->read = (tv_engine_read){
            .mail = {.deliver = deliver}, .reply_to = &mailbox, .key = row, .arena = &a->arena};
        other->ops->read(other, &a->read);
    }
    take(all, READS);

    tv_map *map = tv_maps_get(tv_rados_maps(other));
    tv_range_lane *lane = tv_map_find(map, row)->lane;
    tv_slice found[TV_SAMPLES_MAX];
    size_t count = tv_samples_read(&lane->samples, &arena, tv_clock_mono_ns() / 1000000, found);

    CHECK(count > 0);
    for (size_t i = 0; i < count; i++)
        CHECK(tv_slice_eq(found[i], partition));
    CHECK_INT(lane->samples.now.rows + lane->samples.last.rows, READS);
    tv_map_unref(map);
}

/* --- a node whose map is old --- */

static tv_err count_look(void *ctx)
{
    ++*(int *)ctx;
    return TV_OK;
}

TEST(what_goes_by_an_old_map_is_sent_again_by_the_new_one)
{
    int looks = 0;

    CHECK_OK(WRITE(engine, put("a", "1"), put("b", "1")));
    tv_rados_set_before_use(engine, count_look, &looks);
    CHECK_OK(other->ops->fence(other, TV_LIT("a"), TV_LIT("b")));
    CHECK_OK(WRITE(engine, expect("a", "1"), put("a", "2")));
    CHECK_INT(looks, 1);
    CHECK_INT(metric(engine, "rados_moved_total"), 1);

    CHECK_OK(other->ops->fence(other, TV_LIT("a"), TV_LIT("b")));
    CHECK_ROW(engine, "a", "2");
    CHECK_INT(looks, 2);

    CHECK_OK(other->ops->fence(other, TV_LIT("a"), TV_LIT("z")));
    CHECK_SCAN(engine, "a", "z", "a=2 b=1 ");
    CHECK_INT(looks, 3);

    CHECK_OK(other->ops->fence(other, TV_LIT("a"), TV_LIT("z")));
    CHECK_OK(tv_engine_drop_range(engine, TV_LIT("a"), TV_LIT("b")));
    CHECK_SCAN(other, "a", "z", "b=1 ");
}

/* The author has decided by catalogues that are old now. */
TEST(a_write_that_was_thought_out_before_a_fence_is_refused)
{
    tv_write_batch batch = {.fences = engine->ops->fences(engine)};

    tv_write_batch_add(&batch, put("a", "1"));
    CHECK_OK(tv_engine_write(engine, &batch));
    CHECK_OK(other->ops->fence(other, TV_LIT("a"), TV_LIT("b")));
    CHECK_ERR(tv_engine_write(engine, &batch), TV_ERR_CONFLICT);
    CHECK_ERR(tv_engine_write(engine, &batch), TV_ERR_CONFLICT);
    batch.fences = engine->ops->fences(engine);
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
}

/* --- a fence that somebody has died over --- */

static tv_err look_at_a(void *ctx)
{
    tv_arena look;
    tv_slice value;
    tv_err err;

    ++*(int *)ctx;
    tv_arena_init(&look);
    err = tv_engine_get(engine, TV_READ_ANY, TV_LIT("a"), &look, &value);
    tv_arena_done(&look);
    return err;
}

static tv_err fenced_write;

static void write_behind_fences(void *ctx)
{
    (void)ctx;
    fenced_write = WRITE(engine, put("a", "2"));
}

/* It closes the very rows that have to be looked at before the map of the one before is used. */
TEST(what_is_looked_at_before_a_map_is_used_may_be_closed_by_a_dead_node)
{
    int looks = 0;

    CHECK_OK(WRITE(engine, put("a", "1")));
    tv_rados_set_before_use(engine, look_at_a, &looks);
    CHECK_OK(other->ops->fence(other, TV_LIT("a"), TV_LIT("b")));
    fake_client_kill_at(other_pool, 3, false); /* intents, epochs; not the map */
    CHECK_ERR(other->ops->fence(other, TV_LIT("a"), TV_LIT("b")), TV_ERR_IO);
    fake_run(cluster, (const fake_actor[]){{write_behind_fences, NULL}}, 1);
    CHECK_OK(fenced_write);
    CHECK_ROW(engine, "a", "2");
    CHECK_INT(looks, 2);
}

TEST(grouped_reads_by_an_old_map_find_their_rows)
{
    put_rows();
    for (int i = 0; i < 5; i++) {
        asked *all = ask(other, READS);

        CHECK_OK(engine->ops->fence(engine, TV_LIT("a"), TV_LIT("z")));
        take(all, READS);
    }
}

/* --- reads that are refused now and then --- */

static sem_t router_waits, router_goes_on;

static void pause_until_told(tv_pool *by, int ms)
{
    (void)by, (void)ms;
    sem_post(&router_waits);
    sem_wait(&router_goes_on);
}

/* However often that happens: each of them has waited for a moment only. */
TEST(grouped_reads_that_are_refused_for_a_moment_find_their_rows)
{
    const tv_pool_ops *usual = pool->ops;
    tv_pool_ops held = *usual;

    put_rows();
    sem_init(&router_waits, 0, 0);
    sem_init(&router_goes_on, 0, 0);
    held.pause = pause_until_told;
    pool->ops = &held;
    for (int i = 0; i < 1000; i++) {
        set_attr("tv.R.1", TV_RANGE_READ_EPOCH, "other");

        asked *one = ask(engine, 1);

        while (sem_trywait(&router_waits) != 0)
            tv_mailbox_deliver(&mailbox); /* a read that was given up is told here */
        set_attr("tv.R.1", TV_RANGE_READ_EPOCH, "e1");
        sem_post(&router_goes_on);
        take(one, 1);
    }
    pool->ops = usual;
    sem_destroy(&router_goes_on);
    sem_destroy(&router_waits);
}

/* What a merge does: the second range's rows and its part of the map go to the first. */
static void merge_second_into_first(void)
{
    const tv_pool_step take[] = {{TV_POOL_PUT_ROW, TV_LIT("i"), TV_LIT(".moved")},
                                 {TV_POOL_SET_ATTR, TV_RANGE_WRITE_EPOCH, TV_LIT("e9")},
                                 {TV_POOL_SET_ATTR, TV_RANGE_READ_EPOCH, TV_LIT("e9")}};
    const tv_pool_step gone = {.kind = TV_POOL_REMOVE};
    tv_route_change change;
    tv_routes routes;

    CHECK_OK(tv_routes_load(pool, &arena, &routes));
    routes.ranges[0].epoch = TV_LIT("e9");
    CHECK_OK(tv_pool_change_now(pool, "tv.R.1", take, 3, NULL));
    CHECK_OK(tv_pool_change_now(pool, "tv.R.2", &gone, 1, NULL));
    tv_route_change_init(&change, &arena);
    tv_route_change_put(&change, tv_route_key(&arena, TV_ROUTE_RANGE, TV_LIT("")),
                        tv_route_encode(&arena, &routes.ranges[0]));
    tv_route_change_delete(&change, tv_route_key(&arena, TV_ROUTE_RANGE, TV_LIT("h")));
    CHECK_OK(tv_route_change_commit(&change, pool, routes.version));
}

TEST(an_object_that_is_gone_is_looked_for_in_the_map)
{
    CHECK_OK(WRITE(engine, put("i", "1")));
    merge_second_into_first();
    CHECK_ROW(other, "i", "moved");
    CHECK_OK(WRITE(engine, expect("i", "moved"), put("g", "1"), put("j", "1")));
    CHECK_SCAN(engine, "a", "z", "g=1 i=moved j=1 ");
    CHECK_INT(metric(engine, "ranges"), 2);
}

/* A split between two pages of a scan: each row is met once. */
TEST(a_scan_goes_on_where_its_rows_are)
{
    tv_iter *iter;
    char key[16];
    int met = 0;

    for (int i = 0; i < 300; i++) {
        snprintf(key, sizeof key, "a%03d", i);
        CHECK_OK(WRITE(engine, put(key, "1")));
    }
    CHECK_OK(WRITE(engine, put("i", "1")));
    CHECK_OK(tv_engine_iter(other, TV_LIT("a"), TV_LIT("z"), &iter));
    for (tv_iter_seek(iter, TV_LIT("a")); tv_iter_is_valid(iter); tv_iter_next(iter)) {
        if (met == 5)
            merge_second_into_first();
        snprintf(key, sizeof key, "a%03d", met);
        CHECK_TEXT(tv_iter_key(iter), met < 300 ? key : "i");
        met++;
    }
    CHECK_OK(tv_iter_status(iter));
    CHECK_INT(met, 301);
    CHECK(iter->ops->view(iter) > 1);
    tv_iter_free(iter);
}

/* --- pages --- */

#define TABLE                                                                                      \
    "racct\x01"                                                                                    \
    "00000007"

static void put_many(char partition, int count)
{
    char key[40];

    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof key, TABLE "%c\x01%04d", partition, i);
        CHECK_OK(WRITE(engine, put(key, "1")));
    }
}

/* Read some rows of [from, to); the operations and the rows that it took. */
static void scan_some(const char *from, const char *to, size_t expected, int count, double *ret_ops,
                      double *ret_keys)
{
    double ops = metric(engine, "rados_read_ops_total");
    double keys = metric(engine, "rados_read_keys_total");
    tv_iter *iter;

    CHECK_OK(tv_engine_iter(engine, tv_slice_of(from), tv_slice_of(to), &iter));
    if (expected)
        iter->ops->expect(iter, expected);
    tv_iter_seek(iter, tv_slice_of(from));
    for (int i = 1; i < count; i++) {
        CHECK(tv_iter_is_valid(iter));
        tv_iter_next(iter);
    }
    CHECK(tv_iter_is_valid(iter));
    CHECK_OK(tv_iter_status(iter));
    tv_iter_free(iter);
    *ret_ops = metric(engine, "rados_read_ops_total") - ops;
    *ret_keys = metric(engine, "rados_read_keys_total") - keys;
}

TEST(a_page_takes_the_operations_that_its_rows_need)
{
    static const struct {
        const char *what, *from, *to;
        size_t expected;
        int count;
        double ops, keys;
    } rows[] = {
        {"as long as told", TABLE, TABLE "c", 1001, 1001, 1, 1001},
        {"shorter than told", TABLE, TABLE "c", 101, 50, 1, 101},
        {"longer than told", TABLE, TABLE "c", 101, 150, 2, 101 + 1024},
        {"not told: a short one first", TABLE, TABLE "c", 0, 1001, 2, 128 + 1024},
        {"rows behind a partition are not read", TABLE "b\x01", TABLE "b\x02", 1001, 20, 1, 20},
        {"nor are they of a scan that did not say", TABLE "b\x01", TABLE "b\x02", 0, 20, 1, 20},
        {"of two partitions both", TABLE "b\x01", TABLE "d", 0, 120, 1, 120},
    };

    put_many('a', 1200);
    put_many('b', 20);
    put_many('c', 100);
    scan_some(TABLE, TABLE "b", 1, 1, &(double){0},
              &(double){0}); /* how large rows are is known now */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double ops, keys;

        t_row = rows[i].what;
        scan_some(rows[i].from, rows[i].to, rows[i].expected, rows[i].count, &ops, &keys);
        CHECK_INT(ops, rows[i].ops);
        CHECK_INT(keys, rows[i].keys);
    }
}

/* --- a frozen range --- */

static tv_err frozen_write;

static void write_to_frozen(void *ctx)
{
    (void)ctx;
    frozen_write = WRITE(engine, put("a", "1"));
}

static void unfreeze_later(void *ctx)
{
    (void)ctx;
    other_pool->ops->pause(other_pool, 1500);
    set_attr("tv.R.1", TV_RANGE_WRITE_EPOCH, "e1");
}

/* A query of many ranges seeks forward again and again; who seeks back looks again. */
TEST(a_seek_forward_in_the_page_at_hand_needs_no_operation)
{
    tv_iter *iter;

    for (int i = 0; i < 100; i++)
        CHECK_OK(WRITE(engine, put(tv_arena_printf(&arena, "a%02d", i).data, "x")));
    CHECK_OK(WRITE(engine, put("h1", "x")));
    CHECK_OK(tv_engine_iter(engine, TV_LIT("a"), TV_LIT("p"), &iter));

    double ops = metric(engine, "rados_read_ops_total");

    for (int i = 10; i < 90; i += 2) {
        tv_iter_seek(iter, tv_arena_printf(&arena, "a%02d~", i));
        CHECK(tv_iter_is_valid(iter));
        CHECK_TEXT(tv_iter_key(iter), tv_arena_printf(&arena, "a%02d", i + 1).data);
    }
    CHECK_INT(metric(engine, "rados_read_ops_total"), ops + 1);
    tv_iter_next(iter);
    CHECK_TEXT(tv_iter_key(iter), "a90");

    CHECK_OK(WRITE(engine, put("a50a", "new")));
    tv_iter_seek(iter, TV_LIT("a50a")); /* back */
    CHECK_TEXT(tv_iter_key(iter), "a50a");
    tv_iter_seek(iter, TV_LIT("a99a")); /* the next range */
    CHECK_TEXT(tv_iter_key(iter), "h1");
    tv_iter_seek(iter, TV_LIT("h2"));
    CHECK(!tv_iter_is_valid(iter));
    tv_iter_seek(iter, TV_LIT("q")); /* beyond its end */
    CHECK(!tv_iter_is_valid(iter));
    tv_iter_seek(iter, TV_LIT("a98a"));
    CHECK_TEXT(tv_iter_key(iter), "a99");
    tv_iter_next(iter);
    CHECK_TEXT(tv_iter_key(iter), "h1");
    CHECK_OK(tv_iter_status(iter));
    tv_iter_free(iter);
}

TEST(a_frozen_range_is_waited_for)
{
    set_attr("tv.R.1", TV_RANGE_WRITE_EPOCH, "F77");
    CHECK_ROW(engine, "a", "-"); /* readers do not wait */
    fake_run(cluster, (const fake_actor[]){{write_to_frozen, NULL}, {unfreeze_later, NULL}}, 2);
    CHECK_OK(frozen_write);
    CHECK_ROW(engine, "a", "1");
}

TEST(a_range_that_stays_frozen_times_out)
{
    set_attr("tv.R.1", TV_RANGE_WRITE_EPOCH, "F77");
    fake_run(cluster, (const fake_actor[]){{write_to_frozen, NULL}}, 1);
    CHECK_ERR(frozen_write, TV_ERR_TIMED_OUT);
    set_attr("tv.R.1", TV_RANGE_WRITE_EPOCH, "e1");
    CHECK_ROW(engine, "a", "-");
}

/* --- clocks --- */

TEST(instants_grow_in_a_range_whatever_the_clocks_say)
{
    int64_t ahead = tv_instant_next() + 5 * TV_TICKS_PER_SECOND;

    CHECK_OK(write_stamped(other, ahead, put("a", "1")));
    CHECK_ERR(write_stamped(engine, ahead, put("a", "2")), TV_ERR_CONFLICT);
    CHECK_ERR(write_stamped(engine, ahead - 1, put("b", "2")), TV_ERR_CONFLICT);
    CHECK_INT(metric(engine, "rados_clock_refusals_total"), 2);
    CHECK_INT(metric(engine, "rados_conflicts_total"), 0);
    CHECK(tv_instant_next() > ahead);
    CHECK_OK(write_stamped(engine, tv_instant_next(), put("a", "3")));
    /* Other ranges have clocks of their own, and what writes nothing needs none. */
    CHECK_OK(write_stamped(engine, ahead - 1, put("h", "1")));
    CHECK_OK(write_stamped(engine, 1, expect("a", "3")));
    CHECK_OK(WRITE(engine, put("a", "4")));
}

/* Writes that may be late: rows that hold their instants. */
enum { MS = TV_TICKS_PER_SECOND / 1000 };

static tv_err write_late(tv_engine *by, int64_t stamp, tv_change expected, tv_change change,
                         int64_t gone)
{
    tv_write_batch batch = {.stamp = stamp, .may_be_late = true, .gone = gone};

    tv_write_batch_add(&batch, expected);
    tv_write_batch_add(&batch, change);
    tv_err err = tv_engine_write(by, &batch);
    tv_write_batch_done(&batch);
    return err;
}

static tv_err insert_late(tv_engine *by, int64_t stamp, const char *key)
{
    return write_late(by, stamp, expect_absent(key), put(key, "x"), 0);
}

static tv_err update_late(tv_engine *by, int64_t stamp, const char *key)
{
    return write_late(by, stamp, expect(key, "x"), put(key, "x"), 0);
}

/* Both nodes have been here: they know that the range's clock is at least the later of these. */
static int64_t both_begin(void)
{
    int64_t begin = tv_instant_next() + 1000 * MS;

    CHECK_OK(insert_late(engine, begin - 1, "a1"));
    CHECK_OK(insert_late(other, begin, "a2"));
    return begin;
}

TEST(writes_of_different_rows_overtake_each_other)
{
    int64_t begin = both_begin();

    CHECK_OK(insert_late(other, begin + 200 * MS, "b"));
    CHECK_OK(insert_late(engine, begin + 100 * MS, "c"));
    CHECK_OK(update_late(engine, begin + 101 * MS, "b"));
    CHECK_OK(update_late(other, begin + 50 * MS, "b"));
    CHECK_INT(metric(engine, "rados_clock_refusals_total"), 0);
    CHECK_INT(metric(other, "rados_clock_refusals_total"), 0);
    /* What goes by the order of instants is not late, and nothing is behind it. */
    CHECK_ERR(write_stamped(engine, begin, put("d", "1")), TV_ERR_CONFLICT);
    CHECK_OK(write_stamped(engine, begin + 1, put("d", "1")));
}

TEST(a_write_is_late_by_less_than_a_second)
{
    int64_t begin = both_begin(), ahead = begin + TV_INSTANT_LATE_RAISE;

    /* The latest that the range need not remember. */
    CHECK_OK(insert_late(other, ahead, "b"));
    CHECK_ERR(insert_late(engine, begin - TV_INSTANT_LATE_MAX, "c"), TV_ERR_CONFLICT);
    CHECK_OK(insert_late(engine, begin - TV_INSTANT_LATE_MAX + 1, "c"));
    CHECK_OK(insert_late(other, ahead + 1, "d"));
    CHECK_ERR(insert_late(engine, ahead + 1 - TV_INSTANT_LATE_MAX, "e"), TV_ERR_CONFLICT);
    CHECK_OK(insert_late(engine, ahead + 2 - TV_INSTANT_LATE_MAX, "e"));
}

TEST(a_row_is_not_put_at_an_earlier_instant_than_one_had_that_is_gone)
{
    int64_t begin = both_begin(), had = begin + 200 * MS;

    CHECK_OK(insert_late(other, had, "e"));
    CHECK_OK(write_late(other, had + 1, expect("e", "x"), del("e"), had));
    CHECK_ERR(insert_late(engine, had - 1, "e"), TV_ERR_CONFLICT);
    CHECK_ERR(insert_late(engine, had, "e"), TV_ERR_CONFLICT);
    CHECK_INT(metric(engine, "rados_clock_refusals_total"), 2);
    CHECK(tv_instant_next() > had);
    /* Rows that are there are nobody else's. */
    CHECK_OK(update_late(engine, begin + 1, "a2"));
    CHECK_OK(insert_late(engine, had + 2, "e"));

    /* A later delete of an earlier row. */
    CHECK_OK(write_late(engine, had + 3, expect("e", "x"), del("e"), had + 2));
    CHECK_OK(write_late(other, had - 1, expect("a2", "x"), del("a2"), begin + 1));
    CHECK_ERR(insert_late(other, had + 2, "e"), TV_ERR_CONFLICT);
    CHECK_OK(insert_late(other, had + 3, "e"));
}

TEST(deletes_of_several_nodes_do_not_hold_each_other_up)
{
    int64_t begin = both_begin();

    tv_rados_of(other)->slot = 1;
    tv_rados_of(engine)->slot = 2;
    CHECK_OK(insert_late(other, begin + 100 * MS, "b"));
    CHECK_OK(insert_late(other, begin + 110 * MS, "c"));
    CHECK_OK(write_late(other, begin + 200 * MS, expect("c", "x"), del("c"), begin + 110 * MS));
    CHECK_OK(write_late(engine, begin + 150 * MS, expect("b", "x"), del("b"), begin + 100 * MS));
    CHECK_OK(insert_late(engine, begin + 120 * MS, "b"));
    CHECK_INT(metric(engine, "rados_clock_refusals_total"), 0);
    CHECK_INT(metric(other, "rados_clock_refusals_total"), 0);

    /* Nodes that set the same attribute do, once: then they set others. */
    tv_rados_of(other)->slot = tv_rados_of(engine)->slot;
    CHECK_OK(insert_late(other, begin + 201 * MS, "c"));
    CHECK_OK(insert_late(other, begin + 202 * MS, "d"));
    CHECK_OK(write_late(engine, begin + 203 * MS, expect("d", "x"), del("d"), begin + 202 * MS));
    CHECK_OK(write_late(other, begin + 204 * MS, expect("c", "x"), del("c"), begin + 201 * MS));
    CHECK_INT(metric(other, "rados_clock_refusals_total"), 1);
    CHECK(tv_rados_of(other)->slot != tv_rados_of(engine)->slot);
}

TEST(what_is_gone_goes_with_the_rows)
{
    const tv_range_changer changer = {.pool = other_pool, .incarnation = TV_LIT("")};
    int64_t begin = both_begin(), had = begin + 200 * MS;
    tv_range_result result;

    CHECK_OK(insert_late(other, had, "e"));
    CHECK_OK(write_late(other, had + 1, expect("e", "x"), del("e"), had));
    CHECK_OK(tv_range_split(&changer, TV_LIT("d"), TV_LIT("test"), &result));
    CHECK_ERR(insert_late(engine, had, "e"), TV_ERR_CONFLICT);
    CHECK_OK(insert_late(engine, had + 1, "e"));
    CHECK_OK(write_late(engine, had + 2, expect("e", "x"), del("e"), had + 1));
    CHECK_OK(tv_range_merge(&changer, TV_LIT("d"), TV_LIT("test"), &result));
    CHECK_ERR(insert_late(other, had + 1, "e"), TV_ERR_CONFLICT);
    CHECK_OK(insert_late(other, had + 2, "e"));
}

/* Whether the range knows of something that is gone. */
static bool knows_of_gone(const char *object)
{
    tv_pool_step is_none[TV_RANGE_SLOTS];

    for (size_t i = 0; i < TV_RANGE_SLOTS; i++)
        is_none[i] = (tv_pool_step){TV_POOL_ATTR_IS, tv_range_gones[i], TV_LIT("")};
    return tv_pool_change_now(other_pool, object, is_none, TV_RANGE_SLOTS, NULL) == TV_ERR_CONFLICT;
}

TEST(a_delete_of_an_old_row_holds_nobody_up)
{
    int64_t begin = both_begin(), later = begin + TV_INSTANT_LATE_MAX + TV_INSTANT_LATE_RAISE;

    CHECK_OK(insert_late(other, begin + 100 * MS, "e"));
    CHECK_OK(write_late(other, later + 100 * MS, expect("e", "x"), del("e"), begin + 100 * MS));
    CHECK(!knows_of_gone("tv.R.1"));
    CHECK_OK(insert_late(engine, later, "e"));
    CHECK_OK(write_late(other, later + 200 * MS, expect("e", "x"), del("e"), later));
    CHECK(knows_of_gone("tv.R.1"));
}

TEST(nodes_that_set_the_clock_do_not_hold_each_other_up)
{
    int64_t begin = both_begin();

    tv_rados_of(other)->slot = 1;
    tv_rados_of(engine)->slot = 2;
    CHECK_OK(insert_late(other, begin + 400 * MS, "b"));
    CHECK_OK(insert_late(engine, begin + 399 * MS, "c"));
    CHECK_INT(metric(engine, "rados_clock_refusals_total"), 0);
    /* All of them count. */
    CHECK_ERR(write_stamped(engine, begin + 400 * MS, put("d", "1")), TV_ERR_CONFLICT);
    CHECK_ERR(write_stamped(other, begin + 400 * MS, put("d", "1")), TV_ERR_CONFLICT);
    CHECK_ERR(insert_late(engine, begin + 400 * MS - TV_INSTANT_LATE_MAX, "d"), TV_ERR_CONFLICT);

    /* Those that set the same one do, once, and it goes on without. */
    tv_rados_of(engine)->slot = 1;
    CHECK_OK(insert_late(other, begin + 800 * MS, "e"));
    CHECK_OK(insert_late(engine, begin + 799 * MS, "f"));
    CHECK_INT(metric(engine, "rados_clock_refusals_total"), 3);
    CHECK(tv_rados_of(engine)->slot != 1);
}

TEST(nothing_is_late_where_nodes_may_not_know_of_it)
{
    int64_t begin = both_begin();

    CHECK_OK(insert_late(other, begin + 2, "b"));
    CHECK_ERR(insert_late(engine, begin + 1, "c"), TV_ERR_CONFLICT);
    CHECK_OK(insert_late(engine, begin + 3, "c"));
    CHECK_OK(write_late(engine, begin + 4, expect("c", "x"), del("c"), begin + 3));
    CHECK(knows_of_gone("tv.R.1"));
    /* Nor does a delete of an earlier row wait for ever. */
    CHECK_OK(write_late(engine, begin + 5, expect("a2", "x"), del("a2"), begin));
    tv_rados_of(other)->slot = tv_rados_of(engine)->slot;
    CHECK_ERR(write_late(other, begin + 6, expect("b", "x"), del("b"), begin + 2), TV_ERR_CONFLICT);
    CHECK_OK(write_late(other, begin + 6, expect("b", "x"), del("b"), begin + 2));
}

/* What each function of a group says, and whether its batch may be late. */
typedef struct speaker {
    const char *key;
    bool is_late_ok, writes, fails;
} speaker;

static tv_err speak(tv_txn *txn, void *ctx)
{
    const speaker *s = ctx;
    tv_slice key = tv_slice_of(s->key), value;
    tv_err err = tv_txn_get(txn, key, &value);

    CHECK(err == TV_OK || err == TV_ERR_NOT_FOUND);
    if (s->is_late_ok)
        tv_txn_declare_late(txn);
    if (s->writes)
        tv_txn_put(txn, key, TV_LIT("x"));
    return s->fails ? TV_ERR_ENTITY_EXISTS : TV_OK;
}

TEST(a_group_may_be_late_when_all_of_it_that_writes_may)
{
    static const struct {
        const char *what;
        speaker all[2];
        bool is_refused;
    } rows[] = {
        {"both may", {{"a", true, true, false}, {"b", true, true, false}}, false},
        {"the first may not", {{"a", false, true, false}, {"b", true, true, false}}, true},
        {"the second may not", {{"a", true, true, false}, {"b", false, true, false}}, true},
        {"who only reads is not asked",
         {{"a", true, true, false}, {"b", false, false, false}},
         false},
        {"nor who has failed", {{"a", true, true, false}, {"b", false, true, true}}, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tv_txn *txn = tv_txn_new(engine);

        t_row = rows[i].what;
        tv_txn_begin(txn);
        for (int s = 0; s < 2; s++)
            CHECK(tv_txn_run(txn, tv_slice_of(rows[i].all[s].key), speak,
                             (void *)&rows[i].all[s]) == TV_OK ||
                  rows[i].all[s].fails);
        /* Another node is faster.  The first group of all learns where the range is. */
        CHECK_OK(write_stamped(other, tv_instant_next(), put("c", "x")));
        tv_err err = tv_txn_commit(txn);

        if (i > 0)
            CHECK_ERR(err, rows[i].is_refused ? TV_ERR_CONFLICT : TV_OK);
        else
            CHECK_ERR(err, TV_ERR_CONFLICT);
        tv_txn_free(txn);
    }
}

TEST(what_a_group_writes_after_a_row_that_is_gone_is_later)
{
    tv_txn *txn = tv_txn_new(engine);

    tv_txn_begin(txn);

    int64_t now = tv_txn_now(txn), ahead = now + 900 * MS;

    tv_txn_note_gone(txn, ahead);
    CHECK(tv_txn_stamp(txn) == ahead + 1);
    /* Nobody has written that, and nobody goes by it. */
    tv_txn_note_gone(txn, now + 1000 * MS);
    tv_txn_pass(txn, TV_TICKS_MAX);
    CHECK(tv_txn_stamp(txn) == ahead + 2);
    tv_txn_begin(txn);
    CHECK(tv_txn_now(txn) > ahead + 2 && tv_txn_now(txn) < now + 1000 * MS);
    tv_txn_free(txn);
}

/*
 * A node that is 100 ms away from the pool.  Others are near, and one of them has written to the
 * range at the instant at which its change arrives.
 */
enum { FLIGHT_MS = 100, GROUPS = 100 };

static tv_pool_ops far_ops;
static const tv_pool_ops *near_ops;

static void fly(void)
{
    tv_clock_skip_ns(FLIGHT_MS * INT64_C(1000000));
}

/* What it leaves; refused if ours is later. */
static void write_meanwhile(const char *object)
{
    char digits[13];
    tv_slice stamp = {digits, sizeof digits};

    tv_key_put_number(digits, tv_clock_steady_ticks(), sizeof digits);
    const tv_pool_step steps[] = {{TV_POOL_ATTR_BELOW, tv_range_clks[0], stamp},
                                  {TV_POOL_SET_ATTR, tv_range_clks[0], stamp}};
    tv_err err = tv_pool_change_now(other_pool, object, steps, 2, NULL);

    CHECK(err == TV_OK || err == TV_ERR_CONFLICT);
}

static void change_from_far(tv_pool *of, tv_pool_change *change)
{
    fly();
    write_meanwhile(change->object);
    near_ops->change(of, change);
    fly();
}

static void read_from_far(tv_pool *of, tv_pool_read *read)
{
    fly();
    near_ops->read(of, read);
    fly();
}

static bool may_be_late;

static tv_err count_up(tv_txn *txn, void *ctx)
{
    tv_slice value;
    tv_err err = tv_txn_get(txn, TV_LIT("a"), &value);

    if (err && err != TV_ERR_NOT_FOUND)
        return err;
    if (may_be_late)
        tv_txn_declare_late(txn);
    int64_t stamp = tv_txn_stamp(txn);

    *(int64_t *)ctx = stamp - tv_clock_steady_ticks();
    tv_txn_put(txn, TV_LIT("a"), tv_arena_printf(&arena, "%lld", (long long)stamp));
    return TV_OK;
}

static void go_far_away(void)
{
    near_ops = pool->ops;
    far_ops = *near_ops;
    far_ops.change = change_from_far;
    far_ops.read = read_from_far;
    pool->ops = &far_ops;
}

TEST(the_instant_of_a_group_is_later_than_what_it_has_fetched)
{
    tv_slice key = TV_LIT("a");
    tv_txn *txn = tv_txn_new(engine);

    go_far_away();
    tv_txn_begin(txn);
    CHECK(tv_txn_announce(txn, &key, 1, false));
    CHECK_OK(tv_txn_fetch(txn));
    CHECK(tv_txn_now(txn) + TV_TICKS_PER_SECOND / 20 > tv_clock_steady_ticks());
    pool->ops = near_ops;
    tv_txn_free(txn);
}

TEST(a_node_that_is_far_away_is_not_refused_again_and_again)
{
    const int64_t ms = TV_TICKS_PER_SECOND / 1000;
    int64_t ahead = 0;

    go_far_away();
    for (int i = 0; i < GROUPS; i++)
        CHECK_OK(tv_engine_update(engine, TV_LIT("a"), count_up, &ahead));
    pool->ops = near_ops;
    CHECK(metric(engine, "rados_clock_refusals_total") < GROUPS / 10);
    CHECK(ahead < 10 * FLIGHT_MS * ms);
}

TEST(nor_is_one_whose_writes_may_be_late)
{
    may_be_late = true;
    a_node_that_is_far_away_is_not_refused_again_and_again(NULL);
    may_be_late = false;
}

/* --- trouble --- */

TEST(a_full_pool_takes_deletes_only)
{
    tv_pool *third_pool = fake_client_new(cluster);
    tv_write_batch freeing = {.is_freeing = true};
    tv_engine *third;

    CHECK_OK(WRITE(engine, put("a", "1"), put("b", "1")));
    fake_set_space(cluster, 1000000, 99999);
    third = open_node(third_pool, 10);
    CHECK_ERR(WRITE(third, put("c", "1")), TV_ERR_DISK_FULL);
    CHECK_OK(WRITE(third, expect("a", "1"), del("a")));
    tv_write_batch_add(&freeing, put("d", "1"));
    CHECK_OK(tv_engine_write(third, &freeing));
    CHECK_ERR(tv_engine_check(third), TV_ERR_DISK_FULL);
    CHECK_OK(tv_engine_check_reads(third));
    CHECK_INT(metric(third, "pool_is_full"), 1);
    CHECK_SCAN(third, "a", "z", "b=1 d=1 ");
    tv_write_batch_done(&freeing);
    tv_engine_close(third);
    third_pool->ops->close(third_pool);
}

/* A write is under way for 11 seconds; the node has read something since, or not. */
static void look_at_an_old_write(void *ctx, tv_pool *client, const tv_pool_change *change)
{
    bool *was_called = ctx;

    (void)client, (void)change;
    fake_on_change(cluster, NULL, NULL);
    *was_called = true;
    CHECK_OK(tv_engine_check(engine));
    tv_clock_skip_ns(INT64_C(11000000000));
    CHECK_ERR(tv_engine_check(engine), TV_ERR_TIMED_OUT);
    CHECK_ERR(tv_engine_check_reads(engine), TV_ERR_TIMED_OUT);
    CHECK_ROW(engine, "b", "1");
    CHECK_ERR(tv_engine_check(engine), TV_ERR_OVERLOADED);
    CHECK_OK(tv_engine_check_reads(engine));
}

TEST(one_old_operation_is_an_alarm_and_a_silent_pool_is_the_end_of_service)
{
    bool was_called = false;

    CHECK_OK(WRITE(engine, put("b", "1")));
    fake_on_change(cluster, look_at_an_old_write, &was_called);
    CHECK_OK(WRITE(engine, put("a", "1")));
    CHECK(was_called);
    CHECK_OK(tv_engine_check(engine));
    CHECK_OK(tv_engine_check_reads(engine));
}

TEST(refusals_of_the_pool_are_told_as_they_are)
{
    fake_refuse_changes(cluster, 1, 1, TV_ERR_DISK_FULL);
    CHECK_ERR(WRITE(engine, put("a", "1")), TV_ERR_DISK_FULL);
    fake_refuse_changes(cluster, 1, 1, TV_ERR_IO);
    CHECK_ERR(WRITE(engine, put("a", "1")), TV_ERR_IO);
    fake_fail_reads(cluster, TV_ERR_IO);
    CHECK_ROW(engine, "a", "IO");
    fake_fail_reads(cluster, TV_OK);
    CHECK_OK(WRITE(engine, put("a", "1"))); /* nothing is stopped by it */
}

TEST(what_the_pool_does_not_answer_in_time_is_told_so)
{
    tv_iter *iter;

    CHECK_OK(WRITE(engine, put("a", "1")));
    fake_refuse_changes(cluster, 1, 1, TV_ERR_TIMED_OUT);
    CHECK_ERR(WRITE(engine, put("a", "2")), TV_ERR_IO); /* it may yet be done */
    fake_fail_reads(cluster, TV_ERR_TIMED_OUT);
    CHECK_ROW(engine, "a", "TIMED_OUT");
    CHECK_OK(tv_engine_iter(engine, TV_LIT("a"), TV_LIT("z"), &iter));
    tv_iter_seek(iter, TV_LIT("a"));
    CHECK(!tv_iter_is_valid(iter));
    CHECK_ERR(tv_iter_status(iter), TV_ERR_TIMED_OUT);
    tv_iter_free(iter);
    fake_fail_reads(cluster, TV_OK);
    CHECK_ROW(engine, "a", "1");
}

/* What the wait took, in seconds, on behalf of a request that has five of them left. */
#define SECONDS_OF(err, expected)                                                                  \
    do {                                                                                           \
        int64_t began_ns = tv_clock_mono_ns(), second = INT64_C(1000000000);                       \
                                                                                                   \
        (void)tv_deadline_set(began_ns + 5 * second);                                              \
        CHECK_ERR(err, expected);                                                                  \
        CHECK((tv_clock_mono_ns() - began_ns + second / 2) / second <= 5);                         \
        CHECK(tv_clock_mono_ns() - began_ns > 4 * second);                                         \
        (void)tv_deadline_set(0);                                                                  \
    } while (0)

TEST(no_wait_is_longer_than_the_deadline_of_who_waits)
{
    tv_slice value;

    CHECK_OK(WRITE(engine, put("a", "1")));
    fake_set_silent(cluster, true);
    SECONDS_OF(WRITE(engine, put("a", "2")), TV_ERR_IO);
    SECONDS_OF(tv_engine_get(engine, TV_READ_ANY, TV_LIT("a"), &arena, &value), TV_ERR_TIMED_OUT);
    SECONDS_OF(engine->ops->fence(engine, TV_LIT("a"), TV_LIT("b")), TV_ERR_TIMED_OUT);
    fake_set_silent(cluster, false);

    /* What begins when it is over is never done, and that is certain. */
    uint64_t changes = fake_client_change_count(pool);

    (void)tv_deadline_set(1);
    CHECK_ERR(WRITE(engine, put("a", "3")), TV_ERR_TIMED_OUT);
    CHECK_ERR(tv_engine_get(engine, TV_READ_ANY, TV_LIT("a"), &arena, &value), TV_ERR_TIMED_OUT);
    (void)tv_deadline_set(0);
    CHECK_INT(fake_client_change_count(pool), changes);
    CHECK_ROW(engine, "a", "1");
    CHECK_OK(engine->ops->fence(engine, TV_LIT("a"), TV_LIT("b")));
    CHECK_OK(WRITE(engine, put("a", "4")));
}

/* One that was shut out cannot say what became of its last write. */
TEST(a_write_of_one_that_is_shut_out_is_in_doubt)
{
    fake_client_kill_at(pool, 1, true);
    CHECK_ERR(WRITE(engine, put("a", "1")), TV_ERR_IO);
    CHECK_ERR(WRITE(engine, put("b", "1")), TV_ERR_IO);
    CHECK_SCAN(other, "a", "z", "a=1 ");
}

/* --- pressure points and histograms --- */

TEST(a_write_can_end_before_it_is_sent_or_after_it_is_acknowledged)
{
    tv_points_enable();
    CHECK(tv_point_set(TV_LIT("write.before"), TV_POINT_FAIL, 0, 1));
    CHECK_ERR(WRITE(engine, put("a", "1")), TV_ERR_IO);
    CHECK_ROW(other, "a", "-");
    CHECK(tv_point_set(TV_LIT("write.after_ack"), TV_POINT_FAIL, 0, 1));
    CHECK_ERR(WRITE(engine, put("a", "1")), TV_ERR_IO);
    CHECK_ROW(other, "a", "1");
    CHECK_INT(tv_point_met(TV_LIT("write.after_ack")), 1);
    tv_point_clear();
    CHECK_OK(WRITE(engine, put("a", "2")));
}

typedef struct histogram {
    const char *name;
    uint64_t count, slow; /* more than 65 ms */
} histogram;

static void take_histogram(void *ctx, const char *name, const char *help, const uint64_t *slots,
                           int slot_count, double sum)
{
    histogram *wanted = ctx;

    (void)help, (void)sum;
    for (int i = 0; i < slot_count && strcmp(name, wanted->name) == 0; i++) {
        wanted->count += slots[i];
        wanted->slow += i > 16 ? slots[i] : 0;
    }
}

static void be_slow(void *ctx, tv_pool *client, const tv_pool_change *change)
{
    (void)ctx, (void)client, (void)change;
    tv_clock_skip_ns(100 * 1000 * 1000);
}

TEST(operations_are_counted_by_how_long_they_took)
{
    histogram writes = {.name = "rados_write_op_us"}, reads = {.name = "rados_read_op_us"};

    CHECK_OK(WRITE(engine, put("a", "1")));
    fake_on_change(cluster, be_slow, NULL);
    CHECK_OK(WRITE(engine, put("a", "2")));
    fake_on_change(cluster, NULL, NULL);
    CHECK_ROW(engine, "a", "2");
    engine->ops->histograms(engine, take_histogram, &writes);
    engine->ops->histograms(engine, take_histogram, &reads);
    CHECK_INT(writes.count, metric(engine, "rados_write_ops_total"));
    CHECK_INT(reads.count, metric(engine, "rados_read_ops_total"));
    CHECK(writes.slow >= 1 && reads.count >= 1);
}

TEST(a_pool_of_another_format_is_refused_with_a_line)
{
    const tv_pool_step odd = {TV_POOL_PUT_ROW, TV_ROUTE_FORMAT_ROW, TV_LIT("2 1")};
    const tv_pool_step newer = {TV_POOL_PUT_ROW, TV_ROUTE_FORMAT_ROW, TV_LIT("1 9")};
    tv_rados_options options = {.pool = pool};
    char text[300];
    tv_engine *opened;

    CHECK_OK(tv_pool_change_now(pool, TV_ROUTE_OBJECT, &odd, 1, NULL));
    CHECK_ERR(tv_rados_engine_open(&options, &opened, text, sizeof text), TV_ERR_CORRUPT);
    CHECK_TEXT(tv_slice_of(text),
               "the pool holds a store of format 2; this tavolad reads format 1");
    CHECK_OK(tv_pool_change_now(pool, TV_ROUTE_OBJECT, &newer, 1, NULL));
    CHECK_ERR(tv_rados_engine_open(&options, &opened, text, sizeof text), TV_ERR_CORRUPT);
    CHECK_TEXT(tv_slice_of(text),
               "the pool is used by newer nodes (level 9); this tavolad knows level 2");
}

#define CASE_OF(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define LATE(name) cmocka_unit_test_setup_teardown(name, set_up_late, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE_OF(a_batch_is_of_one_range),
        CASE_OF(rows_lie_in_the_object_of_their_range_behind_a_sentinel),
        CASE_OF(leftovers_outside_of_a_range_are_nobodys),
        CASE_OF(a_row_of_an_unknown_form_is_damage),
        CASE_OF(many_rows_are_read_in_one_view),
        cmocka_unit_test_setup_teardown(reads_that_come_together_go_together, set_up_threads,
                                        tear_down),
        cmocka_unit_test_setup_teardown(reads_of_one_row_are_noted_as_its_partitions,
                                        set_up_threads, tear_down),
        CASE_OF(what_goes_by_an_old_map_is_sent_again_by_the_new_one),
        CASE_OF(a_write_that_was_thought_out_before_a_fence_is_refused),
        CASE_OF(what_is_looked_at_before_a_map_is_used_may_be_closed_by_a_dead_node),
        cmocka_unit_test_setup_teardown(grouped_reads_by_an_old_map_find_their_rows, set_up_threads,
                                        tear_down),
        cmocka_unit_test_setup_teardown(grouped_reads_that_are_refused_for_a_moment_find_their_rows,
                                        set_up_threads, tear_down),
        CASE_OF(an_object_that_is_gone_is_looked_for_in_the_map),
        CASE_OF(a_scan_goes_on_where_its_rows_are),
        CASE_OF(a_page_takes_the_operations_that_its_rows_need),
        CASE_OF(a_seek_forward_in_the_page_at_hand_needs_no_operation),
        CASE_OF(a_frozen_range_is_waited_for),
        CASE_OF(a_range_that_stays_frozen_times_out),
        CASE_OF(instants_grow_in_a_range_whatever_the_clocks_say),
        LATE(writes_of_different_rows_overtake_each_other),
        LATE(a_write_is_late_by_less_than_a_second),
        LATE(a_row_is_not_put_at_an_earlier_instant_than_one_had_that_is_gone),
        LATE(deletes_of_several_nodes_do_not_hold_each_other_up),
        LATE(what_is_gone_goes_with_the_rows),
        LATE(a_delete_of_an_old_row_holds_nobody_up),
        LATE(nodes_that_set_the_clock_do_not_hold_each_other_up),
        CASE_OF(nothing_is_late_where_nodes_may_not_know_of_it),
        LATE(a_group_may_be_late_when_all_of_it_that_writes_may),
        LATE(what_a_group_writes_after_a_row_that_is_gone_is_later),
        CASE_OF(a_full_pool_takes_deletes_only),
        CASE_OF(the_instant_of_a_group_is_later_than_what_it_has_fetched),
        CASE_OF(a_node_that_is_far_away_is_not_refused_again_and_again),
        LATE(nor_is_one_whose_writes_may_be_late),
        CASE_OF(one_old_operation_is_an_alarm_and_a_silent_pool_is_the_end_of_service),
        CASE_OF(refusals_of_the_pool_are_told_as_they_are),
        CASE_OF(what_the_pool_does_not_answer_in_time_is_told_so),
        CASE_OF(no_wait_is_longer_than_the_deadline_of_who_waits),
        CASE_OF(a_write_of_one_that_is_shut_out_is_in_doubt),
        CASE_OF(a_write_can_end_before_it_is_sent_or_after_it_is_acknowledged),
        CASE_OF(operations_are_counted_by_how_long_they_took),
        CASE_OF(a_pool_of_another_format_is_refused_with_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
