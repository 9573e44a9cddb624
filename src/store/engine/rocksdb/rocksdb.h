/*
 * The embedded engine: one folder, one process, RocksDB underneath.  What it
 * adds to RocksDB is caution: a folder is opened by one server at a time, is
 * never created over something else and never repaired in silence, and the
 * disk is never filled to the last byte.  ../README.md tells the whole story.
 */
#ifndef TV_STORE_ENGINE_ROCKSDB_ROCKSDB_H
#define TV_STORE_ENGINE_ROCKSDB_ROCKSDB_H

#include <stdint.h>

#include "store/engine/engine.h"

/** Zero fields take their defaults. */
typedef struct tv_rocksdb_options {
    const char *dir; /* the folder, the engine's alone; made when its parent exists */

    /** Most memory for cached blocks, taken as it is used: an eighth of the machine's, from 64 MiB
     * to 1 GiB. */
    size_t block_cache_bytes;
    size_t write_buffer_bytes; /* of each of four write buffers; 64 MiB */
    int open_files_max;        /* files that it may keep open; 1,000 */

    /**
     * Free bytes below which writes are refused; 512 MiB.  It must hold what
     * RocksDB writes on its own: the flush of all write buffers and the next
     * log file.  1 is as good as no reserve.
     */
    uint64_t disk_reserve_bytes;

    /**
     * Open a store whose log is damaged (see wal.h), keeping what comes before
     * the damage and dropping all writes after it; a line in the log says how
     * many and of what time.  An operator's decision, never a default.
     */
    bool drop_damaged_log;

    /**
     * For a look at a store that no server has open: nothing in the folder is
     * changed or made, and all writes fail with TV_ERR_IO.  A write that a crash has
     * cut short is passed over.
     */
    bool is_read_only;

    /** Told what RocksDB says, with the name of the file, of each read that fails; or NULL. */
    void (*read_failed)(void *ctx, const char *text);
    void *read_failed_ctx;
} tv_rocksdb_options;

/** Room enough for `reterr_text`. */
enum { TV_ROCKSDB_ERROR_TEXT_MAX = 1024 };

/**
 * Open the store in options->dir, or make a new one there when the folder is
 * empty or missing.  On failure one line of text that names the folder is put
 * into `reterr_text`:
 *
 *   TV_ERR_IN_USE   another server has the folder open
 *   TV_ERR_CORRUPT  the store is damaged, is of another format version, or the
 *                   folder holds something other than a store; nothing is changed
 *   TV_ERR_IO       the folder cannot be made, read or written
 *   TV_ERR_DISK_FULL  there is no room for what a start writes
 *   TV_ERR_NOT_FOUND  there is no store to look at (is_read_only)
 */
tv_err tv_rocksdb_engine_open(const tv_rocksdb_options *options, tv_engine **ret_engine,
                              char *reterr_text, size_t reterr_size) TV_WARN_UNUSED;

/** Whether no flush and no compaction runs or is due.  For tests. */
bool tv_rocksdb_is_quiet(tv_engine *engine);

#endif
