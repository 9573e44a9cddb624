/* Threads that sleep most of the time. */
#include "base/background.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/thread.h"

static void *run_thread(void *arg)
{
    tv_background *background = arg;

    pthread_setname_np(pthread_self(), background->name);
    if (background->gives_way)
        tv_thread_give_way();
    background->run(background, background->ctx);
    return NULL;
}

void tv_background_start(tv_background *background, const tv_background_options *options)
{
    pthread_condattr_t monotonic;

    *background =
        (tv_background){.run = options->run, .ctx = options->ctx, .gives_way = options->gives_way};
    tv_assert(strlen(options->name) < sizeof background->name);
    memcpy(background->name, options->name, strlen(options->name));
    tv_assert(pthread_condattr_init(&monotonic) == 0);
    tv_assert(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    tv_assert(pthread_mutex_init(&background->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&background->changed, &monotonic) == 0);
    pthread_condattr_destroy(&monotonic);
    tv_assert(pthread_create(&background->thread, NULL, run_thread, background) == 0);
}

void tv_background_stop(tv_background *background)
{
    if (background->is_joined)
        return;

    pthread_mutex_lock(&background->lock);
    atomic_store(&background->is_stopping, true);
    pthread_cond_signal(&background->changed);
    pthread_mutex_unlock(&background->lock);
    pthread_join(background->thread, NULL);
    background->is_joined = true;
}

void tv_background_done(tv_background *background)
{
    tv_background_stop(background);
    pthread_cond_destroy(&background->changed);
    pthread_mutex_destroy(&background->lock);
}

void tv_background_lock(tv_background *background)
{
    pthread_mutex_lock(&background->lock);
}

void tv_background_unlock(tv_background *background)
{
    pthread_mutex_unlock(&background->lock);
}

void tv_background_wake(tv_background *background)
{
    pthread_cond_signal(&background->changed);
}

bool tv_background_is_stopping(const tv_background *background)
{
    return atomic_load(&background->is_stopping);
}

bool tv_background_sleep(tv_background *background, int ms)
{
    int64_t until_ns = tv_clock_mono_ns() + ms * INT64_C(1000000);

    pthread_mutex_lock(&background->lock);
    while (tv_background_wait(background, until_ns))
        ;
    pthread_mutex_unlock(&background->lock);
    return !tv_background_is_stopping(background);
}

bool tv_background_wait(tv_background *background, int64_t until_ns)
{
    struct timespec until = tv_clock_system_time(until_ns);
    int err;

    if (tv_background_is_stopping(background))
        return false;

    err = until_ns == TV_BACKGROUND_NEVER
              ? pthread_cond_wait(&background->changed, &background->lock)
              : pthread_cond_timedwait(&background->changed, &background->lock, &until);
    tv_assert(err == 0 || err == ETIMEDOUT);
    return err == 0 && !tv_background_is_stopping(background);
}
