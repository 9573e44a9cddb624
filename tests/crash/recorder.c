/*
 * Notes everything that a program does to the files below one folder, in the
 * order in which it happened: loaded by LD_PRELOAD (recorder.py compiles it).
 *
 *     RECORDER_ROOT   the folder
 *     RECORDER_FILE   the journal: a record for each change and each sync
 *     RECORDER_COUNT  a file of 24 bytes that others read: how many records there
 *                     are, how many calls there were, and whether a change and its
 *                     record are under way (8 bytes each)
 *     RECORDER_FAIL   "N ERRNO": call number N of those counted fails, and does
 *                     nothing; without a journal nothing is noted
 *
 * One lock is held over a change and its record, so the journal has one order.
 * A sync is two records, one before it and one after, which has the number of the
 * first as its offset: it makes durable what was changed before it began, once it
 * has ended.  Several threads can sync at a time.
 *
 * RocksDB's diary is written by stdio and is not noted: nothing depends on it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum record_kind { CREATE = 1, WRITE, CUT, SYNC_BEGIN, SYNC_END, RENAME, UNLINK, LINK, MKDIR, RMDIR };

/* What is in the journal; then come `path_len` bytes and `data_len` bytes. */
struct record {
    uint32_t kind, path_len;
    uint64_t inode, offset, data_len;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *root;
static size_t root_len;
static int journal = -1, fail_errno, counts_reads;
static uint64_t fail_at;
static volatile uint64_t *counts, own_counts[3];

static void set_up(void)
{
    const char *file = getenv("RECORDER_FILE"), *count = getenv("RECORDER_COUNT");
    const char *fail = getenv("RECORDER_FAIL");
    unsigned long long at;

    counts = own_counts;
    root = getenv("RECORDER_ROOT");
    root_len = root ? strlen(root) : 0;
    if (file)
        journal = (int)syscall(SYS_openat, AT_FDCWD, file,
                               O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (count) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, count, O_RDWR | O_CLOEXEC, 0);
        void *at_map = mmap(NULL, 24, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (at_map == MAP_FAILED)
            abort();
        counts = at_map;
        close(fd);
    }
    if (fail && sscanf(fail, "%llu %d", &at, &fail_errno) == 2) {
        counts_reads = 1;
        fail_at = at;
    }
}

/* The path below the root, or NULL when it is elsewhere. */
static const char *below(const char *path)
{
    if (root_len == 0 || strncmp(path, root, root_len) != 0)
        return NULL;
    if (path[root_len] == '\0')
        return "";
    return path[root_len] == '/' ? path + root_len + 1 : NULL;
}

static const char *path_of_fd(int fd, char to[PATH_MAX])
{
    char link[64];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, to, PATH_MAX - 1);

    if (len <= 0)
        return NULL;
    to[len] = '\0';
    char *gone = strstr(to, " (deleted)");
    if (gone)
        *gone = '\0';
    return below(to);
}

static const char *path_at(int dir, const char *path, char to[PATH_MAX])
{
    char base[PATH_MAX];

    if (path[0] == '/')
        snprintf(to, PATH_MAX, "%s", path);
    else if (dir == AT_FDCWD)
        return NULL; /* the server is told an absolute folder */
    else if (path_of_fd(dir, base) == NULL)
        return NULL;
    else
        snprintf(to, PATH_MAX, "%.2000s/%.2000s", base, path);
    for (char *twice; (twice = strstr(to, "//"));)
        memmove(twice, twice + 1, strlen(twice));
    return below(to);
}

static uint64_t inode_of(int fd)
{
    struct stat stat_of;

    return fstat(fd, &stat_of) == 0 ? stat_of.st_ino : 0;
}

static void put(const void *from, size_t len)
{
    for (size_t done = 0; done < len;) {
        long n = syscall(SYS_write, journal, (const char *)from + done, len - done);

        if (n <= 0)
            abort();
        done += (size_t)n;
    }
}

