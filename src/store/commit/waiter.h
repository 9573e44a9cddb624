/*
 * For threads that have one write at a time and nothing to do meanwhile, such as
 * those that collect garbage in the background.  A waiter belongs to one thread.
 */
#ifndef TV_STORE_COMMIT_WAITER_H
#define TV_STORE_COMMIT_WAITER_H

#include <pthread.h>

#include "store/commit/pipeline.h"

typedef struct tv_waiter {
    tv_outbox *outbox;
    tv_mailbox replies;
    pthread_mutex_t lock; /* guards is_replied */
    pthread_cond_t replied;
    bool is_replied;
} tv_waiter;

void tv_waiter_init(tv_waiter *waiter, tv_pipeline *pipeline);
void tv_waiter_done(tv_waiter *waiter);

/** Submit a write, all but its mail and reply_to filled in, and return its result. */
tv_err tv_waiter_run(tv_waiter *waiter, tv_write *write) TV_WARN_UNUSED;

#endif
