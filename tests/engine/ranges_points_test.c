/*
 * A node dies at every pressure point of a change of ranges.  Others can then read and write
 * everything within 15 seconds, nothing is lost, and nothing stays behind.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/point.h"
#include "check.h"
#include "fake_pool.h"
#include "store/engine/rados/rados.h"
#include "store/engine/rados/range_work.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { ROWS = 30, NODES = 3, WITHIN_MS = 15 * 1000, KEY_SIZE = 16 };

typedef enum change_kind {
    SPLIT,
    MERGE,
    FENCE,
    DROP,
    CLEAN,
    COLLECT,
    UNDO_SPLIT,
    UNDO_MERGE
} change_kind;

static const struct {
    const char *at;
    change_kind kind;
} points[] = {
    {"split.1", SPLIT},
    {"split.2", SPLIT},
    {"split.3", SPLIT},
    {"split.4", SPLIT},
    {"split.5", SPLIT},
    {"split.6", SPLIT},
    {"split.7", SPLIT},
    {"split.8", SPLIT},
    {"split.9", SPLIT},
    {"split.10", SPLIT},
    {"merge.1", MERGE},
    {"merge.2", MERGE},
    {"merge.3", MERGE},
    {"merge.4", MERGE},
    {"merge.5", MERGE},
    {"merge.6", MERGE},
    {"merge.7", MERGE},
    {"merge.8", MERGE},
    {"merge.9", MERGE},
    {"fence.1", FENCE},
    {"fence.2", FENCE},
    {"fence.2.range", FENCE},
    {"fence.3", FENCE},
    {"drop.1", DROP},
    {"merge.1", DROP},
    {"merge.2", DROP},
    {"merge.3", DROP},
    {"merge.4", DROP},
    {"merge.5", DROP},
    {"merge.6", DROP},
    {"merge.7", DROP},
    {"merge.8", DROP},
    {"merge.9", DROP},
    {"clean.remove", DROP},
    {"clean.1", CLEAN},
    {"clean.remove", CLEAN},
    {"clean.2", CLEAN},
    {"collect.1", COLLECT},
    {"collect.2", COLLECT},
    {"undo.split.1", UNDO_SPLIT},
    {"undo.split.2", UNDO_SPLIT},
    {"undo.split.3", UNDO_SPLIT},
    {"undo.merge.1", UNDO_MERGE},
    {"undo.merge.2", UNDO_MERGE},
    {"undo.merge.3", UNDO_MERGE},
};

/* The rows k.. are in two ranges; d.. is a table over two ranges and a half. */
static const tv_slice cuts[] = {{"d10", 3}, {"d20", 3}, {"k15", 3}};

typedef struct stage {
    fake_cluster *cluster;
    tv_pool *pools[NODES];
    tv_engine *engines[NODES];
    const char *at;
    change_kind kind;
    char violation[200];
} stage;

#define EXPECT(s, condition)                                                                       \
    do {                                                                                           \
        if (!(condition) && !(s)->violation[0])                                                    \
            snprintf((s)->violation, sizeof(s)->violation, "line %d: %s", __LINE__, #condition);   \
    } while (0)

static void put(stage *s, tv_engine *engine, const char *table, int number, const char *value)
{
    char key[KEY_SIZE];
    tv_write_batch batch = {0};

    snprintf(key, sizeof key, "%s%02d", table, number);
    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, tv_slice_of(key), tv_slice_of(value)});
    EXPECT(s, tv_engine_write(engine, &batch) == TV_OK);
    tv_write_batch_done(&batch);
}

static void expect_row(stage *s, tv_engine *engine, int number, const char *value)
{
    char key[KEY_SIZE];
    tv_arena arena;
    tv_slice got = TV_NONE;

    snprintf(key, sizeof key, "k%02d", number);
    tv_arena_init(&arena);
    EXPECT(s, tv_engine_get(engine, TV_READ_ANY, tv_slice_of(key), &arena, &got) == TV_OK);
    EXPECT(s, tv_slice_eq(got, tv_slice_of(value)));
    tv_arena_done(&arena);
}

