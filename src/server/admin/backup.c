/* One backup after the other. */
#include "server/admin/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/background.h"
#include "base/clock.h"
#include "base/log.h"

/*
 * The engine's copy is made next to the rows, where it consists of links, and
 * goes to its place file by file: so a copy to another disk can be ended between
 * two pieces of a file.  RocksDB writes it under STAGING_NEW first.
 */
#define STAGING "backup.rows"
#define STAGING_NEW STAGING ".tmp"

struct tv_backup {
    tv_background thread; /* its lock guards `path`, `base`, `status` and `start_ns` */
    tv_engine *engine;
    tv_extents *extents;
    int data_fd;
    char staging[PATH_MAX]; /* its path */
    char path[TV_BACKUP_PATH_SIZE], base[TV_BACKUP_PATH_SIZE];
    tv_backup_status status;
    int64_t start_ns;
};

/* --- one backup, on the thread --- */

/* A backup under way. */
typedef struct work {
    tv_backup *backup;
    tv_backup_target target;
    tv_file_copies copies;
    int base_fd, base_blobs_fd; /* -1: there is none */
    char path[TV_BACKUP_PATH_SIZE], base[TV_BACKUP_PATH_SIZE];
    char problem[TV_BACKUP_PROBLEM_SIZE];
} work;

static bool is_stopping(void *ctx)
{
    const work *w = ctx;

    return tv_background_is_stopping(&w->backup->thread);
}

static void progress(void *ctx, uint64_t files, uint64_t bytes, uint64_t written)
{
    const work *w = ctx;
    tv_backup *backup = w->backup;

    tv_background_lock(&backup->thread);
    backup->status.files += files;
    backup->status.bytes += bytes;
    backup->status.written += written;
    tv_background_unlock(&backup->thread);
}

/* False, and the line says what could not be done, for an errno other than 0. */
static bool succeeded(work *w, const char *what, int error)
{
    if (error == ECANCELED)
        snprintf(w->problem, sizeof w->problem, "the server was stopped");
    else if (error)
        snprintf(w->problem, sizeof w->problem, "cannot %s: %s", what, strerror(error));
    return error == 0;
}

