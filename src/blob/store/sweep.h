/*
 * Work over many blobs that no request asks for: which extents rows refer to,
 * and whose uncommitted blocks are too old.  Everything here may wait for the
 * disk and belongs on a thread of its own.
 */
#ifndef TV_BLOB_STORE_SWEEP_H
#define TV_BLOB_STORE_SWEEP_H

#include "blob/store/blob.h"
#include "engine/engine.h"

/** What to do with the extents that rows refer to. */
typedef struct tv_blob_extent_visitor {
    /**
     * `blob` is tv_key_blob of the row that refers to it, for the time of the call.
     * An error ends the visit and is what it returns.
     */
    tv_err (*found)(void *ctx, tv_slice blob, tv_extent_id id);
    bool (*is_stopping)(void *ctx); /* asked at each row: give up with TV_ERR_STOPPED; or NULL */
    void *ctx;
} tv_blob_extent_visitor;

/**
 * Find every extent that a row in [from, to) refers to, some more than once, in one
 * consistent view.  With the range of a container (tv_key_container) to learn what
 * goes with it, before its rows are dropped.
 */
tv_err tv_blob_visit_extents(tv_engine *engine, tv_slice from, tv_slice to,
                             const tv_blob_extent_visitor *visitor) TV_WARN_UNUSED;

/**
 * The same for all blobs of the store, for tv_extents_sweep; but for rows that
 * are only there because nobody has cleaned up yet (clean.h): what these alone
 * refer to may be gone.
 */
tv_err tv_blob_visit_all_extents(tv_engine *engine,
                                 const tv_blob_extent_visitor *visitor) TV_WARN_UNUSED;

/** Where a search for old blocks stands; all zeros is the beginning. */
typedef struct tv_blob_expired {
    tv_slice from; /* in the arena that was given */
    bool is_done;
} tv_blob_expired;

/**
 * Look at up to `blobs_max` blobs of a container from where the search stands,
 * and return the partitions of up to `size` whose blocks are older than allowed
 * at `now`, or who have something to clean up, in the arena: candidates for
 * tv_expire_blocks_run and clean.h.
 */
tv_err tv_blob_expired_next(tv_engine *engine, tv_slice container, int64_t now, size_t blobs_max,
                            tv_arena *arena, tv_blob_expired *search, tv_slice *ret_partitions,
                            size_t size, size_t *ret_count) TV_WARN_UNUSED;

#endif
