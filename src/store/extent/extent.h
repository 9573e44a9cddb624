/*
 * Extents: runs of bytes too large for rows, each of which is written once and
 * never changed.  Rows refer to them by id.  A store keeps them as files of a
 * folder that one process has open, or as objects of a pool that all nodes of a
 * cluster share; what differs for those who use it is said below.
 *
 * The store knows nothing of rows, and rows are what counts: an extent is data
 * only while a durable row refers to it.  So an upload first finishes its
 * extent, which makes it durable, and then commits the row; a change that drops
 * the last row of an extent commits first and then requests its removal.  A crash
 * anywhere in between leaves an extent that no row refers to, and tv_extents_gc
 * removes it.  Ids are never reused, and an extent has exactly one owner: a copy is
 * a new id (of files a hard link, which costs no data).  Every block of the data has
 * a checksum, which each read verifies.
 *
 * All functions may be called from any thread unless they say otherwise, and
 * may wait for the disk unless they say otherwise.  TV_ERR_OVERLOADED means that
 * no file descriptor is left, or no memory for parts on their way to a pool;
 * TV_ERR_IO has been logged.
 */
#ifndef TV_STORE_EXTENT_EXTENT_H
#define TV_STORE_EXTENT_EXTENT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file_copy.h"
#include "base/metrics.h"
#include "base/read_mode.h"

typedef struct tv_extents tv_extents;
typedef struct tv_extent_writer tv_extent_writer;

enum { TV_EXTENT_TEXT_SIZE = 4096 };

/** No store is opened more often: a greater number is damage, or from another program's file. */
#define TV_EXTENT_BOOT_MAX ((uint64_t)INT64_MAX)

/** Boots count from 1, so all zeros is no extent. */
typedef struct tv_extent_id {
    uint64_t boot;   /* of the store: how often it has been opened; in a pool, by whom */
    uint64_t number; /* within the boot */
} tv_extent_id;

typedef struct tv_extent_options {
    const char *dir;             /* the store's; made when its parent exists */
    uint64_t disk_reserve_bytes; /* below that much free space writes are refused */
    bool is_temporary;           /* make a folder of its own beneath dir, remove it at the end;
                                    nothing is synced, for nothing outlives the process */
    bool is_read_only;           /* for a look: nothing is made, changed or removed, no extent can
                                    be written */
    int visit_ms_max;            /* how long a visit defers removals; 0 for an hour */
} tv_extent_options;

/**
 * Open or make a store.  False with one line that says what is wrong.  Only one
 * process may have it open; the caller ensures that.  Files in the folder that
 * are not extents are always left alone.
 */
bool tv_extents_open(const tv_extent_options *options, tv_extents **ret_store, char *reterr_text,
                     size_t reterr_size);

/** Who can still commit rows for extents that they have made; see tv_extent_pool_options. */
typedef struct tv_extent_boots {
    const uint64_t *live; /* in order */
    size_t live_count;
    uint64_t last; /* the newest that has been given out; later ones are live, too */
} tv_extent_boots;

/** All zeros is what is written here. */
typedef struct tv_extent_pool_times {
    int remove_delay_ms; /* from a request to its removal: 10 minutes */
    int visit_ms_max;    /* less than that, see tv_extent_visit_must_renew: 9 minutes */
    int commit_ms_max;   /* the oldest extent that a row may be made for: 12 hours */
    int orphan_ms_min;   /* the youngest of a live boot that can be garbage: 24 hours */
    int sweep_gap_ms;    /* garbage is what was without a row twice, this long apart: 1 hour */
} tv_extent_pool_times;

typedef struct tv_extent_pool_options {
    struct tv_pool *pool;    /* pool/pool.h; outlives the store */
    uint64_t boot;           /* of this process: no other ever had it, or will */
    int reserve_percent;     /* below that much free space in the pool writes are refused */
    size_t buffer_bytes_max; /* for parts on their way to the pool; 0 for 256 MiB */
    tv_extent_pool_times times;

    /**
     * For tv_extents_gc: see to it that every process that ever made extents, and is not
     * among `live`, can no longer change anything in the pool, by shutting it out
     * (tv_pool_ops.shut_out), and that those that are live were alive a few seconds ago.  An
     * error when that cannot be said: then nothing is collected.  The list is in `arena`.
     * NULL: nothing is ever collected.
     */
    tv_err (*shut_out_boots)(void *ctx, tv_arena *arena, tv_extent_boots *ret_boots);
    void *ctx;
} tv_extent_pool_options;

/** Open the extents of a pool.  False with one line that says what is wrong. */
bool tv_extents_open_pool(const tv_extent_pool_options *options, tv_extents **ret_store,
                          char *reterr_text, size_t reterr_size);

/**
 * Finish pending removals that no reader defers, for two seconds at most, and
 * free.  The rest is left to tv_extents_gc after the next start.  No writer may
 * be left, and no call may follow.  Accepts NULL.
 */
void tv_extents_close(tv_extents *store);

