/* What the files of this engine share; private to them. */
#ifndef TV_STORE_ENGINE_ROCKSDB_INTERNAL_H
#define TV_STORE_ENGINE_ROCKSDB_INTERNAL_H

#include <rocksdb/c.h>
#include <stdatomic.h>

#include "base/background.h"
#include "base/space.h"
#include "store/engine/rocksdb/rocksdb.h"

/* --- folder.c: whose folder is this, and may we open it? --- */

typedef struct tv_rocksdb_folder {
    int fd;      /* of the folder itself; holds the lock; -1 when not open */
    bool is_new; /* no user's row can be in it yet: the store may be created */
} tv_rocksdb_folder;

/**
 * Make the folder if need be, unless `is_read_only`, lock it against other servers
 * and look at what is in it.  Errors as tv_rocksdb_engine_open.
 */
tv_err tv_rocksdb_folder_open(const char *dir, bool is_read_only, tv_rocksdb_folder *ret_folder,
                              char *reterr_text, size_t reterr_size) TV_WARN_UNUSED;

/** A new store is complete: from now on it must be found again, never created. */
tv_err tv_rocksdb_folder_created(tv_rocksdb_folder *folder) TV_WARN_UNUSED;

/** Let go of the folder.  Accepts one that is not open. */
void tv_rocksdb_folder_done(tv_rocksdb_folder *folder);

/* --- options.c: RocksDB's many knobs --- */

typedef struct tv_rocksdb_settings {
    rocksdb_options_t *db;
    rocksdb_cache_t *cache;
    rocksdb_readoptions_t *read_any, *read_cached;
    rocksdb_writeoptions_t *write;
    char diary_dir[64]; /* where RocksDB keeps its diary if not in the store's folder; or empty */
} tv_rocksdb_settings;

void tv_rocksdb_settings_init(tv_rocksdb_settings *settings, const tv_rocksdb_options *options);
void tv_rocksdb_settings_done(tv_rocksdb_settings *settings);

/** What is known of reads that failed.  Any thread. */
typedef struct tv_rocksdb_reads {
    _Atomic uint64_t failed; /* damaged rows, or an error of the disk */
    atomic_bool has_damage;  /* one of them did not fit its checksum */
    _Atomic int64_t next_log_ns;
    void (*told)(void *ctx, const char *text); /* or NULL: see tv_rocksdb_options */
    void *told_ctx;
} tv_rocksdb_reads;

/* --- iter.c --- */

/** `reads` outlives it.  `is_across`: see tv_engine_ops.iter_across. */
tv_err tv_rocksdb_iter_new(rocksdb_t *db, tv_rocksdb_reads *reads, tv_slice from, tv_slice to,
                           bool is_across, tv_iter **ret_iter) TV_WARN_UNUSED;

/* --- watch.c: a thread that watches what happens in the background --- */

typedef struct tv_rocksdb_watch {
    tv_background thread;
    rocksdb_t *db;
    tv_engine *engine;
    tv_space *space;
    atomic_bool has_freed; /* since the last look */
} tv_rocksdb_watch;

void tv_rocksdb_watch_start(tv_rocksdb_watch *watch, rocksdb_t *db, tv_engine *engine,
                            tv_space *space);
void tv_rocksdb_watch_stop(tv_rocksdb_watch *watch);

/** Rows have been deleted: if the disk is full, make sure that their space comes back. */
void tv_rocksdb_watch_freed(tv_rocksdb_watch *watch);

/* --- rocksdb.c --- */

/** The error that one of RocksDB's texts stands for; TV_OK for NULL. */
tv_err tv_rocksdb_err(const char *text) TV_WARN_UNUSED;

/** The same for a read; also notes, and logs (not too often), what is neither absent nor merely not
 * cached. */
tv_err tv_rocksdb_read_err(tv_rocksdb_reads *reads, const char *text) TV_WARN_UNUSED;

#endif
