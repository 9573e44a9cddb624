/*
 * Records on their way from the network threads to the thread of analytics.c.  What waits is
 * bounded; what finds no room is dropped.
 */
#ifndef TV_ANALYTICS_INBOX_H
#define TV_ANALYTICS_INBOX_H

#include "analytics/record.h"

enum { TV_ANALYTICS_INBOX_BYTES_MAX = 32 * 1024 * 1024 };

typedef struct tv_analytics_inbox {
    tv_mailbox box;
    _Atomic size_t waiting_bytes;
    void (*hurry)(void *ctx); /* called by a thread that finds a quarter of the room taken */
    void *ctx;
} tv_analytics_inbox;

void tv_analytics_inbox_init(tv_analytics_inbox *inbox, void (*hurry)(void *ctx), void *ctx);

/** Nothing may wait; that is asserted. */
void tv_analytics_inbox_done(tv_analytics_inbox *inbox);

/**
 * Hand over a record, which is not the caller's any more.  False when there is no room: then it
 * has been freed.  Any thread.
 */
bool tv_analytics_inbox_post(tv_analytics_inbox *inbox, tv_analytics_record *record);

/** Call `take` with each record that waits, in order, and free it.  The owner's thread. */
void tv_analytics_inbox_take(tv_analytics_inbox *inbox,
                             void (*take)(void *ctx, const tv_analytics_record *record), void *ctx);

#endif
