/* Operations on a pool that are waited for. */
#include "store/pool/pool.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/deadline.h"

int tv_pool_patience_ms = 30 * 1000;

/* One thread waits for one operation. */
typedef struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
} waiter;

static void waiter_init(waiter *w)
{
    tv_assert(pthread_mutex_init(&w->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&w->changed, NULL) == 0);
    w->is_done = false;
}

static void waiter_end(waiter *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_done = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* Wait for the end; the waiter is gone then. */
static void waiter_wait(waiter *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->is_done)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
}

static void change_done(tv_pool_change *change)
{
    waiter_end(change->ctx);
}

static void read_done(tv_pool_read *read)
{
    waiter_end(read->ctx);
}

static tv_err run(tv_pool *pool, tv_pool_change change, size_t *ret_refused)
{
    waiter w;

    if (ret_refused)
        *ret_refused = TV_POOL_NO_STEP;
    if (tv_deadline_is_over())
        return TV_ERR_TIMED_OUT;

    waiter_init(&w);
    change.done = change_done;
    change.ctx = &w;
    pool->ops->change(pool, &change);
    waiter_wait(&w);
    if (ret_refused)
        *ret_refused = change.refused;
    return change.result;
}

/* When whoever asks now has waited long enough. */
static int64_t until_ns(void)
{
    int64_t until = tv_clock_mono_ns() + tv_pool_patience_ms * INT64_C(1000000);

    return tv_deadline() && tv_deadline() < until ? tv_deadline() : until;
}

tv_err tv_pool_change_now(tv_pool *pool, const char *object, const tv_pool_step *steps,
                          size_t step_count, size_t *ret_refused)
{
    return run(
        pool,
        (tv_pool_change){
            .object = object, .steps = steps, .step_count = step_count, .until_ns = tv_deadline()},
        ret_refused);
}

tv_err tv_pool_change_in_time(tv_pool *pool, const char *object, const tv_pool_step *steps,
                              size_t step_count, size_t *ret_refused)
{
    return run(
        pool,
        (tv_pool_change){
            .object = object, .steps = steps, .step_count = step_count, .until_ns = until_ns()},
        ret_refused);
}

tv_err tv_pool_read_now(tv_pool *pool, tv_pool_read *read)
{
    waiter w;

    if (tv_deadline_is_over())
        return TV_ERR_TIMED_OUT;

    waiter_init(&w);
    read->until_ns = until_ns();
    read->done = read_done;
    read->ctx = &w;
    pool->ops->read(pool, read);
    waiter_wait(&w);
    return read->result;
}

tv_err tv_pool_get_row(tv_pool *pool, const char *object, tv_slice key, tv_arena *arena,
                       tv_slice *ret_value)
{
    tv_pool_read read = {
        .object = object,
        .kind = TV_POOL_READ_KEYS,
        .keys = &key,
        .key_count = 1,
        .arena = arena,
    };
    tv_err err;

    err = tv_pool_read_now(pool, &read);
    if (err)
        return err;

    *ret_value = read.row_count ? read.rows[0].value : TV_NONE;
    return TV_OK;
}

const char *tv_pool_problem(tv_err err)
{
    return err == TV_ERR_TIMED_OUT ? "the pool does not answer: see 'ceph status', and start again"
                                   : tv_err_name(err);
}

bool tv_pool_lacks(tv_pool *pool, char *ret_text, size_t size)
{
    return pool->ops->lacks && pool->ops->lacks(pool, ret_text, size);
}
