/* Threads that sleep most of the time. */
#include "base/chore.h"

#include <time.h>

#include "base/assert.h"
#include "base/thread.h"

static void *run_thread(void *arg)
{
    tv_chore *chore = arg;

    tv_thread_give_way();
    chore->run(chore, chore->ctx);
    return NULL;
}

void tv_chore_start(tv_chore *chore, void (*run)(tv_chore *chore, void *ctx), void *ctx)
{
    pthread_condattr_t monotonic;

    *chore = (tv_chore){.run = run, .ctx = ctx};
    tv_assert(pthread_condattr_init(&monotonic) == 0);
    tv_assert(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    tv_assert(pthread_mutex_init(&chore->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&chore->changed, &monotonic) == 0);
    pthread_condattr_destroy(&monotonic);
    tv_assert(pthread_create(&chore->thread, NULL, run_thread, chore) == 0);
}

void tv_chore_stop(tv_chore *chore)
{
    pthread_mutex_lock(&chore->lock);
    chore->is_stopping = true;
    pthread_cond_signal(&chore->changed);
    pthread_mutex_unlock(&chore->lock);
    pthread_join(chore->thread, NULL);
    pthread_cond_destroy(&chore->changed);
    pthread_mutex_destroy(&chore->lock);
}

bool tv_chore_is_stopping(tv_chore *chore)
{
    pthread_mutex_lock(&chore->lock);
    bool is_stopping = chore->is_stopping;
    pthread_mutex_unlock(&chore->lock);
    return is_stopping;
}

bool tv_chore_sleep(tv_chore *chore, int ms)
{
    struct timespec until;
    bool is_stopping;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&chore->lock);
    while (!chore->is_stopping &&
           pthread_cond_timedwait(&chore->changed, &chore->lock, &until) == 0)
        ;
    is_stopping = chore->is_stopping;
    pthread_mutex_unlock(&chore->lock);
    return !is_stopping;
}
