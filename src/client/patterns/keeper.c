/* Keep a message hidden. */
#include "client/patterns/keeper.h"

#include <signal.h>
#include <time.h>

#include "base/clock.h"

enum { HIDDEN_MAX_S = 7 * 24 * 3600 };

static int64_t test_pause_ms; /* 0: none */

void tvc_keeper_set_pause_ms(int64_t pause_ms)
{
    test_pause_ms = pause_ms;
}

uint32_t tvc_hidden_seconds(uint32_t hidden_ms)
{
    uint32_t seconds = hidden_ms / 1000 + (hidden_ms % 1000 != 0);

    if (seconds == 0)
        return TVC_HIDDEN_DEFAULT_S;
    return seconds < HIDDEN_MAX_S ? seconds : HIDDEN_MAX_S;
}

/* Wait; false when the keeper is to end.  Under the lock. */
static bool wait_for(tvc_keeper *keeper, int64_t ms)
{
    int64_t until_ns = tv_clock_mono_ns() + ms * 1000000;
    struct timespec until = tv_clock_system_time(until_ns);

    while (!keeper->is_over && tv_clock_mono_ns() < until_ns)
        pthread_cond_timedwait(&keeper->ending, &keeper->lock, &until);
    return !keeper->is_over;
}

/* Whether the message may still be ours after an extension that failed. */
static bool may_try_again(tavola_err err)
{
    return err == TAVOLA_ERR_BUSY || err == TAVOLA_ERR_SERVER || err == TAVOLA_ERR_NETWORK ||
           err == TAVOLA_ERR_TIMEOUT || err == TAVOLA_ERR_NO_MEMORY;
}

static tavola_err extend(tvc_keeper *keeper)
{
    tavola_call call;

    tvc_call_init(&call);
    /* Whoever stops the keeper waits for this. */
    tavola_call_set_timeout_ms(&call, keeper->hidden_s * 500);
    tavola_call_set_retries(&call, 0);

    tavola_err err =
        tavola_message_update(keeper->queue, keeper->message, NULL, keeper->hidden_s, &call);

    tvc_call_done(&call);
    return err;
}

static void *keep(void *user)
{
    tvc_keeper *keeper = user;
    int64_t half_ms = test_pause_ms ? test_pause_ms : (int64_t)keeper->hidden_s * 500;
    int64_t pause_ms = half_ms;

    pthread_mutex_lock(&keeper->lock);
    while (wait_for(keeper, pause_ms)) {
        pthread_mutex_unlock(&keeper->lock);

        tavola_err err = extend(keeper);

        pthread_mutex_lock(&keeper->lock);
        if (err && !may_try_again(err)) {
            keeper->is_lost = true;
            break;
        }
        pause_ms = err ? half_ms / 4 : half_ms;
    }
    pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

static bool init_locks(tvc_keeper *keeper)
{
    pthread_condattr_t steady;

    if (pthread_condattr_init(&steady) != 0)
        return false;
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);

    bool is_made = pthread_cond_init(&keeper->ending, &steady) == 0;

    pthread_condattr_destroy(&steady);
    if (is_made && pthread_mutex_init(&keeper->lock, NULL) != 0) {
        pthread_cond_destroy(&keeper->ending);
        return false;
    }
    return is_made;
}

/* The application's signals are for its own threads. */
static int start_thread(tvc_keeper *keeper)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);

    int failure = pthread_create(&keeper->thread, NULL, keep, keeper);

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

tavola_err tvc_keeper_start(tvc_keeper *keeper, tavola_queue *queue, tavola_message *message,
                            uint32_t hidden_s)
{
    *keeper = (tvc_keeper){.queue = queue, .message = message, .hidden_s = hidden_s};
    if (!init_locks(keeper))
        return TAVOLA_ERR_NO_MEMORY;

    if (start_thread(keeper) != 0) {
        pthread_mutex_destroy(&keeper->lock);
        pthread_cond_destroy(&keeper->ending);
        return TAVOLA_ERR_NO_MEMORY;
    }
    return TAVOLA_OK;
}

bool tvc_keeper_is_lost(tvc_keeper *keeper)
{
    pthread_mutex_lock(&keeper->lock);

    bool is_lost = keeper->is_lost;

    pthread_mutex_unlock(&keeper->lock);
    return is_lost;
}

bool tvc_keeper_stop(tvc_keeper *keeper)
{
    pthread_mutex_lock(&keeper->lock);
    keeper->is_over = true;
    pthread_cond_signal(&keeper->ending);
    pthread_mutex_unlock(&keeper->lock);
    pthread_join(keeper->thread, NULL);
    pthread_mutex_destroy(&keeper->lock);
    pthread_cond_destroy(&keeper->ending);
    return !keeper->is_lost;
}
