/*
 * A transaction: the view that an update function has of its partition.  It
 * reads the engine, sees its own writes and those of the functions that ran
 * before it in the same group, and collects what is to be written.
 *
 * An update function may run again (a conflict in shared storage, a group that
 * failed as a whole), so it has no effect but through its transaction and the
 * result fields of its own context, which a second run overwrites.
 */
#ifndef TV_STORE_ENGINE_TXN_H
#define TV_STORE_ENGINE_TXN_H

#include <stdint.h>

#include "store/engine/engine.h"

typedef struct tv_txn tv_txn;

/**
 * Reads and writes of one partition.  Anything but TV_OK undoes what this
 * function wrote, and nothing else.
 */
typedef tv_err tv_update_fn(tv_txn *txn, void *ctx);

/** A group of update functions over one engine.  Belongs to one thread. */
tv_txn *tv_txn_new(tv_engine *engine);
void tv_txn_free(tv_txn *txn); /* accepts NULL */

/** From now on groups that write make sure that the store remembers the time (instant.h). */
void tv_txn_keep_time(tv_txn *txn);

/*
 * A tally keeps sums in step with rows: it looks at what a group is about to write and has the
 * sums written in the same batch.  Engines that are not shared only.
 */

/** A row that the group has changed. */
typedef struct tv_txn_change {
    tv_slice key;
    tv_slice old_value; /* before the group; data is NULL when there was no row */
    tv_slice new_value; /* after it; likewise */
} tv_txn_change;

/** Functions of the thread whose transaction it is. */
typedef struct tv_txn_tally tv_txn_tally;
struct tv_txn_tally {
    char space; /* the rows that count: their keys begin with this byte */
    /**
     * Before a group is written that has changed such rows.  It may call tv_txn_put_aside.  A
     * group that runs again counts again; anything but TV_OK is the result of the commit.
     */
    tv_err (*count)(tv_txn_tally *tally, tv_txn *txn, const tv_txn_change *changes, size_t count);
    /** After each TV_OK of `count`: the engine's result.  Before anybody is answered. */
    void (*settle)(tv_txn_tally *tally, tv_err result);
};

/** From now on: `tally` outlives the transaction. */
void tv_txn_set_tally(tv_txn *txn, tv_txn_tally *tally);

/** For `count` of a tally: write a row of any partition with the group.  Both are copied. */
void tv_txn_put_aside(tv_txn *txn, tv_slice key, tv_slice value);

/** Forget everything and begin a new group; reads the clock (see tv_txn_now). */
void tv_txn_begin(tv_txn *txn);

/**
 * Run one function over the partition whose keys begin with `partition`.  When
 * it fails its writes are undone, its error is returned and the group goes on.
 */
tv_err tv_txn_run(tv_txn *txn, tv_slice partition, tv_update_fn *fn, void *ctx) TV_WARN_UNUSED;

/*
 * Where the engine reads rows in groups (tv_engine_ops.get_many), what functions will
 * ask for can be fetched before they run, for all of them at once.
 */

/**
 * After tv_txn_begin, before any function: these rows will be asked for.  False when no
 * more rows are to go into one group; then none of them was noted.  The first call is
 * never refused.  Elsewhere it does nothing.
 *
 * `expects_none`: the function goes on only when none of them is there.  Such rows may be taken
 * for absent without a look: the engine's write says otherwise (TV_ERR_CONFLICT), and then the
 * group is run again on what is there.
 */
bool tv_txn_announce(tv_txn *txn, const tv_slice *keys, size_t count, bool expects_none);

/**
 * Fetch the rows that were announced, in one view.  TV_ERR_MOVED: they are not of one
 * range, and the group is to be another.  TV_ERR_TIMED_OUT: the storage does not answer.
 * After any other trouble they are read when they are asked for.  The group's instant is later.
 */
tv_err tv_txn_fetch(tv_txn *txn) TV_WARN_UNUSED;

/**
 * Write what all functions since tv_txn_begin have collected.
 *
 * A shared engine compares, too, what the functions have got: then what they have
 * returned, errors included, is the truth at one instant.  It is compared even if there
 * is nothing to write, unless all of it was read in one view.  TV_ERR_CONFLICT.  When a
 * local engine has nothing to write it is TV_OK.
 */
tv_err tv_txn_commit(tv_txn *txn) TV_WARN_UNUSED;

tv_engine *tv_txn_engine(const tv_txn *txn);

/** Rows that the functions since tv_txn_begin have got, put or deleted. */
size_t tv_txn_rows(const tv_txn *txn);

/**
 * Bytes of keys and values that the functions since tv_txn_begin have put and
 * deleted, superseded ones included, and of the values they have read: about
 * what the transaction holds in memory.  Lets a committer end a group in time.
 */
size_t tv_txn_bytes(const tv_txn *txn);

/**
 * Rows that the functions since tv_txn_begin have asked for, met in scans, put
 * and deleted: how much work they were.  For tests, which must not depend on time.
 */
size_t tv_txn_steps(const tv_txn *txn);

