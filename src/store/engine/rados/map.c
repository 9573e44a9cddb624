/* The ranges in memory. */
#include "store/engine/rados/map.h"

#include "base/assert.h"
#include "base/deadline.h"
#include "store/engine/mutants.h"

enum { RELOAD_PAUSE_MS = 2 };

struct tv_maps {
    tv_pool *pool;
    tv_err (*before_use)(void *ctx);
    void *before_use_ctx;
    int64_t level; /* that this node understands */
    void (*on_newer)(void *ctx, int64_t level);
    void *on_newer_ctx;

    pthread_mutex_t lock; /* of the rest */
    tv_map *current;
    bool is_reloading;
    uint64_t lane_count; /* that were ever made */
};

/*
 * The map that is about to be used, on the thread that prepares for it: what it
 * reads meanwhile goes by this one.
 */
static _Thread_local struct {
    const tv_maps *maps;
    tv_map *map;
} coming;

/* --- lanes --- */

static tv_range_lane *lane_new(uint64_t number)
{
    tv_range_lane *lane = tv_calloc(1, sizeof *lane);

    atomic_init(&lane->refs, 1);
    lane->number = number;
    tv_samples_init(&lane->samples, number * UINT64_C(0x9E3779B97F4A7C15));
    tv_assert(pthread_mutex_init(&lane->lock, NULL) == 0);
    return lane;
}

tv_range_lane *tv_range_lane_ref(tv_range_lane *lane)
{
    atomic_fetch_add(&lane->refs, 1);
    return lane;
}

void tv_range_lane_unref(tv_range_lane *lane)
{
    if (atomic_fetch_sub(&lane->refs, 1) != 1)
        return;

    tv_assert(lane->first == NULL && lane->in_flight == 0);
    pthread_mutex_destroy(&lane->lock);
    tv_samples_done(&lane->samples);
    free(lane);
}

/* --- maps --- */