static int count_rows(stage *s, tv_engine *engine, const char *from, const char *to)
{
    tv_iter *iter = NULL;
    int count = 0;

    EXPECT(s, tv_engine_iter(engine, tv_slice_of(from), tv_slice_of(to), &iter) == TV_OK);
    for (tv_iter_seek(iter, tv_slice_of(from)); tv_iter_is_valid(iter); tv_iter_next(iter))
        count++;
    EXPECT(s, tv_iter_status(iter) == TV_OK);
    tv_iter_free(iter);
    return count;
}

/* What the first node does, and dies of. */
static tv_err change(const tv_range_changer *changer, change_kind kind)
{
    tv_range_result result;
    bool is_clean = false;
    tv_err err = TV_OK;

    switch (kind) {
    case SPLIT:
    case UNDO_SPLIT:
        return tv_range_split(changer, TV_LIT("k20"), TV_LIT("test"), &result);
    case MERGE:
    case UNDO_MERGE:
        return tv_range_merge(changer, TV_LIT("k15"), TV_LIT("test"), &result);
    case FENCE:
        return tv_range_fence(changer, TV_LIT("d"), TV_LIT("e"));
    case DROP:
        return tv_range_drop(changer, TV_LIT("d"), TV_LIT("e"));
    case CLEAN:
        err = tv_range_split(changer, TV_LIT("k20"), TV_LIT("test"), &result);
        while (!err && !is_clean)
            err = tv_range_clean(changer, &is_clean);
        return err;
    case COLLECT:
        return tv_range_collect(changer, tv_clock_unix_ms() + TV_RANGE_MADE_MS);
    }
    return TV_OK;
}

/* What comes before: others have died there already. */
static void prepare(stage *s)
{
    const char *before = s->kind == COLLECT      ? "split.5"
                         : s->kind == UNDO_SPLIT ? "split.6"
                         : s->kind == UNDO_MERGE ? "merge.6"
                                                 : NULL;
    tv_pool *pool = fake_client_new(s->cluster);
    tv_range_changer changer = {pool, TV_LIT("n0")}, other = {s->pools[1], TV_LIT("n1")};

    if (before) {
        EXPECT(s, tv_point_set(tv_slice_of(before), TV_POINT_FAIL, 0, 1));
        EXPECT(s, change(&changer, s->kind == COLLECT ? SPLIT : s->kind) == TV_ERR_STOPPED);
        fake_client_kill(pool);
    }
    if (s->kind == COLLECT)
        EXPECT(s, tv_range_recover(&other, TV_LIT("k20")) == TV_OK);
    pool->ops->close(pool);
}

static void tidy_up(stage *s)
{
    tv_range_changer changer = {s->pools[2], TV_LIT("n2")};
    tv_range_watch watch = {.count = 0};
    bool is_clean = false;
    tv_routes routes;
    tv_arena arena;

    EXPECT(s, tv_range_recover_old(&changer, &watch, 1) == TV_OK);
    EXPECT(s, tv_range_recover_old(&changer, &watch, 1 + TV_RANGE_INTENT_MS) == TV_OK);
    for (int i = 0; i < 100 && !is_clean; i++)
        EXPECT(s, tv_range_clean(&changer, &is_clean) == TV_OK);
    EXPECT(s, tv_range_collect(&changer, tv_clock_unix_ms() + TV_RANGE_MADE_MS) == TV_OK);
    tv_arena_init(&arena);
    EXPECT(s, tv_routes_load_all(s->pools[2], &arena, &routes) == TV_OK);
    EXPECT(s, routes.intent_count + routes.lock_count + routes.made_count == 0);
    EXPECT(s, fake_object_count(s->cluster, TV_RANGE_OBJECT) == routes.range_count);
    for (size_t i = 0; i < routes.range_count; i++)
        EXPECT(s, routes.ranges[i].dirty_from.len == 0 && routes.ranges[i].dirty_to.len == 0);
    tv_arena_done(&arena);
}

static int64_t now_ms(void)
{
    return tv_clock_ticks() / (TV_TICKS_PER_SECOND / 1000);
}

