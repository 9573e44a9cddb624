/* Opening and closing the extents of a pool. */
#include <inttypes.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/extent/pool/internal.h"

enum {
    MINUTE_MS = 60 * 1000,
    HOUR_MS = 60 * MINUTE_MS,
    BUFFER_BYTES_MAX = 256 << 20,
};

/* Writers that were given up end with their last part. */
#define LOOK_MS 1

tv_err tv_pool_extents_failed(tv_pool_extents *extents, const char *operation, tv_extent_id id,
                              tv_err err)
{
    char name[TV_EXTENT_OBJECT_SIZE];

    if (err == TV_ERR_DISK_FULL) {
        tv_pool_extents_refused(extents);
        return err;
    }
    if (tv_extents_may_log(&extents->base)) {
        tv_pool_extent_name(id, 0, name);
        tv_log(TV_LOG_ERROR, "extent_failed", "operation=%s extent=%s error=%s", operation, name,
               tv_err_name(err));
    }
    return err == TV_ERR_TIMED_OUT ? err : TV_ERR_IO;
}

static void describe(const tv_extents *store, tv_extent_id id, char ret_text[TV_EXTENT_TEXT_SIZE])
{
    char name[TV_EXTENT_OBJECT_SIZE];

    (void)store;
    tv_pool_extent_name(id, 0, name);
    snprintf(ret_text, TV_EXTENT_TEXT_SIZE, "%s", name);
}

/* Whether the pool answers is the engine's to say. */
static bool check(tv_extents *store, char *reterr_text, size_t reterr_size)
{
    (void)store, (void)reterr_text, (void)reterr_size;
    return true;
}

static void metrics(tv_extents *store, tv_metric_fn *report, void *ctx)
{
    tv_pool_extents *extents = tv_pool_extents_of(store);

    report(ctx, "extents_written_total", "Runs of large data that this node has written.",
           (double)atomic_load(&extents->made_count));
    report(ctx, "extent_written_bytes_total", "Bytes in them, checksums included.",
           (double)atomic_load(&extents->made_bytes));
    report(ctx, "extent_buffer_bytes", "Memory for large data on its way to the pool.",
           (double)atomic_load(&extents->buffer_bytes));
}

static void drain(tv_extents *store)
{
    tv_pool *pool = tv_pool_extents_of(store)->options.pool;

    while (atomic_load(&store->writer_count) > 0)
        pool->ops->pause(pool, LOOK_MS);
}

static void close_store(tv_extents *store)
{
    tv_pool_extents *extents = tv_pool_extents_of(store);

    tv_extent_set_done(&extents->suspects);
    tv_extents_done(store);
    free(extents);
}

static const tv_extent_backend backend = {
    .is_shared = true,
    .create = tv_pool_extent_create,
    .write = tv_pool_extent_write,
    .finish = tv_pool_extent_finish,
    .end = tv_pool_extent_end,
    .may_commit = tv_pool_extent_may_commit,
    .open = tv_pool_extent_open,
    .read = tv_pool_extent_read,
    .close = tv_pool_extent_close,
    .remove = tv_pool_extent_remove,
    .gc = tv_pool_extents_gc,
    .describe = describe,
    .check = check,
    .metrics = metrics,
    .drain = drain,
    .free = close_store,
};

static void set_default(int *value, int usual)
{
    if (*value == 0)
        *value = usual;
}

bool tv_extents_open_pool(const tv_extent_pool_options *options, tv_extents **ret_store,
                          char *reterr_text, size_t reterr_size)
{
    if (options->boot == 0 || options->boot > TV_EXTENT_BOOT_MAX) {
        snprintf(reterr_text, reterr_size, "%" PRIu64 " is not the number of a process",
                 options->boot);
        return false;
    }

    tv_pool_extents *extents = tv_calloc(1, sizeof *extents);
    tv_extent_pool_times *times = &extents->options.times;

    extents->options = *options;
    set_default(&times->remove_delay_ms, 10 * MINUTE_MS);
    set_default(&times->visit_ms_max, 9 * MINUTE_MS);
    set_default(&times->commit_ms_max, 12 * HOUR_MS);
    set_default(&times->orphan_ms_min, 24 * HOUR_MS);
    set_default(&times->sweep_gap_ms, HOUR_MS);
    if (extents->options.buffer_bytes_max == 0)
        extents->options.buffer_bytes_max = BUFFER_BYTES_MAX;
    tv_extents_init(&extents->base, &backend, times->visit_ms_max);
    extents->base.boot = options->boot;
    extents->base.remove_delay_ns = times->remove_delay_ms * INT64_C(1000000);
    extents->open_ns = tv_clock_boot_ns();
    tv_extents_gc_start(&extents->base);
    *ret_store = &extents->base;
    return true;
}
