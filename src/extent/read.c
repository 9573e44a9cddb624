/* Reading extents. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/assert.h"
#include "extent/internal.h"

tv_err tv_extent_open(tv_extents *store, tv_extent_id id, int *ret_fd)
{
    char path[TV_EXTENT_PATH_SIZE];
    int fd;

    tv_extent_path(id, path);
    do
        fd = openat(store->fd, path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return errno == ENOENT ? TV_ERR_NOT_FOUND : tv_extents_failed(store, "open", id, errno);

    *ret_fd = fd;
    return TV_OK;
}

tv_err tv_extent_open_cached(tv_extents *store, tv_extent_id id, int *ret_fd)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_CACHED};
    char path[TV_EXTENT_PATH_SIZE];

    tv_extent_path(id, path);
    int fd = (int)syscall(SYS_openat2, store->fd, path, &how, sizeof how);

    if (fd >= 0) {
        *ret_fd = fd;
        return TV_OK;
    }
    switch (errno) {
    case ENOENT:
        return TV_ERR_NOT_FOUND;
    case EMFILE:
    case ENFILE:
        return TV_ERR_OVERLOADED;
    default: /* not in memory, or a kernel before 5.12; whatever else it is, a worker will see it */
        return TV_ERR_WOULD_BLOCK;
    }
}

/* Files that are memory: reading them never waits for a disk.  (tmpfs does not know RWF_NOWAIT.) */
static bool is_memory(int fd)
{
    struct statfs stat_of;

    return fstatfs(fd, &stat_of) == 0 &&
           (stat_of.f_type == TMPFS_MAGIC || stat_of.f_type == RAMFS_MAGIC);
}

static tv_err read_cached(int fd, uint64_t offset, char *to, size_t size, size_t *ret_len)
{
    struct iovec part = {to, size};
    ssize_t len = preadv2(fd, &part, 1, (off_t)offset, RWF_NOWAIT);

    if (len < 0 && errno == EOPNOTSUPP && is_memory(fd))
        len = preadv2(fd, &part, 1, (off_t)offset, 0);
    if (len >= 0) {
        *ret_len = (size_t)len;
        return TV_OK;
    }

    switch (errno) {
    case EAGAIN:
    case EINTR:
    case EOPNOTSUPP:
    case ENOSYS:
        return TV_ERR_WOULD_BLOCK;
    default:
        return TV_ERR_IO;
    }
}

tv_err tv_extent_read(int fd, tv_read_mode mode, uint64_t offset, char *to, size_t size,
                      size_t *ret_len)
{
    size_t done = 0;

    tv_assert(size > 0);
    if (mode == TV_READ_CACHED)
        return read_cached(fd, offset, to, size, ret_len);

    while (done < size) {
        ssize_t len = pread(fd, to + done, size - done, (off_t)(offset + done));

        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            return TV_ERR_IO;
        if (len == 0)
            break;
        done += (size_t)len;
    }
    *ret_len = done;
    return TV_OK;
}
