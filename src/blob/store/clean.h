/*
 * Cleaning up after changes that took away more than they could remove by
 * themselves (blob.h).
 *
 * Nothing has to be remembered to know what is dead: runs of a content that no
 * head has, or behind the end of the longest head that has it; blocks of another
 * generation than the ledger's; pieces in discard rows; and data to which only
 * these refer.  What is dead stays dead, because changes refer only to what they
 * find in heads and blocks that are alive.  So a view of the blob, however old,
 * is good enough to tell what can go, and removing it needs no second look:
 * it can be done in steps, beside any changes, and again after a crash.
 *
 * The order of the steps: chunks, then the rows that name them, then the discard
 * rows of that view.  A crash in between leaves a discard row, and with it all
 * that is needed to go on.  Extents go when all this is durable; a crash before
 * that leaves files without a row, which the next start sweeps.
 */
#ifndef TV_BLOB_STORE_CLEAN_H
#define TV_BLOB_STORE_CLEAN_H

#include "blob/store/change.h"

/** What can go, in the arena that was given. */
typedef struct tv_blob_waste {
    tv_slice *keys; /* of rows, in the order in which they are to be deleted */
    size_t key_count;
    tv_extent_id *extents; /* to be removed when all rows are gone */
    size_t extent_count;
} tv_blob_waste;

/** Look at all of a blob; nothing when it has no discard row.  May wait for the disk. */
tv_err tv_blob_find_waste(tv_engine *engine, tv_slice partition, tv_arena *arena,
                          tv_blob_waste *ret_waste) TV_WARN_UNUSED;

/** So many rows are deleted in one step. */
enum { TV_BLOB_CLEAN_ROWS = 256 };

/** One step. */
typedef struct tv_clean_blob {
    tv_blob_change change;
    const tv_slice *keys;
    size_t key_count;
} tv_clean_blob;
tv_err tv_clean_blob_run(tv_txn *txn, void *clean_blob) TV_WARN_UNUSED;

/* For walks over all rows of a blob in the order of their keys. */

/** What is alive, as the rows so far tell. */
typedef struct tv_blob_alive tv_blob_alive;

/** In the arena. */
tv_blob_alive *tv_blob_alive_new(tv_arena *arena);

/**
 * Learn from a row, whose key behind the blob's prefix is `row`, and say whether
 * it is alive itself.  Not for chunks.  `scratch` is for this call.
 */
tv_err tv_blob_alive_learn(tv_blob_alive *alive, tv_arena *scratch, tv_slice row, tv_slice value,
                           bool *ret_is_alive) TV_WARN_UNUSED;

#endif