/* --- writing; a writer belongs to one thread at a time --- */

/** Begin an extent.  TV_ERR_DISK_FULL, TV_ERR_OVERLOADED, TV_ERR_IO. */
tv_err tv_extent_create(tv_extents *store, tv_extent_writer **ret_writer) TV_WARN_UNUSED;

/**
 * Append.  The bytes of a large extent go to the disk as they come, and the
 * call waits for the disk when it falls behind, so what a writer leaves in
 * memory to be written is bounded.  TV_ERR_DISK_FULL, TV_ERR_IO; then only
 * tv_extent_discard is left.
 */
tv_err tv_extent_append(tv_extent_writer *writer, tv_slice bytes) TV_WARN_UNUSED;

/**
 * Make the extent durable: its bytes and its name survive the loss of power.
 * Frees the writer in any case; on an error the extent is gone.  TV_ERR_DISK_FULL,
 * TV_ERR_OVERLOADED, TV_ERR_IO.  A folder that cannot be synced is the end of
 * trust in this disk: no more extents are made until a restart.
 */
tv_err tv_extent_finish(tv_extent_writer *writer, tv_extent_id *ret_id) TV_WARN_UNUSED;

/** Give up: the file goes, soon.  Does not wait for the disk.  Accepts NULL. */
void tv_extent_discard(tv_extent_writer *writer);

/**
 * False when one of these extents of this process was begun so long ago that garbage collection
 * on another node may take it for garbage: then no row may be made for it.  Asked right before
 * such a change is submitted; always true of files.  Never waits.
 */
bool tv_extents_may_commit(const tv_extents *store, const tv_extent_id *ids, size_t count);

/**
 * A new extent with the bytes of another, which according to its row has `length`.
 * Durable after tv_extents_sync_links.  Damage is not looked for; it is carried
 * along with the checksums.  Where the file system allows no further link, and in a
 * pool, the bytes are copied, and damaged ones are TV_ERR_CORRUPT.  TV_ERR_NOT_FOUND when
 * it is not there; else as create and finish.
 */
tv_err tv_extent_link(tv_extents *store, tv_extent_id from, uint64_t length,
                      tv_extent_id *ret_id) TV_WARN_UNUSED;

/** Make the names of all links made so far durable.  TV_ERR_OVERLOADED, TV_ERR_IO. */
tv_err tv_extents_sync_links(tv_extents *store) TV_WARN_UNUSED;

/* --- reading --- */

/**
 * A visit defers removals: an extent whose row was read during a visit can be
 * opened until the visit ends.  Neither waits for the disk.
 *
 * A visit may last as long as a client likes to read, and nothing at all could
 * be removed meanwhile; so after an hour it no longer counts, and what its rows
 * refer to may be gone (TV_ERR_NOT_FOUND).  What is open can be read to its
 * end.
 */
typedef struct tv_extent_visit {
    uint64_t epoch;
    int64_t begin_ns; /* by the monotonic clock */
    struct tv_extent_visit *next, *previous;
} tv_extent_visit;

void tv_extent_visit_begin(tv_extents *store, tv_extent_visit *visit);
void tv_extent_visit_end(tv_extents *store, tv_extent_visit *visit);

/** Whether a visit has lasted too long: then NOT_FOUND says nothing about the store. */
bool tv_extent_visit_is_over(const tv_extents *store, const tv_extent_visit *visit);

/**
 * Whether whoever reads during a visit must look at the row again before reading on, and, if it
 * still refers to the same extents, call tv_extent_visit_renew with the time from before that
 * look.  In a pool another node may have dropped the row, and what it referred to is removed a
 * while later; never true of files, where a visit defers that.  Neither waits.
 */
bool tv_extent_visit_must_renew(const tv_extents *store, const tv_extent_visit *visit);
void tv_extent_visit_renew(tv_extents *store, tv_extent_visit *visit, int64_t mono_ns);

/**
 * The same for a copy of everything: a hold lasts until tv_extent_visit_end, however
 * long that is, and what is removed meanwhile takes its space on the disk.
 */
void tv_extent_hold_begin(tv_extents *store, tv_extent_visit *hold);

/**
 * Copy all extents into the empty folder `to_fd`, by hard links where that is
 * possible, while the store is in use, and make that durable.  `base_fd` is such a
 * folder of an earlier copy, whose files may be shared (tv_file_copy), or -1.  During a hold, this
 * has every extent that any row refers to which was there when the hold had begun
 * or later; tv_extents_gc after the copy's first start removes the others.  Returns
 * 0 or an errno: ECANCELED when it was told to stop, ENOTSUP for a pool.
 */
int tv_extents_copy(tv_extents *store, int base_fd, int to_fd,
                    const tv_file_copies *copies) TV_WARN_UNUSED;

/** An extent that is open.  Belongs to one thread at a time. */
typedef struct tv_extent_reader tv_extent_reader;

