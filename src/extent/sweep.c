/*
 * The sweep: what is in the folder less what the rows refer to.
 *
 * The files are listed before the rows are read.  So a file of an earlier boot
 * that a row refers to was listed, or else it has been lost.  What no row refers
 * to goes the way of all removals: its row may have been deleted a moment ago,
 * with a visit still under way.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/log.h"
#include "extent/internal.h"

typedef struct sweep {
    tv_extents *store;
    tv_extent_id *ids; /* of earlier boots; sorted after the listing */
    size_t count, size;
    unsigned char *is_marked;
    size_t missing_count;
    tv_extent_id missing; /* one of them */

    /* Of the shard that is being listed. */
    bool is_counting;
    int64_t shard_extents, shard_bytes;
} sweep;

static int compare(const void *a, const void *b)
{
    const tv_extent_id *left = a, *right = b;

    if (left->boot != right->boot)
        return left->boot < right->boot ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

static void add(void *ctx, int shard_fd, const char *name, tv_extent_id id)
{
    sweep *s = ctx;
    struct stat stat_of;

    if (id.boot >= s->store->boot)
        return;

    if (s->count == s->size) {
        s->size = s->size ? 2 * s->size : 1024;
        s->ids = tv_realloc(s->ids, s->size * sizeof *s->ids);
    }
    s->ids[s->count++] = id;
    if (s->is_counting && fstatat(shard_fd, name, &stat_of, AT_SYMLINK_NOFOLLOW) == 0) {
        s->shard_extents++;
        s->shard_bytes += stat_of.st_size;
    }
}

static tv_err list(sweep *s)
{
    for (unsigned i = 0; i < TV_EXTENT_SHARDS; i++) {
        tv_extent_shard *shard = &s->store->shards[i];
        tv_err err;

        pthread_mutex_lock(&shard->count_lock);
        s->is_counting = !shard->is_counted;
        s->shard_extents = s->shard_bytes = 0;
        err = tv_extent_list(s->store, i, add, s);
        if (err == TV_OK) {
            shard->is_counted = true;
            atomic_fetch_add(&s->store->extent_count, s->shard_extents);
            atomic_fetch_add(&s->store->byte_count, s->shard_bytes);
        }
        pthread_mutex_unlock(&shard->count_lock);
        if (err)
            return err;
    }
    if (s->count)
        qsort(s->ids, s->count, sizeof *s->ids, compare);
    return TV_OK;
}

static void mark(void *marker, tv_extent_id id)
{
    sweep *s = marker;

    if (id.boot >= s->store->boot)
        return;

    tv_extent_id *at = s->count ? bsearch(&id, s->ids, s->count, sizeof *s->ids, compare) : NULL;

    if (at) {
        s->is_marked[at - s->ids] = 1;
    } else {
        s->missing_count++;
        s->missing = id;
    }
}

static size_t remove_unmarked(sweep *s)
{
    size_t count = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (!s->is_marked[i])
            s->ids[count++] = s->ids[i];
    }
    tv_extents_remove(s->store, s->ids, count);
    return count;
}

static void report_missing(const sweep *s)
{
    char path[TV_EXTENT_PATH_SIZE];

    tv_extent_path(s->missing, path);
    tv_log(TV_LOG_ERROR, "extents_missing",
           "count=%zu extent=\"%s/%s\" effect=\"their data cannot be read; restore a backup\"",
           s->missing_count, s->store->path, path);
}

tv_err tv_extents_sweep(tv_extents *store,
                        tv_err (*visit_rows)(void *ctx, tv_extent_mark_fn *mark, void *marker),
                        void *ctx, size_t *ret_removed)
{
    sweep s = {.store = store};
    tv_err err;

    err = list(&s);
    if (err)
        goto out;

    s.is_marked = tv_calloc(s.count + 1, 1);
    err = visit_rows(ctx, mark, &s);
    if (err)
        goto out;

    if (s.missing_count)
        report_missing(&s);
    *ret_removed = remove_unmarked(&s);

out:
    free(s.is_marked);
    free(s.ids);
    return err;
}
