/*
 * A writer waits for a range that is being split.  While the splitter goes on it is left alone,
 * also longer than two seconds; when it does not go on, or for too long, the split is undone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/point.h"
#include "check.h"
#include "engine/rados/rados.h"
#include "engine/rados/range_work.h"
#include "fake_pool.h"

enum { ROWS = 48 * 1000, SECOND = 1000 }; /* read in six or seven steps */

typedef struct stage {
    fake_cluster *cluster;
    tv_pool *splitter, *writer;
    tv_engine *engine;
    int step_ms; /* each step of the frozen copy takes that long */
    int stop_ms; /* and before it is published */
    bool is_frozen, is_written;
    int steps;
    /* What came of it. */
    tv_err split_err, write_err;
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

static tv_err at_point(const char *at)
{
    stage *s = the_stage;

    if (strcmp(at, "split.5") == 0)
        s->is_frozen = true;
    if (strcmp(at, "copy.again") == 0 && s->is_frozen) {
        s->steps++;
        take_time(s, s->step_ms);
    }
    if (strcmp(at, "split.7") == 0)
        take_time(s, s->stop_ms);
    return TV_OK;
}

static void run_splitter(void *ctx)
{
    stage *s = ctx;
    tv_ranges ranges = {s->splitter, TV_LIT("n1")};

    s->split_err = tv_range_split(&ranges, TV_LIT("k00001"), TV_LIT("test"), &s->result);
}

static void run_writer(void *ctx)
{
    stage *s = ctx;
    tv_write_batch batch = {0};
    int64_t began_ms;

    while (!s->is_frozen)
        fake_yield(s->cluster);
    began_ms = now_ms();
    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, TV_LIT("k20000"), TV_LIT("new")});
    s->write_err = tv_engine_write(s->engine, &batch);
    s->waited_ms = now_ms() - began_ms;
    s->is_written = true;
    tv_write_batch_done(&batch);
}

static void put_rows(stage *s)
{
    tv_write_batch batch = {0};
    tv_arena arena;

    tv_arena_init(&arena);
    for (int i = 0; i < ROWS; i++)
        tv_write_batch_add(
            &batch, (tv_change){TV_CHANGE_PUT, tv_arena_printf(&arena, "k%05d", i), TV_LIT("old")});
    CHECK_OK(tv_engine_write(s->engine, &batch));
    tv_write_batch_done(&batch);
    tv_arena_done(&arena);
}

static stage play(int step_ms, int stop_ms)
{
    stage s = {.cluster = fake_cluster_new(&(fake_options){.seed = 11}),
               .step_ms = step_ms,
               .stop_ms = stop_ms};
    const fake_actor actors[] = {{run_splitter, &s}, {run_writer, &s}};
    char text[200];
    tv_slice value;
    tv_arena arena;
    tv_routes routes;

    the_stage = &s;
    s.splitter = fake_client_new(s.cluster);
    s.writer = fake_client_new(s.cluster);
    CHECK_OK(tv_rados_engine_open(&(tv_rados_options){.pool = s.writer, .has_no_keeper = true},
                                  &s.engine, text, sizeof text));
    put_rows(&s);
    tv_points_enable();
    tv_point_hook = at_point;
    fake_run(s.cluster, actors, 2);
    tv_point_hook = NULL;

    /* Whatever has happened, the write is there and nothing is left behind. */
    tv_arena_init(&arena);
    CHECK_OK(s.write_err);
    CHECK_OK(tv_engine_get(s.engine, TV_READ_ANY, TV_LIT("k20000"), &arena, &value));
    CHECK_TEXT(value, "new");
    CHECK_OK(tv_routes_load_all(s.writer, &arena, &routes));
    CHECK_INT(routes.intent_count, 0);
    CHECK_INT(routes.range_count, s.result.is_published ? 2 : 1);
    tv_arena_done(&arena);
    tv_engine_close(s.engine);
    s.splitter->ops->close(s.splitter);
    s.writer->ops->close(s.writer);
    fake_cluster_free(s.cluster);
    return s;
}

TEST(a_splitter_that_goes_on_is_waited_for)
{
    stage s = play(900, 0);

    CHECK(s.steps * 900 > 3 * SECOND && s.steps * 900 < 10 * SECOND);
    CHECK_OK(s.split_err);
    CHECK(s.result.is_published);
    CHECK(s.waited_ms > 3 * SECOND);
}

TEST(a_splitter_that_does_not_go_on_is_given_up_after_seconds)
{
    stage s = play(0, 60 * SECOND);

    CHECK_ERR(s.split_err, TV_ERR_CONFLICT);
    CHECK(!s.result.is_published);
    CHECK(s.waited_ms >= 2 * SECOND && s.waited_ms < 6 * SECOND);
}

TEST(a_splitter_that_takes_too_long_is_given_up)
{
    stage s = play(1900, 0);

    CHECK_ERR(s.split_err, TV_ERR_CONFLICT);
    CHECK(!s.result.is_published);
    CHECK(s.waited_ms >= 9 * SECOND && s.waited_ms < 15 * SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_splitter_that_goes_on_is_waited_for),
        cmocka_unit_test(a_splitter_that_does_not_go_on_is_given_up_after_seconds),
        cmocka_unit_test(a_splitter_that_takes_too_long_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
