/* The disk reserve.  statvfs costs about a microsecond, so nothing is remembered between two
 * questions but whether the last write was refused. */
#include "base/space.h"

#include <sys/statvfs.h>

#include "base/log.h"

enum { FREEING_SHARE = 8, FREEING_RESERVE_MIN = 4 << 20 };

uint64_t tv_space_free(const tv_space *space)
{
    struct statvfs stat;

    /* A file system that cannot be asked will report its error when it is written to. */
    if (fstatvfs(space->fd, &stat) != 0)
        return UINT64_MAX;

    return (uint64_t)stat.f_bavail * stat.f_frsize;
}

static bool has_room(uint64_t free_bytes, uint64_t reserve_bytes, uint64_t bytes)
{
    return free_bytes >= reserve_bytes && free_bytes - reserve_bytes >= bytes;
}

tv_err tv_space_check_freeing(const tv_space *space, uint64_t bytes)
{
    uint64_t reserve_bytes = space->reserve_bytes / FREEING_SHARE;

    if (reserve_bytes < FREEING_RESERVE_MIN)
        reserve_bytes = space->reserve_bytes < FREEING_RESERVE_MIN ? space->reserve_bytes
                                                                   : FREEING_RESERVE_MIN;
    return has_room(tv_space_free(space), reserve_bytes, bytes) ? TV_OK : TV_ERR_DISK_FULL;
}

tv_err tv_space_check(tv_space *space, uint64_t bytes)
{
    uint64_t free_bytes = tv_space_free(space);

    if (has_room(free_bytes, space->reserve_bytes, bytes))
        return TV_OK;

    if (!atomic_exchange(&space->is_full, true))
        tv_log(TV_LOG_ERROR, "disk_full",
               "store=%s free_bytes=%llu reserve_bytes=%llu "
               "effect=\"writes are refused, reads and deletes go on\"",
               space->store, (unsigned long long)free_bytes,
               (unsigned long long)space->reserve_bytes);
    return TV_ERR_DISK_FULL;
}

void tv_space_refused(tv_space *space, const char *detail)
{
    if (!atomic_exchange(&space->is_full, true))
        tv_log(TV_LOG_ERROR, "disk_full",
               "store=%s detail=\"%s\" effect=\"writes are refused, reads go on\"", space->store,
               detail);
}

void tv_space_accepted(tv_space *space)
{
    /* A plain load first: every write passes here. */
    if (!atomic_load_explicit(&space->is_full, memory_order_relaxed) ||
        !atomic_exchange(&space->is_full, false))
        return;

    tv_log(TV_LOG_INFO, "disk_has_space",
           "store=%s free_bytes=%llu reserve_bytes=%llu effect=\"writes are accepted again\"",
           space->store, (unsigned long long)tv_space_free(space),
           (unsigned long long)space->reserve_bytes);
}