/* Under the lock.  Returns the number of the record. */
static uint64_t note(enum record_kind kind, const char *path, uint64_t inode, uint64_t offset,
                 const void *data, size_t data_len)
{
    struct record record = {kind, path ? (uint32_t)strlen(path) : 0, inode, offset, data_len};

    if (journal < 0)
        return 0;
    put(&record, sizeof record);
    if (record.path_len)
        put(path, record.path_len);
    if (data_len)
        put(data, data_len);
    return __atomic_fetch_add(&counts[0], 1, __ATOMIC_SEQ_CST);
}

static void take_lock(void)
{
    pthread_mutex_lock(&lock);
    __atomic_store_n(&counts[2], 1, __ATOMIC_SEQ_CST);
}

static void give_lock(void)
{
    __atomic_store_n(&counts[2], 0, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&lock);
}

/* Whether this call is the one that fails; sets errno.  Takes the lock unless it fails. */
static int fails(void)
{
    pthread_once(&once, set_up);
    take_lock();
    if (__atomic_add_fetch(&counts[1], 1, __ATOMIC_SEQ_CST) != fail_at)
        return 0;
    give_lock();
    errno = fail_errno;
    return 1;
}

static long done(long result)
{
    int saved = errno;

    give_lock();
    errno = saved;
    return result;
}

/* --- names --- */

static int open_noted(int dir, const char *path, int flags, mode_t mode)
{
    char full[PATH_MAX];
    const char *name;
    struct stat stat_of;

    pthread_once(&once, set_up);
    name = path_at(dir, path, full);
    if (name == NULL)
        return (int)syscall(SYS_openat, dir, path, flags, mode);
    if (fails())
        return -1;

    int was_there = fstatat(dir, path, &stat_of, AT_SYMLINK_NOFOLLOW) == 0;
    int fd = (int)syscall(SYS_openat, dir, path, flags, mode);

    if (fd >= 0 && !was_there && (flags & O_CREAT))
        note(CREATE, name, inode_of(fd), 0, NULL, 0);
    else if (fd >= 0 && (flags & O_TRUNC))
        note(CUT, NULL, inode_of(fd), 0, NULL, 0);
    return (int)done(fd);
}

#define MODE_OF(flags)                                                                             \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode = va_arg(more, mode_t);                                                               \
        va_end(more);                                                                              \
    }

