/*
 * One thread: collect extents without a row, once or, in a pool, again and again; and look at all
 * blobs again and again.
 */
#include "services/blob/gc.h"

#include "base/background.h"
#include "base/clock.h"
#include "base/log.h"
#include "services/blob/body/damage.h"
#include "services/blob/store/change.h"
#include "services/blob/store/gc.h"
#include "store/commit/waiter.h"
#include "store/engine/instant.h"

enum {
    BLOBS_AT_ONCE = 1000, /* looked at between two checks whether to stop */
    EXPIRED_AT_ONCE = 64, /* blobs whose blocks go */
    RETRY_SECONDS = 60,
    LEAD_SECONDS = 5,          /* between two looks whether this node is the one that does it */
    MISSING_REPORTED_MAX = 20, /* blobs, by name */
};

struct tv_blob_gc_scan {
    tv_background thread;
    tv_blob_gc_scan_options options;
    tv_waiter waiter;
    int64_t collect_ns; /* when to collect extents next; the thread's lock guards it */
    uint64_t rounds;    /* and this */
};

/* --- extents without a row --- */

/* The marking of extents on its way through the rows. */
typedef struct marking {
    tv_blob_gc_scan *scan;
    tv_extent_mark_fn *mark;
    void *marker;
    int reported; /* blobs whose data is missing */
} marking;

static bool is_stopping(void *ctx)
{
    const marking *m = ctx;

    return tv_background_is_stopping(&m->scan->thread);
}

/* An operator wants to know which blobs to restore. */
static void report_missing(tv_blob_gc_scan *scan, tv_slice blob, tv_extent_id id)
{
    size_t count;
    tv_container **containers = tv_catalog_all(scan->options.catalog, &count);
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
    tv_blob_log_damage(scan->options.extents, id, account, container, name);
    tv_arena_done(&arena);
}

static tv_err found_extent(void *ctx, tv_slice blob, tv_extent_id id)
{
    marking *m = ctx;

    if (m->mark(m->marker, id))
        return TV_OK;

    tv_extents_note_damage(m->scan->options.extents, id, "the file is missing");
    if (m->reported++ < MISSING_REPORTED_MAX)
        report_missing(m->scan, blob, id);
    return TV_OK;
}

static tv_err mark_rows(void *ctx, tv_extent_mark_fn *mark, void *marker)
{
    marking *m = ctx;

    m->mark = mark;
    m->marker = marker;
    return tv_blob_visit_all_extents(m->scan->options.engine,
                                     &(tv_blob_extent_visitor){found_extent, is_stopping, m});
}

static void report_extents(const tv_extent_gc *gc)
{
    if (gc->missing_count)
        tv_log(TV_LOG_ERROR, "extents_missing",
               "count=%zu extents_kept=%zu effect=\"their blobs cannot be read: restore a backup, "
               "or delete them; until then no file is removed that has no row\"",
               gc->missing_count, gc->orphan_count);
    else if (gc->has_removed)
        tv_log(TV_LOG_INFO, "sweep", "service=blob extents_removed=%zu", gc->removed_count);
    else if (gc->orphan_count && gc->keeps_all)
        tv_log(TV_LOG_WARN, "sweep",
               "service=blob extents_kept=%zu note=\"no row refers to them, perhaps because of "
               "--drop-damaged-log; a start without that flag and --no-sweep removes them\"",
               gc->orphan_count);
    else if (gc->orphan_count)
        tv_log(TV_LOG_INFO, "sweep",
               "service=blob extents_suspected=%zu note=\"no row refers to them; the next sweep "
               "removes those of which that is still so\"",
               gc->orphan_count);
}

/* Returns after how many ms to do it again; 0 for never. */
static int64_t collect_extents(tv_blob_gc_scan *scan)
{
    marking m = {.scan = scan};
    tv_extent_gc gc = {.mark_rows = mark_rows,
                       .is_stopping = is_stopping,
                       .ctx = &m,
                       .keeps_all = scan->options.keeps_extents || scan->options.no_sweep};
    tv_err err = tv_extents_gc(scan->options.extents, &gc);

    if (err == TV_OK) {
        report_extents(&gc);
        return gc.again_ms;
    }
    if (err != TV_ERR_STOPPED)
        tv_log(TV_LOG_WARN, "sweep", "service=blob error=%s note=\"trying again in %d s\"",
               tv_err_name(err), RETRY_SECONDS);
    return RETRY_SECONDS * 1000;
}

/* --- blocks that were abandoned --- */

/* Any visit that still reads the blocks' extents began before this call, and defers the removal. */
static tv_err expire_blob(tv_blob_gc_scan *scan, tv_container *container, tv_arena *arena,
                          tv_slice partition)
{
    tv_blob_change change = {
        .is_dropped = &container->is_dropped, .partition = partition, .arena = arena};
    tv_write write = {.partition = partition, .run = tv_expire_blocks_run, .ctx = &change};
    tv_err err = tv_waiter_run(&scan->waiter, &write);

    if (err)
        return err;

    tv_extents_remove(scan->options.extents, change.garbage, change.garbage_count);
    /* This or an earlier change may have left something; a look that finds nothing costs little. */
    tv_blob_gc_add(scan->options.gc, container, partition);
    return TV_OK;
}

