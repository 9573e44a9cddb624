/*
 * What writers wait for when their range is split, or goes up in the one before it.
 *
 * While rows are copied for the first time they do not wait at all, and then only for the rows that
 * have changed meanwhile.  Who changes the range is left alone while it goes on, also longer than
 * two seconds; when it does not go on, or for too long, the change is undone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/point.h"
#include "check.h"
#include "fake_pool.h"
#include "store/engine/rados/rados.h"
#include "store/engine/rados/range_work.h"

enum { ROWS = 48 * 1000, SECOND = 1000 }; /* read in six or seven steps */

/* A split at CUT, or the merge of what begins there. */
#define CUT TV_LIT("k00001")

typedef enum change_kind { SPLIT, MERGE, KINDS } change_kind;

static const struct {
    const char *name, *freeze, *frozen, *publish; /* points before and after */
} kinds[KINDS] = {
    {"split", "split.4", "split.5", "split.7"},
    {"merge", "merge.4", "merge.5", "merge.6"},
};

typedef struct stage {
    fake_cluster *cluster;
    change_kind kind;
    tv_pool *changer, *writer;
    tv_engine *engine;
    int step_ms; /* each step of the frozen copy takes that long */
    int stop_ms; /* and before it is published */
    bool is_frozen, is_written;
    int steps;
    /* Others write in the middle of the first copy, and just before the freeze. */
    bool has_early_writes, has_late_writes;
    int puts;           /* changes that put copied rows */
    size_t frozen_rows; /* that were put after the freeze */
    /* What came of it. */
    tv_err change_err, write_err;
    tv_range_result result;
    int64_t waited_ms;
} stage;

static stage *the_stage;

static int64_t now_ms(void)
{
    return tv_clock_ticks() / (TV_TICKS_PER_SECOND / 1000);
}

/* Time passes while the writer waits; when it need not wait any more, there is nothing to see. */
static void take_time(stage *s, int ms)
{
    int64_t end_ms = now_ms() + ms;

    while (now_ms() < end_ms && !s->is_written)
        fake_yield(s->cluster);
}

/* One row changes, one goes, one comes. */
static void write_three(stage *s, const char *changed, const char *deleted, const char *added)
{
    tv_write_batch batch = {0};

    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, tv_slice_of(changed), TV_LIT("new")});
    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_DELETE, tv_slice_of(deleted), TV_NONE});
    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, tv_slice_of(added), TV_LIT("new")});
    if (!s->write_err)
        s->write_err = tv_engine_write(s->engine, &batch);
    tv_write_batch_done(&batch);
}

static tv_err at_point(const char *at)
{
    stage *s = the_stage;

    if (strcmp(at, kinds[s->kind].freeze) == 0 && s->has_late_writes)
        write_three(s, "k20000", "k20001", "k20001a");
    if (strcmp(at, kinds[s->kind].frozen) == 0)
        s->is_frozen = true;
    if (strcmp(at, "copy.again") == 0 && s->is_frozen) {
        s->steps++;
        take_time(s, s->step_ms);
    }
    if (strcmp(at, kinds[s->kind].publish) == 0)
        take_time(s, s->stop_ms);
    return TV_OK;
}

static void on_change(void *ctx, tv_pool *client, const tv_pool_change *change)
{
    stage *s = ctx;
    size_t rows = 0;

    for (size_t i = 0; i < change->step_count && client == s->changer; i++)
        rows += change->steps[i].kind == TV_POOL_PUT_ROW && change->steps[i].key.data[0] == 'k';
    if (rows == 0)
        return;
    if (s->is_frozen)
        s->frozen_rows += rows;
    /* Of rows that are copied already, and of some that are not. */
    if (++s->puts == 10 && s->has_early_writes) {
        write_three(s, "k00100", "k00101", "k00101a");
        write_three(s, "k40000", "k40001", "k40001a");
    }
}

static void run_changer(void *ctx)
{
    stage *s = ctx;
    tv_range_changer changer = {s->changer, TV_LIT("n1")};

    s->change_err = s->kind == SPLIT ? tv_range_split(&changer, CUT, TV_LIT("test"), &s->result)
                                     : tv_range_merge(&changer, CUT, TV_LIT("test"), &s->result);
}

static void run_writer(void *ctx)
{
    stage *s = ctx;
    int64_t began_ms;

    while (!s->is_frozen)
        fake_yield(s->cluster);
    began_ms = now_ms();
    write_three(s, "k20000", "k20001", "k20001a");
    s->waited_ms = now_ms() - began_ms;
    s->is_written = true;
}

static void put_rows(stage *s)
{
    tv_write_batch batch = {0};
    tv_arena arena;

    tv_arena_init(&arena);
    for (int i = 1; i <= ROWS; i++)
        tv_write_batch_add(
            &batch, (tv_change){TV_CHANGE_PUT, tv_arena_printf(&arena, "k%05d", i), TV_LIT("old")});
    CHECK_OK(tv_engine_write(s->engine, &batch));
    tv_write_batch_done(&batch);
    tv_arena_done(&arena);
}

