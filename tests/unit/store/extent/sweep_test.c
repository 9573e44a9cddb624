/*
 * Garbage in a pool: what the sweep takes, and that it never takes what a row refers to or will.
 *
 * Rows are rows of an object of the pool, so that a node that has been shut out cannot write them,
 * as on a cluster.
 */
#include <inttypes.h>

#include "base/point.h"

#include "pool_fixture.h"

#define ROWS_OBJECT "rows"

/* What the leader knows of the other processes. */
static struct {
    uint64_t live[8];
    size_t live_count;
    uint64_t last;
    tv_err err;
    const char *dead_address; /* to be shut out before it counts as dead; or NULL */
    tv_pool *leader_pool;
} boots;

static tv_err shut_out_boots(void *ctx, tv_arena *arena, tv_extent_boots *ret_boots)
{
    (void)ctx, (void)arena;
    if (boots.err)
        return boots.err;
    if (boots.dead_address)
        CHECK_OK(boots.leader_pool->ops->shut_out(boots.leader_pool, boots.dead_address));

    *ret_boots = (tv_extent_boots){boots.live, boots.live_count, boots.last};
    return TV_OK;
}

/* --- rows --- */

typedef struct row_text {
    char text[34];
} row_text;

static row_text row_of(tv_extent_id id)
{
    row_text row;

    snprintf(row.text, sizeof row.text, "%016" PRIx64 "-%016" PRIx64, id.boot, id.number);
    return row;
}

/* Commit a row that refers to an extent; the caller asks tv_extents_may_commit. */
static tv_err commit_row(tv_pool *pool, tv_extent_id id)
{
    row_text row = row_of(id);
    tv_pool_step step = {TV_POOL_PUT_ROW, tv_slice_of(row.text), TV_LIT("x")};

    return tv_pool_change_now(pool, ROWS_OBJECT, &step, 1, NULL);
}

static void drop_row(tv_pool *pool, tv_extent_id id)
{
    row_text row = row_of(id);
    tv_pool_step step = {.kind = TV_POOL_DELETE_ROW, .key = tv_slice_of(row.text)};

    CHECK_OK(tv_pool_change_now(pool, ROWS_OBJECT, &step, 1, NULL));
}

/* Called while rows are read, before the first one. */
static void (*on_read_rows)(void);

static tv_err each_row(tv_pool *pool, bool (*fn)(void *ctx, tv_extent_id id), void *ctx)
{
    tv_arena arena;
    tv_pool_read read = {
        .object = ROWS_OBJECT, .kind = TV_POOL_READ_PAGE, .rows_max = 1000, .arena = &arena};
    tv_err err;

    tv_arena_init(&arena);
    err = tv_pool_read_now(pool, &read);
    for (size_t i = 0; err == TV_OK && i < read.row_count; i++) {
        tv_extent_id id;

        CHECK(sscanf(read.rows[i].key.data, "%16" SCNx64 "-%16" SCNx64, &id.boot, &id.number) == 2);
        fn(ctx, id);
    }
    tv_arena_done(&arena);
    return err;
}

static tv_err mark_rows(void *ctx, tv_extent_mark_fn *mark, void *marker)
{
    if (on_read_rows)
        on_read_rows();
    return each_row(((node *)ctx)->pool, mark, marker);
}

static bool stops;

static bool is_stopping(void *ctx)
{
    (void)ctx;
    return stops;
}

static tv_extent_gc last_gc;

static tv_err sweep(node *n)
{
    last_gc = (tv_extent_gc){.mark_rows = mark_rows, .is_stopping = is_stopping, .ctx = n};

    tv_err err = tv_extents_gc(n->extents, &last_gc);

    wait_for_removals(n->extents);
    return err;
}

/* The leader's node: times are such that two sweeps in a row are apart enough. */
static node leader_open(uint64_t boot)
{
    node n = node_open(
        boot, (tv_extent_pool_options){.shut_out_boots = shut_out_boots, .times.sweep_gap_ms = -1});

    boots.leader_pool = n.pool;
    return n;
}

static void set_live(size_t count, const uint64_t *live, uint64_t last)
{
    memset(&boots, 0, sizeof boots);
    boots.last = last;
    boots.live_count = count;
    memcpy(boots.live, live, count * sizeof *live);
}

#define LIVE(last, ...)                                                                            \
    set_live(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__}, last)