static int open_folder(int dir_fd, const char *name)
{
    return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The folder of an earlier backup, if there is one; that it is one is all that is believed. */
static bool open_base(work *w)
{
    if (w->base[0] == '\0')
        return true;
    w->base_fd = open(w->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->base_fd < 0)
        return succeeded(w, "open the base", errno);
    w->base_blobs_fd = open_folder(w->base_fd, "blobs");
    if (w->base_blobs_fd >= 0 && faccessat(w->base_fd, "CURRENT", F_OK, 0) == 0)
        return true;
    snprintf(w->problem, sizeof w->problem, "the base is not a backup: it has no %s",
             w->base_blobs_fd < 0 ? "blobs" : "CURRENT");
    return false;
}

static void close_base(work *w)
{
    if (w->base_blobs_fd >= 0)
        close(w->base_blobs_fd);
    if (w->base_fd >= 0)
        close(w->base_fd);
}

/* Leave nothing in the data folder.  An errno. */
static int remove_staging(tv_backup *backup)
{
    int error = tv_file_remove_tree(backup->data_fd, STAGING_NEW);

    return error ? error : tv_file_remove_tree(backup->data_fd, STAGING);
}

/* Why the engine has made no copy. */
static const char *meaning_of(tv_err err)
{
    switch (err) {
    case TV_ERR_DISK_FULL:
        return "the disk of the data folder is nearly full";
    case TV_ERR_CORRUPT:
        return "rows are damaged, see read_failed in the log; the folder can be copied with the "
               "server stopped";
    case TV_ERR_NOT_IMPLEMENTED:
        return "rows that are kept by a cluster are not copied to a folder: export them, or take a "
               "snapshot of the pool";
    default:
        return "the engine cannot copy its rows, see backup_failed and write_failed in the log";
    }
}

/* A flush comes with it, for which a full disk has no room; and rows may be known to be damaged. */
static bool stage_rows(work *w)
{
    tv_backup *backup = w->backup;
    tv_err err;

    if (is_stopping(w))
        return succeeded(w, "begin", ECANCELED);
    if (!succeeded(w, "remove what an earlier backup has left", remove_staging(backup)))
        return false;

    err = tv_engine_check(backup->engine);
    if (err == TV_OK)
        err = tv_engine_backup(backup->engine, backup->staging);
    if (err)
        snprintf(w->problem, sizeof w->problem, "%s", meaning_of(err));
    return err == TV_OK;
}

/* Of the engine's files a server that is started from a backup changes all but these. */
static bool is_table_file(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && strcmp(dot, ".sst") == 0;
}

/* The last log is new, and whoever wrote it need not have synced it. */
static int copy_row_file(work *w, int from_fd, const char *name)
{
    int base_fd = is_table_file(name) ? w->base_fd : -1;
    int error = tv_file_copy(&w->copies, from_fd, base_fd, w->target.fd, name);

    return error ? error : tv_file_sync(w->target.fd, name);
}

static bool copy_rows(work *w)
{
    int fd = open_folder(w->backup->data_fd, STAGING);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    int error = dir ? 0 : errno;

    if (fd >= 0 && dir == NULL)
        close(fd);
    while (error == 0) {
        errno = 0;

        struct dirent *entry = readdir(dir);

        if (entry == NULL) {
            error = errno;
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            error = copy_row_file(w, fd, entry->d_name);
    }
    if (dir)
        closedir(dir);
    return succeeded(w, "copy the rows", error);
}

static bool copy_extents(work *w)
{
    int error = mkdirat(w->target.fd, "blobs", 0700) == 0 ? 0 : errno;
    int fd = error ? -1 : open_folder(w->target.fd, "blobs");

    if (error == 0)
        error =
            fd < 0 ? errno : tv_extents_copy(w->backup->extents, w->base_blobs_fd, fd, &w->copies);
    if (fd >= 0)
        close(fd);
    return succeeded(w, "copy the data of blobs", error);
}

/* A backup of what is known to be damaged must not take the place of a better one. */
static bool is_whole(work *w)
{
    return tv_extents_check(w->backup->extents, w->problem, sizeof w->problem);
}

/* All of it, in the order that makes it one point in time: see backup.h. */
static bool copy_all(work *w)
{
    tv_extent_visit hold;

    tv_extent_hold_begin(w->backup->extents, &hold);

    /* What was met meanwhile is known, too. */
    bool ok = is_whole(w) && stage_rows(w) && copy_rows(w) &&
              succeeded(w, "remove the staged rows", remove_staging(w->backup)) &&
              copy_extents(w) && is_whole(w);

    tv_extent_visit_end(w->backup->extents, &hold);
    return ok && tv_backup_target_publish(&w->target, w->problem, sizeof w->problem);
}

static void clean_up(work *w)
{
    int error = remove_staging(w->backup);

    if (error)
        tv_log(TV_LOG_WARN, "backup_left", "what=\"" STAGING "\" detail=\"%s\"", strerror(error));
    if (!tv_backup_target_discard(&w->target))
        tv_log(TV_LOG_WARN, "backup_left", "what=\"%s\" detail=\"%s\"", w->target.partial,
               strerror(errno));
}

/* False with w->problem. */
static bool make_backup(work *w)
{
    if (!open_base(w) || !tv_backup_target_open(&w->target, w->path, w->backup->data_fd, w->problem,
                                                sizeof w->problem))
        return false;

    bool ok = copy_all(w);

    if (!ok)
        clean_up(w);
    tv_backup_target_done(&w->target);
    return ok;
}

static void finish(const work *w, bool is_done)
{
    tv_backup *backup = w->backup;

    tv_background_lock(&backup->thread);
    backup->status.state = is_done ? TV_BACKUP_DONE : TV_BACKUP_FAILED;
    backup->status.elapsed_ms = (tv_clock_mono_ns() - backup->start_ns) / 1000000;
    snprintf(backup->status.problem, sizeof backup->status.problem, "%s", w->problem);

    tv_backup_status status = backup->status;

    tv_background_unlock(&backup->thread);
    if (is_done)
        tv_log(TV_LOG_INFO, "backup", "dir=\"%s\" files=%llu bytes=%llu written=%llu ms=%lld",
               w->path, (unsigned long long)status.files, (unsigned long long)status.bytes,
               (unsigned long long)status.written, (long long)status.elapsed_ms);
    else
        tv_log(TV_LOG_ERROR, "backup_failed", "dir=\"%s\" detail=\"%s\"", w->path, w->problem);
}

/* --- the thread --- */

static void run(tv_background *thread, void *ctx)
{
    tv_backup *backup = ctx;

    for (;;) {
        tv_background_lock(thread);
        while (backup->status.state != TV_BACKUP_RUNNING && !tv_background_is_stopping(thread))
            (void)tv_background_wait(thread, TV_BACKGROUND_NEVER);

        bool is_wanted = backup->status.state == TV_BACKUP_RUNNING;
        work w = {.backup = backup, .base_fd = -1, .base_blobs_fd = -1};

        memcpy(w.path, backup->path, sizeof w.path);
        memcpy(w.base, backup->base, sizeof w.base);
        tv_background_unlock(thread);
        if (!is_wanted)
            return;

        w.copies = (tv_file_copies){.is_stopping = is_stopping, .progress = progress, .ctx = &w};

        bool is_done = make_backup(&w);

        close_base(&w);
        finish(&w, is_done);
    }
}

tv_backup *tv_backup_new(const char *data, tv_engine *engine, tv_extents *extents,
                         char *reterr_text, size_t reterr_size)
{
    tv_backup *backup = tv_calloc(1, sizeof *backup);
    int len = snprintf(backup->staging, sizeof backup->staging, "%s/" STAGING, data);

    backup->engine = engine;
    backup->extents = extents;
    backup->data_fd = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    int error = backup->data_fd < 0                                ? errno
                : len < 0 || (size_t)len >= sizeof backup->staging ? ENAMETOOLONG
                                                                   : remove_staging(backup);

    if (error) {
        snprintf(reterr_text, reterr_size, "cannot prepare backups in %s: %s", data,
                 strerror(error));
        if (backup->data_fd >= 0)
            close(backup->data_fd);
        free(backup);
        return NULL;
    }
    tv_background_start(&backup->thread,
                        &(tv_background_options){
                            .name = "tv-backup", .gives_way = true, .run = run, .ctx = backup});
    return backup;
}

void tv_backup_stop(tv_backup *backup)
{
    if (backup)
        tv_background_stop(&backup->thread);
}

void tv_backup_free(tv_backup *backup)
{
    if (backup == NULL)
        return;

    tv_background_done(&backup->thread);
    close(backup->data_fd);
    free(backup);
}

bool tv_backup_start(tv_backup *backup, const char *path, const char *base)
{
    tv_background_lock(&backup->thread);

    bool can =
        backup->status.state != TV_BACKUP_RUNNING && !tv_background_is_stopping(&backup->thread);

    if (can) {
        snprintf(backup->path, sizeof backup->path, "%s", path);
        snprintf(backup->base, sizeof backup->base, "%s", base);
        backup->status =
            (tv_backup_status){.id = backup->status.id + 1, .state = TV_BACKUP_RUNNING};
        backup->start_ns = tv_clock_mono_ns();
        tv_background_wake(&backup->thread);
    }
    tv_background_unlock(&backup->thread);
    return can;
}

tv_backup_status tv_backup_read(tv_backup *backup)
{
    if (backup == NULL)
        return (tv_backup_status){0};

    tv_background_lock(&backup->thread);

    tv_backup_status status = backup->status;

    if (status.state == TV_BACKUP_RUNNING)
        status.elapsed_ms = (tv_clock_mono_ns() - backup->start_ns) / 1000000;
    tv_background_unlock(&backup->thread);
    return status;
}
