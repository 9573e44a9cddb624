/*
 * The disk reserve.
 *
 * A full disk is the one fault that RocksDB cannot be trusted with: Debian's
 * build aborts when the write-ahead log cannot be written.  So every write
 * first asks the file system what is left, and below the reserve is refused
 * with TV_ERR_DISK_FULL before RocksDB hears of it.  statvfs costs about a
 * microsecond and a group of writes costs an fsync, so it is asked each time
 * and the reserve cannot be eaten between two questions by our own log.
 *
 * What eats into the reserve all the same is RocksDB's background work, which
 * is why it is large: flushing all write buffers and preallocating the next
 * log file must fit.  A compaction that does not fit fails softly: RocksDB
 * keeps its inputs, waits for space and tries again.
 */
#include <sys/statvfs.h>

#include "base/log.h"
#include "engine/rocksdb/internal.h"

uint64_t tv_rocksdb_space_free(const tv_rocksdb_space *space)
{
    struct statvfs stat;

    /* A file system that cannot be asked will say what ails it when it is written to. */
    if (fstatvfs(space->fd, &stat) != 0)
        return UINT64_MAX;

    return (uint64_t)stat.f_bavail * stat.f_frsize;
}

tv_err tv_rocksdb_space_check(tv_rocksdb_space *space, uint64_t bytes)
{
    uint64_t free_bytes = tv_rocksdb_space_free(space);
    /* Twice: each byte goes into the log now and into a table file later. */
    bool is_low =
        free_bytes < space->reserve_bytes || free_bytes - space->reserve_bytes < 2 * bytes;

    if (is_low != atomic_load_explicit(&space->is_low, memory_order_relaxed) &&
        atomic_exchange(&space->is_low, is_low) != is_low) {
        if (is_low)
            tv_log(TV_LOG_ERROR, "disk_full",
                   "free_bytes=%llu reserve_bytes=%llu effect=\"writes are refused, reads go on\"",
                   (unsigned long long)free_bytes, (unsigned long long)space->reserve_bytes);
        else
            tv_log(TV_LOG_INFO, "disk_has_space",
                   "free_bytes=%llu reserve_bytes=%llu effect=\"writes are accepted again\"",
                   (unsigned long long)free_bytes, (unsigned long long)space->reserve_bytes);
    }
    return is_low ? TV_ERR_DISK_FULL : TV_OK;
}
