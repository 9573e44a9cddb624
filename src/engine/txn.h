/*
 * A transaction: the view that an update function has of its partition.  It
 * reads the engine, sees its own writes and those of the functions that ran
 * before it in the same group, and collects what is to be written.
 *
 * An update function may run again (a conflict in shared storage, a group that
 * failed as a whole), so it has no effect but through its transaction and the
 * result fields of its own context, which a second run overwrites.
 */
#ifndef TV_ENGINE_TXN_H
#define TV_ENGINE_TXN_H

#include <stdint.h>

#include "engine/engine.h"

typedef struct tv_txn tv_txn;

/**
 * Reads and writes of one partition.  Anything but TV_OK undoes what this
 * function wrote, and nothing else.
 */
typedef tv_err tv_update_fn(tv_txn *txn, void *ctx);

/** A group of update functions over one engine.  Belongs to one thread. */
tv_txn *tv_txn_new(tv_engine *engine);
void tv_txn_free(tv_txn *txn); /* accepts NULL */

/** Forget everything and begin a new group; reads the clock (see tv_txn_now). */
void tv_txn_begin(tv_txn *txn);

/**
 * Run one function over the partition whose keys begin with `partition`.  When
 * it fails its writes are undone, its error is returned and the group goes on.
 */
tv_err tv_txn_run(tv_txn *txn, tv_slice partition, tv_update_fn *fn, void *ctx) TV_WARN_UNUSED;

/** Write what all functions since tv_txn_begin have collected; nothing to write is TV_OK. */
tv_err tv_txn_commit(tv_txn *txn) TV_WARN_UNUSED;

/**
 * Bytes of keys and values that the functions since tv_txn_begin have put and
 * deleted, superseded ones included, and of the values they have read: about
 * what the transaction holds in memory.  Lets a committer end a group in time.
 */
size_t tv_txn_bytes(const tv_txn *txn);

/* For update functions.  Every key begins with the partition's prefix; that is asserted. */

/** The row as this function would leave it.  The value lives as long as the group. */
tv_err tv_txn_get(tv_txn *txn, tv_slice key, tv_slice *ret_value) TV_WARN_UNUSED;

/** Key and value are copied. */
void tv_txn_put(tv_txn *txn, tv_slice key, tv_slice value);
void tv_txn_delete(tv_txn *txn, tv_slice key);

/**
 * The instant of this group in ticks.  It never goes back within this process,
 * so that a row written later has a later timestamp even when the clock steps.
 */
int64_t tv_txn_now(const tv_txn *txn);

/** One update by itself: begin, run, commit, again after TV_ERR_CONFLICT.  For tests, tools and
 * start-up. */
tv_err tv_engine_update(tv_engine *engine, tv_slice partition, tv_update_fn *fn,
                        void *ctx) TV_WARN_UNUSED;

#endif
