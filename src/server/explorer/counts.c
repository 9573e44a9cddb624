/* See counts.h. */
#include "server/explorer/counts.h"

#include "base/clock.h"
#include "services/blob/store/list.h"
#include "services/queue/service.h"

enum {
    REST_RATIO = 20,   /* between two walks, in lengths of the last */
    CHANGED_MS = 1000, /* the least time between two counts of what changes, */
    UNSEEN_MS = 10000, /* of what may change without a request, */
    QUEUE_MS = 10000,  /* and of a queue, whose messages expire by themselves */
    ROUND_MS = 500,    /* between two rounds */
};

/* By what is no request here: other nodes, and Storage Analytics, which writes to $logs. */
static bool is_changed_unseen(const tv_tree_counts *counts, const tv_container *container)
{
    return tv_catalog_is_shared(counts->blob->catalog) ||
           tv_slice_starts_with(container->name, TV_LIT("$"));
}

static bool has_changed(const tv_container *container)
{
    return atomic_load(&container->changes) != atomic_load(&container->count.changes);
}

static bool is_stale(const tv_tree_counts *counts, const tv_service *service,
                     const tv_container *container, int64_t now_ns)
{
    int64_t began = atomic_load(&container->count.counted_ns);
    int64_t took = atomic_load(&container->count.took_ns);
    int64_t age_ms = (now_ns - began) / 1000000;

    if (began == 0)
        return true;
    if (now_ns - began < took * (1 + REST_RATIO))
        return false;
    if (is_changed_unseen(counts, container) && age_ms >= UNSEEN_MS)
        return true;
    return (service == counts->queue && age_ms >= QUEUE_MS) ||
           (has_changed(container) && age_ms >= CHANGED_MS);
}

static bool count_blobs(tv_tree_counts *counts, const tv_container *container, uint64_t *ret_items,
                        uint64_t *ret_bytes)
{
    tv_blob_list_query query = {.container = container->prefix};
    bool is_stopped = false;
    tv_blob_entry entry;
    tv_blob_list *list;
    tv_err err;

    if (tv_blob_list_open(counts->blob->engine, &query, &list))
        return false;
    do {
        while (!is_stopped && tv_blob_list_next(list, &entry)) {
            *ret_items += 1;
            *ret_bytes += entry.head.length;
            is_stopped = tv_background_is_stopping(&counts->thread);
        }
    } while (!is_stopped && tv_blob_list_has_more(list) && tv_blob_list_status(list) == TV_OK);
    err = tv_blob_list_status(list);
    tv_blob_list_close(list);
    return err == TV_OK && !is_stopped;
}

static void count_one(tv_tree_counts *counts, const tv_service *service, tv_container *container)
{
    uint64_t changes = atomic_load(&container->changes), items = 0, bytes = 0;
    int64_t began = tv_clock_mono_ns(), messages = 0;

    if (atomic_load(&container->is_dropped))
        return;
    if (service == counts->queue) {
        if (tv_queue_count(tv_queue_of(container), TV_READ_ANY, &messages))
            return;
        items = (uint64_t)messages;
    } else if (!count_blobs(counts, container, &items, &bytes)) {
        return;
    }
    atomic_store(&container->count.items, items);
    atomic_store(&container->count.bytes, bytes);
    atomic_store(&container->count.took_ns, tv_clock_mono_ns() - began);
    atomic_store(&container->count.changes, changes);
    atomic_store(&container->count.counted_ns, began ? began : 1);
}

static void count_all(tv_tree_counts *counts, tv_service *service)
{
    size_t count;
    tv_container **all = tv_catalog_all(service->catalog, &count);

    for (size_t i = 0; i < count; i++) {
        if (!tv_background_is_stopping(&counts->thread) &&
            is_stale(counts, service, all[i], tv_clock_mono_ns()))
            count_one(counts, service, all[i]);
        tv_container_unref(all[i]);
    }
    free(all);
}

static void run(tv_background *thread, void *ctx)
{
    tv_tree_counts *counts = ctx;

    while (tv_background_sleep(thread, ROUND_MS)) {
        if (!atomic_exchange(&counts->is_wanted, false))
            continue;
        count_all(counts, counts->queue);
        count_all(counts, counts->blob);
    }
}

void tv_tree_counts_open(tv_tree_counts *counts, tv_service *queue, tv_service *blob)
{
    *counts = (tv_tree_counts){.queue = queue, .blob = blob, .is_open = true};
    tv_background_start(&counts->thread,
                        &(tv_background_options){.name = "tv-counts", .run = run, .ctx = counts});
}

void tv_tree_counts_close(tv_tree_counts *counts)
{
    if (counts->is_open)
        tv_background_done(&counts->thread);
    counts->is_open = false;
}

/* No lock: a network thread never waits for this one. */
void tv_tree_counts_want(tv_tree_counts *counts)
{
    atomic_store(&counts->is_wanted, true);
}

tv_tree_count tv_tree_counts_of(const tv_tree_counts *counts, const tv_container *container)
{
    const tv_container_count *count = &container->count;

    return (tv_tree_count){
        .is_known = atomic_load(&count->counted_ns) != 0,
        .is_exact = !has_changed(container) && !is_changed_unseen(counts, container),
        .items = atomic_load(&count->items),
        .bytes = atomic_load(&count->bytes),
    };
}
