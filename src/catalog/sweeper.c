/* One thread, one queue of dropped containers. */
#include "catalog/sweeper.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/thread.h"
#include "commit/waiter.h"
#include "engine/key.h"

enum { RETRY_SECONDS = 10 };

/* A dropped container in the queue. */
typedef struct dropped {
    struct dropped *next;
    int64_t id;
    size_t account_len;
    char account[];
} dropped;

struct tv_sweeper {
    const tv_catalog_kind *kind;
    tv_engine *engine;
    tv_pipeline *pipeline;
    tv_waiter waiter;
    pthread_t thread;
    atomic_bool is_stopping;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    dropped *queue, **queue_end;
};

static tv_err forget_note(tv_txn *txn, void *ctx)
{
    const tv_slice *note = ctx;

    tv_txn_declare_freeing(txn);
    tv_txn_delete(txn, *note);
    return TV_OK;
}

static tv_err sweep(tv_sweeper *sweeper, tv_slice account, int64_t id)
{
    const tv_catalog_kind *kind = sweeper->kind;
    tv_arena arena;
    tv_err err = TV_OK;

    tv_arena_init(&arena);
    tv_slice rows = kind->rows(&arena, account, id);
    tv_slice note = tv_key_catalog_dropped_id(&arena, kind->space, account, id);
    tv_write write = {.partition = tv_key_catalog(&arena, kind->space, account),
                      .run = forget_note,
                      .ctx = &note};

    tv_pipeline_drain(sweeper->pipeline);
    if (kind->before_drop)
        err = kind->before_drop(kind->ctx, rows, &sweeper->is_stopping);
    if (err == TV_OK)
        err = tv_engine_drop_range(sweeper->engine, rows, tv_key_after(&arena, rows));
    if (err == TV_OK && kind->after_drop)
        kind->after_drop(kind->ctx);
    if (err == TV_OK)
        err = tv_waiter_run(&sweeper->waiter, &write);
    tv_arena_done(&arena);
    return err;
}

static dropped *wait_for_next(tv_sweeper *sweeper)
{
    dropped *next = NULL;

    pthread_mutex_lock(&sweeper->lock);
    while (sweeper->queue == NULL && !sweeper->is_stopping)
        pthread_cond_wait(&sweeper->changed, &sweeper->lock);
    if (!sweeper->is_stopping) {
        next = sweeper->queue;
        sweeper->queue = next->next;
        if (sweeper->queue == NULL)
            sweeper->queue_end = &sweeper->queue;
    }
    pthread_mutex_unlock(&sweeper->lock);
    return next;
}

/* Put a container back at the end of the queue, and give the disk some time to recover. */
static void try_again_later(tv_sweeper *sweeper, dropped *item)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += RETRY_SECONDS;
    item->next = NULL;
    pthread_mutex_lock(&sweeper->lock);
    *sweeper->queue_end = item;
    sweeper->queue_end = &item->next;
    while (!sweeper->is_stopping &&
           pthread_cond_timedwait(&sweeper->changed, &sweeper->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&sweeper->lock);
}

/* What a stop leaves in the queue has its note in the catalogue, and the next start finds it. */
static void *run(void *arg)
{
    tv_sweeper *sweeper = arg;
    dropped *next;

    tv_thread_give_way();
    while ((next = wait_for_next(sweeper))) {
        tv_err err = sweep(sweeper, (tv_slice){next->account, next->account_len}, next->id);

        if (err == TV_OK || err == TV_ERR_STOPPED) {
            free(next);
            continue;
        }
        tv_log(TV_LOG_WARN, "drop",
               "service=%.*s account=%.*s id=%lld error=%s note=\"trying again in %d s\"",
               TV_FMT(tv_service_kind_name(sweeper->kind->service)), (int)next->account_len,
               next->account, (long long)next->id, tv_err_name(err), RETRY_SECONDS);
        try_again_later(sweeper, next);
    }
    return NULL;
}

tv_sweeper *tv_sweeper_new(const tv_catalog_kind *kind, tv_engine *engine, tv_pipeline *pipeline)
{
    tv_sweeper *sweeper = tv_calloc(1, sizeof *sweeper);

    sweeper->kind = kind;
    sweeper->engine = engine;
    sweeper->pipeline = pipeline;
    tv_waiter_init(&sweeper->waiter, pipeline);
    sweeper->queue_end = &sweeper->queue;
    tv_assert(pthread_mutex_init(&sweeper->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&sweeper->changed, NULL) == 0);
    tv_assert(pthread_create(&sweeper->thread, NULL, run, sweeper) == 0);
    return sweeper;
}

void tv_sweeper_free(tv_sweeper *sweeper)
{
    if (sweeper == NULL)
        return;

    pthread_mutex_lock(&sweeper->lock);
    sweeper->is_stopping = true;
    pthread_cond_broadcast(&sweeper->changed);
    pthread_mutex_unlock(&sweeper->lock);
    pthread_join(sweeper->thread, NULL);

    while (sweeper->queue) {
        dropped *next = sweeper->queue->next;

        free(sweeper->queue);
        sweeper->queue = next;
    }
    tv_waiter_done(&sweeper->waiter);
    pthread_cond_destroy(&sweeper->changed);
    pthread_mutex_destroy(&sweeper->lock);
    free(sweeper);
}

void tv_sweeper_add(tv_sweeper *sweeper, tv_slice account, int64_t id)
{
    dropped *item = tv_malloc(sizeof *item + account.len);

    item->next = NULL;
    item->id = id;
    item->account_len = account.len;
    memcpy(item->account, account.data, account.len);

    pthread_mutex_lock(&sweeper->lock);
    *sweeper->queue_end = item;
    sweeper->queue_end = &item->next;
    pthread_cond_broadcast(&sweeper->changed);
    pthread_mutex_unlock(&sweeper->lock);
}
