/* Reading files, with and without waiting for the disk. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "store/extent/file/file.h"

typedef struct file_reader {
    tv_extent_reader base;
    int fd;
} file_reader;

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

static tv_err read_any(int fd, uint64_t offset, char *to, size_t size, size_t *ret_len)
{
    size_t done = 0;

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

tv_err tv_extent_file_read(tv_extent_reader *reader, tv_read_mode mode, uint64_t offset, char *to,
                           size_t size, size_t *ret_len)
{
    int fd = ((file_reader *)reader)->fd;
    tv_err err = mode == TV_READ_CACHED ? read_cached(fd, offset, to, size, ret_len)
                                        : read_any(fd, offset, to, size, ret_len);

    if (err == TV_ERR_IO)
        tv_extents_note_damage(reader->store, reader->id, "it cannot be read");
    return err;
}

static tv_err open_any(tv_extent_files *files, tv_extent_id id, const char *path, int *ret_fd)
{
    int fd;

    do
        fd = openat(files->fd, path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return errno == ENOENT ? TV_ERR_NOT_FOUND
                               : tv_extent_files_failed(files, "open", id, errno);

    *ret_fd = fd;
    return TV_OK;
}

static tv_err open_cached(tv_extent_files *files, const char *path, int *ret_fd)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_CACHED};
    int fd = (int)syscall(SYS_openat2, files->fd, path, &how, sizeof how);

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

tv_err tv_extent_file_open(tv_extents *store, tv_read_mode mode, tv_extent_id id, uint64_t length,
                           tv_extent_reader **ret_reader)
{
    tv_extent_files *files = tv_extent_files_of(store);
    char path[TV_EXTENT_PATH_SIZE];
    int fd = -1;
    tv_err err;

    tv_extent_path(id, path);
    err = mode == TV_READ_CACHED ? open_cached(files, path, &fd) : open_any(files, id, path, &fd);
    if (err == TV_ERR_IO)
        tv_extents_note_damage(store, id, "it cannot be opened");
    if (err)
        return err;

    *ret_reader = tv_extent_reader_new(sizeof(file_reader), store, id, length);
    ((file_reader *)*ret_reader)->fd = fd;
    return TV_OK;
}

void tv_extent_file_close(tv_extent_reader *reader)
{
    close(((file_reader *)reader)->fd);
}
