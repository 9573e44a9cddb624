/*
 * Garbage collection of blobs: what is left by changes that dropped more than
 * they could remove by themselves (blob.h), blocks that were abandoned, and
 * which extents the rows refer to, for that of extents (extent/extent.h).  What
 * looks at rows may wait for the disk and belongs on a thread of its own.
 *
 * Nothing has to be remembered to know what is dead: runs of a content that no
 * head has, or after the end of the longest head that has it; blocks of another
 * generation than the ledger's; pieces in discard rows; and data to which only
 * these refer.  What is dead stays dead, because changes refer only to what they
 * find in heads and blocks that are live.  So a view of the blob, however old,
 * is good enough to tell what can go, and removing it needs no second look: it
 * can be done in steps, alongside any changes, and again after a crash.
 *
 * The order of the steps: chunks, then the rows that name them, then the discard
 * rows of that view.  A crash in between leaves a discard row, and with it all
 * that is needed to continue.  Extents are removed when all this is durable; a
 * crash before that leaves files without a row, which tv_extents_gc finds after
 * the next start.
 */
#ifndef TV_SERVICES_BLOB_STORE_GC_H
#define TV_SERVICES_BLOB_STORE_GC_H

#include "services/blob/store/change.h"
#include "store/engine/engine.h"

/* --- one blob: gc.c --- */

/** What can go, in the arena that was given. */
typedef struct tv_blob_garbage {
    tv_slice *keys; /* of rows, in the order in which they are to be deleted */
    size_t key_count;
    tv_extent_id *extents; /* to be removed when all rows are gone */
    size_t extent_count;
} tv_blob_garbage;

/** Look at all of a blob; nothing when it has no discard row.  May wait for the disk. */
tv_err tv_blob_find_garbage(tv_engine *engine, tv_slice partition, tv_arena *arena,
                            tv_blob_garbage *ret_garbage) TV_WARN_UNUSED;

/** This many rows are deleted in one step. */
enum { TV_BLOB_GC_ROWS = 256 };

/** One step. */
typedef struct tv_blob_gc_step {
    tv_blob_change change;
    const tv_slice *keys;
    size_t key_count;
} tv_blob_gc_step;
tv_err tv_blob_gc_run(tv_txn *txn, void *gc_step) TV_WARN_UNUSED;

/* --- walks over many blobs: gc_walk.c --- */

/** What to do with the extents that rows refer to. */
typedef struct tv_blob_extent_visitor {
    /**
     * `blob` is tv_key_blob of the row that refers to it, for the time of the call.
     * An error ends the visit, which returns it.
     */
    tv_err (*found)(void *ctx, tv_slice blob, tv_extent_id id);
    bool (*is_stopping)(void *ctx); /* asked at each row: give up with TV_ERR_STOPPED; or NULL */
    void *ctx;
} tv_blob_extent_visitor;

/**
 * Find every extent that a row in [from, to) refers to, some more than once, in one
 * consistent view; of an engine without snapshots, in one of each blob.  With the range of a
 * container (tv_key_container) to learn what goes with it, before its rows are dropped.
 */
tv_err tv_blob_visit_extents(tv_engine *engine, tv_slice from, tv_slice to,
                             const tv_blob_extent_visitor *visitor) TV_WARN_UNUSED;

/**
 * The same for all blobs of the store, for tv_extents_gc; except for rows that
 * are garbage themselves: what only these refer to may be gone.
 */
tv_err tv_blob_visit_all_extents(tv_engine *engine,
                                 const tv_blob_extent_visitor *visitor) TV_WARN_UNUSED;

/** How far a search for garbage has come; all zeros is the beginning. */
typedef struct tv_blob_gc_cursor {
    tv_slice from; /* in the arena that was given */
    bool is_done;
} tv_blob_gc_cursor;

/**
 * Look at up to `blobs_max` blobs of a container from the cursor on, and return
 * the partitions of up to `size` whose blocks are older than allowed at `now`,
 * or that have a discard row, in the arena: candidates for tv_expire_blocks_run
 * and tv_blob_find_garbage.
 */
tv_err tv_blob_gc_next(tv_engine *engine, tv_slice container, int64_t now, size_t blobs_max,
                       tv_arena *arena, tv_blob_gc_cursor *cursor, tv_slice *ret_partitions,
                       size_t size, size_t *ret_count) TV_WARN_UNUSED;

/* --- rows that come in pages: gc_guard.c --- */

/**
 * A look at all rows of a blob, on an engine that has no snapshots.  They come in pages of
 * different moments, and a change between two of them may move a reference from a row that has
 * not been met yet to where the look has been already: a block list makes blocks a content, a
 * snapshot keeps a content that the head then drops.  Each such change also changes the head or
 * the generation of the ledger.  So the rows are looked at between two looks at these, again until
 * they are the same:
 *
 *     do {
 *         err = tv_blob_guard_begin(&guard);
 *         if (err == TV_OK)
 *             err = ...
 *     } while (tv_blob_guard_again(&guard, &err));
 *
 * On an engine with snapshots that is done once.  More uncommitted blocks of the same generation
 * move nothing, so a client that puts them without a pause holds nobody up.
 */
typedef struct tv_blob_guard {
    tv_engine *engine;
    tv_slice blob; /* its partition */
    tv_arena arena;
    tv_slice head; /* the row as it was; data is NULL when there was none */
    uint64_t generation;
} tv_blob_guard;

void tv_blob_guard_init(tv_blob_guard *guard, tv_engine *engine, tv_slice blob);
void tv_blob_guard_done(tv_blob_guard *guard);
tv_err tv_blob_guard_begin(tv_blob_guard *guard) TV_WARN_UNUSED;

/** `err` is that of the look; it may become that of the second look at the head. */
bool tv_blob_guard_again(tv_blob_guard *guard, tv_err *err);

/* --- what is live: gc_live.c --- */

/**
 * What is live, according to the rows so far: for walks over all rows of a
 * blob in the order of their keys.
 */
typedef struct tv_blob_live_rows tv_blob_live_rows;

/** In the arena. */
tv_blob_live_rows *tv_blob_live_rows_new(tv_arena *arena);

/**
 * Learn from a row, whose key after the blob's prefix is `row`, and say whether
 * it is live itself.  Not for chunks.  `scratch` is for this call.
 */
tv_err tv_blob_live_rows_learn(tv_blob_live_rows *live, tv_arena *scratch, tv_slice row,
                               tv_slice value, bool *ret_is_live) TV_WARN_UNUSED;

#endif
