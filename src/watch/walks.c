/* Open addressing by the token that is awaited; what is removed closes the gap behind it. */
#include "watch/walks.h"

#include <stdlib.h>

#include "base/assert.h"

enum { SLOTS = 2 * TV_WALKS_MAX };

static const int64_t slow_gap_ns = INT64_C(2000000000);

void tv_walks_init(tv_walks *walks)
{
    *walks = (tv_walks){0};
    pthread_mutex_init(&walks->lock, NULL);
}

void tv_walks_done(tv_walks *walks)
{
    pthread_mutex_destroy(&walks->lock);
    free(walks->open);
    free(walks->closed);
}

static uint64_t key_of(uint32_t table, uint64_t fingerprint, uint64_t token)
{
    uint64_t key = (token ^ fingerprint * UINT64_C(0x9e3779b97f4a7c15)) + table;

    key *= UINT64_C(0xff51afd7ed558ccd);
    key ^= key >> 32;
    return key ? key : 1;
}

static size_t home(uint64_t key)
{
    return (size_t)(key % SLOTS);
}

/* Several may wait for the same token: this client's, or else any. */
static tv_walk *find(tv_walks *walks, uint64_t key, uint64_t client)
{
    tv_walk *any = NULL;

    for (size_t at = home(key); walks->open[at].key; at = (at + 1) % SLOTS) {
        tv_walk *walk = &walks->open[at];

        if (walk->key == key && walk->client == client)
            return walk;
        if (walk->key == key)
            any = walk;
    }
    return any;
}

static void put(tv_walks *walks, const tv_walk *walk)
{
    size_t at = home(walk->key);

    while (walks->open[at].key)
        at = (at + 1) % SLOTS;
    walks->open[at] = *walk;
    walks->open_count++;
}

static void take_out(tv_walks *walks, tv_walk *walk)
{
    size_t gap = (size_t)(walk - walks->open);

    walks->open_count--;
    for (size_t at = (gap + 1) % SLOTS; walks->open[at].key; at = (at + 1) % SLOTS) {
        size_t from = home(walks->open[at].key);

        /* It may move to the gap unless its home lies behind the gap. */
        if ((at + SLOTS - from) % SLOTS >= (at + SLOTS - gap) % SLOTS) {
            walks->open[gap] = walks->open[at];
            gap = at;
        }
    }
    walks->open[gap].key = 0;
}

static void close_walk(tv_walks *walks, const tv_walk *walk, tv_walk_state state)
{
    enum { CLOSED_MAX = 4 * TV_WALKS_MAX };

    if (walks->closed_count == CLOSED_MAX)
        return; /* nobody has asked for a long time */
    if (walks->closed_count == walks->closed_size) {
        walks->closed_size = walks->closed_size ? 2 * walks->closed_size : 16;
        walks->closed = tv_realloc(walks->closed, walks->closed_size * sizeof *walks->closed);
    }
    walks->closed[walks->closed_count] = *walk;
    walks->closed[walks->closed_count++].state = (uint8_t)state;
}

/* The table is full: how the oldest would have ended is not known, so it does not count. */
static void forget_oldest(tv_walks *walks)
{
    tv_walk *oldest = NULL;

    for (size_t i = 0; i < SLOTS; i++) {
        tv_walk *walk = &walks->open[i];

        if (walk->key && (oldest == NULL || walk->last_ns < oldest->last_ns))
            oldest = walk;
    }
    take_out(walks, oldest);
}

static tv_walk begin(const tv_watch_event *event, uint64_t fingerprint)
{
    const tv_watch_query *query = &event->query;
    tv_walk walk = {
        .fingerprint = fingerprint,
        .client = event->client.hash,
        .table = event->table,
        .first_end = query->end,
        .below_top = query->has_top && query->returned < query->top,
        .is_by_top = true,
        .begun_ns = event->time_ns,
        .last_ns = event->time_ns,
    };
    tv_slice agent = event->client.agent;
    size_t len = agent.len < sizeof walk.agent - 1 ? agent.len : sizeof walk.agent - 1;

    if (len)
        memcpy(walk.agent, agent.data, len);
    return walk;
}

static void step(tv_walk *walk, const tv_watch_event *event)
{
    const tv_watch_query *query = &event->query;

    if (walk->pages && event->time_ns - walk->last_ns >= slow_gap_ns)
        walk->slow_gaps++;
    walk->pages++;
    walk->examined += query->examined;
    walk->returned += query->returned;
    walk->last_ns = event->time_ns;
    walk->is_by_top = walk->is_by_top && query->end == TV_WATCH_END_TOP;
}

static void page(tv_walks *walks, const tv_watch_event *event, uint64_t fingerprint, tv_walk *walk)
{
    const tv_watch_query *query = &event->query;
    tv_walk *found = NULL;

    if (walks->open == NULL)
        walks->open = tv_calloc(SLOTS, sizeof *walks->open);
    if (query->token_in)
        found = find(walks, key_of(event->table, fingerprint, query->token_in), event->client.hash);
    *walk = found ? *found : begin(event, fingerprint);
    if (found)
        take_out(walks, found);
    step(walk, event);
    /* The end of a walk whose beginning was not seen tells nothing. */
    if (query->token_out == 0) {
        if (found)
            close_walk(walks, walk, TV_WALK_TO_END);
        return;
    }
    if (query->token_in && !found)
        walk->pages++; /* one that is not known; it is not a first page */
    walk->key = key_of(event->table, fingerprint, query->token_out);
    if (walks->open_count == TV_WALKS_MAX)
        forget_oldest(walks);
    put(walks, walk);
}

void tv_walks_page(tv_walks *walks, const tv_watch_event *event, uint64_t fingerprint,
                   uint64_t *ret_examined, uint64_t *ret_returned)
{
    tv_walk walk;

    pthread_mutex_lock(&walks->lock);
    page(walks, event, fingerprint, &walk);
    pthread_mutex_unlock(&walks->lock);
    *ret_examined = walk.examined;
    *ret_returned = walk.returned;
}

void tv_walks_take_closed(tv_walks *walks, int64_t before_ns,
                          void (*fn)(void *ctx, const tv_walk *walk), void *ctx)
{
    tv_walk *closed;
    size_t count;

    pthread_mutex_lock(&walks->lock);
    for (size_t i = 0; walks->open_count && i < SLOTS; i++) {
        tv_walk *walk = &walks->open[i];

        /* Another may have moved here. */
        while (walk->key && walk->last_ns < before_ns) {
            close_walk(walks, walk, TV_WALK_LEFT);
            take_out(walks, walk);
        }
    }
    closed = walks->closed;
    count = walks->closed_count;
    walks->closed = NULL;
    walks->closed_count = walks->closed_size = 0;
    pthread_mutex_unlock(&walks->lock);

    for (size_t i = 0; i < count; i++)
        fn(ctx, &closed[i]);
    free(closed);
}

void tv_walks_visit_idle(tv_walks *walks, int64_t before_ns,
                         void (*fn)(void *ctx, const tv_walk *walk), void *ctx)
{
    pthread_mutex_lock(&walks->lock);
    for (size_t i = 0; walks->open_count && i < SLOTS; i++) {
        if (walks->open[i].key && walks->open[i].last_ns < before_ns) {
            tv_walk walk = walks->open[i];

            walk.state = TV_WALK_LEFT;
            fn(ctx, &walk);
        }
    }
    pthread_mutex_unlock(&walks->lock);
}
