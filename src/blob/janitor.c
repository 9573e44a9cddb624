/* One thread: sweep the extents once, then look for old blocks again and again. */
#include "blob/janitor.h"

#include <pthread.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "blob/change.h"
#include "blob/sweep.h"
#include "commit/waiter.h"

enum {
    BLOBS_AT_ONCE = 1000, /* looked at before it is asked whether to stop */
    EXPIRED_AT_ONCE = 64, /* blobs whose blocks go */
    SWEEP_RETRY_SECONDS = 60,
};

struct tv_blob_janitor {
    tv_blob_janitor_options options;
    tv_waiter waiter;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool is_stopping;
};

static bool is_stopping(tv_blob_janitor *janitor)
{
    pthread_mutex_lock(&janitor->lock);

    bool answer = janitor->is_stopping;

    pthread_mutex_unlock(&janitor->lock);
    return answer;
}

/* False when it is time to stop. */
static bool wait_seconds(tv_blob_janitor *janitor, int seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&janitor->lock);
    while (!janitor->is_stopping &&
           pthread_cond_timedwait(&janitor->changed, &janitor->lock, &until) == 0)
        ;

    bool answer = !janitor->is_stopping;

    pthread_mutex_unlock(&janitor->lock);
    return answer;
}

/* --- extents without a row --- */

static bool sweep_extents(tv_blob_janitor *janitor)
{
    const tv_blob_janitor_options *options = &janitor->options;
    size_t removed;
    tv_err err =
        tv_extents_sweep(options->extents, tv_blob_visit_all_extents, options->engine, &removed);

    if (err)
        tv_log(TV_LOG_WARN, "sweep", "service=blob error=%s note=\"trying again in %d s\"",
               tv_err_name(err), SWEEP_RETRY_SECONDS);
    else if (removed)
        tv_log(TV_LOG_INFO, "sweep", "service=blob extents_removed=%zu", removed);
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

    if (err == TV_OK)
        tv_extents_remove(janitor->options.extents, change.garbage, change.garbage_count);
    return err;
}

/* All containers, by account and name: they may go while one is looked at. */
typedef struct name_list {
    tv_arena *arena;
    struct container_name {
        tv_slice account, name;
        struct container_name *next;
    } * first;
} name_list;

static void note_container(void *ctx, const tv_container *container)
{
    name_list *list = ctx;
    struct container_name *name = tv_arena_alloc(list->arena, sizeof *name);

    name->account = tv_arena_dup(list->arena, container->account);
    name->name = tv_arena_dup(list->arena, container->name);
    name->next = list->first;
    list->first = name;
}

static tv_err expire_container(tv_blob_janitor *janitor, tv_container *container)
{
    tv_slice partitions[EXPIRED_AT_ONCE];
    tv_blob_expired search = {0};
    tv_arena arena;
    tv_err err = TV_OK;
    size_t count;

    tv_arena_init(&arena);
    while (err == TV_OK && !search.is_done && !is_stopping(janitor)) {
        err = tv_blob_expired_next(janitor->options.engine, container->prefix, tv_clock_ticks(),
                                   BLOBS_AT_ONCE, &arena, &search, partitions, EXPIRED_AT_ONCE,
                                   &count);
        for (size_t i = 0; err == TV_OK && i < count; i++)
            err = expire_blob(janitor, container, &arena, partitions[i]);
    }
    tv_arena_done(&arena);
    return err == TV_ERR_CONTAINER_NOT_FOUND ? TV_OK : err;
}

static void expire_blocks(tv_blob_janitor *janitor)
{
    tv_catalog *catalog = janitor->options.catalog;
    tv_arena arena;
    name_list list = {.arena = &arena};
    tv_err err = TV_OK;

    tv_arena_init(&arena);
    tv_catalog_visit(catalog, note_container, &list);
    for (struct container_name *name = list.first; name && err == TV_OK; name = name->next) {
        tv_container *container = tv_catalog_find(catalog, name->account, name->name);

        if (container)
            err = expire_container(janitor, container);
        tv_container_unref(container);
    }
    tv_arena_done(&arena);
    if (err)
        tv_log(TV_LOG_WARN, "expire_blocks", "service=blob error=%s note=\"trying again in %d s\"",
               tv_err_name(err), janitor->options.interval_s);
}

/* --- the thread --- */

static void *run(void *arg)
{
    tv_blob_janitor *janitor = arg;

    while (!is_stopping(janitor) && !sweep_extents(janitor)) {
        if (!wait_seconds(janitor, SWEEP_RETRY_SECONDS))
            return NULL;
    }
    while (wait_seconds(janitor, janitor->options.interval_s))
        expire_blocks(janitor);
    return NULL;
}

tv_blob_janitor *tv_blob_janitor_new(const tv_blob_janitor_options *options)
{
    tv_blob_janitor *janitor = tv_calloc(1, sizeof *janitor);

    janitor->options = *options;
    tv_waiter_init(&janitor->waiter, options->pipeline);
    tv_assert(pthread_mutex_init(&janitor->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&janitor->changed, NULL) == 0);
    tv_assert(pthread_create(&janitor->thread, NULL, run, janitor) == 0);
    return janitor;
}

void tv_blob_janitor_free(tv_blob_janitor *janitor)
{
    if (janitor == NULL)
        return;

    pthread_mutex_lock(&janitor->lock);
    janitor->is_stopping = true;
    pthread_cond_broadcast(&janitor->changed);
    pthread_mutex_unlock(&janitor->lock);
    pthread_join(janitor->thread, NULL);

    tv_waiter_done(&janitor->waiter);
    pthread_cond_destroy(&janitor->changed);
    pthread_mutex_destroy(&janitor->lock);
    free(janitor);
}
