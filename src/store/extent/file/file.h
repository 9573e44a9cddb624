/*
 * Extents as files of a folder that one process has open; for this folder alone.
 *
 * On the disk: `dir/xx/bbbbbbbbbbbbbbbb-nnnnnnnnnnnnnnnn`, where b is the boot, n
 * the number and xx a folder of its own for some of the numbers, all in lower
 * case hexadecimal, and `dir/boot`, which holds the number of the last boot.
 * Nothing else is ever touched.
 */
#ifndef TV_STORE_EXTENT_FILE_FILE_H
#define TV_STORE_EXTENT_FILE_FILE_H

#include "base/space.h"
#include "store/extent/internal.h"

enum {
    TV_EXTENT_SHARDS = 256,
    TV_EXTENT_PATH_SIZE = 2 + 1 + 16 + 1 + 16 + 1, /* "xx/boot-number" with its NUL */
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

typedef struct tv_extent_files {
    tv_extents base;
    char *path;
    int fd; /* of the folder */
    bool is_temporary;
    bool is_read_only;
    tv_space space;
    atomic_bool is_broken; /* a folder could not be synced: no more names are made */
    _Atomic int64_t extent_count, byte_count;
    tv_extent_shard shards[TV_EXTENT_SHARDS];
} tv_extent_files;

static inline tv_extent_files *tv_extent_files_of(tv_extents *store)
{
    return (tv_extent_files *)store;
}

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
tv_err tv_extent_list(tv_extent_files *files, unsigned shard,
                      void (*found)(void *ctx, int shard_fd, const char *name, tv_extent_id id),
                      void *ctx) TV_WARN_UNUSED;

/* --- boot.c --- */

/**
 * Count this boot, durably, and take over the counts that the last boot left if
 * it was closed cleanly.  False with one line that says what is wrong.
 */
bool tv_extent_files_boot(tv_extent_files *files, char *reterr_text, size_t reterr_size);

/** Leave the counts for the next boot. */
void tv_extent_files_boot_end(tv_extent_files *files);

/** Write the boot file of a copy, durably, as if this boot had crashed.  Returns 0 or an errno. */
int tv_extent_files_boot_copy(const tv_extent_files *files, int to_fd);

/* --- store.c --- */

/** What errno `error` of an operation means: TV_ERR_DISK_FULL, TV_ERR_OVERLOADED (no descriptor is
 * left), else TV_ERR_IO, which is also logged (not too often). */
tv_err tv_extent_files_failed(tv_extent_files *files, const char *operation, tv_extent_id id,
                              int error);

/** A name has been made in a shard.  Returns the ticket for tv_extent_shard_sync. */
uint64_t tv_extent_shard_add(tv_extent_files *files, unsigned shard, bool is_link);

/** Make the names with tickets up to `ticket` durable.  TV_ERR_OVERLOADED, TV_ERR_IO. */
tv_err tv_extent_shard_sync(tv_extent_files *files, unsigned shard, uint64_t ticket) TV_WARN_UNUSED;

/* --- the backend's functions: see tv_extent_backend --- */

/* write.c */
tv_err tv_extent_file_create(tv_extents *store, tv_extent_writer **ret_writer) TV_WARN_UNUSED;
tv_err tv_extent_file_write(tv_extent_writer *writer, tv_slice bytes) TV_WARN_UNUSED;
tv_err tv_extent_file_finish(tv_extent_writer *writer) TV_WARN_UNUSED;
void tv_extent_file_end(tv_extent_writer *writer, bool is_finished);
tv_err tv_extent_file_link(tv_extents *store, tv_extent_id from,
                           tv_extent_id *ret_id) TV_WARN_UNUSED;
tv_err tv_extent_files_sync_links(tv_extents *store) TV_WARN_UNUSED;

/* read.c */
tv_err tv_extent_file_open(tv_extents *store, tv_read_mode mode, tv_extent_id id, uint64_t length,
                           tv_extent_reader **ret_reader) TV_WARN_UNUSED;
tv_err tv_extent_file_read(tv_extent_reader *reader, tv_read_mode mode, uint64_t offset, char *to,
                           size_t size, size_t *ret_len) TV_WARN_UNUSED;
void tv_extent_file_close(tv_extent_reader *reader);

/* gc.c */
void tv_extent_file_remove(tv_extents *store, tv_extent_id id);
tv_err tv_extent_files_gc(tv_extents *store, tv_extent_gc *gc) TV_WARN_UNUSED;

/* copy.c */
int tv_extent_files_copy(tv_extents *store, int base_fd, int to_fd,
                         const tv_file_copies *copies) TV_WARN_UNUSED;

#endif
