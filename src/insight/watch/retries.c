/* Ids in sets of eight, the oldest of which makes room. */
#include "insight/watch/retries.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/grow.h"

enum { WAYS = 8, SETS = TV_RETRY_IDS / WAYS };

void tv_retries_init(tv_retries *retries)
{
    *retries = (tv_retries){.ids = tv_calloc(TV_RETRY_IDS, sizeof *retries->ids)};
    pthread_mutex_init(&retries->lock, NULL);
}

void tv_retries_done(tv_retries *retries)
{
    pthread_mutex_destroy(&retries->lock);
    free(retries->ids);
    free(retries->tables);
}

static tv_retry_id *set_of(tv_retries *retries, uint64_t id)
{
    return &retries->ids[id % SETS * WAYS];
}

static tv_retry_id *find(tv_retries *retries, uint64_t id)
{
    tv_retry_id *set = set_of(retries, id);

    for (int i = 0; i < WAYS; i++) {
        if (set[i].id == id)
            return &set[i];
    }
    return NULL;
}

static void forget(tv_retries *retries, tv_retry_id *entry)
{
    if (entry->id)
        atomic_fetch_sub_explicit(&retries->id_count, 1, memory_order_relaxed);
    *entry = (tv_retry_id){0};
}

static void remember(tv_retries *retries, const tv_watch_event *event)
{
    tv_retry_id *set = set_of(retries, event->request_id), *oldest = set;

    for (int i = 1; i < WAYS; i++) {
        if (set[i].last_ns < oldest->last_ns)
            oldest = &set[i];
    }
    forget(retries, oldest);
    *oldest = (tv_retry_id){
        .id = event->request_id, .table = event->table, .attempts = 1, .last_ns = event->time_ns};
    atomic_fetch_add_explicit(&retries->id_count, 1, memory_order_relaxed);
}

static tv_retry_minute *minute_of(tv_retries *retries, uint32_t table)
{
    for (size_t i = 0; i < retries->table_count; i++) {
        if (retries->tables[i].table == table)
            return &retries->tables[i].minute;
    }
    tv_grow(&retries->tables, retries->table_count, &retries->table_size, 4);
    retries->tables[retries->table_count] = (tv_retry_table){.table = table};
    return &retries->tables[retries->table_count++].minute;
}

static int gap_slot(int64_t ns)
{
    uint64_t ms = ns < 1000000 ? 0 : (uint64_t)ns / 1000000;
    int slot = ms ? 64 - __builtin_clzll(ms) : 0;

    return slot < TV_RETRY_GAPS ? slot : TV_RETRY_GAPS - 1;
}

static void count_status(tv_retry_minute *minute, int status)
{
    minute->status_408 += status == 408;
    minute->status_429 += status == 429;
    minute->status_500 += status >= 500 && status != 503;
    minute->status_503 += status == 503;
}

static void count_retry(tv_retry_minute *minute, tv_retry_id *entry, const tv_watch_event *event)
{
    int64_t gap = event->time_ns - entry->last_ns;
    uint32_t slots = TV_RETRY_ATTEMPTS - 1;
    tv_slice agent = event->client.agent;
    size_t len = agent.len < sizeof minute->agent - 1 ? agent.len : sizeof minute->agent - 1;

    minute->retries++;
    minute->gaps[gap_slot(gap)]++;
    if (entry->attempts == 1) {
        entry->first_gap_ns = gap;
    } else if (entry->attempts == 2) {
        minute->second_gaps++;
        minute->grown_gaps += 2 * gap >= 3 * entry->first_gap_ns;
    }
    /* It moves on from one slot to the next. */
    if (entry->attempts > 1 && minute->attempts[entry->attempts < slots ? entry->attempts : slots])
        minute->attempts[entry->attempts < slots ? entry->attempts : slots]--;
    entry->attempts++;
    minute->attempts[entry->attempts < slots ? entry->attempts : slots]++;
    if (minute->attempts_max < entry->attempts)
        minute->attempts_max = entry->attempts;
    entry->last_ns = event->time_ns;
    memset(minute->agent, 0, sizeof minute->agent);
    if (len)
        memcpy(minute->agent, agent.data, len);
}

void tv_retries_look(tv_retries *retries, const tv_watch_event *event)
{
    bool is_failed = tv_watch_status_is_retried(event->status);

    pthread_mutex_lock(&retries->lock);

    tv_retry_id *entry = find(retries, event->request_id);

    if (entry)
        count_retry(minute_of(retries, event->table), entry, event);
    if (is_failed)
        count_status(minute_of(retries, event->table), event->status);
    if (entry && !is_failed)
        forget(retries, entry);
    else if (entry == NULL && is_failed)
        remember(retries, event);
    pthread_mutex_unlock(&retries->lock);
}

bool tv_retries_has(tv_retries *retries, uint64_t id)
{
    bool is_there;

    if (id == 0 || atomic_load_explicit(&retries->id_count, memory_order_relaxed) == 0)
        return false;

    pthread_mutex_lock(&retries->lock);
    is_there = find(retries, id) != NULL;
    pthread_mutex_unlock(&retries->lock);
    return is_there;
}

void tv_retries_take(tv_retries *retries, bool is_over,
                     void (*fn)(void *ctx, const tv_retry_table *table), void *ctx)
{
    pthread_mutex_lock(&retries->lock);
    for (size_t i = 0; i < retries->table_count; i++)
        fn(ctx, &retries->tables[i]);
    if (is_over)
        retries->table_count = 0;
    pthread_mutex_unlock(&retries->lock);
}

void tv_retries_expire(tv_retries *retries, int64_t before_ns)
{
    if (atomic_load_explicit(&retries->id_count, memory_order_relaxed) == 0)
        return;

    pthread_mutex_lock(&retries->lock);
    for (size_t i = 0; i < TV_RETRY_IDS; i++) {
        if (retries->ids[i].id && retries->ids[i].last_ns < before_ns)
            forget(retries, &retries->ids[i]);
    }
    pthread_mutex_unlock(&retries->lock);
}
