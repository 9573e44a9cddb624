/* Objects that are watched, and notices to those who watch: the keeper renews a lost watch. */
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "store/pool/internal.h"

enum {
    WATCH_SECONDS = 10, /* a node that is gone is not waited for any longer than this */
    NOTIFY_MS = 5000,   /* likewise */
    WATCH_RETRY_MS = 1000,
};

struct tv_librados_watcher {
    tv_librados_watcher *next;
    tv_librados_pool *pool;
    char object[TV_POOL_NAME_MAX + 1];
    void (*fn)(void *ctx);
    void *ctx;
    uint64_t cookie; /* of what is registered; 0: nothing, and librados takes no 0 */
    bool is_broken;  /* to be registered again; under the keeper's lock */
};

static void watch_told(void *arg, uint64_t notify_id, uint64_t cookie, uint64_t notifier_id,
                       void *data, size_t data_len)
{
    tv_librados_watcher *w = arg;

    (void)notifier_id, (void)data, (void)data_len;
    rados_notify_ack(w->pool->io, w->object, notify_id, cookie, NULL, 0);
    w->fn(w->ctx);
}

/* The connection was lost, and notices may have been: the keeper makes a new one. */
static void watch_lost(void *arg, uint64_t cookie, int err)
{
    tv_librados_watcher *w = arg;

    (void)cookie, (void)err;
    tv_background_lock(&w->pool->keeper);
    w->is_broken = true;
    tv_background_wake(&w->pool->keeper);
    tv_background_unlock(&w->pool->keeper);
}

static int watch_begin(tv_librados_watcher *w)
{
    return rados_watch3(w->pool->io, w->object, &w->cookie, watch_told, watch_lost, WATCH_SECONDS,
                        w);
}

static void watch_end(tv_librados_watcher *w)
{
    if (w->cookie)
        rados_unwatch2(w->pool->io, w->cookie);
    w->cookie = 0;
}

static bool is_any_broken(const tv_librados_pool *pool)
{
    const tv_librados_watcher *w = pool->watches;

    while (w && !w->is_broken)
        w = w->next;
    return w != NULL;
}

/* Each of them once.  False when one could not be.  Called and returns under the lock. */
static bool renew_broken(tv_background *background, tv_librados_pool *pool)
{
    bool are_renewed = true;

    for (tv_librados_watcher *w = pool->watches; w; w = w->next) {
        if (!w->is_broken)
            continue;

        w->is_broken = false;
        tv_background_unlock(background);
        watch_end(w);

        int rc = watch_begin(w);

        if (rc == 0)
            w->fn(w->ctx);
        tv_background_lock(background);
        w->is_broken |= rc != 0;
        are_renewed &= rc == 0;
    }
    return are_renewed;
}

void tv_librados_keep_watches(tv_background *background, void *ctx)
{
    tv_librados_pool *pool = ctx;

    tv_background_lock(background);
    while (!tv_background_is_stopping(background)) {
        if (!is_any_broken(pool)) {
            tv_background_wait(background, TV_BACKGROUND_NEVER);
        } else if (!renew_broken(background, pool)) {
            tv_background_unlock(background);
            tv_background_sleep(background, WATCH_RETRY_MS);
            tv_background_lock(background);
        }
    }
    tv_background_unlock(background);
}

tv_err tv_librados_watch(tv_pool *base, const char *object, void (*fn)(void *ctx), void *ctx)
{
    tv_librados_pool *pool = tv_librados_of(base);
    rados_write_op_t make = rados_create_write_op();
    tv_librados_watcher *w = tv_calloc(1, sizeof *w);
    int rc;

    *w = (tv_librados_watcher){.pool = pool, .fn = fn, .ctx = ctx};
    snprintf(w->object, sizeof w->object, "%s", object);
    rados_write_op_create(make, LIBRADOS_CREATE_IDEMPOTENT, NULL);
    rc = rados_write_op_operate2(make, pool->io, object, NULL, 0);
    rados_release_write_op(make);
    if (rc == 0)
        rc = watch_begin(w);
    if (rc < 0) {
        free(w);
        return tv_librados_err(pool, TV_CAP_W, rc);
    }

    tv_background_lock(&pool->keeper);
    w->next = pool->watches;
    pool->watches = w;
    tv_background_unlock(&pool->keeper);
    return TV_OK;
}

static void notify_done(rados_completion_t completion, void *arg)
{
    tv_librados_pool *pool = arg;

    rados_aio_release(completion);
    atomic_fetch_sub(&pool->notices, 1);
}

void tv_librados_notify(tv_pool *base, const char *object)
{
    tv_librados_pool *pool = tv_librados_of(base);
    rados_completion_t completion;

    tv_assert(rados_aio_create_completion2(pool, notify_done, &completion) == 0);
    atomic_fetch_add(&pool->notices, 1);
    if (rados_aio_notify(pool->io, object, completion, "", 0, NOTIFY_MS, NULL, NULL) < 0)
        notify_done(completion, pool);
}

void tv_librados_end_watches(tv_librados_pool *pool)
{
    while (pool->watches) {
        tv_librados_watcher *w = pool->watches;

        pool->watches = w->next;
        watch_end(w);
        rados_watch_flush(pool->cluster);
        free(w);
    }
    while (atomic_load(&pool->notices))
        tv_librados_pause(&pool->base, 10);
}
