/* Links, copies, and what is left of them. */
#include "base/file_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"

enum { STEP_BYTES = 1 << 20, DEPTH_MAX = 8 };

static bool is_stopping(const tv_file_copies *copies)
{
    return copies->is_stopping && copies->is_stopping(copies->ctx);
}

static void tell(const tv_file_copies *copies, uint64_t files, uint64_t bytes)
{
    if (copies->progress)
        copies->progress(copies->ctx, files, bytes);
}

static int write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t done = write(fd, bytes, len);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : ENOSPC;
        bytes += done;
        len -= (size_t)done;
    }
    return 0;
}

static int copy_bytes(const tv_file_copies *copies, int from, int to)
{
    char *buffer = tv_malloc(STEP_BYTES);
    int error = 0;

    for (;;) {
        ssize_t len = read(from, buffer, STEP_BYTES);

        if (len < 0 && errno == EINTR)
            continue;
        if (len <= 0) {
            error = len < 0 ? errno : 0;
            break;
        }
        error = is_stopping(copies) ? ECANCELED : write_all(to, buffer, (size_t)len);
        if (error)
            break;
        tell(copies, 0, (uint64_t)len);
    }
    free(buffer);
    if (error == 0 && fsync(to) != 0)
        error = errno;
    return error;
}

static int copy(const tv_file_copies *copies, int from_fd, const char *from, int to_fd,
                const char *to)
{
    int source = openat(from_fd, from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (source < 0)
        return errno;

    int target = openat(to_fd, to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = target < 0 ? errno : copy_bytes(copies, source, target);

    close(source);
    if (target >= 0 && close(target) != 0 && error == 0)
        error = errno;
    return error;
}

/* Whether a copy may succeed where a link did not: another file system, one without links, or too
 * many of this file. */
static bool can_copy_instead(int error)
{
    return error == EXDEV || error == EPERM || error == EMLINK || error == EOPNOTSUPP ||
           error == ENOSYS;
}

int tv_file_copy(const tv_file_copies *copies, int from_fd, const char *from, int to_fd,
                 const char *to)
{
    struct stat stat_of;

    if (is_stopping(copies))
        return ECANCELED;
    if (linkat(from_fd, from, to_fd, to, 0) == 0) {
        if (fstatat(to_fd, to, &stat_of, AT_SYMLINK_NOFOLLOW) != 0)
            return errno;
        tell(copies, 1, (uint64_t)stat_of.st_size);
        return 0;
    }
    if (!can_copy_instead(errno))
        return errno;

    int error = copy(copies, from_fd, from, to_fd, to);

    if (error == 0)
        tell(copies, 1, 0);
    return error;
}

int tv_file_sync(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return errno;

    int error = fsync(fd) == 0 ? 0 : errno;

    close(fd);
    return error;
}

static int remove_tree(int dir_fd, const char *name, int depth);

/* Empty an open folder; closes it. */
static int remove_entries(int fd, int depth)
{
    DIR *dir = fdopendir(fd);
    int error = 0;

    if (dir == NULL) {
        error = errno;
        close(fd);
        return error;
    }
    for (struct dirent *entry; error == 0 && (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        error = remove_tree(fd, entry->d_name, depth);
    }
    closedir(dir);
    return error;
}

/* A name that is no folder is removed as it is. */
static int remove_tree(int dir_fd, const char *name, int depth)
{
    if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return errno;
    if (depth == DEPTH_MAX)
        return ELOOP;

    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return errno;

    int error = remove_entries(fd, depth + 1);

    if (error == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) != 0)
        error = errno;
    return error;
}

int tv_file_remove_tree(int dir_fd, const char *name)
{
    return remove_tree(dir_fd, name, 0);
}
