/* One thread, one queue of blobs. */
#include "blob/cleaner.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/thread.h"
#include "blob/store/gc.h"
#include "commit/waiter.h"

enum { QUEUE_MAX = 1024 };

typedef struct dirty {
    struct dirty *next;
    tv_container *container;
    tv_slice partition; /* behind this struct */
} dirty;

struct tv_blob_cleaner {
    tv_engine *engine;
    tv_extents *extents;
    tv_waiter waiter;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    dirty *queue, **queue_end;
    size_t count;
    bool is_stopping;
};

static bool is_stopping(tv_blob_cleaner *cleaner)
{
    pthread_mutex_lock(&cleaner->lock);
    bool is = cleaner->is_stopping;
    pthread_mutex_unlock(&cleaner->lock);
    return is;
}

/* Whoever still reads the extents began before this call, and holds the removal up. */
static tv_err clean(tv_blob_cleaner *cleaner, const dirty *blob, tv_arena *arena)
{
    tv_blob_garbage garbage;
    tv_err err;

    err = tv_blob_find_garbage(cleaner->engine, blob->partition, arena, &garbage);
    for (size_t at = 0; err == TV_OK && at < garbage.key_count; at += TV_BLOB_GC_ROWS) {
        size_t left = garbage.key_count - at;
        tv_blob_gc_step step = {
            .change = {.is_dropped = &blob->container->is_dropped, .partition = blob->partition},
            .keys = garbage.keys + at,
            .key_count = left < TV_BLOB_GC_ROWS ? left : TV_BLOB_GC_ROWS,
        };
        tv_write write = {.partition = blob->partition, .run = tv_blob_gc_run, .ctx = &step};

        if (is_stopping(cleaner))
            return TV_OK;
        err = tv_waiter_run(&cleaner->waiter, &write);
    }
    if (err == TV_OK)
        tv_extents_remove(cleaner->extents, garbage.extents, garbage.extent_count);
    return err;
}

static dirty *wait_for_next(tv_blob_cleaner *cleaner)
{
    dirty *next = NULL;

    pthread_mutex_lock(&cleaner->lock);
    while (cleaner->queue == NULL && !cleaner->is_stopping)
        pthread_cond_wait(&cleaner->changed, &cleaner->lock);
    if (!cleaner->is_stopping) {
        next = cleaner->queue;
        cleaner->queue = next->next;
        cleaner->count--;
        if (cleaner->queue == NULL)
            cleaner->queue_end = &cleaner->queue;
    }
    pthread_mutex_unlock(&cleaner->lock);
    return next;
}

static void dirty_free(dirty *blob)
{
    tv_container_unref(blob->container);
    free(blob);
}

/* A container that is gone takes everything with it. */
static void *run(void *arg)
{
    tv_blob_cleaner *cleaner = arg;
    tv_arena arena;
    dirty *next;

    tv_thread_give_way();
    tv_arena_init(&arena);
    while ((next = wait_for_next(cleaner))) {
        tv_err err = clean(cleaner, next, &arena);

        if (err && err != TV_ERR_CONTAINER_NOT_FOUND)
            tv_log(TV_LOG_WARN, "clean", "service=blob container=%.*s error=%s",
                   TV_FMT(next->container->name), tv_err_name(err));
        dirty_free(next);
        tv_arena_reset(&arena);
    }
    tv_arena_done(&arena);
    return NULL;
}

tv_blob_cleaner *tv_blob_cleaner_new(tv_engine *engine, tv_pipeline *pipeline, tv_extents *extents)
{
    tv_blob_cleaner *cleaner = tv_calloc(1, sizeof *cleaner);

    cleaner->engine = engine;
    cleaner->extents = extents;
    cleaner->queue_end = &cleaner->queue;
    tv_waiter_init(&cleaner->waiter, pipeline);
    tv_assert(pthread_mutex_init(&cleaner->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&cleaner->changed, NULL) == 0);
    tv_assert(pthread_create(&cleaner->thread, NULL, run, cleaner) == 0);
    pthread_setname_np(cleaner->thread, "tv-clean");
    return cleaner;
}

void tv_blob_cleaner_free(tv_blob_cleaner *cleaner)
{
    if (cleaner == NULL)
        return;

    pthread_mutex_lock(&cleaner->lock);
    cleaner->is_stopping = true;
    pthread_cond_signal(&cleaner->changed);
    pthread_mutex_unlock(&cleaner->lock);
    pthread_join(cleaner->thread, NULL);

    while (cleaner->queue) {
        dirty *next = cleaner->queue->next;

        dirty_free(cleaner->queue);
        cleaner->queue = next;
    }
    tv_waiter_done(&cleaner->waiter);
    pthread_cond_destroy(&cleaner->changed);
    pthread_mutex_destroy(&cleaner->lock);
    free(cleaner);
}

static dirty *dirty_new(tv_container *container, tv_slice partition)
{
    dirty *blob = tv_malloc(sizeof *blob + partition.len);

    blob->next = NULL;
    blob->container = tv_container_ref(container);
    blob->partition = (tv_slice){memcpy(blob + 1, partition.data, partition.len), partition.len};
    return blob;
}

/* One look at a blob finds all there is, so that it waits only once.  The lock is held. */
static bool is_queued(const tv_blob_cleaner *cleaner, tv_slice partition)
{
    for (const dirty *blob = cleaner->queue; blob; blob = blob->next) {
        if (tv_slice_eq(blob->partition, partition))
            return true;
    }
    return false;
}

void tv_blob_cleaner_add(tv_blob_cleaner *cleaner, tv_container *container, tv_slice partition)
{
    pthread_mutex_lock(&cleaner->lock);
    if (cleaner->count < QUEUE_MAX && !is_queued(cleaner, partition)) {
        dirty *blob = dirty_new(container, partition);

        *cleaner->queue_end = blob;
        cleaner->queue_end = &blob->next;
        cleaner->count++;
        pthread_cond_signal(&cleaner->changed);
    }
    pthread_mutex_unlock(&cleaner->lock);
}

size_t tv_blob_cleaner_waiting(tv_blob_cleaner *cleaner)
{
    pthread_mutex_lock(&cleaner->lock);
    size_t count = cleaner->count;
    pthread_mutex_unlock(&cleaner->lock);
    return count;
}
