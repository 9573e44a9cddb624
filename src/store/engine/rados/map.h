/*
 * The ranges as this node knows them: a sorted array that never changes, behind a
 * pointer that is replaced when tv.route has changed.
 *
 * A map may be old.  That does no harm: every operation names the epoch of its
 * range, and one that was sent by an old map is refused, which is how a node finds out.
 *
 * What must be read again before a newer map may be used: `drops` grows when
 * a table, queue or container was dropped, and its ranges got new epochs then, so that nodes which
 * have not heard of it cannot touch its rows.  A node that learnt the new
 * epochs and still believed in the table would undo that.  So a map with other
 * `drops` is put into use only after `before_use` has looked at the catalogues; what that reads
 * goes by the new map already.
 *
 * Any thread.
 */
#ifndef TV_STORE_ENGINE_RADOS_MAP_H
#define TV_STORE_ENGINE_RADOS_MAP_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/engine/rados/route.h"
#include "store/engine/rados/samples.h"
#include "store/engine/write_batch.h"

typedef struct tv_range_lane tv_range_lane;

/** A range. */
typedef struct tv_range {
    tv_slice start, end; /* the last one ends at TV_NONE, which is the end of all keys */
    tv_slice epoch, flags, hint;
    const char *object;
    tv_range_lane *lane; /* what this node does there now; stays when only the epoch changes */
} tv_range;

/** All of them.  Held by reference. */
typedef struct tv_map {
    atomic_int refs;
    uint64_t version, drops;
    int64_t level;    /* of the store */
    tv_range *ranges; /* the first starts at "" */
    size_t count;
    tv_arena arena; /* that all of it is in */
} tv_map;

/** Where a key is. */
const tv_range *tv_map_find(const tv_map *map, tv_slice key);

/** Whether a key is in a range. */
static inline bool tv_range_has(const tv_range *range, tv_slice key)
{
    return tv_slice_cmp(key, range->start) >= 0 &&
           (range->end.data == NULL || tv_slice_cmp(key, range->end) < 0);
}

/** The node's map. */
typedef struct tv_maps tv_maps;

/** Load the first map.  TV_ERR_NOT_FOUND: see tv_routes_load. */
tv_err tv_maps_open(tv_pool *pool, tv_maps **ret_maps) TV_WARN_UNUSED;
/** The same for a node that understands this level (route.h) and none above it. */
tv_err tv_maps_open_level(tv_pool *pool, int64_t level, tv_maps **ret_maps) TV_WARN_UNUSED;
void tv_maps_close(tv_maps *maps); /* accepts NULL */

/**
 * Have `on_newer` called when the store is found to have a level above this node's: nothing it does
 * can be trusted from then on.  Set before other threads know the maps.
 */
void tv_maps_set_on_newer(tv_maps *maps, void (*on_newer)(void *ctx, int64_t level), void *ctx);

/**
 * What is to be done before a map with other `drops` is used.  An error keeps the old one in use,
 * and is returned to who wanted to reload.  It reads on its own thread, by what waits (get,
 * get_many, iterators), and passes TV_ERR_MOVED on: an even later map has come.  Set before other
 * threads know the maps.
 */
void tv_maps_set_before_use(tv_maps *maps, tv_err (*before_use)(void *ctx), void *ctx);

/** The map in use, to be given back. */
tv_map *tv_maps_get(tv_maps *maps);
void tv_map_unref(tv_map *map);

/**
 * An operation that went by `map` was refused: have a later one if there is one.  One thread reads
 * it, others wait.  TV_OK also when nothing has changed: then something is about to be.
 * TV_ERR_CORRUPT when this source cannot understand the pool any more.
 */
tv_err tv_maps_reload(tv_maps *maps, const tv_map *map) TV_WARN_UNUSED;

/** Have a later map if there is one: one small read if not. */
tv_err tv_maps_refresh(tv_maps *maps) TV_WARN_UNUSED;

/* --- what a node does on a range --- */

struct tv_engine_read;

/** Counts of one range on this node; they only grow. */
typedef struct tv_range_lane_use {
    _Atomic uint64_t read_ops, read_keys, read_bytes;
    _Atomic uint64_t write_ops, write_rows, write_bytes;
    _Atomic uint64_t write_ns; /* time in which a write was under way */
    _Atomic int64_t rows_more; /* puts of rows that were expected to be absent, less deletes */
    _Atomic unsigned refused_in_row; /* write operations, for their instants */
    _Atomic int64_t clock, gone;     /* what the range's are at least; 0: not known, see write.c */
    /* Of each guard: instants after this may be late; 0: none may. */
    _Atomic int64_t guarded_after[TV_GUARDS];
} tv_range_lane_use;

/** Belongs to an object of a range as long as the map has it.  read.c has the rest of it. */
struct tv_range_lane {
    atomic_int refs;
    uint64_t number; /* never used again */
    tv_range_lane_use use;
    tv_samples samples; /* of the partitions that were used */

    pthread_mutex_t lock;
    struct tv_engine_read *first, *last; /* reads that wait */
    int in_flight;                       /* operations for others */
    uint32_t mean_bytes;                 /* of a row, about; 0: not known */
};

tv_range_lane *tv_range_lane_ref(tv_range_lane *lane);
void tv_range_lane_unref(tv_range_lane *lane);

#endif