static void expect_row(stage *s, const char *key, const char *value)
{
    tv_arena arena;
    tv_slice got = TV_LIT("-");
    tv_err err;

    tv_arena_init(&arena);
    err = tv_engine_get(s->engine, TV_READ_ANY, tv_slice_of(key), &arena, &got);
    CHECK_ERR(err, value ? TV_OK : TV_ERR_NOT_FOUND);
    if (value)
        CHECK_TEXT(got, value);
    tv_arena_done(&arena);
}

/* Whatever has happened, what was written is there and nothing is left behind. */
static void expect_end(stage *s)
{
    bool has_two = s->result.is_published == (s->kind == SPLIT);
    tv_arena arena;
    tv_routes routes;

    CHECK_OK(s->write_err);
    expect_row(s, "k20000", s->has_early_writes && !s->has_late_writes ? "old" : "new");
    expect_row(s, "k20001", s->has_early_writes && !s->has_late_writes ? "old" : NULL);
    expect_row(s, "k00100", s->has_early_writes ? "new" : "old");
    expect_row(s, "k00101", s->has_early_writes ? NULL : "old");
    expect_row(s, "k40001a", s->has_early_writes ? "new" : NULL);
    tv_arena_init(&arena);
    CHECK_OK(tv_routes_load_all(s->writer, &arena, &routes));
    CHECK_INT(routes.intent_count, 0);
    CHECK_INT(routes.range_count, has_two ? 2 : 1);
    tv_arena_done(&arena);
}

static void play(stage *s, bool has_writer)
{
    const fake_actor actors[] = {{run_changer, s}, {run_writer, s}};
    const tv_slice cut = CUT;
    char text[200];

    t_row = kinds[s->kind].name;
    the_stage = s;
    s->cluster = fake_cluster_new(&(fake_options){.seed = 11});
    s->changer = fake_client_new(s->cluster);
    s->writer = fake_client_new(s->cluster);
    CHECK_OK(tv_rados_engine_open(
        &(tv_rados_options){
            .pool = s->writer, .cuts = &cut, .cut_count = s->kind == MERGE, .has_no_keeper = true},
        &s->engine, text, sizeof text));
    put_rows(s);
    tv_points_enable();
    tv_point_hook = at_point;
    fake_on_change(s->cluster, on_change, s);
    fake_run(s->cluster, actors, has_writer ? 2 : 1);
    tv_point_hook = NULL;
    expect_end(s);
    tv_engine_close(s->engine);
    s->changer->ops->close(s->changer);
    s->writer->ops->close(s->writer);
    fake_cluster_free(s->cluster);
}

/* If they had to wait for the copy, they would have it undone. */
TEST(writers_do_not_wait_for_the_first_copy_and_then_only_for_what_changed)
{
    for (int kind = 0; kind < KINDS; kind++) {
        stage early = {.kind = (change_kind)kind, .has_early_writes = true};
        stage late = {.kind = (change_kind)kind, .has_early_writes = true, .has_late_writes = true};

        play(&early, false);
        CHECK_OK(early.change_err);
        CHECK_INT(early.frozen_rows, 0);
        CHECK_INT(early.result.rows, ROWS);
        play(&late, false);
        CHECK_OK(late.change_err);
        CHECK_INT(late.frozen_rows, 2); /* one more is deleted */
        CHECK_INT(late.result.rows, ROWS);
    }
}

TEST(who_goes_on_is_waited_for)
{
    for (int kind = 0; kind < KINDS; kind++) {
        stage s = {.kind = (change_kind)kind, .step_ms = 900};

        play(&s, true);
        CHECK(s.steps * 900 > 3 * SECOND && s.steps * 900 < 10 * SECOND);
        CHECK_OK(s.change_err);
        CHECK(s.result.is_published);
        CHECK(s.waited_ms > 3 * SECOND);
    }
}

TEST(who_does_not_go_on_is_given_up_after_seconds)
{
    for (int kind = 0; kind < KINDS; kind++) {
        stage s = {.kind = (change_kind)kind, .stop_ms = 60 * SECOND};

        play(&s, true);
        CHECK_ERR(s.change_err, TV_ERR_CONFLICT);
        CHECK(!s.result.is_published);
        CHECK(s.waited_ms >= 2 * SECOND && s.waited_ms < 6 * SECOND);
    }
}

TEST(who_takes_too_long_is_given_up)
{
    for (int kind = 0; kind < KINDS; kind++) {
        stage s = {.kind = (change_kind)kind, .step_ms = 1900};

        play(&s, true);
        CHECK_ERR(s.change_err, TV_ERR_CONFLICT);
        CHECK(!s.result.is_published);
        CHECK(s.waited_ms >= 9 * SECOND && s.waited_ms < 15 * SECOND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_do_not_wait_for_the_first_copy_and_then_only_for_what_changed),
        cmocka_unit_test(who_goes_on_is_waited_for),
        cmocka_unit_test(who_does_not_go_on_is_given_up_after_seconds),
        cmocka_unit_test(who_takes_too_long_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
