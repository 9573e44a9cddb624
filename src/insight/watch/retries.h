/*
 * Requests that clients send again after 408, 429 or 5xx.  The SDKs keep the client request id
 * over retries, so the ids of failed requests are remembered for two minutes, and while there are
 * any, each request looks for its own.
 *
 * Any thread: one mutex, which is taken by requests that failed, and by all others only while ids
 * are remembered.
 */
#ifndef TV_INSIGHT_WATCH_RETRIES_H
#define TV_INSIGHT_WATCH_RETRIES_H

#include <pthread.h>
#include <stdatomic.h>

#include "insight/watch/sheet.h"

enum {
    TV_RETRY_IDS = 4096,
    TV_RETRY_IDLE_S = 120,
    TV_RETRY_ATTEMPTS = 16,
    TV_RETRY_GAPS = 24, /* 2^n ms */
};

/** Retries of one table in one minute. */
typedef struct tv_retry_minute {
    uint64_t retries;
    uint64_t requests;                    /* all of the table: by the fold */
    uint64_t attempts[TV_RETRY_ATTEMPTS]; /* ids, by how often they were sent so far */
    uint32_t attempts_max;
    uint64_t gaps[TV_RETRY_GAPS];
    uint64_t second_gaps, grown_gaps; /* second gaps of an id, and those >= 1.5 times its first */
    uint64_t status_408, status_429, status_500, status_503;
    char agent[TV_WATCH_AGENT_BYTES]; /* of the last that retried */
} tv_retry_minute;

typedef struct tv_retry_id {
    uint64_t id; /* 0: none */
    uint32_t table, attempts;
    int64_t last_ns, first_gap_ns;
} tv_retry_id;

typedef struct tv_retry_table {
    uint32_t table;
    tv_retry_minute minute;
} tv_retry_table;

typedef struct tv_retries {
    pthread_mutex_t lock;
    atomic_size_t id_count;
    tv_retry_id *ids; /* sets of eight */
    tv_retry_table *tables;
    size_t table_count, table_size;
} tv_retries;

void tv_retries_init(tv_retries *retries);
void tv_retries_done(tv_retries *retries);

static inline bool tv_watch_status_is_retried(int status)
{
    return status == 408 || status == 429 || status >= 500;
}

/** Every finished request that has an id, while ids are remembered or if it has failed. */
void tv_retries_look(tv_retries *retries, const tv_watch_event *event);

static inline bool tv_retries_wants(const tv_retries *retries, int status)
{
    return tv_watch_status_is_retried(status) ||
           atomic_load_explicit(&retries->id_count, memory_order_relaxed);
}

static inline void tv_retries_record(tv_retries *retries, const tv_watch_event *event)
{
    if (event->request_id && tv_retries_wants(retries, event->status))
        tv_retries_look(retries, event);
}

/** Whether a request with this id has failed before, and so comes again. */
bool tv_retries_has(tv_retries *retries, uint64_t id);

/** The minute so far of each table that has retries; with `is_over` they are forgotten. */
void tv_retries_take(tv_retries *retries, bool is_over,
                     void (*fn)(void *ctx, const tv_retry_table *table), void *ctx);

/** Forget ids that did not come again since `before_ns`. */
void tv_retries_expire(tv_retries *retries, int64_t before_ns);

#endif
