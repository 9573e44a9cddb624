/*
 * The contract between the services and a storage engine.
 *
 * An engine is one ordered map from byte keys to byte values.  Keys are at most
 * TV_KEY_BYTES_MAX long, never empty and hold no NUL (a cluster engine cannot
 * store one); they sort as unsigned bytes.  Keys that begin with the same
 * partition prefix (see key.h) form a partition, the unit of atomic change: a
 * batch touches one or more partitions, and an engine may demand no more of the
 * storage beneath it than an atomic conditional write to one partition.
 *
 * A shared engine may cut its keyspace into ranges, at the beginnings of
 * partitions, and a batch may then touch the partitions of one range only.
 * Which range a partition is in can change at any time.
 *
 * Writes are conditional.  A batch carries, in addition to its puts and
 * deletes, what its author has read ("expectations").  An engine whose rows
 * nobody else can change between a committer's read and its write says
 * `is_shared = false`, and batches come without expectations; an engine over
 * shared storage says true, checks them, and answers TV_ERR_CONFLICT so that
 * the author runs again.
 *
 * All functions may be called from any thread.  tests/engine/ holds this
 * contract as tests; every engine passes all of them.
 */
#ifndef TV_STORE_ENGINE_ENGINE_H
#define TV_STORE_ENGINE_ENGINE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/mailbox.h"
#include "base/metrics.h"
#include "base/read_mode.h"
#include "store/engine/write_batch.h"

/** Two keys of 1,024 UTF-16 units, at most 3 bytes each, and the prefix before them. */
#define TV_KEY_BYTES_MAX 6400

typedef struct tv_engine tv_engine;
typedef struct tv_iter tv_iter;

/** One row read without waiting, among others: see tv_engine_ops.read. */
typedef struct tv_engine_read {
    tv_mail mail; /* comes back to `reply_to` */
    tv_mailbox *reply_to;
    tv_slice key;    /* lives until the mail is delivered */
    tv_arena *arena; /* lent: the value is put there */
    tv_slice value;  /* result */
    tv_err result;   /* as that of get */
    /* For the engine. */
    struct tv_engine_read *next;
    int64_t since_ns;
} tv_engine_read;

