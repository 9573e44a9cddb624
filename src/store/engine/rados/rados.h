/*
 * The cluster engine: rows in a pool of a Ceph cluster, shared by any number of
 * nodes that keep nothing.
 *
 * A range of keys is an object (route.h), a row of the engine is a row of the object,
 * and a batch is one operation on it with all of its conditions.  Nodes need no
 * leases and no clocks for this: whoever sends an operation names the epoch under
 * which it knows the range, and the storage compares.
 */
#ifndef TV_STORE_ENGINE_RADOS_RADOS_H
#define TV_STORE_ENGINE_RADOS_RADOS_H

#include "store/engine/engine.h"
#include "store/engine/rados/map.h"
#include "store/pool/pool.h"

typedef struct tv_rados_options {
    tv_pool *pool; /* not owned: it is closed after the engine */
    /** Puts are refused when less than this share of the pool is free; 0: never. */
    int reserve_percent;
    /** Where a new store is cut, for tests; in ascending order. */
    const tv_slice *cuts;
    size_t cut_count;
    /** No thread that looks for changes by itself: for simulations. */
    bool has_no_keeper;
    /** The level that this node understands, for tests; 0: TV_ROUTE_LEVEL. */
    int64_t level;
    /** See tv_maps_set_on_newer; or NULL. */
    void (*on_newer)(void *ctx, int64_t level);
    void *ctx;
} tv_rados_options;

/**
 * Open the store in a pool, or make one there.  On failure one line in `reterr_text`.
 * TV_ERR_CORRUPT: the pool holds something that this source does not understand.
 */
tv_err tv_rados_engine_open(const tv_rados_options *options, tv_engine **ret_engine,
                            char *reterr_text, size_t reterr_size) TV_WARN_UNUSED;

/** See tv_maps_set_before_use: the catalogues.  Before any client is served. */
void tv_rados_set_before_use(tv_engine *engine, tv_err (*before_use)(void *ctx), void *ctx);

tv_pool *tv_rados_pool(tv_engine *engine);
tv_maps *tv_rados_maps(tv_engine *engine);

#endif
