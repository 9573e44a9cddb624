/* What all stores have, and their metrics. */
#include <errno.h>

#include "base/assert.h"
#include "base/clock.h"
#include "store/extent/internal.h"

/* Longer than nearly all downloads, and short enough for a disk that fills up meanwhile. */
enum { VISIT_MS_MAX = 60 * 60 * 1000 };

enum { LOG_INTERVAL_NS = 1000000000 };

void tv_extents_init(tv_extents *store, const tv_extent_backend *backend, int visit_ms_max)
{
    store->backend = backend;
    store->visit_ns_max = (visit_ms_max ? visit_ms_max : VISIT_MS_MAX) * INT64_C(1000000);
    tv_assert(pthread_mutex_init(&store->lock, NULL) == 0);
}

void tv_extents_done(tv_extents *store)
{
    pthread_mutex_destroy(&store->lock);
}

void tv_extents_close(tv_extents *store)
{
    if (store == NULL)
        return;

    if (store->backend->drain)
        store->backend->drain(store);
    tv_extents_gc_stop(store);
    store->backend->free(store);
}

tv_err tv_extents_gc(tv_extents *store, tv_extent_gc *gc)
{
    gc->orphan_count = gc->missing_count = gc->removed_count = 0;
    gc->has_removed = false;
    gc->again_ms = 0;
    return store->backend->gc(store, gc);
}

int tv_extents_copy(tv_extents *store, int base_fd, int to_fd, const tv_file_copies *copies)
{
    return store->backend->copy ? store->backend->copy(store, base_fd, to_fd, copies) : ENOTSUP;
}

void tv_extents_metrics(tv_extents *store, tv_metric_fn *report, void *ctx)
{
    tv_background_lock(&store->gc);
    size_t waiting = store->waiting_count;
    tv_background_unlock(&store->gc);
    pthread_mutex_lock(&store->lock);
    size_t damaged = store->damage_count;
    pthread_mutex_unlock(&store->lock);

    store->backend->metrics(store, report, ctx);
    report(ctx, "extents_to_remove", "Files of large data that wait for their removal.",
           (double)waiting);
    report(ctx, "extents_damaged", "Files of large data that are known to be damaged or missing.",
           (double)damaged);
    report(ctx, "extent_read_failures_total",
           "Reads of large data that found it damaged, missing or unreadable.",
           (double)atomic_load(&store->failed_reads));
}

bool tv_extents_may_log(tv_extents *store)
{
    int64_t now = tv_clock_mono_ns(), next = atomic_load(&store->next_log_ns);

    return now >= next &&
           atomic_compare_exchange_strong(&store->next_log_ns, &next, now + LOG_INTERVAL_NS);
}

void tv_extent_describe(const tv_extents *store, tv_extent_id id,
                        char ret_path[TV_EXTENT_TEXT_SIZE])
{
    store->backend->describe(store, id, ret_path);
}

tv_extent_id tv_extents_next_id(tv_extents *store)
{
    return (tv_extent_id){store->boot, atomic_fetch_add(&store->last_number, 1) + 1};
}
