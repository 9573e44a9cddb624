/*
 * One group of writes: run them in one transaction, make it durable with one
 * engine write, and see each of them to its own result.  No threads and no
 * queues here; see pipeline.h for those and README.md for the invariants.
 */
#ifndef TV_STORE_COMMIT_GROUP_H
#define TV_STORE_COMMIT_GROUP_H

#include "store/commit/pipeline.h"

/** A group ends before it has more writes than this. */
enum { TV_GROUP_WRITES_MAX = 1024 };

/** ... and when its functions have read and written this much, */
#define TV_GROUP_BYTES_MAX ((size_t)8 << 20)

/** ... or, on a shared engine, this many rows: one operation is to stay a short one. */
enum { TV_GROUP_ROWS_MAX = 1024 };

/**
 * Run and commit the first writes of the list, in order, as many of them as
 * make a group, and set their results.  Returns how many those are, at least
 * one; they are durable or have failed.  Those with the result TV_ERR_MOVED have
 * left nothing and are to be tried again in other groups.  Adds to `metrics`.
 *
 * `ret_err` is the outcome of the engine's last write: TV_OK, or its error.
 */
size_t tv_group_commit(tv_txn *txn, tv_write *const *writes, size_t count,
                       tv_pipeline_metrics *metrics, tv_err *ret_err);

#endif