const tv_range *tv_map_find(const tv_map *map, tv_slice key)
{
    size_t low = 0, high = map->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (tv_slice_cmp(map->ranges[middle].start, key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return &map->ranges[low];
}

void tv_map_unref(tv_map *map)
{
    if (atomic_fetch_sub(&map->refs, 1) != 1)
        return;

    for (size_t i = 0; i < map->count; i++)
        tv_range_lane_unref(map->ranges[i].lane);
    tv_arena_done(&map->arena);
    free(map);
}

/* The lane of a range: that of the old map if it has the same object at the same start. */
static tv_range_lane *lane_for(tv_maps *maps, const tv_map *old, const tv_range *range)
{
    if (old) {
        const tv_range *before = tv_map_find(old, range->start);

        if (strcmp(before->object, range->object) == 0)
            return tv_range_lane_ref(before->lane);
    }
    return lane_new(++maps->lane_count);
}

static const char *copy_text(tv_arena *arena, tv_slice text)
{
    char *copy = tv_arena_bytes(arena, text.len + 1);

    *tv_slice_put(copy, text) = '\0';
    return copy;
}

/* Read tv.route; no lanes yet. */
static tv_err read_map(tv_maps *maps, tv_map **ret_map)
{
    tv_map *map = tv_calloc(1, sizeof *map);
    tv_routes routes;
    tv_err err;

    atomic_init(&map->refs, 1);
    tv_arena_init(&map->arena);
    err = tv_routes_load(maps->pool, &map->arena, &routes);
    if (err == TV_OK && (routes.format != TV_ROUTE_FORMAT || routes.level > maps->level)) {
        if (maps->on_newer)
            maps->on_newer(maps->on_newer_ctx, routes.level);
        err = TV_ERR_CORRUPT;
    }
    if (err) {
        tv_arena_done(&map->arena);
        free(map);
        return err;
    }

    map->version = routes.version;
    map->drops = routes.drops;
    map->level = routes.level;
    map->ranges = tv_arena_zalloc(&map->arena, routes.range_count * sizeof *map->ranges);
    for (size_t i = 0; i < routes.range_count; i++) {
        const tv_route *route = &routes.ranges[i];

        map->ranges[i] = (tv_range){
            .start = route->start,
            .end = i + 1 < routes.range_count ? route[1].start : TV_NONE,
            .epoch = route->epoch,
            .flags = route->flags,
            .hint = route->hint,
            .object = copy_text(&map->arena, route->object),
        };
    }
    map->count = routes.range_count;
    *ret_map = map;
    return TV_OK;
}

/* With the lock held, or before anybody knows the maps. */
static void add_lanes(tv_maps *maps, tv_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        map->ranges[i].lane = lane_for(maps, maps->current, &map->ranges[i]);
}

tv_err tv_maps_open(tv_pool *pool, tv_maps **ret_maps)
{
    return tv_maps_open_level(pool, TV_ROUTE_LEVEL, ret_maps);
}

tv_err tv_maps_open_level(tv_pool *pool, int64_t level, tv_maps **ret_maps)
{
    tv_maps *maps = tv_calloc(1, sizeof *maps);
    tv_map *map;
    tv_err err;

    maps->pool = pool;
    maps->level = level;
    err = read_map(maps, &map);
    if (err) {
        free(maps);
        return err;
    }
    tv_assert(pthread_mutex_init(&maps->lock, NULL) == 0);
    add_lanes(maps, map);
    maps->current = map;
    *ret_maps = maps;
    return TV_OK;
}

void tv_maps_close(tv_maps *maps)
{
    if (maps == NULL)
        return;

    tv_map_unref(maps->current);
    pthread_mutex_destroy(&maps->lock);
    free(maps);
}

void tv_maps_set_before_use(tv_maps *maps, tv_err (*before_use)(void *ctx), void *ctx)
{
    maps->before_use = before_use;
    maps->before_use_ctx = ctx;
}

void tv_maps_set_on_newer(tv_maps *maps, void (*on_newer)(void *ctx, int64_t level), void *ctx)
{
    maps->on_newer = on_newer;
    maps->on_newer_ctx = ctx;
}

tv_map *tv_maps_get(tv_maps *maps)
{
    tv_map *map;

    if (coming.maps == maps) {
        atomic_fetch_add(&coming.map->refs, 1);
        return coming.map;
    }

    pthread_mutex_lock(&maps->lock);
    map = maps->current;
    atomic_fetch_add(&map->refs, 1);
    pthread_mutex_unlock(&maps->lock);
    return map;
}

static void set_current(tv_maps *maps, tv_map *map)
{
    pthread_mutex_lock(&maps->lock);
    maps->current = map;
    pthread_mutex_unlock(&maps->lock);
}

/* Put a map into use, after what must be done before that.  Only the thread that reloads. */
static tv_err use_map(tv_maps *maps, tv_map *map)
{
    tv_map *old = maps->current; /* nobody else replaces it */
    tv_err err = TV_OK;

    pthread_mutex_lock(&maps->lock);
    add_lanes(maps, map);
    pthread_mutex_unlock(&maps->lock);
    if (TV_MUTANT(EARLY_MAP))
        set_current(maps, map);
    if (map->drops != old->drops && maps->before_use) {
        coming.maps = maps;
        coming.map = map;
        err = maps->before_use(maps->before_use_ctx);
        coming.maps = NULL;
    }
    if (err && !TV_MUTANT(EARLY_MAP)) {
        tv_map_unref(map);
        return err;
    }

    set_current(maps, map);
    tv_map_unref(old);
    return TV_OK;
}

static tv_err reload(tv_maps *maps)
{
    tv_map *map;
    tv_err err;

    err = read_map(maps, &map);
    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_ERR_CORRUPT : err; /* it was there before */
    if (map->version > maps->current->version)
        return use_map(maps, map);

    /* It has no lanes yet. */
    map->count = 0;
    tv_map_unref(map);
    return TV_OK;
}

/*
 * Become the one thread that reloads.  False when another has got a later map than `version`,
 * or takes too long for this one.
 */
static bool begin_reload(tv_maps *maps, uint64_t version)
{
    while (!tv_deadline_is_over()) {
        pthread_mutex_lock(&maps->lock);
        bool is_late = maps->current->version > version, is_mine = !is_late && !maps->is_reloading;

        if (is_mine)
            maps->is_reloading = true;
        pthread_mutex_unlock(&maps->lock);
        if (is_late || is_mine)
            return is_mine;

        maps->pool->ops->pause(maps->pool, RELOAD_PAUSE_MS);
    }
    return false;
}

static void end_reload(tv_maps *maps)
{
    pthread_mutex_lock(&maps->lock);
    maps->is_reloading = false;
    pthread_mutex_unlock(&maps->lock);
}

/*
 * What is read to prepare for a map was refused.  By an even later one: prepare for that.  Else
 * one is about to come, and who reads waits for it, and ends what a dead node has begun.
 */
static tv_err look_for_later(const tv_maps *maps)
{
    tv_routes routes;
    tv_err err = tv_routes_load_version(maps->pool, &routes);

    return err == TV_OK && routes.version > coming.map->version ? TV_ERR_MOVED : err;
}

tv_err tv_maps_reload(tv_maps *maps, const tv_map *map)
{
    tv_err err;

    if (coming.maps == maps)
        return look_for_later(maps);
    if (!begin_reload(maps, map->version))
        return tv_deadline_is_over() ? TV_ERR_TIMED_OUT : TV_OK;

    do {
        err = reload(maps);
    } while (err == TV_ERR_MOVED);
    end_reload(maps);
    return err;
}

tv_err tv_maps_refresh(tv_maps *maps)
{
    tv_map *map = tv_maps_get(maps);
    tv_routes routes;
    tv_err err;

    err = tv_routes_load_version(maps->pool, &routes);
    if (err == TV_OK && routes.version > map->version)
        err = tv_maps_reload(maps, map);
    tv_map_unref(map);
    return err;
}
