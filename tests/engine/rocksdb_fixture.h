/*
 * A folder for a test, and system calls that count and fail on demand.  They take the
 * place of libc's for the whole program, so one file of it includes this.
 */
#ifndef TV_TESTS_ENGINE_ROCKSDB_FIXTURE_H
#define TV_TESTS_ENGINE_ROCKSDB_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "fixture.h"
#include "wait.h"

static char dir[64]; /* of the test at hand */
static char text[TV_ROCKSDB_ERROR_TEXT_MAX];

/*
 * RocksDB syncs its log with fdatasync.  This one takes the place of libc's for
 * the whole program: it counts, and fails on demand as a dying disk does.
 */
static atomic_int sync_count, sync_errno;

int fdatasync(int fd)
{
    atomic_fetch_add(&sync_count, 1);
    if (atomic_load(&sync_errno)) {
        errno = atomic_load(&sync_errno);
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

/*
 * The same for folders, which are synced by fsync: which was it last, and before that?  The next
 * one of the thread that sets `folder_sync_errno` fails.  RocksDB syncs the name of a log on the
 * thread that writes; a flush syncs the same folder on its own, and must not take the failure.
 */
enum { SYNCS_KEPT = 64 };
static ino_t synced[SYNCS_KEPT];
static atomic_size_t synced_count;
static _Thread_local int folder_sync_errno;

int fsync(int fd)
{
    struct stat stat_of;

    if (folder_sync_errno && fstat(fd, &stat_of) == 0 && S_ISDIR(stat_of.st_mode)) {
        errno = folder_sync_errno;
        folder_sync_errno = 0;
        return -1;
    }
    if (fstat(fd, &stat_of) == 0)
        synced[atomic_fetch_add(&synced_count, 1) % SYNCS_KEPT] = stat_of.st_ino;
    return (int)syscall(SYS_fsync, fd);
}

/* And for the files that RocksDB makes: those whose names end so cannot be made for a while. */
static atomic_int open_errno;
static const char *open_suffix;
static atomic_int open_failures;

static inline int open_file(const char *path, int flags, mode_t mode)
{
    int error = atomic_load(&open_errno);

    if (error && (flags & O_CREAT) && fnmatch(open_suffix, path, 0) == 0) {
        atomic_fetch_add(&open_failures, 1);
        errno = error;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static inline mode_t mode_of(int flags, va_list arguments)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

/* By its name in libc: with large files the compiler knows `open` under another. */
int open_by_name(const char *path, int flags, ...) __asm__("open");

int open_by_name(const char *path, int flags, ...)
{
    va_list arguments;

    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_file(path, flags, mode);
}

static inline void fail_opens(const char *suffix, int error)
{
    open_suffix = suffix;
    atomic_store(&open_failures, 0);
    atomic_store(&open_errno, error);
}

static inline int set_up(void **state)
{
    (void)state;
    make_folder(dir);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    remove_folder(dir);
    return 0;
}

static inline tv_err try_open(const tv_rocksdb_options *options, tv_engine **ret_engine)
{
    *ret_engine = NULL;
    text[0] = '\0';
    return tv_rocksdb_engine_open(options, ret_engine, text, sizeof text);
}

static inline void numbered_key(char key[16], int i)
{
    snprintf(key, 16, "k%04d", i);
}

enum { CRASH_ROWS = 200 };

static inline int count_crash_rows(tv_engine *engine)
{
    int count = 0;

    for (int i = 0; i < CRASH_ROWS; i++) {
        char key[16];

        numbered_key(key, i);
        if (strcmp(text_of(engine, key), "-") == 0)
            break;
        count++;
    }
    for (int i = count; i < CRASH_ROWS; i++) {
        char key[16];

        numbered_key(key, i);
        CHECK_ROW(engine, key, "-");
    }
    return count;
}

/* Wait until no flush or compaction runs or is due. */
static inline void wait_for_compaction(tv_engine *engine)
{
    WAIT_UNTIL(tv_rocksdb_is_quiet(engine));
}

#endif
