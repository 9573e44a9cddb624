/* One thread, one queue of blobs. */
#include "services/blob/gc.h"

#include "base/assert.h"
#include "base/background.h"
#include "base/log.h"
#include "services/blob/store/gc.h"
#include "store/commit/waiter.h"

enum { QUEUE_MAX = 1024 };

typedef struct dirty {
    struct dirty *next;
    tv_container *container;
    tv_slice partition; /* after this struct */
} dirty;

struct tv_blob_gc {
    tv_engine *engine;
    tv_extents *extents;
    tv_waiter waiter;
    tv_background thread; /* its lock guards what follows */
    dirty *queue, **queue_end;
    size_t count;
};

/* Any visit that still reads the extents began before this call, and defers the removal. */
static tv_err remove_garbage(tv_blob_gc *gc, const dirty *blob, tv_arena *arena)
{
    tv_blob_garbage garbage;
    tv_err err;

    err = tv_blob_find_garbage(gc->engine, blob->partition, arena, &garbage);
    for (size_t at = 0; err == TV_OK && at < garbage.key_count; at += TV_BLOB_GC_ROWS) {
        size_t left = garbage.key_count - at;
        tv_blob_gc_step step = {
            .change = {.is_dropped = &blob->container->is_dropped, .partition = blob->partition},
            .keys = garbage.keys + at,
            .key_count = left < TV_BLOB_GC_ROWS ? left : TV_BLOB_GC_ROWS,
        };
        tv_write write = {.partition = blob->partition, .run = tv_blob_gc_run, .ctx = &step};

        if (tv_background_is_stopping(&gc->thread))
            return TV_OK;
        err = tv_waiter_run(&gc->waiter, &write);
    }
    if (err == TV_OK)
        tv_extents_remove(gc->extents, garbage.extents, garbage.extent_count);
    return err;
}

/* NULL when it is time to stop. */
static dirty *wait_for_next(tv_blob_gc *gc)
{
    dirty *next = NULL;

    tv_background_lock(&gc->thread);
    while (gc->queue == NULL && tv_background_wait(&gc->thread, TV_BACKGROUND_NEVER))
        ;
    if (!tv_background_is_stopping(&gc->thread)) {
        next = gc->queue;
        gc->queue = next->next;
        gc->count--;
        if (gc->queue == NULL)
            gc->queue_end = &gc->queue;
    }
    tv_background_unlock(&gc->thread);
    return next;
}

static void dirty_free(dirty *blob)
{
    tv_container_unref(blob->container);
    free(blob);
}

/* A container that is gone takes everything with it. */
static void run(tv_background *thread, void *ctx)
{
    tv_blob_gc *gc = ctx;
    tv_arena arena;
    dirty *next;

    (void)thread;
    tv_arena_init(&arena);
    while ((next = wait_for_next(gc))) {
        tv_err err = remove_garbage(gc, next, &arena);

        if (err && err != TV_ERR_CONTAINER_NOT_FOUND)
            tv_log(TV_LOG_WARN, "clean", "service=blob container=%.*s error=%s",
                   TV_FMT(next->container->name), tv_err_name(err));
        dirty_free(next);
        tv_arena_reset(&arena);
    }
    tv_arena_done(&arena);
}

tv_blob_gc *tv_blob_gc_new(tv_engine *engine, tv_pipeline *pipeline, tv_extents *extents)
{
    tv_blob_gc *gc = tv_calloc(1, sizeof *gc);

    gc->engine = engine;
    gc->extents = extents;
    gc->queue_end = &gc->queue;
    tv_waiter_init(&gc->waiter, pipeline);
    tv_background_start(
        &gc->thread,
        &(tv_background_options){.name = "tv-gc-blobs", .gives_way = true, .run = run, .ctx = gc});
    return gc;
}

void tv_blob_gc_free(tv_blob_gc *gc)
{
    if (gc == NULL)
        return;

    tv_background_done(&gc->thread);
    while (gc->queue) {
        dirty *next = gc->queue->next;

        dirty_free(gc->queue);
        gc->queue = next;
    }
    tv_waiter_done(&gc->waiter);
    free(gc);
}

static dirty *dirty_new(tv_container *container, tv_slice partition)
{
    dirty *blob = tv_malloc(sizeof *blob + partition.len);

    blob->next = NULL;
    blob->container = tv_container_ref(container);
    blob->partition = (tv_slice){memcpy(blob + 1, partition.data, partition.len), partition.len};
    return blob;
}

/* One look at a blob finds all its garbage, so it waits only once.  The lock is held. */
static bool is_queued(const tv_blob_gc *gc, tv_slice partition)
{
    for (const dirty *blob = gc->queue; blob; blob = blob->next) {
        if (tv_slice_eq(blob->partition, partition))
            return true;
    }
    return false;
}

void tv_blob_gc_add(tv_blob_gc *gc, tv_container *container, tv_slice partition)
{
    tv_background_lock(&gc->thread);
    if (gc->count < QUEUE_MAX && !is_queued(gc, partition)) {
        dirty *blob = dirty_new(container, partition);

        *gc->queue_end = blob;
        gc->queue_end = &blob->next;
        gc->count++;
        tv_background_wake(&gc->thread);
    }
    tv_background_unlock(&gc->thread);
}

size_t tv_blob_gc_waiting(tv_blob_gc *gc)
{
    tv_background_lock(&gc->thread);
    size_t count = gc->count;
    tv_background_unlock(&gc->thread);
    return count;
}
