/*
 * A thread of its own for work that no client waits for: it has a name, sleeps by
 * the monotonic clock until there is something to do, and can be told to stop.
 *
 * What the thread shares with others (a queue, counts) is guarded by its lock, so
 * that a thread that changes it wakes this one at the same time, and no wake-up is
 * lost.
 */
#ifndef TV_BASE_BACKGROUND_H
#define TV_BASE_BACKGROUND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TV_THREAD_NAME_SIZE = 16 }; /* with its NUL; the system takes no more */

/** A deadline that does not come. */
#define TV_BACKGROUND_NEVER INT64_MAX

typedef struct tv_background tv_background;

typedef struct tv_background_options {
    const char *name; /* of the thread, for ps and debuggers; shorter than TV_THREAD_NAME_SIZE */
    bool gives_way;   /* to threads that answer clients: see tv_thread_give_way */
    /** Called once, on the thread.  It returns soon after it was told to stop. */
    void (*run)(tv_background *background, void *ctx);
    void *ctx;
} tv_background_options;

struct tv_background {
    void (*run)(tv_background *background, void *ctx);
    void *ctx;
    char name[TV_THREAD_NAME_SIZE];
    bool gives_way;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_bool is_stopping; /* written under the lock */
    bool is_joined;
};

/** Start the thread.  What `run` needs is there already. */
void tv_background_start(tv_background *background, const tv_background_options *options);

/** Tell it to stop and wait until it has; the lock can still be used.  Once or more often. */
void tv_background_stop(tv_background *background);

/** Stop it, unless it has, and let go of the lock. */
void tv_background_done(tv_background *background);

/** Held for moments only.  Any thread. */
void tv_background_lock(tv_background *background);
void tv_background_unlock(tv_background *background);

/** End the wait of the thread.  With the lock held.  Any thread. */
void tv_background_wake(tv_background *background);

/** Any thread; takes no lock. */
bool tv_background_is_stopping(const tv_background *background);

/* For `run`. */

/** Sleep, however often it is woken.  False when it is time to stop. */
bool tv_background_sleep(tv_background *background, int ms);

/**
 * Sleep until woken, or until a time by tv_clock_mono_ns; it may also end without a
 * reason.  With the lock held, which is let go meanwhile.  False when it is time to
 * stop or the time has come: then it does not sleep.
 */
bool tv_background_wait(tv_background *background, int64_t until_ns);

#endif
