/*
 * A chore: work that is done on a thread of its own from time to time, and can be
 * told to stop.
 */
#ifndef TV_BASE_CHORE_H
#define TV_BASE_CHORE_H

#include <pthread.h>
#include <stdbool.h>

typedef struct tv_chore {
    void (*run)(struct tv_chore *chore, void *ctx);
    void *ctx;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool is_stopping;
} tv_chore;

/** Start a thread that calls `run` once.  It returns when tv_chore_is_stopping, soon. */
void tv_chore_start(tv_chore *chore, void (*run)(tv_chore *chore, void *ctx), void *ctx);

/** Tell it to stop and wait until it has.  Once. */
void tv_chore_stop(tv_chore *chore);

/* For `run`. */

bool tv_chore_is_stopping(tv_chore *chore);

/** Sleep.  False when it is time to stop. */
bool tv_chore_sleep(tv_chore *chore, int ms);

#endif
