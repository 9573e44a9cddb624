/*
 * Removing files, and the garbage of earlier boots: what is in the folder minus
 * what the rows refer to, if rows and folder fit together at all.
 *
 * The files are listed before the rows are read.  So a file of an earlier boot
 * that a row refers to was listed, or else it has been lost.  What no row refers
 * to goes the way of all removals: its row may have been deleted a moment ago,
 * with a visit still under way.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "store/extent/file/file.h"

/* One that is gone already is fine; one that cannot be removed is left to a later tv_extents_gc. */
void tv_extent_file_remove(tv_extents *store, tv_extent_id id)
{
    tv_extent_files *files = tv_extent_files_of(store);
    tv_extent_shard *shard = &files->shards[tv_extent_shard_of(id.number)];
    char path[TV_EXTENT_PATH_SIZE];
    struct stat stat_of;

    tv_extent_path(id, path);
    pthread_mutex_lock(&shard->count_lock);
    if (fstatat(files->fd, path, &stat_of, AT_SYMLINK_NOFOLLOW) != 0 ||
        unlinkat(files->fd, path, 0) != 0) {
        int error = errno;

        if (error != ENOENT)
            (void)tv_extent_files_failed(files, "remove", id, error);
    } else if (id.boot == store->boot || shard->is_counted) {
        atomic_fetch_sub(&files->extent_count, 1);
        atomic_fetch_sub(&files->byte_count, stat_of.st_size);
    }
    pthread_mutex_unlock(&shard->count_lock);
}

typedef struct listing {
    tv_extent_files *files;
    tv_extent_gc *gc;
    tv_extent_set found; /* of earlier boots */

    /* Of the shard that is being listed. */
    bool is_counting;
    int64_t shard_extents, shard_bytes;
} listing;

static void add(void *ctx, int shard_fd, const char *name, tv_extent_id id)
{
    listing *l = ctx;
    struct stat stat_of;

    if (id.boot >= l->files->base.boot)
        return;

    tv_extent_set_add(&l->found, id);
    if (l->is_counting && fstatat(shard_fd, name, &stat_of, AT_SYMLINK_NOFOLLOW) == 0) {
        l->shard_extents++;
        l->shard_bytes += stat_of.st_size;
    }
}

static tv_err list(listing *l)
{
    for (unsigned i = 0; i < TV_EXTENT_SHARDS; i++) {
        tv_extent_shard *shard = &l->files->shards[i];
        tv_err err;

        if (l->gc->is_stopping && l->gc->is_stopping(l->gc->ctx))
            return TV_ERR_STOPPED;

        pthread_mutex_lock(&shard->count_lock);
        l->is_counting = !shard->is_counted;
        l->shard_extents = l->shard_bytes = 0;
        err = tv_extent_list(l->files, i, add, l);
        if (err == TV_OK) {
            shard->is_counted = true;
            atomic_fetch_add(&l->files->extent_count, l->shard_extents);
            atomic_fetch_add(&l->files->byte_count, l->shard_bytes);
        }
        pthread_mutex_unlock(&shard->count_lock);
        if (err)
            return err;
    }
    tv_extent_set_sort(&l->found);
    return TV_OK;
}

static bool mark(void *marker, tv_extent_id id)
{
    listing *l = marker;

    if (id.boot == l->files->base.boot || tv_extent_set_mark(&l->found, id))
        return true;

    l->gc->missing_count++;
    return false;
}

tv_err tv_extent_files_gc(tv_extents *store, tv_extent_gc *gc)
{
    listing l = {.files = tv_extent_files_of(store), .gc = gc};
    tv_err err;

    err = list(&l);
    if (err)
        goto out;

    err = gc->mark_rows(gc->ctx, mark, &l);
    if (err)
        goto out;

    tv_extent_set_keep_unmarked(&l.found);
    gc->orphan_count = l.found.count;
    if (l.found.count && gc->missing_count == 0 && !gc->keeps_all) {
        tv_extents_remove(store, l.found.ids, l.found.count);
        gc->has_removed = true;
        gc->removed_count = l.found.count;
    }

out:
    tv_extent_set_done(&l.found);
    return err;
}