static int begin(void **state)
{
    tv_pool_step make = {.kind = TV_POOL_CREATE};

    set_up(state);
    on_read_rows = NULL;
    stops = false;
    LIVE(10, 10);

    tv_pool *pool = fake_client_new(cluster);

    CHECK_OK(tv_pool_change_now(pool, ROWS_OBJECT, &make, 1, NULL));
    pool->ops->close(pool);
    return 0;
}

/* Make an extent older than it is. */
static void age(tv_pool *pool, tv_extent_id id, int64_t seconds)
{
    char name[TV_EXTENT_OBJECT_SIZE], text[32];
    tv_pool_step step = {TV_POOL_SET_ATTR, TV_LIT(TV_EXTENT_ATTR_BEGUN), TV_NONE};

    snprintf(text, sizeof text, "%" PRId64,
             (tv_clock_ticks() - TV_TICKS_UNIX_EPOCH) / TV_TICKS_PER_SECOND - seconds);
    step.value = tv_slice_of(text);
    tv_pool_extent_name(id, 0, name);
    CHECK_OK(tv_pool_change_now(pool, name, &step, 1, NULL));
}

/* --- what goes and what stays --- */

TEST(what_a_dead_process_has_left_goes_after_two_sweeps)
{
    node a = node_open(1, (tv_extent_pool_options){0}), leader = leader_open(10);
    tv_extent_id kept = put(a.extents, some_bytes(5 * MIB)), half;
    tv_extent_writer *writer;

    put(a.extents, some_bytes(9 * MIB));
    put(a.extents, some_bytes(10));
    CHECK_OK(tv_extent_create(a.extents, &writer));
    half = writer->id;
    CHECK_OK(tv_extent_append(writer, some_bytes(9 * MIB)));
    CHECK_OK(commit_row(a.pool, kept));
    fake_client_kill(a.pool);
    tv_extent_discard(writer);
    CHECK_INT(part_count(), 2 + 3 + 1 + 2);

    CHECK_OK(sweep(&leader));
    CHECK_INT(last_gc.orphan_count, 3);
    CHECK(!last_gc.has_removed && last_gc.again_ms != 0);
    CHECK_INT(part_count(), 8);
    CHECK_OK(sweep(&leader));
    CHECK_INT(last_gc.removed_count, 3);
    CHECK_INT(part_count(), 2);
    CHECK_OK(try_read(leader.extents, kept, some_bytes(5 * MIB)));
    CHECK_ERR(try_read(leader.extents, half, some_bytes(9 * MIB)), TV_ERR_NOT_FOUND);

    CHECK_OK(sweep(&leader));
    CHECK_OK(sweep(&leader));
    CHECK_INT(part_count(), 2);
    node_close(&a);
    node_close(&leader);
}

TEST(what_two_sweeps_have_found_goes_at_once)
{
    node a = node_open(1, (tv_extent_pool_options){0});
    node leader = node_open(
        10, (tv_extent_pool_options){.shut_out_boots = shut_out_boots,
                                     .times = {.sweep_gap_ms = -1, .remove_delay_ms = NEVER_MS}});

    boots.leader_pool = leader.pool;
    put(a.extents, some_bytes(9 * MIB));
    fake_client_kill(a.pool);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(part_count(), 3);
        last_gc =
            (tv_extent_gc){.mark_rows = mark_rows, .is_stopping = is_stopping, .ctx = &leader};
        CHECK_OK(tv_extents_gc(leader.extents, &last_gc));
    }
    CHECK_INT(part_count(), 0);
    node_close(&a);
    node_close(&leader);
}

TEST(two_sweeps_must_be_apart)
{
    node a = node_open(1, (tv_extent_pool_options){0});
    node leader = node_open(10, (tv_extent_pool_options){.shut_out_boots = shut_out_boots});

    put(a.extents, some_bytes(10));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(sweep(&leader));
        CHECK_INT(last_gc.orphan_count, 1);
        CHECK_INT(last_gc.again_ms, 3600 * 1000);
        CHECK_INT(part_count(), 1);
    }
    node_close(&a);
    node_close(&leader);
}

/* A row that was there in one of two sweeps keeps its extent. */
TEST(what_only_one_sweep_found_stays)
{
    node a = node_open(1, (tv_extent_pool_options){0}), leader = leader_open(10);
    tv_extent_id id = put(a.extents, some_bytes(10));

    CHECK_OK(sweep(&leader));
    CHECK_INT(last_gc.orphan_count, 1);
    CHECK_OK(commit_row(a.pool, id));
    CHECK_OK(sweep(&leader));
    CHECK_INT(last_gc.orphan_count, 0);
    drop_row(a.pool, id);
    CHECK_OK(sweep(&leader));
    CHECK_INT(part_count(), 1);
    CHECK_OK(sweep(&leader));
    CHECK_INT(part_count(), 0);
    node_close(&a);
    node_close(&leader);
}

