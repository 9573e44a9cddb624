/*
 * Garbage is what is in the folder minus what the rows refer to, if rows and
 * folder fit together at all.
 *
 * The files are listed before the rows are read.  So a file of an earlier boot
 * that a row refers to was listed, or else it has been lost.  What no row refers
 * to goes the way of all removals: its row may have been deleted a moment ago,
 * with a visit still under way.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "extent/internal.h"

typedef struct listing {
    tv_extents *store;
    tv_extent_gc *gc;
    tv_extent_id *ids; /* of earlier boots; sorted after the listing */
    size_t count, size;
    unsigned char *is_marked;

    /* Of the shard that is being listed. */
    bool is_counting;
    int64_t shard_extents, shard_bytes;
} listing;

static int compare(const void *a, const void *b)
{
    const tv_extent_id *left = a, *right = b;

    if (left->boot != right->boot)
        return left->boot < right->boot ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

static void add(void *ctx, int shard_fd, const char *name, tv_extent_id id)
{
    listing *l = ctx;
    struct stat stat_of;

    if (id.boot >= l->store->boot)
        return;

    if (l->count == l->size) {
        l->size = l->size ? 2 * l->size : 1024;
        l->ids = tv_realloc(l->ids, l->size * sizeof *l->ids);
    }
    l->ids[l->count++] = id;
    if (l->is_counting && fstatat(shard_fd, name, &stat_of, AT_SYMLINK_NOFOLLOW) == 0) {
        l->shard_extents++;
        l->shard_bytes += stat_of.st_size;
    }
}

static tv_err list(listing *l)
{
    for (unsigned i = 0; i < TV_EXTENT_SHARDS; i++) {
        tv_extent_shard *shard = &l->store->shards[i];
        tv_err err;

        if (l->gc->is_stopping && l->gc->is_stopping(l->gc->ctx))
            return TV_ERR_STOPPED;

        pthread_mutex_lock(&shard->count_lock);
        l->is_counting = !shard->is_counted;
        l->shard_extents = l->shard_bytes = 0;
        err = tv_extent_list(l->store, i, add, l);
        if (err == TV_OK) {
            shard->is_counted = true;
            atomic_fetch_add(&l->store->extent_count, l->shard_extents);
            atomic_fetch_add(&l->store->byte_count, l->shard_bytes);
        }
        pthread_mutex_unlock(&shard->count_lock);
        if (err)
            return err;
    }
    if (l->count)
        qsort(l->ids, l->count, sizeof *l->ids, compare);
    return TV_OK;
}

static bool mark(void *marker, tv_extent_id id)
{
    listing *l = marker;

    if (id.boot == l->store->boot)
        return true;

    tv_extent_id *at = l->count ? bsearch(&id, l->ids, l->count, sizeof *l->ids, compare) : NULL;

    if (at)
        l->is_marked[at - l->ids] = 1;
    else
        l->gc->missing_count++;
    return at != NULL;
}

static void take_unmarked(listing *l)
{
    size_t count = 0;

    for (size_t i = 0; i < l->count; i++) {
        if (!l->is_marked[i])
            l->ids[count++] = l->ids[i];
    }
    l->count = count;
}

tv_err tv_extents_gc(tv_extents *store, tv_extent_gc *gc)
{
    listing l = {.store = store, .gc = gc};
    tv_err err;

    gc->orphan_count = gc->missing_count = 0;
    gc->has_removed = false;
    err = list(&l);
    if (err)
        goto out;

    l.is_marked = tv_calloc(l.count + 1, 1);
    err = gc->mark_rows(gc->ctx, mark, &l);
    if (err)
        goto out;

    take_unmarked(&l);
    gc->orphan_count = l.count;
    if (l.count && gc->missing_count == 0 && !gc->keeps_all) {
        tv_extents_remove(store, l.ids, l.count);
        gc->has_removed = true;
    }

out:
    free(l.is_marked);
    free(l.ids);
    return err;
}
