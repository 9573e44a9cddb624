/*
 * A disk that fails on demand, for a server that is started with this library in
 * LD_PRELOAD (sick_disk.py compiles it).  $SICK_DISK names a file with one line:
 *
 *     call part count error
 *
 * The next `count` calls of that function on a file whose path contains `part`
 * fail with that errno, and do nothing else.  The file is read at every call, so a
 * test can write it while the server runs; without the file all is well.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int path_has(int fd, const char *part)
{
    char link[64], path[4096];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);

    if (len <= 0)
        return 0;
    path[len] = '\0';
    return strstr(path, part) != NULL;
}

/* The rest of the count; the line is short, so one write replaces it. */
static void rewrite(const char *file, const char *call, const char *part, int count, int error)
{
    char line[512];
    int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);

    if (fd < 0)
        return;
    int len = count ? snprintf(line, sizeof line, "%s %s %d %d\n", call, part, count, error) : 0;

    if (len && syscall(SYS_write, fd, line, (size_t)len) != len)
        abort();
    close(fd);
}

/* Whether this call fails; sets errno. */
static int fails(const char *call, int fd)
{
    const char *file = getenv("SICK_DISK");
    char line[512], name[64], part[256];
    int count, error, result = 0;

    if (file == NULL)
        return 0;
    pthread_mutex_lock(&lock);
    int control = open(file, O_RDONLY | O_CLOEXEC);

    if (control >= 0) {
        ssize_t len = syscall(SYS_read, control, line, sizeof line - 1);

        close(control);
        line[len > 0 ? len : 0] = '\0';
        if (sscanf(line, "%63s %255s %d %d", name, part, &count, &error) == 4 && count > 0 &&
            strcmp(name, call) == 0 && path_has(fd, part)) {
            rewrite(file, name, part, count - 1, error);
            result = 1;
        }
    }
    pthread_mutex_unlock(&lock);
    if (result)
        errno = error;
    return result;
}

int fdatasync(int fd)
{
    return fails("fdatasync", fd) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    return fails("fsync", fd) ? -1 : (int)syscall(SYS_fsync, fd);
}

ssize_t write(int fd, const void *from, size_t size)
{
    return fails("write", fd) ? -1 : syscall(SYS_write, fd, from, size);
}

ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
    return fails("pread", fd) ? -1 : syscall(SYS_pread64, fd, to, size, offset);
}

ssize_t pread64(int fd, void *to, size_t size, off64_t offset)
{
    return pread(fd, to, size, offset);
}

/* A read that may not wait counts as one that may: both are "pread". */
ssize_t preadv64v2(int fd, const struct iovec *parts, int count, off64_t offset, int flags)
{
    if (fails("pread", fd))
        return -1;
    return syscall(SYS_preadv2, fd, parts, count, offset, 0L, flags);
}

ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
    return preadv64v2(fd, parts, count, offset, flags);
}
