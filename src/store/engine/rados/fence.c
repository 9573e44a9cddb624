/*
 * A fence: every range that overlaps some keys gets a new epoch, so that nobody reads or writes
 * there by an older map; and the map tells who reads it again to look at the catalogues first
 * (drops).
 *
 *  1 an intent on each of the ranges, in one change
 *  2 each object's epochs, from the old to the new
 *  3 the new epochs in the map, drops; the intents go
 *
 * Between 2 and 3 nobody can use the ranges.  It only goes forward: recover.c.
 */
#include "store/engine/rados/range_work.h"

#include "base/clock.h"

static bool overlaps(const tv_routes *routes, size_t index, tv_slice from, tv_slice to)
{
    tv_slice end = tv_routes_end(routes, index);

    return tv_slice_cmp(routes->ranges[index].start, to) < 0 &&
           (end.len == 0 || tv_slice_cmp(from, end) < 0);
}

/* The id of something that is being done to one of the ranges. */
static bool find_other(const tv_routes *routes, tv_slice from, tv_slice to, tv_slice *ret_id)
{
    for (size_t i = 0; i < routes->range_count; i++)
        if (overlaps(routes, i, from, to) &&
            tv_range_is_held(routes, routes->ranges[i].start, ret_id))
            return true;
    return false;
}

/* 1. */
static tv_err begin(tv_range_work *work, tv_slice from, tv_slice to, tv_slice id)
{
    tv_arena *arena = &work->arena;
    tv_route_change change;

    tv_route_change_init(&change, arena);
    for (size_t i = 0; i < work->routes.range_count; i++) {
        const tv_route *route = &work->routes.ranges[i];

        if (!overlaps(&work->routes, i, from, to))
            continue;

        tv_intent intent = {
            .start = route->start,
            .kind = TV_INTENT_FENCE,
            .stage = TV_INTENT_PUBLISHED,
            .id = id,
            .by = work->changer->incarnation,
            .object = route->object,
            .epoch = route->epoch,
            .new_epoch = id,
            .began_ms = tv_clock_unix_ms(),
        };

        tv_route_change_put(&change, tv_route_key(arena, TV_ROUTE_INTENT, route->start),
                            tv_intent_encode(arena, &intent));
    }
    return tv_route_change_commit(&change, work->pool, work->routes.version);
}

tv_err tv_range_fence(const tv_range_changer *changer, tv_slice from, tv_slice to)
{
    tv_range_work work;
    tv_slice id;
    tv_err err;

    if (TV_MUTANT(UNFENCED_DROP))
        return TV_OK;
    tv_range_work_init(&work, changer);
    do {
        err = tv_range_work_load(&work);
        if (err)
            break;
        if (find_other(&work.routes, from, to, &id)) {
            /* TV_ERR_CONFLICT: look again. */
            err = tv_range_finish(&work, tv_arena_dup(&work.keep, id));
            if (!err)
                err = TV_ERR_CONFLICT;
            continue;
        }
        err = tv_point("fence.1");
        id = tv_range_new_id(&work);
        if (!err)
            err = begin(&work, from, to, id);
    } while (err == TV_ERR_CONFLICT);
    if (!err)
        err = tv_range_finish(&work, id);
    tv_range_work_done(&work);
    return err;
}
