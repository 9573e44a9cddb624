/* Driving an operation on the caller's thread. */
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "client/op/state.h"

static const int64_t ns_per_ms = 1000 * 1000;
static const int64_t ns_per_second = 1000 * 1000 * 1000;

typedef struct sleeper {
    tvc_waker waker; /* first: the waker is the sleeper */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_woken;
} sleeper;

static void wake_sleeper(tvc_waker *waker)
{
    sleeper *self = (sleeper *)waker;

    pthread_mutex_lock(&self->lock);
    self->is_woken = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / ns_per_second, .tv_nsec = ns % ns_per_second};
}

static void sleep_until_woken(sleeper *self, int64_t until_ns)
{
    struct timespec until = tv_clock_system_time(until_ns);

    pthread_mutex_lock(&self->lock);
    while (!self->is_woken &&
           pthread_cond_clockwait(&self->changed, &self->lock, CLOCK_MONOTONIC, &until) == 0)
        ;
    self->is_woken = false;
    pthread_mutex_unlock(&self->lock);
}

static short events_of(tvc_wait wait)
{
    switch (wait) {
    case TVC_WAIT_READ:
        return POLLIN;
    case TVC_WAIT_WRITE:
        return POLLOUT;
    default:
        return POLLIN | POLLOUT;
    }
}

/* An interrupted wait is as good as a finished one: the next step finds out. */
static void wait_for_fd(int fd, short events, int64_t until_ns)
{
    struct pollfd wanted = {.fd = fd, .events = events};
    int64_t left = until_ns - tv_clock_mono_ns();
    struct timespec timeout = timespec_of(left > 0 ? left : 0);

    (void)ppoll(&wanted, 1, &timeout, NULL);
}

/* A call that the application knows can be cancelled at any time: see TVC_LOOK_MS. */
static int64_t next_look_ns(const tavola_op *op, int64_t until_ns)
{
    if (op->call == &op->own_call)
        return until_ns;

    int64_t look_ns = tv_clock_mono_ns() + TVC_LOOK_MS * ns_per_ms;

    return look_ns < until_ns ? look_ns : until_ns;
}

tavola_err tvc_op_run(tavola_op *op)
{
    sleeper self = {
        .waker.wake = wake_sleeper,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    int64_t until_ns = 0;
    tvc_wait wait;
    int fd = -1;

    op->state->waker = &self.waker;
    while ((wait = tvc_op_step(op, &fd, &until_ns)) != TVC_WAIT_NOTHING) {
        until_ns = next_look_ns(op, until_ns);
        if (wait == TVC_WAIT_WAKE)
            sleep_until_woken(&self, until_ns);
        else
            wait_for_fd(fd, events_of(wait), until_ns);
    }
    pthread_cond_destroy(&self.changed);
    pthread_mutex_destroy(&self.lock);
    return tvc_op_result(op);
}
