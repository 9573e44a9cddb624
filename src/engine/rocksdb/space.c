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
 * log file must fit.  If it was chosen too small, this is what RocksDB 7.8 was
 * seen to do: a compaction that finds no room keeps its inputs and is tried
 * again; a flush that finds none makes RocksDB refuse all writes at the door,
 * before its log is touched, until its own watch (it looks every five seconds)
 * finds room and the flush succeeds.  The C interface cannot hurry it.  Only a
 * log that cannot grow is fatal, and that is what the reserve is for.
 *
 * The disk counts as full from the first refusal until a write has gone
 * through, so there is one line in the log for each, however often we ask.
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
    if (free_bytes >= space->reserve_bytes && free_bytes - space->reserve_bytes >= 2 * bytes)
        return TV_OK;

    if (!atomic_exchange(&space->is_full, true))
        tv_log(TV_LOG_ERROR, "disk_full",
               "free_bytes=%llu reserve_bytes=%llu effect=\"writes are refused, reads go on\"",
               (unsigned long long)free_bytes, (unsigned long long)space->reserve_bytes);
    return TV_ERR_DISK_FULL;
}

void tv_rocksdb_space_refused(tv_rocksdb_space *space, const char *detail)
{
    if (!atomic_exchange(&space->is_full, true))
        tv_log(TV_LOG_ERROR, "disk_full",
               "detail=\"%s\" effect=\"writes are refused, reads go on\"", detail);
}

void tv_rocksdb_space_accepted(tv_rocksdb_space *space)
{
    /* A plain look first: this is on the way of every write. */
    if (!atomic_load_explicit(&space->is_full, memory_order_relaxed) ||
        !atomic_exchange(&space->is_full, false))
        return;

    tv_log(TV_LOG_INFO, "disk_has_space",
           "free_bytes=%llu reserve_bytes=%llu effect=\"writes are accepted again\"",
           (unsigned long long)tv_rocksdb_space_free(space),
           (unsigned long long)space->reserve_bytes);
}