int open(const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_noted(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_noted(AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_noted(dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_noted(dir, path, flags, mode);
}

static int rename_noted(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    char full_from[PATH_MAX], full_to[PATH_MAX];
    const char *name = path_at(from_dir, from, full_from), *new_name = path_at(to_dir, to, full_to);

    if (name == NULL || new_name == NULL)
        return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
    if (fails())
        return -1;
    int result = (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);

    if (result == 0)
        note(RENAME, name, 0, 0, new_name, strlen(new_name));
    return (int)done(result);
}

int rename(const char *from, const char *to)
{
    return rename_noted(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return rename_noted(from_dir, from, to_dir, to, 0);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    return rename_noted(from_dir, from, to_dir, to, flags);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    char full_from[PATH_MAX], full_to[PATH_MAX];
    const char *name = path_at(from_dir, from, full_from), *new_name = path_at(to_dir, to, full_to);

    if (name == NULL || new_name == NULL)
        return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
    if (fails())
        return -1;
    int result = (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);

    if (result == 0)
        note(LINK, name, 0, 0, new_name, strlen(new_name));
    return (int)done(result);
}

int link(const char *from, const char *to)
{
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlinkat(int dir, const char *path, int flags)
{
    char full[PATH_MAX];
    const char *name = path_at(dir, path, full);

    if (name == NULL)
        return (int)syscall(SYS_unlinkat, dir, path, flags);
    if (fails())
        return -1;
    int result = (int)syscall(SYS_unlinkat, dir, path, flags);

    if (result == 0)
        note(flags & AT_REMOVEDIR ? RMDIR : UNLINK, name, 0, 0, NULL, 0);
    return (int)done(result);
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    char full[PATH_MAX];
    const char *name;

    pthread_once(&once, set_up);
    name = path_at(dir, path, full);
    if (name == NULL)
        return (int)syscall(SYS_mkdirat, dir, path, mode);
    if (fails())
        return -1;
    int result = (int)syscall(SYS_mkdirat, dir, path, mode);

    if (result == 0)
        note(MKDIR, name, 0, 0, NULL, 0);
    return (int)done(result);
}

int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}

/* --- contents --- */

static int is_below(int fd)
{
    char path[PATH_MAX];
    int saved = errno;

    pthread_once(&once, set_up);
    int result = root_len > 0 && path_of_fd(fd, path) != NULL;
    errno = saved;
    return result;
}

static ssize_t write_noted(int fd, const void *from, size_t size, off_t offset)
{
    if (!is_below(fd))
        return offset < 0 ? syscall(SYS_write, fd, from, size)
                          : syscall(SYS_pwrite64, fd, from, size, offset);
    if (fails())
        return -1;

    off_t at = offset;
    if (offset < 0) {
        struct stat stat_of;

        at = fcntl(fd, F_GETFL) & O_APPEND && fstat(fd, &stat_of) == 0 ? stat_of.st_size
                                                                       : lseek(fd, 0, SEEK_CUR);
    }
    ssize_t n = offset < 0 ? syscall(SYS_write, fd, from, size)
                           : syscall(SYS_pwrite64, fd, from, size, offset);

    if (n > 0)
        note(WRITE, NULL, inode_of(fd), (uint64_t)at, from, (size_t)n);
    return done(n);
}

ssize_t write(int fd, const void *from, size_t size)
{
    return write_noted(fd, from, size, -1);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t offset)
{
    return write_noted(fd, from, size, offset);
}

ssize_t pwrite64(int fd, const void *from, size_t size, off64_t offset)
{
    return write_noted(fd, from, size, offset);
}

/* A short write is allowed: the caller goes on. */
ssize_t writev(int fd, const struct iovec *parts, int count)
{
    if (!is_below(fd))
        return syscall(SYS_writev, fd, parts, count);
    return count ? write_noted(fd, parts[0].iov_base, parts[0].iov_len, -1) : 0;
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    if (!is_below(fd))
        return syscall(SYS_pwritev, fd, parts, count, offset, 0L);
    return count ? write_noted(fd, parts[0].iov_base, parts[0].iov_len, offset) : 0;
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
{
    return pwritev(fd, parts, count, offset);
}

int ftruncate(int fd, off_t size)
{
    if (!is_below(fd))
        return (int)syscall(SYS_ftruncate, fd, size);
    if (fails())
        return -1;
    int result = (int)syscall(SYS_ftruncate, fd, size);

    if (result == 0)
        note(CUT, NULL, inode_of(fd), (uint64_t)size, NULL, 0);
    return (int)done(result);
}

int ftruncate64(int fd, off64_t size)
{
    return ftruncate(fd, size);
}

static int sync_noted(long call, int fd)
{
    char path[PATH_MAX];
    uint64_t inode = inode_of(fd);
    struct stat stat_of;

    if (!is_below(fd))
        return (int)syscall(call, fd);
    const char *name = path_of_fd(fd, path);
    int is_folder = fstat(fd, &stat_of) == 0 && S_ISDIR(stat_of.st_mode);

    if (fails())
        return -1;
    uint64_t begin = note(SYNC_BEGIN, is_folder ? name : NULL, is_folder ? 0 : inode, 0, NULL, 0);

    give_lock();
    int result = (int)syscall(call, fd);
    int saved = errno;

    take_lock();
    if (result == 0)
        note(SYNC_END, is_folder ? name : NULL, is_folder ? 0 : inode, begin, NULL, 0);
    errno = saved;
    return (int)done(result);
}

int fsync(int fd)
{
    return sync_noted(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return sync_noted(SYS_fdatasync, fd);
}

/* --- what changes nothing, and can fail all the same --- */

ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
    pthread_once(&once, set_up);
    if (counts_reads && is_below(fd)) {
        if (fails())
            return -1;
        done(0);
    }
    return syscall(SYS_pread64, fd, to, size, offset);
}

ssize_t pread64(int fd, void *to, size_t size, off64_t offset)
{
    return pread(fd, to, size, offset);
}
