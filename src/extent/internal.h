/*
 * What the files of the extent store share; for this folder alone.
 *
 * On the disk: `dir/xx/bbbbbbbbbbbbbbbb-nnnnnnnnnnnnnnnn`, where b is the boot, n
 * the number and xx a folder of its own for some of the numbers, all in lower
 * case hexadecimal, and `dir/boot`, which holds the number of the last boot.
 * Nothing else is ever touched.
 */
#ifndef TV_EXTENT_INTERNAL_H
#define TV_EXTENT_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/background.h"
#include "base/space.h"
#include "extent/extent.h"

enum {
    TV_EXTENT_SHARDS = 256,
    TV_EXTENT_PATH_SIZE = 2 + 1 + 16 + 1 + 16 + 1, /* "xx/boot-number" with its NUL */
    TV_EXTENT_DAMAGES_MAX = 64,
};

/** One folder of extents. */
typedef struct tv_extent_shard {
    /* Which names rely on which sync of the folder.  `lock` is not held during a sync. */
    pthread_mutex_t lock;
    pthread_cond_t synced;
    bool is_syncing;
    uint64_t made;      /* names made here so far */
    uint64_t durable;   /* this many of them, the first, survive the loss of power */
    uint64_t last_link; /* `made` when the newest link had been made */

    /* Whether the store's counts include the extents of earlier boots that are here.  Held while
     * one of them is removed or all are counted, so that none is missed or counted twice. */
    pthread_mutex_t count_lock;
    bool is_counted;
} tv_extent_shard;

/** An extent that cannot be read as it was written. */
typedef struct tv_extent_damage {
    tv_extent_id id;
    const char *what;
    bool is_reported;
} tv_extent_damage;

/** Extents that wait for the visits that began before `epoch`. */
typedef struct tv_extent_removal {
    struct tv_extent_removal *next;
    uint64_t epoch;
    size_t count;
    tv_extent_id ids[];
} tv_extent_removal;

struct tv_extents {
    char *path;
    int fd; /* of the folder */
    bool is_temporary;
    bool is_read_only;
    uint64_t boot;
    tv_space space;
    atomic_bool is_broken;        /* a folder could not be synced: no more names are made */
    _Atomic uint64_t last_number; /* of this boot */
    _Atomic int64_t extent_count, byte_count;
    atomic_int writer_count;
    _Atomic int64_t next_log_ns;

    /* gc_remove.c; the lock of `gc`, held for moments only, guards what follows. */
    tv_background gc;
    _Atomic int64_t stop_ns; /* by the monotonic clock: then nothing more is removed */
    int64_t visit_ns_max;
    uint64_t epoch;                                  /* counts calls of tv_extents_remove */
    tv_extent_visit *oldest_visit, *newest_visit;    /* in the order they began */
    tv_extent_removal *first_removal, *last_removal; /* in the order they were requested */
    size_t waiting_count;                            /* ids in them, and in the one under way */

    /* damage.c; `lock` guards these, for moments only. */
    pthread_mutex_t lock;
    tv_extent_damage damages[TV_EXTENT_DAMAGES_MAX];
    size_t damage_count;
    int64_t next_report_ns;
    _Atomic uint64_t failed_reads;

    tv_extent_shard shards[TV_EXTENT_SHARDS];
};

/* --- name.c --- */

/** The shard of a number.  Neighbours share one, so that uploads at one time share its syncs. */
static inline unsigned tv_extent_shard_of(uint64_t number)
{
    return number >> 6 & (TV_EXTENT_SHARDS - 1);
}

/** The path of an extent within the store's folder. */
void tv_extent_path(tv_extent_id id, char ret_path[TV_EXTENT_PATH_SIZE]);

/** False when a file of that name in that shard is not an extent. */
bool tv_extent_name_parse(unsigned shard, const char *name, tv_extent_id *ret_id);

/** Call `found` for each extent in a shard.  TV_ERR_OVERLOADED, TV_ERR_IO. */
tv_err tv_extent_list(tv_extents *store, unsigned shard,
                      void (*found)(void *ctx, int shard_fd, const char *name, tv_extent_id id),
                      void *ctx) TV_WARN_UNUSED;

/* --- boot.c --- */

/**
 * Count this boot, durably, and take over the counts that the last boot left if
 * it was closed cleanly.  False with one line that says what is wrong.
 */
bool tv_extents_boot(tv_extents *store, char *reterr_text, size_t reterr_size);

/** Leave the counts for the next boot. */
void tv_extents_boot_end(tv_extents *store);

/** Write the boot file of a copy, durably, as if this boot had crashed.  Returns 0 or an errno. */
int tv_extents_boot_copy(const tv_extents *store, int to_fd);

/* --- store.c --- */

/** What errno `error` of an operation means: TV_ERR_DISK_FULL, TV_ERR_OVERLOADED (no descriptor is
 * left), else TV_ERR_IO, which is also logged (not too often). */
tv_err tv_extents_failed(tv_extents *store, const char *operation, tv_extent_id id, int error);

/** The next id of this boot. */
tv_extent_id tv_extents_next_id(tv_extents *store);

/** A name has been made in a shard.  Returns the ticket for tv_extent_shard_sync. */
uint64_t tv_extent_shard_add(tv_extents *store, unsigned shard, bool is_link);

/** Make the names with tickets up to `ticket` durable.  TV_ERR_OVERLOADED, TV_ERR_IO. */
tv_err tv_extent_shard_sync(tv_extents *store, unsigned shard, uint64_t ticket) TV_WARN_UNUSED;

/* --- damage.c --- */

/** An extent goes: its damage no longer matters. */
void tv_extents_forget_damage(tv_extents *store, tv_extent_id id);

/* --- gc_remove.c --- */

void tv_extents_gc_start(tv_extents *store);

/** Do what no visit defers and the time allows, forget the rest. */
void tv_extents_gc_stop(tv_extents *store);

#endif