/** Rows that the search for others has met in the index since tv_txn_begin; for tests. */
size_t tv_txn_probes(const tv_txn *txn);

/* For update functions.  Every key begins with the partition's prefix; that is asserted. */

/** The row as this function would leave it.  The value lives as long as the group. */
tv_err tv_txn_get(tv_txn *txn, tv_slice key, tv_slice *ret_value) TV_WARN_UNUSED;

/**
 * The same of a row that is not compared when the group is written, because another one
 * that was got changes whenever it does: a long value need not be sent back then.
 */
tv_err tv_txn_peek(tv_txn *txn, tv_slice key, tv_slice *ret_value) TV_WARN_UNUSED;

/**
 * Key and value are copied.  When there is no memory for that, here or in tv_txn_delete,
 * the function goes on, but fails at its end with TV_ERR_OVERLOADED.
 */
void tv_txn_put(tv_txn *txn, tv_slice key, tv_slice value);
void tv_txn_delete(tv_txn *txn, tv_slice key);

/**
 * What this function writes frees space in the end, even if it puts a few small
 * rows: it is let through where the disk is nearly full (see tv_engine_ops.write).
 * A group is let through when all of its functions that write have said so.
 */
void tv_txn_declare_freeing(tv_txn *txn);

/**
 * What this function writes may be late in shared storage (tv_engine_ops.write): it puts a row only
 * over one that it has got, or where it has seen that there is none, and with a later instant than
 * the one before, which it tells tv_txn_pass; of a row that it deletes it tells tv_txn_note_gone.
 * Nobody goes by the order of its instants and those of other rows.  A group may be late when all
 * of its functions that write have said so.
 */
void tv_txn_declare_late(tv_txn *txn);

/**
 * The same for a function whose rows say nothing by their own instants.  What it writes depends on
 * the row `guard`, or on others that change whenever what they guard does; it has got them.  If
 * anybody goes by an order of instants, the latest of them is in such a row, it goes on from there,
 * and tells tv_txn_pass.  If it deletes such rows it tells tv_txn_note_gone the latest.  Without
 * effect where another function of the group has put `guard` and nobody has looked before.
 */
void tv_txn_declare_guarded(tv_txn *txn, tv_slice guard, tv_guard kind);

/** What comes later in the group, and on this node, has later instants than this one. */
void tv_txn_pass(tv_txn *txn, int64_t instant);

/** The same for that of a row which is deleted: also for whoever finds no such row, on any node. */
void tv_txn_note_gone(tv_txn *txn, int64_t instant);

/**
 * A scan: the rows of the partition in [from, to), in the order of their keys,
 * as this function would leave them.
 *
 *     err = tv_txn_scan_begin(txn, from, to, &scan);
 *     if (err)
 *         return err;
 *
 *     while (tv_txn_scan_next(&scan))
 *         look at scan.key and scan.value, which live until the next step;
 *     err = tv_txn_scan_end(&scan);
 *
 * A function writes nothing while it has a scan open, and ends every scan it
 * has begun; both are asserted.  It may read, and have several scans open.
 *
 * A shared engine is told nothing of what a scan has met: a row that another
 * node puts into the range meanwhile goes unnoticed, and so does a change to
 * one that was given.  A function that decides by a row asks tv_txn_get for it
 * too, or for a row that changes with it.
 */
typedef struct tv_txn_scan {
    tv_slice key, value; /* of the current row */
    /* The rest is the scan's own. */
    tv_txn *txn;
    tv_iter *iter;
    tv_slice to;
    size_t at; /* the next of the group's own rows, in key order */
    bool is_on_engine_row;
} tv_txn_scan;

/**
 * Begin a scan, which is before its first row.  `from` begins with the
 * partition's prefix; `to` lives until the end.  Fails as the engine's iterator.
 */
tv_err tv_txn_scan_begin(tv_txn *txn, tv_slice from, tv_slice to,
                         tv_txn_scan *ret_scan) TV_WARN_UNUSED;

/** Go to the next row.  False when there is none or the engine cannot go on; then it stays so. */
bool tv_txn_scan_next(tv_txn_scan *scan);

/** End it, at any time.  Returns the engine's error when that is what stopped it. */
tv_err tv_txn_scan_end(tv_txn_scan *scan) TV_WARN_UNUSED;

/**
 * The instant of this group in ticks (instant.h): later than that of any group
 * before it, so that a row written later has a later timestamp even when the
 * clock is set back.
 */
int64_t tv_txn_now(const tv_txn *txn);

/**
 * An instant later than those that functions before this one have had of the
 * group, and earlier than every group that begins after this call.  The first is
 * that of the group itself.
 */
int64_t tv_txn_stamp(tv_txn *txn);

/** One update by itself: begin, run, commit, again after TV_ERR_CONFLICT.  For tests, tools and
 * start-up. */
tv_err tv_engine_update(tv_engine *engine, tv_slice partition, tv_update_fn *fn,
                        void *ctx) TV_WARN_UNUSED;

#endif