TEST(a_live_process_keeps_what_is_young)
{
    node a = node_open(1, (tv_extent_pool_options){0}), leader = leader_open(10);
    tv_extent_id young = put(a.extents, some_bytes(10)), old = put(a.extents, some_bytes(10));
    tv_extent_id own = put(leader.extents, some_bytes(10));
    tv_extent_writer *writer;

    /* An upload that is under way. */
    CHECK_OK(tv_extent_create(a.extents, &writer));
    CHECK_OK(tv_extent_append(writer, some_bytes(9 * MIB)));
    LIVE(10, 1, 10);
    age(a.pool, young, 24 * 3600 - 600);
    age(a.pool, old, 24 * 3600 + 1);
    CHECK_OK(sweep(&leader));
    CHECK_INT(last_gc.orphan_count, 1);
    CHECK_OK(sweep(&leader));
    CHECK_INT(last_gc.removed_count, 1);
    CHECK_ERR(try_read(leader.extents, old, some_bytes(10)), TV_ERR_NOT_FOUND);
    CHECK_OK(try_read(leader.extents, young, some_bytes(10)));
    CHECK_OK(try_read(leader.extents, own, some_bytes(10)));
    CHECK_OK(tv_extent_finish(writer, &young));
    CHECK_OK(try_read(leader.extents, young, some_bytes(9 * MIB)));
    node_close(&a);
    node_close(&leader);
}

/* A process that began after the others were shut out is not known, and not dead. */
TEST(a_process_that_is_new_is_live)
{
    node a = node_open(11, (tv_extent_pool_options){0}), leader = leader_open(10);
    tv_extent_id id = put(a.extents, some_bytes(10));

    for (int i = 0; i < 3; i++)
        CHECK_OK(sweep(&leader));
    CHECK_OK(try_read(leader.extents, id, some_bytes(10)));
    node_close(&a);
    node_close(&leader);
}

static node *uploader;
static tv_extent_id uploaded;

/* Between the listing and the rows. */
static void upload_and_commit(void)
{
    uploaded = put(uploader->extents, some_bytes(10));
    CHECK_OK(commit_row(uploader->pool, uploaded));
}

TEST(what_is_made_while_a_sweep_runs_is_not_missing)
{
    node a = node_open(9, (tv_extent_pool_options){0}), leader = leader_open(10);

    uploader = &a;
    on_read_rows = upload_and_commit;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(sweep(&leader));
        CHECK_INT(last_gc.missing_count, 0);
        CHECK_OK(try_read(leader.extents, uploaded, some_bytes(10)));
    }
    CHECK_INT(part_count(), 3);
    node_close(&a);
    node_close(&leader);
}

/* Rows and objects that do not fit together: nothing is removed, whatever it looks like. */
TEST(nothing_goes_while_something_is_missing)
{
    node a = node_open(1, (tv_extent_pool_options){0}), leader = leader_open(10);
    tv_extent_id lost = {1, 77};

    put(a.extents, some_bytes(10));
    CHECK_OK(sweep(&leader));
    CHECK_INT(last_gc.orphan_count, 1);
    CHECK_OK(commit_row(a.pool, lost));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(sweep(&leader));
        CHECK_INT(last_gc.missing_count, 1);
        CHECK_INT(last_gc.removed_count, 0);
    }
    CHECK_INT(part_count(), 1);

    /* After that it starts over. */
    drop_row(a.pool, lost);
    CHECK_OK(sweep(&leader));
    CHECK_INT(part_count(), 1);
    CHECK_OK(sweep(&leader));
    CHECK_INT(part_count(), 0);
    node_close(&a);
    node_close(&leader);
}

TEST(a_sweep_that_is_told_to_keep_all_only_looks)
{
    node a = node_open(1, (tv_extent_pool_options){0}), leader = leader_open(10);

    put(a.extents, some_bytes(10));
    for (int i = 0; i < 3; i++) {
        last_gc = (tv_extent_gc){.mark_rows = mark_rows, .ctx = &leader, .keeps_all = true};
        CHECK_OK(tv_extents_gc(leader.extents, &last_gc));
        CHECK_INT(last_gc.orphan_count, 1);
        CHECK_INT(last_gc.removed_count, 0);
    }
    CHECK_INT(part_count(), 1);
    node_close(&a);
    node_close(&leader);
}

