/*
 * What the changes of change.h have in common: the blob as a change finds it,
 * its content written and removed again.  For the files of this folder.
 *
 * Removal follows one pattern.  A `tv_live_set` first learns all that stays:
 * new pieces, snapshots, the blob.  Then the rest is removed, and whatever is
 * not live is garbage.  Scans and writes never mix: tv_txn forbids it.  If this
 * would take long, nothing is looked at: a discard row says that there is
 * garbage, and gc.c does the same later, step by step.
 */
#ifndef TV_SERVICES_BLOB_STORE_CONTENT_H
#define TV_SERVICES_BLOB_STORE_CONTENT_H

#include "services/blob/store/change.h"
#include "services/blob/store/live_set.h"
#include "services/blob/store/row.h"

/** A blob at the beginning of a change. */
typedef struct tv_blob_view {
    bool has_head, has_ledger;
    tv_blob_head head; /* zeros when there is none */
    tv_block_ledger ledger;
    int64_t last;  /* the latest stamp that these say: all others that there were are before it */
    int64_t now;   /* not before that, unless it is of a clock that was wrong */
    int64_t stamp; /* later than every stamp that this partition ever had: the next ETag */
} tv_blob_view;

/**
 * Forget the results of an earlier run, check whether the container is still there, read the blob.
 * What the change writes may be late in shared storage: README.md says what keeps the order.
 */
tv_err tv_blob_view_read(tv_txn *txn, tv_blob_change *change,
                         tv_blob_view *ret_view) TV_WARN_UNUSED;

/** The lease id that came with a change, NULL for none. */
const tv_guid *tv_blob_change_lease_id(const tv_blob_change *change);

/** For changes of what exists: TV_ERR_BLOB_NOT_FOUND, lease, conditions. */
tv_err tv_blob_view_check(const tv_blob_view *view, const tv_blob_change *change) TV_WARN_UNUSED;

/** Both: read a blob that exists and may be changed. */
tv_err tv_blob_view_open(tv_txn *txn, tv_blob_change *change,
                         tv_blob_view *ret_view) TV_WARN_UNUSED;

/** For changes that make or replace a blob: lease, conditions. */
tv_err tv_blob_view_check_put(const tv_blob_view *view,
                              const tv_blob_change *change) TV_WARN_UNUSED;

/**
 * The head of what replaces the blob in `view`: creation, snapshots and lease
 * stay, everything else is new and still to be filled in.
 */
tv_blob_head tv_blob_view_successor(const tv_blob_view *view, tv_blob_type type);

/** Write a head that was changed at view->stamp, and note its ETag as the change's result. */
void tv_blob_view_touch(tv_txn *txn, tv_blob_change *change, const tv_blob_view *view,
                        tv_blob_head *head);

/**
 * After this change neither head nor ledger need say that there was this stamp; those of what comes
 * are later all the same, if it finds that a row is not there.
 */
void tv_blob_note_gone(tv_txn *txn, int64_t stamp);

/** Write a head as it is. */
void tv_blob_head_write(tv_txn *txn, tv_blob_change *change, const tv_blob_head *head);

/**
 * Make a piece of data: its place in the partition when it is small.  `index`
 * tells pieces of one change apart.  The piece's end is up to the caller.
 */
tv_blob_piece tv_blob_data_write(tv_txn *txn, tv_blob_change *change, const tv_blob_data *data,
                                 int64_t stamp, uint64_t index);

/** Make a content longer.  TV_ERR_CORRUPT when nothing can be that long: some row is damaged. */
tv_err tv_blob_add_length(uint64_t *length, uint64_t more) TV_WARN_UNUSED;

/** Rows of pieces, ready to be written. */
typedef struct tv_blob_runs {
    tv_slice *values;
    uint64_t *ends; /* of the last piece in each */
    size_t count;
} tv_blob_runs;

tv_blob_runs tv_blob_runs_encode(tv_arena *arena, const tv_blob_piece *pieces, size_t count);
void tv_blob_runs_write(tv_txn *txn, tv_blob_change *change, uint64_t content_id,
                        const tv_blob_runs *runs);

/** Write pieces into rows of their own; for a content of more than TV_BLOB_INLINE_PIECES. */
void tv_blob_pieces_write(tv_txn *txn, tv_blob_change *change, uint64_t content_id,
                          const tv_blob_piece *pieces, size_t count);

/** The pieces of a head. */
typedef struct tv_blob_pieces {
    const tv_blob_piece *list; /* as many as the head says */
    const uint64_t *run_ends;  /* of the rows that they are in */
    size_t run_count;          /* 0 when they are in the head */
} tv_blob_pieces;

/** All pieces of a head, in the change's arena. */
tv_err tv_blob_pieces_load(tv_txn *txn, tv_blob_change *change, const tv_blob_head *head,
                           tv_blob_pieces *ret_pieces) TV_WARN_UNUSED;

/** All uncommitted blocks of the view's ledger in the order of their ids, in the change's arena. */
tv_err tv_blob_blocks_load(tv_txn *txn, tv_blob_change *change, const tv_blob_view *view,
                           const tv_block **ret_blocks, size_t *ret_count) TV_WARN_UNUSED;

/** The heads of snapshots, oldest first, up to `count_max` of them, in the change's arena. */
tv_err tv_blob_snapshots_load(tv_txn *txn, tv_blob_change *change, size_t count_max,
                              const tv_blob_head **ret_heads, size_t *ret_count) TV_WARN_UNUSED;

/** Whether a change may look at all snapshots of the blob by itself. */
bool tv_blob_snapshots_are_few(const tv_blob_view *view);

/** What a change takes away.  Heads are in the order of their age. */
typedef struct tv_blob_removal {
    const tv_blob_head *gone; /* their contents go; their own rows are left to the caller */
    size_t gone_count;
    const tv_blob_head *stays; /* what these have stays */
    size_t stay_count;
    bool is_blind;    /* `stays` is not known: leave it all to gc.c */
    bool with_blocks; /* all uncommitted blocks and the ledger go, too */
} tv_blob_removal;

/** Remove what neither `live` nor a head that stays has: now, or later if there is much of it. */
tv_err tv_blob_remove(tv_live_set *live, tv_txn *txn, tv_blob_change *change,
                      const tv_blob_view *view, const tv_blob_removal *removal) TV_WARN_UNUSED;

/**
 * Remove what a new content replaces and neither `live` nor a snapshot has:
 * content and blocks.  `is_blind` when `live` does not know all of the new one.
 */
tv_err tv_blob_remove_replaced(tv_live_set *live, tv_txn *txn, tv_blob_change *change,
                               const tv_blob_view *view, bool is_blind) TV_WARN_UNUSED;

/** Remove one piece of data that nothing else refers to. */
tv_err tv_blob_remove_data(tv_txn *txn, tv_blob_change *change, bool is_chunk,
                           tv_extent_id id) TV_WARN_UNUSED;

#endif
