/*
 * Work over many blobs that no request asks for: which extents rows refer to,
 * and whose uncommitted blocks are too old.  Everything here may wait for the
 * disk and belongs on a thread of its own.
 */
#ifndef TV_BLOB_STORE_SWEEP_H
#define TV_BLOB_STORE_SWEEP_H

#include "blob/store/blob.h"
#include "engine/engine.h"

/**
 * Call `mark` for every extent that a row in [from, to) refers to, some more
 * than once, in one consistent view.  With the range of all blobs, for
 * tv_extents_sweep; with that of a container (tv_key_container) to learn what
 * goes with it, before its rows are dropped.
 */
tv_err tv_blob_visit_extents(tv_engine *engine, tv_slice from, tv_slice to, tv_extent_mark_fn *mark,
                             void *marker) TV_WARN_UNUSED;

/** The same for all blobs of the store; `engine` is the context that tv_extents_sweep hands on. */
tv_err tv_blob_visit_all_extents(void *engine, tv_extent_mark_fn *mark,
                                 void *marker) TV_WARN_UNUSED;

/** Where a search for old blocks stands; all zeros is the beginning. */
typedef struct tv_blob_expired {
    tv_slice from; /* in the arena that was given */
    bool is_done;
} tv_blob_expired;

/**
 * Look at up to `blobs_max` blobs of a container from where the search stands,
 * and return the partitions of up to `size` whose blocks are older than allowed
 * at `now`, in the arena: candidates for tv_expire_blocks_run.
 */
tv_err tv_blob_expired_next(tv_engine *engine, tv_slice container, int64_t now, size_t blobs_max,
                            tv_arena *arena, tv_blob_expired *search, tv_slice *ret_partitions,
                            size_t size, size_t *ret_count) TV_WARN_UNUSED;

#endif