/* Whatever fails: nothing is removed, and the next sweep goes on as if it had not been. */
TEST(a_sweep_that_fails_removes_nothing)
{
    node a = node_open(1, (tv_extent_pool_options){0}), leader = leader_open(10);

    put(a.extents, some_bytes(10));
    boots.err = TV_ERR_CONFLICT;
    CHECK_ERR(sweep(&leader), TV_ERR_CONFLICT);
    boots.err = TV_OK;
    fake_fail_reads(cluster, TV_ERR_IO);
    CHECK_ERR(sweep(&leader), TV_ERR_IO);
    fake_fail_reads(cluster, TV_OK);
    CHECK_OK(sweep(&leader));
    CHECK_INT(part_count(), 1);

    boots.err = TV_ERR_CONFLICT;
    CHECK_ERR(sweep(&leader), TV_ERR_CONFLICT);
    boots.err = TV_OK;
    fake_fail_reads(cluster, TV_ERR_IO);
    CHECK_ERR(sweep(&leader), TV_ERR_IO);
    fake_fail_reads(cluster, TV_OK);
    stops = true;
    CHECK_ERR(sweep(&leader), TV_ERR_STOPPED);
    stops = false;
    tv_points_enable();
    CHECK(tv_point_set(TV_LIT("sweep.mark"), TV_POINT_FAIL, 0, 1));
    CHECK_ERR(sweep(&leader), TV_ERR_STOPPED);
    CHECK(tv_point_set(TV_LIT("sweep.remove"), TV_POINT_FAIL, 0, 1));
    CHECK_OK(sweep(&leader));
    CHECK_INT(tv_point_met(TV_LIT("sweep.remove")), 1);
    tv_point_clear();
    CHECK_INT(part_count(), 1);
    CHECK_OK(sweep(&leader));
    CHECK_INT(part_count(), 0);
    node_close(&a);
    node_close(&leader);
}

TEST(without_word_of_the_others_nothing_is_swept)
{
    node a = node_open(1, (tv_extent_pool_options){0});
    node alone = node_open(10, (tv_extent_pool_options){.times.sweep_gap_ms = -1});

    put(a.extents, some_bytes(10));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(sweep(&alone));
        CHECK_INT(last_gc.orphan_count, 0);
    }
    CHECK_INT(part_count(), 1);
    node_close(&a);
    node_close(&alone);
}

/* The leader dies between any two steps of its removals; the next one ends what it began. */
TEST(a_leader_dies_in_its_sweep)
{
    for (uint64_t nth = 1; nth <= 5; nth++) {
        for (int is_after = 0; is_after < 2; is_after++) {
            node a = node_open(1, (tv_extent_pool_options){0}), leader = leader_open(9);
            tv_extent_id kept = put(a.extents, some_bytes(5 * MIB));

            CHECK_OK(commit_row(a.pool, kept));
            put(a.extents, some_bytes(9 * MIB));
            put(a.extents, some_bytes(5 * MIB));
            CHECK_OK(sweep(&leader));
            fake_client_kill_at(leader.pool, nth, is_after);
            CHECK_OK(sweep(&leader));
            node_close(&leader);

            leader = leader_open(10);
            CHECK_OK(sweep(&leader));
            CHECK_OK(sweep(&leader));
            CHECK_INT(part_count(), 2);
            CHECK_OK(try_read(leader.extents, kept, some_bytes(5 * MIB)));
            drop_row(leader.pool, kept);
            tv_extents_remove(leader.extents, &kept, 1);
            wait_for_removals(leader.extents);
            node_close(&a);
            node_close(&leader);
        }
    }
}

/* --- an uploader that stops, and goes on later --- */

typedef struct stop {
    node *uploader, *leader;
    uint64_t at, seen; /* the change of the uploader before which it stops */
    bool is_over;
} stop;

/* The uploader stands still before one of its changes, and the world goes on. */
static void on_change(void *ctx, tv_pool *client, const tv_pool_change *change)
{
    stop *s = ctx;

    (void)change;
    if (client != s->uploader->pool || s->is_over || ++s->seen != s->at)
        return;

    s->is_over = true;
    CHECK_OK(sweep(s->leader));
    CHECK_OK(sweep(s->leader));
}

