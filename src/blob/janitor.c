/* One thread: sweep the extents once, then look for old blocks again and again. */
#include "blob/janitor.h"

#include "base/background.h"
#include "base/log.h"
#include "blob/body/damage.h"
#include "blob/store/change.h"
#include "blob/store/gc.h"
#include "commit/waiter.h"
#include "engine/instant.h"

enum {
    BLOBS_AT_ONCE = 1000, /* looked at before it is asked whether to stop */
    EXPIRED_AT_ONCE = 64, /* blobs whose blocks go */
    SWEEP_RETRY_SECONDS = 60,
    MISSING_REPORTED_MAX = 20, /* blobs, by name */
};

struct tv_blob_janitor {
    tv_background thread;
    tv_blob_janitor_options options;
    tv_waiter waiter;
};

/* --- extents without a row --- */

/* A sweep on its way through the rows. */
typedef struct row_visit {
    tv_blob_janitor *janitor;
    tv_extent_mark_fn *mark;
    void *marker;
    int reported; /* blobs whose data is missing */
} row_visit;

static bool is_stopping(void *ctx)
{
    const row_visit *visit = ctx;

    return tv_background_is_stopping(&visit->janitor->thread);
}

/* An operator wants to know which blobs to restore. */
static void report_missing(tv_blob_janitor *janitor, tv_slice blob, tv_extent_id id)
{
    size_t count;
    tv_container **containers = tv_catalog_all(janitor->options.catalog, &count);
    tv_slice account = TV_LIT(""), container = TV_LIT("(deleted)"), name = TV_LIT("");
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0; i < count; i++) {
        const tv_container *at = containers[i];

        if (tv_slice_starts_with(blob, at->prefix) &&
            tv_key_split_blob(&arena, at->prefix, blob, &(tv_slice){0}, &name) == TV_OK) {
            account = tv_arena_dup(&arena, at->account);
            container = tv_arena_dup(&arena, at->name);
        }
        tv_container_unref(containers[i]);
    }
    free(containers);
    tv_blob_log_damage(janitor->options.extents, id, account, container, name);
    tv_arena_done(&arena);
}

static tv_err found_extent(void *ctx, tv_slice blob, tv_extent_id id)
{
    row_visit *visit = ctx;

    if (visit->mark(visit->marker, id))
        return TV_OK;

    tv_extents_note_damage(visit->janitor->options.extents, id, "the file is missing");
    if (visit->reported++ < MISSING_REPORTED_MAX)
        report_missing(visit->janitor, blob, id);
    return TV_OK;
}

static tv_err visit_rows(void *ctx, tv_extent_mark_fn *mark, void *marker)
{
    row_visit *visit = ctx;

    visit->mark = mark;
    visit->marker = marker;
    return tv_blob_visit_all_extents(visit->janitor->options.engine,
                                     &(tv_blob_extent_visitor){found_extent, is_stopping, visit});
}

static void report_sweep(const tv_extent_gc *sweep)
{
    if (sweep->missing_count)
        tv_log(TV_LOG_ERROR, "extents_missing",
               "count=%zu extents_kept=%zu effect=\"their blobs cannot be read: restore a backup, "
               "or delete them; until then no file is removed that has no row\"",
               sweep->missing_count, sweep->orphan_count);
    else if (sweep->has_removed)
        tv_log(TV_LOG_INFO, "sweep", "service=blob extents_removed=%zu", sweep->orphan_count);
    else if (sweep->orphan_count)
        tv_log(TV_LOG_WARN, "sweep",
               "service=blob extents_kept=%zu note=\"no row refers to them, perhaps because of "
               "--drop-damaged-log; the next start without that flag removes them\"",
               sweep->orphan_count);
}

static bool sweep_extents(tv_blob_janitor *janitor)
{
    row_visit visit = {.janitor = janitor};
    tv_extent_gc sweep = {.mark_rows = visit_rows,
                          .is_stopping = is_stopping,
                          .ctx = &visit,
                          .keeps_all = janitor->options.keeps_extents};
    tv_err err = tv_extents_gc(janitor->options.extents, &sweep);

    if (err == TV_OK)
        report_sweep(&sweep);
    else if (err != TV_ERR_STOPPED)
        tv_log(TV_LOG_WARN, "sweep", "service=blob error=%s note=\"trying again in %d s\"",
               tv_err_name(err), SWEEP_RETRY_SECONDS);
    return err == TV_OK;
}

