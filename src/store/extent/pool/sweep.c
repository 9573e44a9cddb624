/*
 * Garbage in the pool, found by one node for all.
 *
 * What no row refers to is garbage only if no row will: an upload finishes its extent
 * first and commits its row later, on any node.  So a sweep looks only at
 *
 *   - extents of processes that have ended.  Whoever answers for the boots has shut them
 *     out before the rows are read, so a row of theirs is there by then or never comes;
 *   - extents of live processes that were begun orphan_ms_min ago.  No process submits
 *     a row for one that it began commit_ms_max ago (tv_extents_may_commit), which
 *     is half of that, and one that lives has not been stopped in between.
 *
 * And only what two sweeps have found, sweep_gap_ms apart, is removed: a mistake in
 * one look at the rows, such as a row that moved while they were read, destroys nothing.
 * It goes at once then: it had no row for longer than any visit lasts without a new look at it.
 *
 * The objects are listed before the rows are read, and a row for an extent that was not
 * listed is looked into: it may have been made since.  If it is not there at all,
 * rows and objects do not fit together, and nothing is removed.
 */
#include "base/clock.h"
#include "base/point.h"
#include "store/extent/pool/internal.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)

typedef struct sweep {
    tv_pool_extents *extents;
    tv_extent_gc *gc;
    tv_extent_boots boots;
    tv_extent_set found;
    size_t listed;
    bool is_stopped;
} sweep;

enum { NAMES_AT_ONCE = 1000 }; /* between two looks whether to stop */

static bool is_stopping(const sweep *s)
{
    return s->gc->is_stopping && s->gc->is_stopping(s->gc->ctx);
}

static bool found_object(void *ctx, const char *object)
{
    sweep *s = ctx;
    tv_extent_id id;
    uint32_t part;

    if (tv_pool_extent_name_parse(object, &id, &part))
        tv_extent_set_add(&s->found, id);
    if (++s->listed % NAMES_AT_ONCE == 0 && is_stopping(s))
        s->is_stopped = true;
    return !s->is_stopped;
}

static tv_err list(sweep *s)
{
    tv_pool *pool = s->extents->options.pool;
    tv_err err = pool->ops->list(pool, TV_EXTENT_OBJECT_PREFIX, found_object, s);

    tv_extent_set_sort(&s->found);
    return s->is_stopped ? TV_ERR_STOPPED : err;
}

/* A pool that does not answer is no proof that something is missing. */
static bool mark(void *marker, tv_extent_id id)
{
    sweep *s = marker;
    tv_pool_extent_facts facts;

    if (tv_extent_set_mark(&s->found, id))
        return true;
    if (tv_pool_extent_look(s->extents, id, &facts) != TV_ERR_NOT_FOUND)
        return true;

    s->gc->missing_count++;
    return false;
}

static bool is_live(const tv_extent_boots *boots, uint64_t boot)
{
    for (size_t i = 0; i < boots->live_count; i++) {
        if (boots->live[i] == boot)
            return true;
    }
    return boot > boots->last;
}

/* Whether no row can be made for it any more. */
static tv_err is_final(const sweep *s, tv_extent_id id, bool *ret_is_final)
{
    int64_t now = (tv_clock_ticks() - TV_TICKS_UNIX_EPOCH) / TV_TICKS_PER_SECOND;
    tv_pool_extent_facts facts;
    tv_err err;

    *ret_is_final = !is_live(&s->boots, id.boot);
    if (*ret_is_final)
        return TV_OK;

    err = tv_pool_extent_look(s->extents, id, &facts);
    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_OK : err; /* being removed just now */

    *ret_is_final =
        facts.begun <= now && (now - facts.begun) * 1000 >= s->extents->options.times.orphan_ms_min;
    return TV_OK;
}

/* Of what no row refers to, keep what will stay so. */
static tv_err keep_final(sweep *s)
{
    tv_err err = TV_OK;

    for (size_t i = 0; err == TV_OK && i < s->found.count; i++) {
        bool is_garbage;

        if (is_stopping(s))
            return TV_ERR_STOPPED;
        err = is_final(s, s->found.ids[i], &is_garbage);
        s->found.is_marked[i] = err == TV_OK && !is_garbage;
    }
    tv_extent_set_keep_unmarked(&s->found);
    return err;
}

/* Remove what the sweep before has found as well, and remember the rest for the next one. */
static void convict(sweep *s, int64_t start_ns)
{
    tv_pool_extents *extents = s->extents;
    int64_t gap_ns = extents->options.times.sweep_gap_ms * INT64_C(1000000);

    if (extents->suspects.count && start_ns - extents->suspects_ns < gap_ns)
        return; /* too early: the sweep before goes on to count */

    for (size_t i = 0; i < s->found.count; i++) {
        if (is_stopping(s))
            break; /* the rest is found again */
        if (tv_extent_set_has(&extents->suspects, s->found.ids[i])) {
            if (tv_point("sweep.remove"))
                return;
            tv_extents_remove_now(&extents->base, s->found.ids[i]);
            s->found.is_marked[i] = 1;
            s->gc->removed_count++;
        }
    }
    s->gc->has_removed = s->gc->removed_count > 0;
    tv_extent_set_keep_unmarked(&s->found);
    tv_extent_set_done(&extents->suspects);
    extents->suspects = s->found;
    extents->suspects_ns = tv_clock_mono_ns();
    s->found = (tv_extent_set){0};
}

static tv_err find(sweep *s, tv_arena *arena)
{
    const tv_extent_pool_options *options = &s->extents->options;
    tv_err err;

    err = options->shut_out_boots(options->ctx, arena, &s->boots);
    if (err)
        return err;

    err = list(s);
    if (err)
        return err;

    err = tv_point("sweep.mark");
    if (err)
        return err;
    err = s->gc->mark_rows(s->gc->ctx, mark, s);
    if (err)
        return err;

    tv_extent_set_keep_unmarked(&s->found);
    return keep_final(s);
}

tv_err tv_pool_extents_gc(tv_extents *store, tv_extent_gc *gc)
{
    tv_pool_extents *extents = tv_pool_extents_of(store);
    sweep s = {.extents = extents, .gc = gc};
    int64_t start_ns = tv_clock_mono_ns();
    tv_arena arena;
    tv_err err;

    if (extents->options.shut_out_boots == NULL)
        return TV_OK;

    tv_arena_init(&arena);
    err = find(&s, &arena);
    gc->orphan_count = s.found.count;
    if (err == TV_OK && gc->missing_count == 0 && !gc->keeps_all)
        convict(&s, start_ns);
    else if (err == TV_OK)
        tv_extent_set_done(&extents->suspects);
    gc->again_ms = extents->suspects.count ? extents->options.times.sweep_gap_ms : DAY_MS;
    tv_extent_set_done(&s.found);
    tv_arena_done(&arena);
    return err;
}
