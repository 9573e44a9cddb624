/* The folder: opening and closing it, and the shared syncs of its folders. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "store/extent/file/file.h"

#define TEMPORARY_NAME "tavola-extents-XXXXXX"

static char *join(const char *dir, const char *name)
{
    size_t size = strlen(dir) + 1 + strlen(name) + 1;
    char *path = tv_malloc(size);

    snprintf(path, size, "%s/%s", dir, name);
    return path;
}

/* A folder that has just been made survives the loss of power once its parent is synced. */
static bool sync_parent(int fd)
{
    int parent = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = parent >= 0 && fsync(parent) == 0;

    if (parent >= 0)
        close(parent);
    return ok;
}

/* Make and open the store's folder; false with errno. */
static bool open_folder(tv_extent_files *files, const char *dir)
{
    bool is_new = !files->is_read_only && mkdir(dir, 0700) == 0;

    if (!files->is_read_only && !is_new && errno != EEXIST)
        return false;

    files->path = files->is_temporary ? join(dir, TEMPORARY_NAME) : strdup(dir);
    tv_assert(files->path != NULL);
    if (files->is_temporary && mkdtemp(files->path) == NULL)
        return false;

    files->fd = open(files->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return files->fd >= 0 && (!is_new || files->is_temporary || sync_parent(files->fd));
}

/* False with errno.  Durable with the folder's next sync, which is that of the boot file. */
static bool make_shards(tv_extent_files *files)
{
    char name[3];

    for (unsigned i = 0; i < TV_EXTENT_SHARDS; i++) {
        snprintf(name, sizeof name, "%02x", i);
        if (mkdirat(files->fd, name, 0700) != 0 && errno != EEXIST)
            return false;
    }
    return true;
}

static void remove_file(void *ctx, int shard_fd, const char *name, tv_extent_id id)
{
    (void)ctx, (void)id;
    unlinkat(shard_fd, name, 0);
}

/* What is not ours keeps its folder, here too. */
static void remove_temporary(tv_extent_files *files)
{
    char name[3];

    for (unsigned i = 0; i < TV_EXTENT_SHARDS; i++) {
        snprintf(name, sizeof name, "%02x", i);
        if (tv_extent_list(files, i, remove_file, NULL) == TV_OK)
            unlinkat(files->fd, name, AT_REMOVEDIR);
    }
    if (rmdir(files->path) != 0)
        tv_log(TV_LOG_WARN, "extent_folder_left", "path=\"%s\" detail=\"%s\"", files->path,
               strerror(errno));
}

static void init_locks(tv_extent_files *files)
{
    for (int i = 0; i < TV_EXTENT_SHARDS; i++) {
        tv_assert(pthread_mutex_init(&files->shards[i].lock, NULL) == 0);
        tv_assert(pthread_cond_init(&files->shards[i].synced, NULL) == 0);
        tv_assert(pthread_mutex_init(&files->shards[i].count_lock, NULL) == 0);
    }
}

/* Also the end of a failed open. */
static void dispose(tv_extent_files *files)
{
    for (int i = 0; i < TV_EXTENT_SHARDS; i++) {
        pthread_mutex_destroy(&files->shards[i].count_lock);
        pthread_cond_destroy(&files->shards[i].synced);
        pthread_mutex_destroy(&files->shards[i].lock);
    }
    tv_extents_done(&files->base);
    if (files->fd >= 0 && files->is_temporary)
        remove_temporary(files);
    if (files->fd >= 0)
        close(files->fd);
    free(files->path);
    free(files);
}

/* --- the backend --- */

static void close_store(tv_extents *store)
{
    tv_extent_files *files = tv_extent_files_of(store);

    tv_assert(atomic_load(&store->writer_count) == 0);
    if (!files->is_temporary && !files->is_read_only)
        tv_extent_files_boot_end(files);
    dispose(files);
}

static void describe(const tv_extents *store, tv_extent_id id, char ret_text[TV_EXTENT_TEXT_SIZE])
{
    char path[TV_EXTENT_PATH_SIZE];

    tv_extent_path(id, path);
    snprintf(ret_text, TV_EXTENT_TEXT_SIZE, "%s/%s", ((const tv_extent_files *)store)->path, path);
}

static bool check(tv_extents *store, char *reterr_text, size_t reterr_size)
{
    tv_extent_files *files = tv_extent_files_of(store);

    if (!atomic_load(&files->is_broken))
        return true;

    snprintf(reterr_text, reterr_size,
             "a folder in %s could not be synced: large blobs are refused until a restart",
             files->path);
    return false;
}

static void metrics(tv_extents *store, tv_metric_fn *report, void *ctx)
{
    tv_extent_files *files = tv_extent_files_of(store);

    report(ctx, "extents", "Files of large data.", (double)atomic_load(&files->extent_count));
    report(ctx, "extent_bytes",
           "Bytes in them, checksums included; a copy counts, though it takes no space.",
           (double)atomic_load(&files->byte_count));
}

static const tv_extent_backend backend = {
    .seals = true,
    .create = tv_extent_file_create,
    .write = tv_extent_file_write,
    .finish = tv_extent_file_finish,
    .end = tv_extent_file_end,
    .link = tv_extent_file_link,
    .sync_links = tv_extent_files_sync_links,
    .open = tv_extent_file_open,
    .read = tv_extent_file_read,
    .close = tv_extent_file_close,
    .remove = tv_extent_file_remove,
    .gc = tv_extent_files_gc,
    .copy = tv_extent_files_copy,
    .describe = describe,
    .check = check,
    .metrics = metrics,
    .free = close_store,
};

bool tv_extents_open(const tv_extent_options *options, tv_extents **ret_store, char *reterr_text,
                     size_t reterr_size)
{
    tv_extent_files *files = tv_calloc(1, sizeof *files);

    files->fd = -1;
    files->is_temporary = options->is_temporary;
    files->is_read_only = options->is_read_only;
    tv_assert(!files->is_read_only || !files->is_temporary);
    files->is_broken = files->is_read_only; /* no extent can be made */
    tv_extents_init(&files->base, &backend, options->visit_ms_max);
    init_locks(files);
    if (!open_folder(files, options->dir) || (!files->is_read_only && !make_shards(files))) {
        snprintf(reterr_text, reterr_size, "cannot %s the folder for extents %s: %s",
                 files->is_read_only ? "open" : "make", options->dir, strerror(errno));
        goto fail;
    }
    if (!tv_extent_files_boot(files, reterr_text, reterr_size))
        goto fail;

    files->space.fd = files->fd;
    files->space.store = "extents";
    files->space.reserve_bytes = options->disk_reserve_bytes;
    tv_extents_gc_start(&files->base);
    *ret_store = &files->base;
    return true;

fail:
    dispose(files);
    return false;
}

tv_err tv_extent_files_failed(tv_extent_files *files, const char *operation, tv_extent_id id,
                              int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        tv_space_refused(&files->space, strerror(error));
        return TV_ERR_DISK_FULL;
    case EMFILE:
    case ENFILE:
        return TV_ERR_OVERLOADED;
    }
    if (tv_extents_may_log(&files->base)) {
        char path[TV_EXTENT_PATH_SIZE];

        tv_extent_path(id, path);
        tv_log(TV_LOG_ERROR, "extent_failed", "operation=%s extent=%s/%s detail=\"%s\"", operation,
               files->path, path, strerror(error));
    }
    return TV_ERR_IO;
}