typedef struct tv_engine_ops {
    /** "memory", "rocksdb", "rados". */
    const char *name;

    /** Of the library that it is made of, as "RocksDB 7.8.3"; or NULL. */
    const char *library;

    /** Others may write the same rows, see above. */
    bool is_shared;

    /** What an iterator gives is one view of all rows, see iter_new. */
    bool has_snapshots;

    /** Read one row into `arena`.  TV_ERR_NOT_FOUND, TV_ERR_WOULD_BLOCK, TV_ERR_IO, TV_ERR_CORRUPT.
     */
    tv_err (*get)(tv_engine *engine, tv_read_mode mode, tv_slice key, tv_arena *arena,
                  tv_slice *ret_value);

    /**
     * Open an iterator over the keys in [from, to), a consistent snapshot taken
     * now.  It has no position until tv_iter_seek.  May wait for the disk.
     *
     * Without `has_snapshots`: a row that is there all the time is met, once; others
     * may or may not be.  The rows of one partition come in pages, each one view: the one
     * that a seek reads begins at its key, and a seek within it stays in it.
     *
     * Nothing between the two was ever dropped (drop_range), as in what belongs to a table, a
     * container or a generation of a queue that is there; rows of a dropped range may be met.
     */
    tv_err (*iter_new)(tv_engine *engine, tv_slice from, tv_slice to, tv_iter **ret_iter);

    /** The same across dropped ranges, whose rows are not met.  NULL: iter_new never meets them. */
    tv_err (*iter_across)(tv_engine *engine, tv_slice from, tv_slice to, tv_iter **ret_iter);

    /**
     * Apply a batch: all of it or nothing.  On TV_OK it survives the loss of
     * power and every later read sees it; no read sees any of it before it is
     * durable.  TV_ERR_CONFLICT: an expectation does not hold, nothing was
     * written.  TV_ERR_DISK_FULL: refused to keep the reserve, nothing was
     * written; a freeing batch is accepted down to a second, smaller reserve, so
     * that a full disk can be relieved.  TV_ERR_IO: the outcome is unknown until a
     * restart; the engine then refuses all further writes, except that of a shared
     * engine, which concerns this batch alone.  No other error leaves
     * the outcome open.  TV_ERR_MOVED: its rows are not in one range, nothing was
     * written; the author makes other groups.
     *
     * A shared engine also sees to it that instants grow in each range, whatever
     * the nodes' clocks say: TV_ERR_CONFLICT when batch->first_stamp is not later
     * than the stamp of every batch before it; instants (instant.h) are then later.
     *
     * A batch that may be late can be taken although it is not later, by less than
     * TV_INSTANT_LATE_MAX.  Its author sees to it that a row gets later instants than it had; the
     * engine, that a row which is put where there is none gets a later one than all rows had which
     * were there before (batch->gone).  If it is guarded there are rows of which nobody goes by the
     * instants that the engine knows: their order is in rows that the batch expects.
     */
    tv_err (*write)(tv_engine *engine, const tv_write_batch *batch);

    /*
     * What shared engines have and local ones need not: NULL there.
     */

    /** Read one row without waiting; reads are gathered, many of them cost as one.  Any thread. */
    void (*read)(tv_engine *engine, tv_engine_read *read);

    /**
     * Read rows of one range in one view: values in `arena`, data is NULL for a row that is
     * not there.  TV_ERR_MOVED when they are not of one range.
     */
    tv_err (*get_many)(tv_engine *engine, const tv_slice *keys, size_t count, tv_arena *arena,
                       tv_slice *ret_values);

    /** A number for the range in which a partition is now.  Never waits. */
    uint64_t (*range_of)(tv_engine *engine, tv_slice partition);

    /**
     * No read or write of [from, to) that another node began before this call takes effect after
     * it, and every node has looked at the catalogues again before it reads or writes there.
     */
    tv_err (*fence)(tv_engine *engine, tv_slice from, tv_slice to);

    /**
     * A number of the fences that this node goes by, never 0: it has looked at the catalogues
     * since the last of them.  A write whose batch->fences is another one is TV_ERR_CONFLICT,
     * also when the engine learns of the fence by that very write: its author has decided by
     * the catalogues as they were before, and must look again.  Never waits.
     */
    uint64_t (*fences)(tv_engine *engine);

    /**
     * Remove every key in [from, to), durably, in one operation whose cost does
     * not grow with the number of keys.  Not atomic towards open iterators or
     * concurrent readers; callers make sure that nobody writes there any more.
     */
    tv_err (*drop_range)(tv_engine *engine, tv_slice from, tv_slice to);

    /**
     * Write a consistent copy of everything to the new folder `dir`, from which
     * a server can start, while reads and writes go on.  TV_ERR_IO when `dir`
     * exists or cannot be written; TV_ERR_NOT_IMPLEMENTED where there is
     * nothing to copy.
     */
    tv_err (*backup)(tv_engine *engine, const char *dir);

    /** TV_OK when the engine can serve reads and writes; else its error. */
    tv_err (*check)(tv_engine *engine);

    /** The same for reads alone.  NULL: it always can. */
    tv_err (*check_reads)(tv_engine *engine);

    /** Report the engine's metrics. */
    void (*metrics)(tv_engine *engine, tv_metric_fn *report, void *ctx);
    /** Likewise those that are histograms; NULL: there are none. */
    void (*histograms)(tv_engine *engine, tv_histogram_fn *report, void *ctx);

    /** Flush and free.  No call may be under way and no iterator open. */
    void (*close)(tv_engine *engine);
} tv_engine_ops;

/** An engine's own struct begins with this. */
struct tv_engine {
    const tv_engine_ops *ops;
};

/**
 * An iterator.  It belongs to one thread at a time.  The slices it hands out
 * live until its next seek, next or free.  A seek or next that passes over many
 * keys that were deleted a moment ago may take long, and nothing ends it; so
 * work for a client iterates where others do not wait for it (base/turns.h),
 * and looks at the clock between steps.
 */
