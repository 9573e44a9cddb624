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

static void tell(const tv_file_copies *copies, uint64_t files, uint64_t bytes, uint64_t written)
{
    if (copies->progress)
        copies->progress(copies->ctx, files, bytes, written);
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
        tell(copies, 0, (uint64_t)len, (uint64_t)len);
    }
    free(buffer);
    if (error == 0 && fsync(to) != 0)
        error = errno;
    return error;
}

static int copy(const tv_file_copies *copies, int from_fd, int to_fd, const char *name)
{
    off_t size;
    int source = tv_file_open_regular(from_fd, name, O_RDONLY, &size);

    if (source < 0)
        return errno;

    int target = openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = target < 0 ? errno : copy_bytes(copies, source, target);

    close(source);
    if (target >= 0 && close(target) != 0 && error == 0)
        error = errno;
    return error;
}

/* --- files of an earlier copy --- */

/* A whole buffer, unless the file ends before; -1 with errno. */
static ssize_t read_full(int fd, char *to, size_t size)
{
    size_t have = 0;

    while (have < size) {
        ssize_t len = read(fd, to + have, size - have);

        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            return -1;
        if (len == 0)
            break;
        have += (size_t)len;
    }
    return (ssize_t)have;
}

/* Whether both have the same bytes.  0, ECANCELED, or something else when they do not. */
static int compare_bytes(const tv_file_copies *copies, int a, int b)
{
    char *of_a = tv_malloc(STEP_BYTES), *of_b = tv_malloc(STEP_BYTES);
    ssize_t len;
    int error = 0;

    do {
        len = read_full(a, of_a, STEP_BYTES);
        if (is_stopping(copies))
            error = ECANCELED;
        else if (len < 0 || read_full(b, of_b, STEP_BYTES) != len ||
                 memcmp(of_a, of_b, (size_t)len) != 0)
            error = EILSEQ;
    } while (error == 0 && len == STEP_BYTES);
    free(of_a);
    free(of_b);
    return error;
}

/* Whoever else could write it could change the new copy by way of the old one. */
static bool is_ours_alone(const struct stat *of)
{
    return S_ISREG(of->st_mode) && of->st_uid == geteuid() && (of->st_mode & 022) == 0;
}

/* Give the open file `base` of the folder `base_fd` a name more.  Another file may have come to its
 * old name meanwhile; that is not linked. */
static int link_open(int base_fd, int base, const struct stat *base_stat, int to_fd,
                     const char *name)
{
    struct stat linked;

    if (fsync(base) != 0 || linkat(base_fd, name, to_fd, name, 0) != 0)
        return errno;
    if (fstatat(to_fd, name, &linked, AT_SYMLINK_NOFOLLOW) == 0 &&
        linked.st_ino == base_stat->st_ino && linked.st_dev == base_stat->st_dev)
        return 0;
    return unlinkat(to_fd, name, 0) == 0 ? ESTALE : errno;
}

/* Link the file of the earlier copy if it is the same: 0, ECANCELED, or why it is not. */
static int link_earlier(const tv_file_copies *copies, int from_fd, int base_fd, int to_fd,
                        const char *name)
{
    int source = openat(from_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int base = openat(base_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat source_stat, base_stat;
    int error = 0;

    if (source < 0 || base < 0 || fstat(source, &source_stat) != 0 || fstat(base, &base_stat) != 0)
        error = errno;
    else if (!is_ours_alone(&base_stat) || base_stat.st_size != source_stat.st_size)
        error = EILSEQ;
    else
        error = compare_bytes(copies, source, base);
    if (error == 0)
        error = link_open(base_fd, base, &base_stat, to_fd, name);
    if (error == 0)
        tell(copies, 1, (uint64_t)base_stat.st_size, 0);
    if (source >= 0)
        close(source);
    if (base >= 0)
        close(base);
    return error;
}

/* --- one file --- */

/* Whether a copy may succeed where a link did not: another file system, one without links, or too
 * many of this file. */
static bool can_copy_instead(int error)
{
    return error == EXDEV || error == EPERM || error == EMLINK || error == EOPNOTSUPP ||
           error == ENOSYS;
}

int tv_file_copy(const tv_file_copies *copies, int from_fd, int base_fd, int to_fd,
                 const char *name)
{
    struct stat stat_of;

    if (is_stopping(copies))
        return ECANCELED;
    if (linkat(from_fd, name, to_fd, name, 0) == 0) {
        if (fstatat(to_fd, name, &stat_of, AT_SYMLINK_NOFOLLOW) != 0)
            return errno;
        tell(copies, 1, (uint64_t)stat_of.st_size, 0);
        return 0;
    }
    if (!can_copy_instead(errno))
        return errno;

    int error = base_fd >= 0 ? link_earlier(copies, from_fd, base_fd, to_fd, name) : ENOENT;

    if (error == 0 || error == ECANCELED)
        return error;
    error = copy(copies, from_fd, to_fd, name);
    if (error == 0)
        tell(copies, 1, 0, 0);
    return error;
}

int tv_file_open_regular(int dir_fd, const char *name, int flags, off_t *ret_size)
{
    int fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    *ret_size = st.st_size;
    return fd;
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