/**
 * Open an extent that according to its row has `length` bytes.  With
 * TV_READ_CACHED, for network threads, TV_ERR_WOULD_BLOCK rather than wait for the
 * disk, which is the answer of a pool, always.  TV_ERR_NOT_FOUND, TV_ERR_OVERLOADED; TV_ERR_CORRUPT
 * and TV_ERR_IO when its file is not what was written or cannot be read, which is noted:
 * tv_extents_check.
 */
tv_err tv_extent_open(tv_extents *store, tv_read_mode mode, tv_extent_id id, uint64_t length,
                      tv_extent_reader **ret_reader) TV_WARN_UNUSED;
void tv_extent_close(tv_extent_reader *reader); /* accepts NULL */

/**
 * Read up to `size` (at least 1) bytes at `offset`, which match their checksums.  It may
 * return fewer; *ret_len is 0 only at the end of the extent.  With TV_READ_CACHED,
 * TV_ERR_WOULD_BLOCK rather than wait for the disk; the kernel begins to read ahead all
 * the same, so a later try may succeed.  TV_ERR_CORRUPT and TV_ERR_IO are
 * noted; then the buffer holds nothing of use.  TV_ERR_NOT_FOUND, of a pool only: the
 * extent has been removed since it was opened.
 *
 * Checksums are by block, so reading a part of a block means reading all of it:
 * the best read begins and ends where blocks of 16 KiB do.
 */
tv_err tv_extent_read(tv_extent_reader *reader, tv_read_mode mode, uint64_t offset, char *to,
                      size_t size, size_t *ret_len) TV_WARN_UNUSED;

/* --- damage: files that are not what was written, or are gone, or cannot be read --- */

/**
 * Note an extent that a row refers to and that is not there; readers note the rest.
 * `what` is a literal.  It is forgotten when the extent is removed: when its blob has
 * been deleted or replaced.
 */
void tv_extents_note_damage(tv_extents *store, tv_extent_id id, const char *what);

/**
 * Whether it is time for a line in the log: once for every extent, and not more often
 * than once a second for one that is met again and again.
 */
bool tv_extents_may_report(tv_extents *store, tv_extent_id id, const char **ret_what);

/** False with one line that says what is wrong, including data that is known to be damaged. */
bool tv_extents_check(tv_extents *store, char *reterr_text, size_t reterr_size) TV_WARN_UNUSED;

/** The path of an extent's file, for a line in the log.  Cut when it is too long. */
void tv_extent_describe(const tv_extents *store, tv_extent_id id,
                        char ret_path[TV_EXTENT_TEXT_SIZE]);

/* --- garbage collection --- */

/**
 * Remove extents, soon: when every visit that began before this call has ended.
 * Does not wait; the ids are copied.  For a committer's settle.  One that is not
 * there is fine.
 */
void tv_extents_remove(tv_extents *store, const tv_extent_id *ids, size_t count);

/** False when there is no such extent although it is of an earlier boot: its data is lost. */
typedef bool tv_extent_mark_fn(void *marker, tv_extent_id id);

/** What a garbage collection is to do, and what it has found. */
typedef struct tv_extent_gc {
    /**
     * Call `mark` for every extent that a row refers to, in one view that begins in this call;
     * without such views, in one of each blob.
     */
    tv_err (*mark_rows)(void *ctx, tv_extent_mark_fn *mark, void *marker);
    bool (*is_stopping)(void *ctx); /* asked now and then: give up with TV_ERR_STOPPED; or NULL */
    void *ctx;
    bool keeps_all; /* look, and remove nothing */
    /* Results. */
    size_t orphan_count;  /* extents that no row refers to, or will */
    size_t missing_count; /* extents that rows refer to and that are not there */
    bool has_removed;     /* orphans go, as with tv_extents_remove: */
    size_t removed_count; /* this many; of a folder, all */
    int64_t again_ms;     /* when to collect again; 0: not before the next start */
} tv_extent_gc;

/**
 * Find what earlier boots have left and no row refers to, and remove it.  Extents
 * of this boot are never touched.  In a pool, where one node does it for all: those
 * of boots that have ended, and those that are so old that no row can be made for them
 * any more (tv_extents_may_commit), if they have been found twice.  When `mark_rows` fails nothing
 * is removed and its error comes back; also TV_ERR_IO.
 *
 * A row that refers to an extent which is not there shows that rows and extents are
 * from different times: part of the log was dropped, or one of the two is an older
 * copy.  Then an extent without a row may be just what an operator is about to look
 * for, so nothing at all is removed.  Takes 17 bytes of memory per extent.
 */
tv_err tv_extents_gc(tv_extents *store, tv_extent_gc *gc) TV_WARN_UNUSED;

/**
 * How many extents and bytes there are, checksums and those being written included,
 * how many wait for removal, how many are known to be damaged.  A copy counts in
 * full.  After a crash tv_extents_gc counts the extents of earlier boots, for
 * which it looks at each file; after a close they are known from the start.
 */
void tv_extents_metrics(tv_extents *store, tv_metric_fn *report, void *ctx);

#endif
