/* What the leader tidies up in tv.route: objects that came to nothing, old events, hints. */
#include <stdlib.h>

#include "store/engine/rados/range_work.h"

/* An object that was made for a split which is not there any more. */
static bool is_left_over(const tv_routes *routes, const tv_route_made *made, int64_t now_ms)
{
    return now_ms - made->at_ms >= TV_RANGE_MADE_MS &&
           tv_range_find_intent(routes, made->id) == NULL;
}

tv_err tv_range_collect(const tv_range_changer *changer, int64_t now_ms)
{
    const tv_pool_step remove = {TV_POOL_REMOVE, TV_NONE, TV_NONE};
    tv_range_work work;
    tv_route_change change;
    bool has_any = false;
    tv_err err;

    tv_range_work_init(&work, changer);
    err = tv_range_work_load(&work);
    tv_route_change_init(&change, &work.arena);
    for (size_t i = 0; !err && i < work.routes.made_count; i++) {
        const tv_route_made *made = &work.routes.made[i];

        if (!is_left_over(&work.routes, made, now_ms))
            continue;
        err = tv_point("collect.1");
        if (!err)
            err = tv_range_or_done(tv_range_step(
                &work, made->object, tv_range_closed(&work.arena, made->id), &remove, 1));
        tv_route_change_delete(&change, tv_route_key(&work.arena, TV_ROUTE_MADE, made->object));
        has_any = true;
    }
    if (!err && has_any)
        err = tv_point("collect.2");
    if (!err && has_any)
        err = tv_route_change_commit(&change, work.pool, work.routes.version);
    tv_range_work_done(&work);
    return err;
}

/* --- strays --- */

static int compare_names(const void *a, const void *b)
{
    return tv_slice_cmp(*(const tv_slice *)a, *(const tv_slice *)b);
}

/* All objects that tv.route names, sorted. */
static size_t list_named(tv_range_work *work, tv_slice **ret_names)
{
    const tv_routes *routes = &work->routes;
    size_t most = routes->range_count + 2 * routes->intent_count + routes->made_count, count = 0;
    tv_slice *names = tv_arena_alloc(&work->arena, (most + 1) * sizeof *names);

    for (size_t i = 0; i < routes->range_count; i++)
        names[count++] = routes->ranges[i].object;
    for (size_t i = 0; i < routes->intent_count; i++) {
        names[count++] = routes->intents[i].object;
        names[count++] = routes->intents[i].other;
    }
    for (size_t i = 0; i < routes->made_count; i++)
        names[count++] = routes->made[i].object;
    qsort(names, count, sizeof *names, compare_names);
    *ret_names = names;
    return count;
}

/*
 * An object is made after the intent that names it, and becomes a range by a change of tv.route
 * that finds this intent there.  So one that is in the pool before tv.route is read, and is not
 * named in it, never becomes one.
 */
tv_err tv_range_keep_strays(const tv_range_changer *changer, tv_slice *objects, size_t *count)
{
    tv_range_work work;
    tv_slice *names;
    size_t kept = 0, name_count;
    tv_err err;

    tv_range_work_init(&work, changer);
    err = tv_range_work_load(&work);
    if (!err) {
        name_count = list_named(&work, &names);
        for (size_t i = 0; i < *count; i++)
            if (!bsearch(&objects[i], names, name_count, sizeof *names, compare_names))
                objects[kept++] = objects[i];
        *count = kept;
    }
    tv_range_work_done(&work);
    return err;
}

tv_err tv_range_remove_stray(const tv_range_changer *changer, tv_slice object)
{
    const tv_pool_step remove = {TV_POOL_REMOVE, TV_NONE, TV_NONE};
    tv_slice id = tv_slice_skip(object, sizeof TV_RANGE_OBJECT - 1);
    tv_range_work work;
    tv_err err;

    tv_range_work_init(&work, changer);
    err = tv_range_step(&work, object, tv_range_closed(&work.keep, id), &remove, 1);
    tv_range_work_done(&work);
    return err == TV_ERR_NOT_FOUND ? TV_OK : err;
}

tv_err tv_range_visit_events(tv_pool *pool, tv_arena *arena,
                             void (*fn)(void *ctx, const tv_route_event *event), void *ctx)
{
    tv_pool_read read = {
        .object = TV_ROUTE_OBJECT,
        .kind = TV_POOL_READ_PAGE,
        .after = tv_route_key(arena, TV_ROUTE_EVENT, TV_LIT("")),
        .rows_max = TV_RANGE_EVENTS_MAX,
        .arena = arena,
    };
    bool is_more = true;

    while (is_more) {
        tv_err err = tv_pool_read_now(pool, &read);

        if (err)
            return err;
        for (size_t i = 0; i < read.row_count && is_more; i++) {
            tv_route_event event;

            read.after = read.rows[i].key;
            is_more = read.after.data[0] == TV_ROUTE_EVENT;
            if (is_more && tv_route_event_decode(arena, tv_slice_skip(read.after, 2),
                                                 read.rows[i].value, &event) == TV_OK)
                fn(ctx, &event);
        }
        is_more = is_more && read.has_more && read.row_count;
    }
    return TV_OK;
}

tv_err tv_range_trim_events(const tv_range_changer *changer)
{
    tv_range_work work;
    tv_route_change change;
    tv_err err;

    tv_range_work_init(&work, changer);
    err = tv_range_work_load(&work);
    if (err)
        goto out;

    /* All of them: a thousand small rows and what has come since the last time. */
    tv_pool_read read = {
        .object = TV_ROUTE_OBJECT,
        .kind = TV_POOL_READ_PAGE,
        .after = tv_route_key(&work.arena, TV_ROUTE_EVENT, TV_LIT("")),
        .rows_max = 2 * TV_RANGE_EVENTS_MAX,
        .arena = &work.arena,
    };
    size_t count = 0;

    err = tv_pool_read_now(work.pool, &read);
    if (err)
        goto out;
    while (count < read.row_count && read.rows[count].key.data[0] == TV_ROUTE_EVENT)
        count++;
    if (count <= TV_RANGE_EVENTS_MAX)
        goto out;
    tv_route_change_init(&change, &work.arena);
    for (size_t i = 0; i < count - TV_RANGE_EVENTS_MAX; i++)
        tv_route_change_delete(&change, read.rows[i].key);
    err = tv_route_change_commit(&change, work.pool, work.routes.version);

out:
    tv_range_work_done(&work);
    return err;
}

tv_err tv_range_set_hint(const tv_range_changer *changer, tv_slice start, tv_slice hint)
{
    tv_range_work work;
    tv_route_change change;
    tv_err err;

    tv_range_work_init(&work, changer);
    err = tv_range_work_load(&work);
    if (err)
        goto out;

    tv_route route = work.routes.ranges[tv_routes_find(&work.routes, start)];

    err = TV_ERR_NOT_FOUND;
    if (!tv_slice_eq(route.start, start))
        goto out;
    route.hint = hint;
    tv_route_change_init(&change, &work.arena);
    tv_route_change_put(&change, tv_route_key(&work.arena, TV_ROUTE_RANGE, start),
                        tv_route_encode(&work.arena, &route));
    err = tv_route_change_commit(&change, work.pool, work.routes.version);

out:
    tv_range_work_done(&work);
    return err;
}