/* --- blocks that nobody came back for --- */

/* Whoever still reads the blocks' extents began before this call, and holds the removal up. */
static tv_err expire_blob(tv_blob_janitor *janitor, tv_container *container, tv_arena *arena,
                          tv_slice partition)
{
    tv_blob_change change = {
        .is_dropped = &container->is_dropped, .partition = partition, .arena = arena};
    tv_write write = {.partition = partition, .run = tv_expire_blocks_run, .ctx = &change};
    tv_err err = tv_waiter_run(&janitor->waiter, &write);

    if (err)
        return err;

    tv_extents_remove(janitor->options.extents, change.garbage, change.garbage_count);
    /* This or an earlier change may have left something; a look that finds nothing costs little. */
    tv_blob_cleaner_add(janitor->options.cleaner, container, partition);
    return TV_OK;
}

/* Two arenas take turns, so that memory does not grow with the number of blobs: one step's place
 * lies in the arena of the step before. */
static tv_err expire_container(tv_blob_janitor *janitor, tv_container *container)
{
    tv_slice partitions[EXPIRED_AT_ONCE];
    tv_blob_gc_cursor search = {0};
    tv_arena arenas[2];
    tv_err err = TV_OK;
    size_t count;

    tv_arena_init(&arenas[0]);
    tv_arena_init(&arenas[1]);
    for (unsigned step = 0;
         err == TV_OK && !search.is_done && !tv_background_is_stopping(&janitor->thread); step++) {
        tv_arena *arena = &arenas[step % 2];

        tv_arena_reset(arena);
        err = tv_blob_gc_next(janitor->options.engine, container->prefix, tv_instant_now(),
                              BLOBS_AT_ONCE, arena, &search, partitions, EXPIRED_AT_ONCE, &count);
        for (size_t i = 0; err == TV_OK && i < count; i++)
            err = expire_blob(janitor, container, arena, partitions[i]);
    }
    tv_arena_done(&arenas[0]);
    tv_arena_done(&arenas[1]);
    return err == TV_ERR_CONTAINER_NOT_FOUND ? TV_OK : err;
}

static void expire_blocks(tv_blob_janitor *janitor)
{
    size_t count;
    tv_container **containers = tv_catalog_all(janitor->options.catalog, &count);

    for (size_t i = 0; i < count; i++) {
        tv_err err = expire_container(janitor, containers[i]);

        if (err)
            tv_log(TV_LOG_WARN, "expire_blocks", "service=blob container=%.*s error=%s",
                   TV_FMT(containers[i]->name), tv_err_name(err));
        tv_container_unref(containers[i]);
    }
    free(containers);
}

/* --- the thread --- */

static void run(tv_background *thread, void *ctx)
{
    tv_blob_janitor *janitor = ctx;

    while (!sweep_extents(janitor)) {
        if (!tv_background_sleep(thread, SWEEP_RETRY_SECONDS * 1000))
            return;
    }

    /* Blocks that seem to wait for their list may have got it in the part that was dropped. */
    if (janitor->options.keeps_extents)
        return;
    do {
        expire_blocks(janitor);
    } while (tv_background_sleep(thread, janitor->options.interval_s * 1000));
}

tv_blob_janitor *tv_blob_janitor_new(const tv_blob_janitor_options *options)
{
    tv_blob_janitor *janitor = tv_calloc(1, sizeof *janitor);

    janitor->options = *options;
    tv_waiter_init(&janitor->waiter, options->pipeline);
    tv_background_start(&janitor->thread,
                        &(tv_background_options){
                            .name = "tv-gc-search", .gives_way = true, .run = run, .ctx = janitor});
    return janitor;
}

void tv_blob_janitor_free(tv_blob_janitor *janitor)
{
    if (janitor == NULL)
        return;

    tv_background_done(&janitor->thread);
    tv_waiter_done(&janitor->waiter);
    free(janitor);
}
