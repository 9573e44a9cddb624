/*
 * Records on their way from the network threads to the thread of analytics.c.  What waits is
 * bounded, and what finds no room is dropped.
 *
 * The room is shared: an account may hold up to twice what nobody holds, as in base/budget.h.
 * Alone it has two thirds, next to others less, and something is left for one that comes: the
 * flood of one account costs no other its lines.
 */
#ifndef TV_SERVER_ANALYTICS_INBOX_H
#define TV_SERVER_ANALYTICS_INBOX_H

#include <pthread.h>

#include "server/analytics/record.h"

enum { TV_ANALYTICS_INBOX_BYTES_MAX = 32 * 1024 * 1024 };

typedef struct tv_analytics_share tv_analytics_share;

typedef struct tv_analytics_inbox {
    tv_mailbox box;
    _Atomic size_t waiting_bytes;
    void (*hurry)(void *ctx); /* called by a thread that finds a quarter of the room taken */
    void *ctx;
    pthread_mutex_t lock; /* over the list, not what is in it */
    tv_analytics_share *shares;
} tv_analytics_inbox;

void tv_analytics_inbox_init(tv_analytics_inbox *inbox, void (*hurry)(void *ctx), void *ctx);

/** Nothing may wait; that is asserted. */
void tv_analytics_inbox_done(tv_analytics_inbox *inbox);

/**
 * Hand over a record, which is not the caller's any more.  False when its account has no room:
 * then it has been freed.  Any thread.
 */
bool tv_analytics_inbox_post(tv_analytics_inbox *inbox, tv_analytics_record *record);

/** Call `take` with each record that waits, in order, and free it.  The owner's thread. */
void tv_analytics_inbox_take(tv_analytics_inbox *inbox,
                             void (*take)(void *ctx, const tv_analytics_record *record), void *ctx);

#endif