/* Among actors, because time passes at once there. */
static void play(void *ctx)
{
    stage *s = ctx;
    tv_range_changer first = {s->pools[0], TV_LIT("n0")}, other = {s->pools[1], TV_LIT("n1")};
    int64_t died_ms;

    for (int i = 0; i < ROWS; i++) {
        put(s, s->engines[0], "k", i, "old");
        put(s, s->engines[0], "d", i, "row");
    }
    prepare(s);
    EXPECT(s, tv_point_set(tv_slice_of(s->at), TV_POINT_FAIL, 0, 1));
    if (s->kind == UNDO_SPLIT || s->kind == UNDO_MERGE)
        EXPECT(s, tv_range_recover(&first, TV_LIT("k20")) == TV_ERR_STOPPED);
    else
        EXPECT(s, change(&first, s->kind) == TV_ERR_STOPPED);
    EXPECT(s, tv_point_met(tv_slice_of(s->at)) == 1);
    fake_client_kill(s->pools[0]);

    died_ms = now_ms();
    for (int i = 0; i < ROWS; i++)
        expect_row(s, s->engines[1], i, "old");
    EXPECT(s, count_rows(s, s->engines[2], "k", "l") == ROWS);
    for (int i = 0; i < ROWS; i++)
        put(s, s->engines[2], "k", i, "new");
    for (int i = 0; i < ROWS; i++)
        expect_row(s, s->engines[1], i, "new");
    EXPECT(s, now_ms() - died_ms < WITHIN_MS);

    if (s->kind == DROP || s->kind == FENCE)
        EXPECT(s, tv_range_drop(&other, TV_LIT("d"), TV_LIT("e")) == TV_OK);
    tidy_up(s);
    EXPECT(s, count_rows(s, s->engines[1], "d", "e") ==
                  (s->kind == DROP || s->kind == FENCE ? 0 : ROWS));
    EXPECT(s, count_rows(s, s->engines[1], "k", "l") == ROWS);
}

static void run_point(const char *at, change_kind kind)
{
    stage s = {.cluster = fake_cluster_new(&(fake_options){.seed = 7}), .at = at, .kind = kind};
    char text[200];

    for (int i = 0; i < NODES; i++) {
        s.pools[i] = fake_client_new(s.cluster);
        CHECK_OK(tv_rados_engine_open(
            &(tv_rados_options){
                .pool = s.pools[i], .cuts = cuts, .cut_count = COUNT(cuts), .has_no_keeper = true},
            &s.engines[i], text, sizeof text));
    }
    fake_run(s.cluster, &(fake_actor){play, &s}, 1);
    tv_point_clear();
    for (int i = 0; i < NODES; i++) {
        tv_engine_close(s.engines[i]);
        s.pools[i]->ops->close(s.pools[i]);
    }
    fake_cluster_free(s.cluster);
    if (s.violation[0])
        CHECK_FAIL("%s", s.violation);
}

TEST(a_death_at_any_point_is_got_over_in_15_seconds)
{
    tv_points_enable();
    for (size_t i = 0; i < COUNT(points); i++) {
        char row[60];

        snprintf(row, sizeof row, "%s of %d", points[i].at, (int)points[i].kind);
        t_row = row;
        run_point(points[i].at, points[i].kind);
    }
}

TEST(without_a_death_changes_are_made)
{
    static const change_kind kinds[] = {SPLIT, MERGE, FENCE, DROP, CLEAN, COLLECT};
    fake_cluster *cluster = fake_cluster_new(&(fake_options){.seed = 3});
    tv_pool *pool = fake_client_new(cluster);
    tv_range_changer changer = {pool, TV_LIT("n")};

    CHECK_OK(tv_routes_create(pool, cuts, COUNT(cuts)));
    for (size_t i = 0; i < COUNT(kinds); i++)
        CHECK(change(&changer, kinds[i]) == TV_OK || kinds[i] == CLEAN);
    pool->ops->close(pool);
    fake_cluster_free(cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_at_any_point_is_got_over_in_15_seconds),
        cmocka_unit_test(without_a_death_changes_are_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