/* Two arenas take turns, so that memory does not grow with the number of blobs: one step's place
 * lies in the arena of the step before. */
static tv_err expire_container(tv_blob_gc_scan *scan, tv_container *container)
{
    tv_slice partitions[EXPIRED_AT_ONCE];
    tv_blob_gc_cursor cursor = {0};
    tv_arena arenas[2];
    tv_err err = TV_OK;
    size_t count;

    tv_arena_init(&arenas[0]);
    tv_arena_init(&arenas[1]);
    for (unsigned step = 0;
         err == TV_OK && !cursor.is_done && !tv_background_is_stopping(&scan->thread); step++) {
        tv_arena *arena = &arenas[step % 2];

        tv_arena_reset(arena);
        err = tv_blob_gc_next(scan->options.engine, container->prefix, tv_instant_now(),
                              BLOBS_AT_ONCE, arena, &cursor, partitions, EXPIRED_AT_ONCE, &count);
        for (size_t i = 0; err == TV_OK && i < count; i++)
            err = expire_blob(scan, container, arena, partitions[i]);
    }
    tv_arena_done(&arenas[0]);
    tv_arena_done(&arenas[1]);
    return err == TV_ERR_CONTAINER_NOT_FOUND ? TV_OK : err;
}

static void expire_blocks(tv_blob_gc_scan *scan)
{
    size_t count;
    tv_container **containers = tv_catalog_all(scan->options.catalog, &count);

    for (size_t i = 0; i < count; i++) {
        tv_err err = expire_container(scan, containers[i]);

        if (err)
            tv_log(TV_LOG_WARN, "expire_blocks", "service=blob container=%.*s error=%s",
                   TV_FMT(containers[i]->name), tv_err_name(err));
        tv_container_unref(containers[i]);
    }
    free(containers);
}

/* --- the thread --- */

static int64_t after_ms(int64_t ms)
{
    return tv_clock_mono_ns() + ms * 1000000;
}

static void collect_if_due(tv_blob_gc_scan *scan)
{
    tv_background_lock(&scan->thread);
    bool is_due = scan->collect_ns <= tv_clock_mono_ns();

    if (is_due)
        scan->collect_ns = TV_BACKGROUND_NEVER; /* somebody may want it again meanwhile */
    tv_background_unlock(&scan->thread);
    if (!is_due)
        return;

    int64_t again_ms = collect_extents(scan);

    tv_background_lock(&scan->thread);
    if (again_ms && after_ms(again_ms) < scan->collect_ns)
        scan->collect_ns = after_ms(again_ms);
    tv_background_unlock(&scan->thread);
}

/* Blocks that seem to wait for their list may have got it in the part that was dropped. */
static void run(tv_background *thread, void *ctx)
{
    tv_blob_gc_scan *scan = ctx;
    const tv_blob_gc_scan_options *options = &scan->options;
    int64_t expire_ns = options->keeps_extents ? TV_BACKGROUND_NEVER : 0;

    while (!tv_background_is_stopping(thread)) {
        bool is_here = tv_lead_is_here(options->lead);

        if (is_here)
            collect_if_due(scan);
        if (is_here && expire_ns <= tv_clock_mono_ns()) {
            expire_blocks(scan);
            expire_ns = after_ms(options->interval_s * INT64_C(1000));
        }

        tv_background_lock(thread);
        int64_t until_ns = scan->collect_ns < expire_ns ? scan->collect_ns : expire_ns;

        scan->rounds++;
        if (!is_here)
            until_ns = after_ms(LEAD_SECONDS * 1000);
        (void)tv_background_wait(thread, until_ns);
        tv_background_unlock(thread);
    }
}

void tv_blob_gc_scan_soon(tv_blob_gc_scan *scan)
{
    tv_background_lock(&scan->thread);
    scan->collect_ns = 0;
    tv_background_wake(&scan->thread);
    tv_background_unlock(&scan->thread);
}

uint64_t tv_blob_gc_scan_rounds(tv_blob_gc_scan *scan)
{
    tv_background_lock(&scan->thread);
    uint64_t rounds = scan->rounds;

    tv_background_unlock(&scan->thread);
    return rounds;
}

tv_blob_gc_scan *tv_blob_gc_scan_new(const tv_blob_gc_scan_options *options)
{
    tv_blob_gc_scan *scan = tv_calloc(1, sizeof *scan);

    scan->options = *options;
    tv_waiter_init(&scan->waiter, options->pipeline);
    tv_background_start(&scan->thread,
                        &(tv_background_options){
                            .name = "tv-gc-blob-scan", .gives_way = true, .run = run, .ctx = scan});
    return scan;
}

void tv_blob_gc_scan_free(tv_blob_gc_scan *scan)
{
    if (scan == NULL)
        return;

    tv_background_done(&scan->thread);
    tv_waiter_done(&scan->waiter);
    free(scan);
}