typedef struct tv_iter_ops {
    void (*seek)(tv_iter *iter, tv_slice key);
    bool (*is_valid)(const tv_iter *iter);
    void (*next)(tv_iter *iter);
    tv_slice (*key)(const tv_iter *iter);
    tv_slice (*value)(const tv_iter *iter);
    tv_err (*status)(const tv_iter *iter);
    /**
     * A number for the view that the row is of: without `has_snapshots`, what was met in between
     * two rows with the same number is all there was.  NULL: the engine cannot tell.
     */
    uint64_t (*view)(const tv_iter *iter);
    /**
     * Before the first seek: about so many rows will be read, if they are there.  NULL: the engine
     * has no use for it.
     */
    void (*expect)(tv_iter *iter, size_t rows);
    void (*free)(tv_iter *iter);
} tv_iter_ops;

struct tv_iter {
    const tv_iter_ops *ops;
};

/* Call sugar: the same promises as the functions above. */

static inline TV_WARN_UNUSED tv_err tv_engine_get(tv_engine *engine, tv_read_mode mode,
                                                  tv_slice key, tv_arena *arena,
                                                  tv_slice *ret_value)
{
    return engine->ops->get(engine, mode, key, arena, ret_value);
}

/** Rows of one partition, in one view if the engine has get_many; data is NULL for none. */
static inline TV_WARN_UNUSED tv_err tv_engine_get_rows(tv_engine *engine, const tv_slice *keys,
                                                       size_t count, tv_arena *arena,
                                                       tv_slice *ret_values)
{
    tv_err err = TV_OK;

    if (engine->ops->get_many)
        return engine->ops->get_many(engine, keys, count, arena, ret_values);

    for (size_t i = 0; err == TV_OK && i < count; i++) {
        err = tv_engine_get(engine, TV_READ_ANY, keys[i], arena, &ret_values[i]);
        if (err == TV_ERR_NOT_FOUND) {
            ret_values[i] = TV_NONE;
            err = TV_OK;
        }
    }
    return err;
}

static inline TV_WARN_UNUSED tv_err tv_engine_iter(tv_engine *engine, tv_slice from, tv_slice to,
                                                   tv_iter **ret_iter)
{
    return engine->ops->iter_new(engine, from, to, ret_iter);
}

static inline TV_WARN_UNUSED tv_err tv_engine_iter_across(tv_engine *engine, tv_slice from,
                                                          tv_slice to, tv_iter **ret_iter)
{
    return engine->ops->iter_across ? engine->ops->iter_across(engine, from, to, ret_iter)
                                    : engine->ops->iter_new(engine, from, to, ret_iter);
}

static inline TV_WARN_UNUSED tv_err tv_engine_write(tv_engine *engine, const tv_write_batch *batch)
{
    return engine->ops->write(engine, batch);
}

static inline TV_WARN_UNUSED tv_err tv_engine_drop_range(tv_engine *engine, tv_slice from,
                                                         tv_slice to)
{
    return engine->ops->drop_range(engine, from, to);
}

static inline TV_WARN_UNUSED tv_err tv_engine_backup(tv_engine *engine, const char *dir)
{
    return engine->ops->backup(engine, dir);
}

static inline TV_WARN_UNUSED tv_err tv_engine_check(tv_engine *engine)
{
    return engine->ops->check(engine);
}

static inline TV_WARN_UNUSED tv_err tv_engine_check_reads(tv_engine *engine)
{
    return engine->ops->check_reads ? engine->ops->check_reads(engine) : TV_OK;
}

/** Accepts NULL. */
static inline void tv_engine_close(tv_engine *engine)
{
    if (engine)
        engine->ops->close(engine);
}

/** Go to the first key >= `key` within the iterator's bounds. */
static inline void tv_iter_seek(tv_iter *iter, tv_slice key)
{
    iter->ops->seek(iter, key);
}

/** False at the end of the bounds or after an error; then ask tv_iter_status. */
static inline bool tv_iter_is_valid(const tv_iter *iter)
{
    return iter->ops->is_valid(iter);
}

static inline void tv_iter_next(tv_iter *iter)
{
    iter->ops->next(iter);
}

static inline tv_slice tv_iter_key(const tv_iter *iter)
{
    return iter->ops->key(iter);
}

static inline tv_slice tv_iter_value(const tv_iter *iter)
{
    return iter->ops->value(iter);
}

static inline TV_WARN_UNUSED tv_err tv_iter_status(const tv_iter *iter)
{
    return iter->ops->status(iter);
}

/** Accepts NULL. */
static inline void tv_iter_free(tv_iter *iter)
{
    if (iter)
        iter->ops->free(iter);
}

#endif
