/*
 * The data folder before RocksDB sees it.
 *
 * RocksDB, asked to create what is missing, would make an empty store in a
 * folder whose CURRENT file has been lost, and the data would seem to be gone.
 * So it is allowed to create only where we know that there is nothing: in an
 * empty folder.  The file `tavola.creating` carries that knowledge over a crash
 * during the first start; it is removed, for good, before the first user's row
 * can be written.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "store/engine/rocksdb/internal.h"

#define MARKER "tavola.creating"

typedef struct contents {
    bool has_anything, has_current, has_marker, has_store_files;
} contents;

/* Files that only RocksDB would have left. */
static bool is_store_file(const char *name)
{
    static const char *const patterns[] = {"MANIFEST-*", "OPTIONS-*", "IDENTITY", "[0-9]*.sst",
                                           "[0-9]*.log"};

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    }
    return false;
}

static tv_err list(int fd, contents *ret_contents)
{
    int own_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir closes it */
    DIR *dir = own_fd >= 0 ? fdopendir(own_fd) : NULL;
    contents found = {0};

    if (dir == NULL) {
        if (own_fd >= 0)
            close(own_fd);
        return TV_ERR_IO;
    }

    for (struct dirent *entry; (entry = readdir(dir));) {
        const char *name = entry->d_name;

        /* The root of a file system of its own may hold lost+found. */
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "lost+found") == 0)
            continue;
        found.has_anything = true;
        found.has_current |= strcmp(name, "CURRENT") == 0;
        found.has_marker |= strcmp(name, MARKER) == 0;
        found.has_store_files |= is_store_file(name);
    }
    closedir(dir);
    *ret_contents = found;
    return TV_OK;
}

static tv_err write_marker(int fd)
{
    int marker = openat(fd, MARKER, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (marker < 0)
        return TV_ERR_IO;

    /* Not synced: RocksDB syncs the folder after each file it makes there, and with it the marker
     * that was there first. */
    close(marker);
    return TV_OK;
}

/*
 * Make the folder's own name durable.  Asked of every store that is not complete
 * yet, not only when the folder was made just now: the start that made it may
 * have been cut off before it got here.
 */
static tv_err sync_parent(const tv_rocksdb_folder *folder)
{
    int parent = openat(folder->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tv_err err = parent >= 0 && fsync(parent) == 0 ? TV_OK : TV_ERR_IO;

    if (parent >= 0)
        close(parent);
    return err;
}

/* Everything in the store is for its owner alone; an operator may have opened the folder. */
static void warn_if_open(const char *dir, const tv_rocksdb_folder *folder)
{
    struct stat stat_of;

    if (fstat(folder->fd, &stat_of) == 0 && (stat_of.st_mode & 077) != 0)
        tv_log(
            TV_LOG_WARN, "data_is_open",
            "dir=\"%s\" mode=%04o note=\"other users of this machine can look into it: chmod 700, "
            "and 600 for files that an earlier version made\"",
            dir, (unsigned)stat_of.st_mode & 07777);
}

/* Decide whether the folder is ours to create in or to open; fills in `is_new`. */
static tv_err judge(const char *dir, tv_rocksdb_folder *folder, char *reterr_text,
                    size_t reterr_size)
{
    contents found;

    if (list(folder->fd, &found) != TV_OK) {
        snprintf(reterr_text, reterr_size, "cannot read the data folder %s: %s", dir,
                 strerror(errno));
        return TV_ERR_IO;
    }

    if (!found.has_anything) {
        if (write_marker(folder->fd) != TV_OK) {
            snprintf(reterr_text, reterr_size, "cannot write to the data folder %s: %s", dir,
                     strerror(errno));
            return TV_ERR_IO;
        }
        found.has_marker = true;
    }
    folder->is_new = found.has_marker;
    if (found.has_marker || found.has_current)
        return TV_OK;

    if (found.has_store_files)
        snprintf(reterr_text, reterr_size,
                 "the store in %s is damaged: its file CURRENT is missing; restore a backup", dir);
    else
        snprintf(reterr_text, reterr_size,
                 "the data folder %s holds other files and is not a Tavola store", dir);
    return TV_ERR_CORRUPT;
}

/* Whether there is a store to look at. */
static tv_err judge_read_only(const char *dir, const tv_rocksdb_folder *folder, char *reterr_text,
                              size_t reterr_size)
{
    contents found;

    if (list(folder->fd, &found) != TV_OK) {
        snprintf(reterr_text, reterr_size, "cannot read the data folder %s: %s", dir,
                 strerror(errno));
        return TV_ERR_IO;
    }
    if (found.has_current && !found.has_marker)
        return TV_OK;
    if (found.has_store_files && !found.has_marker) {
        snprintf(reterr_text, reterr_size,
                 "the store in %s is damaged: its file CURRENT is missing; restore a backup", dir);
        return TV_ERR_CORRUPT;
    }
    snprintf(reterr_text, reterr_size, "the folder %s holds no Tavola store", dir);
    return TV_ERR_NOT_FOUND;
}

tv_err tv_rocksdb_folder_open(const char *dir, bool is_read_only, tv_rocksdb_folder *ret_folder,
                              char *reterr_text, size_t reterr_size)
{
    tv_rocksdb_folder folder = {.fd = -1};
    tv_err err;

    if (!is_read_only && mkdir(dir, 0700) != 0 && errno != EEXIST) {
        snprintf(reterr_text, reterr_size, "cannot make the data folder %s: %s", dir,
                 strerror(errno));
        return TV_ERR_IO;
    }

    folder.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder.fd < 0) {
        snprintf(reterr_text, reterr_size, "cannot open the data folder %s: %s", dir,
                 strerror(errno));
        return TV_ERR_IO;
    }

    /* RocksDB has a lock of its own; this one is there before anything is looked at, and where a
     * file system cannot lock a folder, RocksDB's still holds. */
    if (flock(folder.fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        snprintf(reterr_text, reterr_size, "the data folder %s is in use by another server", dir);
        err = TV_ERR_IN_USE;
        goto fail;
    }

    err = is_read_only ? judge_read_only(dir, &folder, reterr_text, reterr_size)
                       : judge(dir, &folder, reterr_text, reterr_size);
    if (err)
        goto fail;

    if (folder.is_new) {
        err = sync_parent(&folder);
        if (err) {
            snprintf(reterr_text, reterr_size, "cannot sync the parent of the data folder %s: %s",
                     dir, strerror(errno));
            goto fail;
        }
    }
    if (!is_read_only)
        warn_if_open(dir, &folder);

    *ret_folder = folder;
    return TV_OK;

fail:
    tv_rocksdb_folder_done(&folder);
    return err;
}

tv_err tv_rocksdb_folder_created(tv_rocksdb_folder *folder)
{
    if (unlinkat(folder->fd, MARKER, 0) != 0 && errno != ENOENT)
        return TV_ERR_IO;
    if (fsync(folder->fd) != 0)
        return TV_ERR_IO;

    folder->is_new = false;
    return TV_OK;
}

void tv_rocksdb_folder_done(tv_rocksdb_folder *folder)
{
    if (folder->fd >= 0)
        close(folder->fd);
    folder->fd = -1;
}
