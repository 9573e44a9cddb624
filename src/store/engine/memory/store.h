/*
 * What the files of the memory engine share; for this folder alone.
 *
 * A store holds the rows, and the faults that tests have asked for.  An engine is
 * a node's connection to a store: the only one, or one of several to a store that
 * has ranges.
 *
 * Two roots matter: `durable`, which readers see, and the one that a write is
 * building.  A write becomes visible and durable in one assignment, which is all
 * there is to atomicity and to "no read sees what is not durable".
 *
 * Locks: `write_lock` is held while rows are compared and changed and, for a store
 * without ranges, for the whole delay of a write, so writes queue up as they do for
 * one disk.  `lock` guards the fields below it and those of nodes, and is held for
 * moments.  A writer takes `write_lock`, then `lock`.
 */
#ifndef TV_STORE_ENGINE_MEMORY_STORE_H
#define TV_STORE_ENGINE_MEMORY_STORE_H

#include <pthread.h>

#include "store/engine/memory/memory.h"
#include "store/engine/memory/tree.h"

/** How the store is cut: sorted by `start`, the first of which is empty. */
typedef struct tv_memory_map {
    int refs;
    size_t count;
    struct tv_memory_range {
        tv_slice start; /* owned */
        uint64_t number;
        int64_t clock;           /* the latest stamp; of the store's own map alone */
        unsigned refused_in_row; /* batches, for their stamps; likewise */
    } ranges[];
} tv_memory_map;

typedef struct tv_memory_store {
    pthread_mutex_t write_lock;
    bool has_ranges;
    size_t page_rows;

    pthread_mutex_t lock;
    pthread_cond_t power_went; /* ends the delay of writes */
    int nodes;
    tv_tree *durable;
    tv_memory_map *map; /* NULL without ranges */
    uint64_t last_number;
    int64_t write_delay_us, read_delay_us;
    uint64_t write_count, read_count, batch_count;
    int delayed_count;   /* writes that take their delay now */
    uint64_t power_cuts; /* so that a write can see that the power went while it waited */
    uint64_t random;
    uint64_t fail_after, fail_count; /* this many writes pass, then this many fail */
    tv_err fail_err, read_err;
    bool would_block;
    bool is_full;
    bool is_stopped; /* after TV_ERR_IO or a loss of power; not with ranges */
} tv_memory_store;

typedef struct tv_memory_node {
    tv_engine base;
    tv_memory_store *store;
    tv_memory_map *map; /* as this node knows it: perhaps an old one */

    /* Reads that were asked for, and the thread that answers them; with ranges. */
    pthread_t reader;
    pthread_mutex_t reads_lock;
    pthread_cond_t reads_come;
    tv_engine_read *reads, **reads_end;
    bool is_closing;
} tv_memory_node;

static inline tv_memory_node *tv_memory_node_of(tv_engine *engine)
{
    return (tv_memory_node *)engine;
}

/** The rows as they are now; the caller's reference. */
tv_tree *tv_memory_snapshot(tv_memory_store *store);

void tv_memory_wait_us(int64_t delay_us);

/** The same after the time that a read takes; counts it.  The error that tests have asked for. */
tv_err tv_memory_read_rows(tv_memory_store *store, tv_tree **ret_tree) TV_WARN_UNUSED;

/** tv_engine_ops.iter_new. */
tv_err tv_memory_iter_new(tv_engine *engine, tv_slice from, tv_slice to, tv_iter **ret_iter);

/* --- ranges.c --- */

void tv_memory_map_unref(tv_memory_map *map); /* under the lock; accepts NULL */

/** The first map of a store: one range. */
void tv_memory_map_init(tv_memory_store *store);

/**
 * The range in which all rows of a batch are; TV_ERR_MOVED.  The node knows the map as it
 * is from then on.  Under the lock.
 */
tv_err tv_memory_route(tv_memory_node *node, const tv_write_batch *batch,
                       struct tv_memory_range **ret_range) TV_WARN_UNUSED;

/** Begin and end what a node does for a store with ranges. */
void tv_memory_node_open(tv_memory_node *node);
void tv_memory_node_close(tv_memory_node *node);

/* tv_engine_ops of the same names. */
void tv_memory_read(tv_engine *engine, tv_engine_read *read);
tv_err tv_memory_get_many(tv_engine *engine, const tv_slice *keys, size_t count, tv_arena *arena,
                          tv_slice *ret_values);
uint64_t tv_memory_range_of(tv_engine *engine, tv_slice partition);

#endif