uint64_t tv_extent_shard_add(tv_extent_files *files, unsigned shard_index, bool is_link)
{
    tv_extent_shard *shard = &files->shards[shard_index];

    tv_assert(shard_index < TV_EXTENT_SHARDS);
    pthread_mutex_lock(&shard->lock);
    uint64_t ticket = ++shard->made;
    if (is_link)
        shard->last_link = ticket;
    pthread_mutex_unlock(&shard->lock);
    return ticket;
}

/* Sync the folder of a shard.  That it could not be tried breaks nothing. */
static tv_err sync_folder(tv_extent_files *files, unsigned shard)
{
    char name[3];
    int result;

    snprintf(name, sizeof name, "%02x", shard);
    int fd = openat(files->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return tv_extent_files_failed(files, "open_folder", (tv_extent_id){0}, errno);

    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    if (result != 0 && !atomic_exchange(&files->is_broken, true))
        tv_log(TV_LOG_ERROR, "extent_sync_failed",
               "folder=\"%s/%s\" detail=\"%s\" effect=\"extents are refused until a restart\"",
               files->path, name, strerror(errno));
    close(fd);
    return result == 0 ? TV_OK : TV_ERR_IO;
}

/*
 * One of the threads that need a sync does it for all whose names are there
 * when it starts; a thread that comes later waits for the next one.  A folder
 * that could not be synced may have lost any of its names, and a later sync
 * that succeeds would not say which, so after the first failure none is
 * believed.
 */
tv_err tv_extent_shard_sync(tv_extent_files *files, unsigned shard_index, uint64_t ticket)
{
    tv_extent_shard *shard = &files->shards[shard_index];
    tv_err err = TV_OK;

    if (files->is_temporary)
        return TV_OK;

    pthread_mutex_lock(&shard->lock);
    tv_assert(ticket <= shard->made);
    while (shard->durable < ticket && err == TV_OK) {
        if (atomic_load(&files->is_broken)) {
            err = TV_ERR_IO;
        } else if (shard->is_syncing) {
            pthread_cond_wait(&shard->synced, &shard->lock);
        } else {
            uint64_t made = shard->made;

            shard->is_syncing = true;
            pthread_mutex_unlock(&shard->lock);
            err = sync_folder(files, shard_index);
            pthread_mutex_lock(&shard->lock);
            shard->is_syncing = false;
            tv_assert(shard->durable <= made && made <= shard->made);
            if (err == TV_OK)
                shard->durable = made;
            pthread_cond_broadcast(&shard->synced);
        }
    }
    pthread_mutex_unlock(&shard->lock);
    return err;
}