static bool is_readable(void *ctx, tv_extent_id id)
{
    node *n = ((node **)ctx)[0];

    if (try_read(n->extents, id, some_bytes(9 * MIB)) != TV_OK)
        ((node **)ctx)[1] = NULL; /* a row without its data */
    return true;
}

/*
 * An upload that stops before its nth change, during which the leader sweeps twice.  False when
 * afterwards a row refers to an extent that is gone.  `is_shut_out`: the leader says that the
 * uploader is dead only when it has shut it out.
 */
static bool survives_stop(uint64_t at, bool is_live, bool is_shut_out, tv_err *ret_err)
{
    node a = node_open(1, (tv_extent_pool_options){0}), leader = leader_open(10);
    stop s = {.uploader = &a, .leader = &leader, .at = at};
    node *reads[2] = {&leader, &leader};
    tv_extent_id id;

    if (is_live)
        LIVE(10, 1, 10);
    else
        LIVE(10, 10);
    boots.leader_pool = leader.pool;
    if (is_shut_out)
        boots.dead_address = a.pool->ops->address(a.pool);
    fake_on_change(cluster, on_change, &s);
    *ret_err = try_put(a.extents, some_bytes(9 * MIB), &id);
    if (*ret_err == TV_OK && tv_extents_may_commit(a.extents, &id, 1))
        *ret_err = commit_row(a.pool, id);
    fake_on_change(cluster, NULL, NULL);
    CHECK(s.is_over);
    CHECK_OK(each_row(leader.pool, is_readable, reads));
    if (*ret_err == TV_OK)
        drop_row(leader.pool, id);
    node_close(&a);

    /* Nothing is left of it in the end. */
    boots.dead_address = NULL;
    LIVE(10, 10);
    CHECK_OK(sweep(&leader));
    CHECK_OK(sweep(&leader));
    wait_until_empty();
    node_close(&leader);
    return reads[1] != NULL;
}

enum { CHANGES = 5 }; /* three parts, the length, the row */

TEST(a_stopped_uploader_is_shut_out_or_keeps_its_extent)
{
    tv_err err;

    for (uint64_t at = 1; at <= CHANGES; at++) {
        CHECK(survives_stop(at, false, true, &err));
        CHECK(err == TV_ERR_IO || err == TV_ERR_STOPPED);
        CHECK(survives_stop(at, true, false, &err));
        CHECK_OK(err);
    }
}

/* The test above would notice a sweep that takes a process for dead that can still write. */
TEST(a_sweep_without_shutting_out_loses_data)
{
    int losses = 0;
    tv_err err;

    for (uint64_t at = 1; at <= CHANGES; at++)
        losses += !survives_stop(at, false, false, &err);
    CHECK(losses > 0);
}

/* An uploader that lives but was slow does not commit what may be swept. */
TEST(a_slow_uploader_does_not_commit)
{
    node a = node_open(1, (tv_extent_pool_options){.times.commit_ms_max = 600 * 1000}),
         leader = leader_open(10);
    tv_extent_id id = put(a.extents, some_bytes(10));

    LIVE(10, 1, 10);
    age(a.pool, id, 25 * 3600);
    CHECK_OK(sweep(&leader));
    CHECK_OK(sweep(&leader));
    CHECK_INT(part_count(), 0);
    CHECK(tv_extents_may_commit(a.extents, &id, 1));
    tv_clock_skip_ns(601 * INT64_C(1000000000)); /* it is counted in whole seconds */
    CHECK(!tv_extents_may_commit(a.extents, &id, 1));
    node_close(&a);
    node_close(&leader);
}

#undef T
#define T(name) cmocka_unit_test_setup_teardown(name, begin, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_a_dead_process_has_left_goes_after_two_sweeps),
        T(what_two_sweeps_have_found_goes_at_once),
        T(two_sweeps_must_be_apart),
        T(what_only_one_sweep_found_stays),
        T(a_live_process_keeps_what_is_young),
        T(a_process_that_is_new_is_live),
        T(what_is_made_while_a_sweep_runs_is_not_missing),
        T(nothing_goes_while_something_is_missing),
        T(a_sweep_that_is_told_to_keep_all_only_looks),
        T(a_sweep_that_fails_removes_nothing),
        T(without_word_of_the_others_nothing_is_swept),
        T(a_leader_dies_in_its_sweep),
        T(a_stopped_uploader_is_shut_out_or_keeps_its_extent),
        T(a_sweep_without_shutting_out_loses_data),
        T(a_slow_uploader_does_not_commit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
