/* Opening and closing a store, its metrics, and what its other files share. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "extent/internal.h"

/* Longer than nearly all downloads, and short enough for a disk that fills up meanwhile. */
enum { VISIT_MS_MAX = 60 * 60 * 1000 };

#define TEMPORARY_NAME "tavola-extents-XXXXXX"

enum { LOG_INTERVAL_NS = 1000000000 };

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
static bool open_folder(tv_extents *store, const char *dir)
{
    bool is_new = !store->is_read_only && mkdir(dir, 0700) == 0;

    if (!store->is_read_only && !is_new && errno != EEXIST)
        return false;

    store->path = store->is_temporary ? join(dir, TEMPORARY_NAME) : strdup(dir);
    tv_assert(store->path != NULL);
    if (store->is_temporary && mkdtemp(store->path) == NULL)
        return false;

    store->fd = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return store->fd >= 0 && (!is_new || store->is_temporary || sync_parent(store->fd));
}

/* False with errno.  Durable with the folder's next sync, which is that of the boot file. */
static bool make_shards(tv_extents *store)
{
    char name[3];

    for (unsigned i = 0; i < TV_EXTENT_SHARDS; i++) {
        snprintf(name, sizeof name, "%02x", i);
        if (mkdirat(store->fd, name, 0700) != 0 && errno != EEXIST)
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
static void remove_temporary(tv_extents *store)
{
    char name[3];

    for (unsigned i = 0; i < TV_EXTENT_SHARDS; i++) {
        snprintf(name, sizeof name, "%02x", i);
        if (tv_extent_list(store, i, remove_file, NULL) == TV_OK)
            unlinkat(store->fd, name, AT_REMOVEDIR);
    }
    if (rmdir(store->path) != 0)
        tv_log(TV_LOG_WARN, "extent_folder_left", "path=\"%s\" detail=\"%s\"", store->path,
               strerror(errno));
}

static void init_locks(tv_extents *store)
{
    tv_assert(pthread_mutex_init(&store->lock, NULL) == 0);
    for (int i = 0; i < TV_EXTENT_SHARDS; i++) {
        tv_assert(pthread_mutex_init(&store->shards[i].lock, NULL) == 0);
        tv_assert(pthread_cond_init(&store->shards[i].synced, NULL) == 0);
        tv_assert(pthread_mutex_init(&store->shards[i].count_lock, NULL) == 0);
    }
}

/* Also the end of a failed open. */
static void dispose(tv_extents *store)
{
    for (int i = 0; i < TV_EXTENT_SHARDS; i++) {
        pthread_mutex_destroy(&store->shards[i].count_lock);
        pthread_cond_destroy(&store->shards[i].synced);
        pthread_mutex_destroy(&store->shards[i].lock);
    }
    pthread_mutex_destroy(&store->lock);
    if (store->fd >= 0 && store->is_temporary)
        remove_temporary(store);
    if (store->fd >= 0)
        close(store->fd);
    free(store->path);
    free(store);
}

bool tv_extents_open(const tv_extent_options *options, tv_extents **ret_store, char *reterr_text,
                     size_t reterr_size)
{
    tv_extents *store = tv_calloc(1, sizeof *store);

    store->fd = -1;
    store->is_temporary = options->is_temporary;
    store->is_read_only = options->is_read_only;
    tv_assert(!store->is_read_only || !store->is_temporary);
    store->is_broken = store->is_read_only; /* no extent can be made */
    store->visit_ns_max =
        (options->visit_ms_max ? options->visit_ms_max : VISIT_MS_MAX) * INT64_C(1000000);
    init_locks(store);
    if (!open_folder(store, options->dir) || (!store->is_read_only && !make_shards(store))) {
        snprintf(reterr_text, reterr_size, "cannot %s the folder for extents %s: %s",
                 store->is_read_only ? "open" : "make", options->dir, strerror(errno));
        goto fail;
    }
    if (!tv_extents_boot(store, reterr_text, reterr_size))
        goto fail;

    store->space.fd = store->fd;
    store->space.store = "extents";
    store->space.reserve_bytes = options->disk_reserve_bytes;
    tv_extents_gc_start(store);
    *ret_store = store;
    return true;

fail:
    dispose(store);
    return false;
}

void tv_extents_close(tv_extents *store)
{
    if (store == NULL)
        return;

    tv_assert(atomic_load(&store->writer_count) == 0);
    tv_extents_gc_stop(store);
    if (!store->is_temporary && !store->is_read_only)
        tv_extents_boot_end(store);
    dispose(store);
}

void tv_extents_metrics(tv_extents *store, tv_metric_fn *report, void *ctx)
{
    tv_background_lock(&store->gc);
    size_t waiting = store->waiting_count;
    tv_background_unlock(&store->gc);
    pthread_mutex_lock(&store->lock);
    size_t damaged = store->damage_count;
    pthread_mutex_unlock(&store->lock);

    report(ctx, "extents", "Files of large data.", (double)atomic_load(&store->extent_count));
    report(ctx, "extent_bytes",
           "Bytes in them, checksums included; a copy counts, though it takes no space.",
           (double)atomic_load(&store->byte_count));
    report(ctx, "extents_to_remove", "Files of large data that wait for their removal.",
           (double)waiting);
    report(ctx, "extents_damaged", "Files of large data that are known to be damaged or missing.",
           (double)damaged);
    report(ctx, "extent_read_failures_total",
           "Reads of large data that found it damaged, missing or unreadable.",
           (double)atomic_load(&store->failed_reads));
}

/* At most one line a second: a dead disk fails thousands of times. */
static bool may_log(tv_extents *store)
{
    int64_t now = tv_clock_mono_ns(), next = atomic_load(&store->next_log_ns);

    return now >= next &&
           atomic_compare_exchange_strong(&store->next_log_ns, &next, now + LOG_INTERVAL_NS);
}

tv_err tv_extents_failed(tv_extents *store, const char *operation, tv_extent_id id, int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        tv_space_refused(&store->space, strerror(error));
        return TV_ERR_DISK_FULL;
    case EMFILE:
    case ENFILE:
        return TV_ERR_OVERLOADED;
    }
    if (may_log(store)) {
        char path[TV_EXTENT_PATH_SIZE];

        tv_extent_path(id, path);
        tv_log(TV_LOG_ERROR, "extent_failed", "operation=%s extent=%s/%s detail=\"%s\"", operation,
               store->path, path, strerror(error));
    }
    return TV_ERR_IO;
}

void tv_extent_describe(const tv_extents *store, tv_extent_id id,
                        char ret_path[TV_EXTENT_TEXT_SIZE])
{
    char path[TV_EXTENT_PATH_SIZE];

    tv_extent_path(id, path);
    snprintf(ret_path, TV_EXTENT_TEXT_SIZE, "%s/%s", store->path, path);
}

tv_extent_id tv_extents_next_id(tv_extents *store)
{
    return (tv_extent_id){store->boot, atomic_fetch_add(&store->last_number, 1) + 1};
}

uint64_t tv_extent_shard_add(tv_extents *store, unsigned shard_index, bool is_link)
{
    tv_extent_shard *shard = &store->shards[shard_index];

    tv_assert(shard_index < TV_EXTENT_SHARDS);
    pthread_mutex_lock(&shard->lock);
    uint64_t ticket = ++shard->made;
    if (is_link)
        shard->last_link = ticket;
    pthread_mutex_unlock(&shard->lock);
    return ticket;
}

/* Sync the folder of a shard.  That it could not be tried breaks nothing. */
static tv_err sync_folder(tv_extents *store, unsigned shard)
{
    char name[3];
    int result;

    snprintf(name, sizeof name, "%02x", shard);
    int fd = openat(store->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return tv_extents_failed(store, "open_folder", (tv_extent_id){0}, errno);

    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    if (result != 0 && !atomic_exchange(&store->is_broken, true))
        tv_log(TV_LOG_ERROR, "extent_sync_failed",
               "folder=\"%s/%s\" detail=\"%s\" effect=\"extents are refused until a restart\"",
               store->path, name, strerror(errno));
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
tv_err tv_extent_shard_sync(tv_extents *store, unsigned shard_index, uint64_t ticket)
{
    tv_extent_shard *shard = &store->shards[shard_index];
    tv_err err = TV_OK;

    if (store->is_temporary)
        return TV_OK;

    pthread_mutex_lock(&shard->lock);
    tv_assert(ticket <= shard->made);
    while (shard->durable < ticket && err == TV_OK) {
        if (atomic_load(&store->is_broken)) {
            err = TV_ERR_IO;
        } else if (shard->is_syncing) {
            pthread_cond_wait(&shard->synced, &shard->lock);
        } else {
            uint64_t made = shard->made;

            shard->is_syncing = true;
            pthread_mutex_unlock(&shard->lock);
            err = sync_folder(store, shard_index);
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
