/* What the cluster engine promises beyond the contract: ranges, epochs, groups of reads. */
#include <semaphore.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/point.h"
#include "store/engine/key.h"
#include "two_nodes.h"

static int set_up_threads(void **state)
{
    (void)state;
    return set_up_with(&(fake_options){.is_threaded = true});
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
               "the pool is used by newer nodes (level 9); this tavolad knows level 4");
}

#define CASE_OF(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
        CASE_OF(a_full_pool_takes_deletes_only),
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
