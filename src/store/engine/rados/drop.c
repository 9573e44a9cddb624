/*
 * Rows that go in large numbers: those of a dropped table, and those that a split has left behind.
 *
 * A range that is wholly inside what is dropped goes with its object, for the price of a few
 * operations.  At the edges rows go a thousand at a time: the removal of many rows in one
 * operation would hold everybody else up.
 */
#include "base/log.h"
#include "store/engine/rados/merge.h"

enum { STEP_ROWS = 1000, REFUSED_MS = 2, REFUSALS_MAX = 1000 };

/*
 * Remove the first rows of [from, to) in an object, if it has this epoch and no merge puts rows
 * there.  `ret_is_empty`: there are no more.
 */
static tv_err remove_some(tv_range_work *work, const tv_route *route, tv_slice from, tv_slice to,
                          bool *ret_is_empty)
{
    tv_arena *arena = &work->arena;
    const char *object = tv_range_text(arena, route->object);
    tv_pool_read read = {
        .object = object,
        .kind = TV_POOL_READ_PAGE,
        .attr = TV_RANGE_READ_EPOCH,
        .attr_value = route->epoch,
        .after = tv_route_before(arena, from),
        .rows_max = STEP_ROWS,
        .arena = arena,
    };
    size_t count;
    tv_err err;

    err = tv_pool_read_now(work->pool, &read);
    if (err)
        return err;

    for (count = read.row_count; count && tv_slice_cmp(read.rows[count - 1].key, to) >= 0;)
        count--;
    *ret_is_empty = count < read.row_count || !read.has_more;
    if (count == 0)
        return TV_OK;

    const tv_pool_step steps[] = {
        {TV_POOL_ATTR_IS, TV_RANGE_WRITE_EPOCH, route->epoch},
        {TV_POOL_ATTR_IS, TV_RANGE_MERGE, TV_LIT("")},
        {TV_POOL_DELETE_ROWS, read.rows[0].key,
         tv_range_join(arena, "", read.rows[count - 1].key, "\x01")},
    };

    err = tv_point(TV_MUTANT(CLEAN_UNGUARDED) ? "mutant" : "clean.remove");
    if (err)
        return err;
    if (TV_MUTANT(CLEAN_UNGUARDED))
        return tv_pool_change_now(work->pool, object, steps + 2, 1, NULL);
    return tv_pool_change_now(work->pool, object, steps, 3, NULL);
}

static tv_slice later(tv_slice a, tv_slice b)
{
    return tv_slice_cmp(a, b) > 0 ? a : b;
}

/* The earlier end; "" stands for no end. */
static tv_slice earlier_end(tv_slice a, tv_slice b)
{
    if (a.len == 0 || b.len == 0)
        return a.len ? a : b;
    return tv_slice_cmp(a, b) < 0 ? a : b;
}

/* --- dropping --- */

/* A range that is wholly inside; it has one before it, as `from` is not empty. */
static bool find_inside(const tv_routes *routes, tv_slice from, tv_slice to, tv_slice *ret_start)
{
    for (size_t i = 1; i < routes->range_count; i++) {
        tv_slice end = tv_routes_end(routes, i);

        if (tv_slice_cmp(routes->ranges[i].start, from) < 0 || end.len == 0 ||
            tv_slice_cmp(end, to) > 0)
            continue;
        *ret_start = routes->ranges[i].start;
        return true;
    }
    return false;
}

/* Remove a step of rows somewhere in [from, to).  `at` moves on; at the end it is `to`. */
static tv_err remove_edges(tv_range_work *work, tv_slice to, tv_slice *at)
{
    size_t index = tv_routes_find(&work->routes, *at);
    tv_slice end = earlier_end(tv_routes_end(&work->routes, index), to);
    bool is_empty = false;
    tv_err err;

    err = remove_some(work, &work->routes.ranges[index], *at, end, &is_empty);
    if (!err && is_empty)
        *at = tv_arena_dup(&work->keep, end);
    return err;
}

/* Drop a whole range; what is being done to it or to the one before it ends first. */
static tv_err drop_whole(tv_range_work *work, tv_slice start)
{
    tv_slice left = work->routes.ranges[tv_routes_find(&work->routes, start) - 1].start, id;
    tv_range_result result;

    if (tv_range_is_held(&work->routes, left, &id) || tv_range_is_held(&work->routes, start, &id))
        return tv_range_finish(work, tv_arena_dup(&work->keep, id));
    return tv_range_join_left(work->changer, start, TV_INTENT_DROP, TV_LIT(""), &result);
}

tv_err tv_range_drop(const tv_range_changer *changer, tv_slice from, tv_slice to)
{
    tv_range_work work;
    tv_slice at = from, start;
    int refusals = 0;
    tv_err err = TV_OK;

    tv_range_work_init(&work, changer);
    while (!err && tv_slice_cmp(at, to) < 0) {
        err = tv_range_work_load(&work);
        if (!err)
            err = tv_point("drop.1");
        if (!err && find_inside(&work.routes, from, to, &start))
            err = drop_whole(&work, start);
        else if (!err)
            err = remove_edges(&work, to, &at);
        if (err != TV_ERR_CONFLICT && err != TV_ERR_NOT_FOUND)
            continue;

        /* The range has another epoch by now, or is being changed, perhaps by a dead node. */
        work.pool->ops->pause(work.pool, REFUSED_MS);
        err = ++refusals % REFUSALS_MAX == 0 ? tv_range_recover(changer, at) : TV_OK;
    }
    tv_range_work_done(&work);
    return err;
}

/* --- leftovers --- */

/* The range's object holds none any more. */
static tv_err end_dirty(tv_range_work *work, const tv_route *dirty)
{
    tv_route_change change;
    tv_route route = *dirty;

    route.dirty_from = route.dirty_to = TV_LIT("");
    tv_route_change_init(&change, &work->arena);
    tv_route_change_put(&change, tv_route_key(&work->arena, TV_ROUTE_RANGE, route.start),
                        tv_route_encode(&work->arena, &route));
    return tv_route_change_commit(&change, work->pool, work->routes.version);
}

tv_err tv_range_clean(const tv_range_changer *changer, bool *ret_is_clean)
{
    tv_range_work work;
    bool is_empty = false;
    tv_err err;

    *ret_is_clean = false;
    tv_range_work_init(&work, changer);
    err = tv_range_work_load(&work);
    for (size_t i = 0; !err && i < work.routes.range_count; i++) {
        const tv_route *route = &work.routes.ranges[i];
        tv_slice end = tv_routes_end(&work.routes, i), held_by;

        if (route->dirty_from.len == 0 && route->dirty_to.len == 0)
            continue;
        if (tv_range_is_held(&work.routes, route->start, &held_by))
            goto out;
        err = tv_point("clean.1");
        if (!err && end.len)
            err = remove_some(&work, route, later(route->dirty_from, end),
                              tv_route_end(route->dirty_to), &is_empty);
        else
            is_empty = true;
        if (!err)
            err = tv_point("clean.2");
        if (!err && is_empty)
            err = end_dirty(&work, route);
        goto out;
    }
    *ret_is_clean = !err;

out:
    tv_range_work_done(&work);
    return err == TV_ERR_CONFLICT ? TV_OK : err;
}
