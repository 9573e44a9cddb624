/*
 * Fencing: every range that overlaps the keys gets a new epoch, so that what
 * other nodes have sent or will send by an older map is refused; and the map says that
 * something was dropped, so that they look at the catalogues before they use the new epochs.
 *
 * The objects get their new epochs first, then the map.  Until the map has them nobody
 * can write there; if this node dies in between, nobody can until somebody
 * fences the same ranges again.
 */
#include "base/assert.h"
#include "base/random.h"
#include "engine/rados/internal.h"

/* Raise the epochs of one range's object to `epoch`, whatever they are.  It waits. */
static tv_err raise_epoch(tv_rados_engine *rados, const tv_route *route, tv_slice epoch)
{
    const tv_pool_step steps[] = {
        {TV_POOL_SET_ATTR, TV_RANGE_WRITE_EPOCH, epoch},
        {TV_POOL_SET_ATTR, TV_RANGE_READ_EPOCH, epoch},
    };
    char object[TV_POOL_NAME_MAX + 1];

    snprintf(object, sizeof object, "%.*s", TV_FMT(route->object));
    return tv_pool_change_now(rados->pool, object, steps, 2, NULL);
}

static bool overlaps(const tv_routes *routes, size_t at, tv_slice from, tv_slice to)
{
    return tv_slice_cmp(routes->ranges[at].start, to) < 0 &&
           (at + 1 == routes->range_count || tv_slice_cmp(from, routes->ranges[at + 1].start) < 0);
}

static tv_err fence_once(tv_rados_engine *rados, tv_arena *arena, tv_slice from, tv_slice to)
{
    tv_route_change change;
    tv_routes routes;
    tv_err err;

    err = tv_routes_load(rados->pool, arena, &routes);
    if (err)
        return err;

    tv_slice epoch = tv_arena_printf(arena, "e%llu.%llx", (unsigned long long)routes.version + 1,
                                     (unsigned long long)tv_random_u64());

    tv_route_change_init(&change, arena);
    tv_route_change_put(&change, TV_ROUTE_DROPS_ROW,
                        tv_arena_printf(arena, "%llu", (unsigned long long)routes.drops + 1));
    for (size_t i = 0; i < routes.range_count; i++) {
        if (!overlaps(&routes, i, from, to))
            continue;
        err = raise_epoch(rados, &routes.ranges[i], epoch);
        if (err)
            return err;
        routes.ranges[i].epoch = epoch;
        tv_route_change_put(&change, tv_route_key(arena, TV_ROUTE_RANGE, routes.ranges[i].start),
                            tv_route_encode(arena, &routes.ranges[i]));
    }
    return tv_route_change_commit(&change, rados->pool, routes.version);
}

tv_err tv_rados_fence(tv_engine *engine, tv_slice from, tv_slice to)
{
    tv_rados_engine *rados = tv_rados_of(engine);
    tv_rados_patience patience = {0};
    tv_arena arena;
    tv_err err;

    if (tv_slice_cmp(from, to) >= 0)
        return TV_OK;

    tv_arena_init(&arena);
    for (;;) {
        err = fence_once(rados, &arena, from, to);
        if (!tv_rados_is_astray(err))
            break;
        err = tv_rados_wait(rados, &patience);
        if (err)
            break;
        tv_arena_reset(&arena);
    }
    tv_arena_done(&arena);
    return err ? err : tv_maps_refresh(rados->maps);
}
