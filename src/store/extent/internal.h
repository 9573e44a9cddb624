/*
 * What the files of the extent store share; for this folder alone.
 *
 * A store has a backend, which keeps each extent as one run of bytes: the data and,
 * after it, the checksums (trailer.h).  What is common to all backends is in this
 * folder: checksums, visits, the order of removals, notes of damage.  Where the
 * bytes are, and when they are safe there, is the backend's: file/ keeps them in a
 * folder of one process, pool/ in a pool that many share.
 */
#ifndef TV_STORE_EXTENT_INTERNAL_H
#define TV_STORE_EXTENT_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/background.h"
#include "base/buf.h"
#include "store/extent/extent.h"
#include "store/extent/trailer.h"

enum { TV_EXTENT_DAMAGES_MAX = 64 };

/** The beginning of a backend's own struct. */
struct tv_extent_writer {
    tv_extents *store;
    tv_extent_id id;
    tv_extent_seal seal;
    bool is_failed;
    uint64_t len;    /* of all bytes so far, checksums included; the backend counts them */
    uint64_t length; /* of the data */
    uint32_t sum;    /* of the block that is not full yet */
    tv_buf table;    /* checksums of the full ones: 4 bytes for 16 KiB */
};

/** Likewise: see tv_extent_reader_new. */
struct tv_extent_reader {
    tv_extents *store;
    tv_extent_id id;
    tv_extent_seal seal; /* that of another extent if this is a link to its bytes */
    uint64_t length, block_count;
    uint64_t first_block; /* of the window */
    size_t window_count;  /* 0 when there is none yet */
    char *window;         /* entries of the table */
};

/** A backend.  All functions may be called from any thread, and may wait unless they say otherwise.
 */
typedef struct tv_extent_backend {
    /** Others remove extents, too: see tv_extent_visit_must_renew. */
    bool is_shared;

    /** Extents say which they are (trailer.h).  Not those of a pool: nodes that are older than that
     * read them, too. */
    bool seals;

    /** See tv_extent_create; the rest of tv_extent_writer is filled in by tv_extent_writer_begin.
     */
    tv_err (*create)(tv_extents *store, tv_extent_writer **ret_writer);
    /** Append bytes; an error is final. */
    tv_err (*write)(tv_extent_writer *writer, tv_slice bytes);
    /** All bytes have been written: make them durable, and the extent one that can be opened. */
    tv_err (*finish)(tv_extent_writer *writer);
    /** Free the writer; unless the extent is finished it goes, soon.  Does not wait. */
    void (*end)(tv_extent_writer *writer, bool is_finished);

    /** See tv_extents_may_commit; NULL where it is always true. */
    bool (*may_commit)(const tv_extents *store, tv_extent_id id);

    /** See tv_extent_link; NULL, or TV_ERR_NOT_IMPLEMENTED, where the bytes must be copied. */
    tv_err (*link)(tv_extents *store, tv_extent_id from, tv_extent_id *ret_id);
    /** See tv_extents_sync_links; or NULL. */
    tv_err (*sync_links)(tv_extents *store);

    /** See tv_extent_open; made by tv_extent_reader_new.  Nothing has to be read yet. */
    tv_err (*open)(tv_extents *store, tv_read_mode mode, tv_extent_id id, uint64_t length,
                   tv_extent_reader **ret_reader);
    /**
     * Read `size` bytes, fewer only at the end of the extent; with TV_READ_CACHED, or
     * TV_ERR_WOULD_BLOCK, those that are at hand.  TV_ERR_NOT_FOUND when what would hold them is
     * gone.
     */
    tv_err (*read)(tv_extent_reader *reader, tv_read_mode mode, uint64_t offset, char *to,
                   size_t size, size_t *ret_len);
    /** Let go of what `open` took; does not free the reader. */
    void (*close)(tv_extent_reader *reader);

    /** Remove an extent at once.  One that is gone is fine. */
    void (*remove)(tv_extents *store, tv_extent_id id);
    /** See tv_extents_gc. */
    tv_err (*gc)(tv_extents *store, tv_extent_gc *gc);
    /** See tv_extents_copy; NULL where there is nothing to copy. */
    int (*copy)(tv_extents *store, int base_fd, int to_fd, const tv_file_copies *copies);

    /** See tv_extent_describe. */
    void (*describe)(const tv_extents *store, tv_extent_id id, char ret_text[TV_EXTENT_TEXT_SIZE]);
    /** See tv_extents_check; damage aside. */
    bool (*check)(tv_extents *store, char *reterr_text, size_t reterr_size);
    /** What tv_extents_metrics does not report itself. */
    void (*metrics)(tv_extents *store, tv_metric_fn *report, void *ctx);
    /** Wait for writers that were given up and have not ended yet; NULL where they end at once. */
    void (*drain)(tv_extents *store);
    /** The last call: no writer, reader or removal is left. */
    void (*free)(tv_extents *store);
} tv_extent_backend;

/** An extent that cannot be read as it was written. */
typedef struct tv_extent_damage {
    tv_extent_id id;
    const char *what;
    bool is_reported;
} tv_extent_damage;

/** Extents that wait for the visits that began before `epoch`, and for the time. */
typedef struct tv_extent_removal {
    struct tv_extent_removal *next;
    uint64_t epoch;
    int64_t due_ns; /* by the monotonic clock */
    size_t count;
    tv_extent_id ids[];
} tv_extent_removal;

/** The beginning of a backend's own struct. */
struct tv_extents {
    const tv_extent_backend *backend;
    uint64_t boot;
    _Atomic uint64_t last_number; /* of this boot */
    atomic_int writer_count;
    _Atomic int64_t next_log_ns;

    /* gc_remove.c; the lock of `gc`, held for moments only, guards what follows. */
    tv_background gc;
    _Atomic int64_t stop_ns; /* by the monotonic clock: then nothing more is removed */
    int64_t visit_ns_max;
    int64_t remove_delay_ns;                         /* from a request to its removal, at least */
    uint64_t epoch;                                  /* counts calls of tv_extents_remove */
    tv_extent_visit *oldest_visit, *newest_visit;    /* in the order they began */
    tv_extent_removal *first_removal, *last_removal; /* in the order they were requested */
    size_t waiting_count;                            /* ids in them, and in the one under way */
    uint64_t look_count; /* of the thread's that found nothing to remove; for tests */

    /* damage.c; `lock` guards these, for moments only. */
    pthread_mutex_t lock;
    tv_extent_damage damages[TV_EXTENT_DAMAGES_MAX];
    size_t damage_count;
    int64_t next_report_ns;
    _Atomic uint64_t failed_reads;
};

/* --- gc_remove.c --- */

/** While a removal is deferred, its visits are looked at again at this interval.  Tests lower it.
 */
extern int64_t tv_extent_look_ns;

/* --- store.c --- */

/** For a backend that opens: all that is common.  `boot` is set before the first extent. */
void tv_extents_init(tv_extents *store, const tv_extent_backend *backend, int visit_ms_max);

/** The opposite, for a backend that closes. */
void tv_extents_done(tv_extents *store);

/** The next id of this boot. */
tv_extent_id tv_extents_next_id(tv_extents *store);

/** Whether it is time for a line in the log: a store that fails does so thousands of times. */
bool tv_extents_may_log(tv_extents *store);

/* --- write.c --- */

void tv_extent_writer_begin(tv_extent_writer *writer, tv_extents *store, tv_extent_id id);

/** Let go of what all writers have. */
void tv_extent_writer_done(tv_extent_writer *writer);

/* --- read.c --- */

/** A reader with a backend's own struct of `size` bytes, all zeros but for what all readers have.
 */
tv_extent_reader *tv_extent_reader_new(size_t size, tv_extents *store, tv_extent_id id,
                                       uint64_t length);

/* --- damage.c --- */

/** An extent goes: its damage no longer matters. */
void tv_extents_forget_damage(tv_extents *store, tv_extent_id id);

/* --- set.c --- */

/** Extents that were listed, each with a mark.  All zeros is empty. */
typedef struct tv_extent_set {
    tv_extent_id *ids;
    unsigned char *is_marked; /* after tv_extent_set_sort */
    size_t count, size;
} tv_extent_set;

void tv_extent_set_add(tv_extent_set *set, tv_extent_id id);

/** All have been added: each is there once from now on, in order, without a mark. */
void tv_extent_set_sort(tv_extent_set *set);

/** False when it is not there.  After tv_extent_set_sort, as the rest. */
bool tv_extent_set_mark(tv_extent_set *set, tv_extent_id id);

bool tv_extent_set_has(const tv_extent_set *set, tv_extent_id id);

/** Drop those with a mark. */
void tv_extent_set_keep_unmarked(tv_extent_set *set);

void tv_extent_set_done(tv_extent_set *set);

/* --- gc_remove.c --- */

/** Remove one that no visit can know of.  Waits. */
void tv_extents_remove_now(tv_extents *store, tv_extent_id id);

void tv_extents_gc_start(tv_extents *store);

/** Do what no visit defers and the time allows, forget the rest. */
void tv_extents_gc_stop(tv_extents *store);

#endif
