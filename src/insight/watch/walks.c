/*
 * A hash table by the token that is awaited, with lists: one per slot, the newest first, and one
 * of all walks, the oldest first.  A walk stands in both from the page that gave its token until
 * the token comes, or it is closed or forgotten.
 */
#include "insight/watch/walks.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/grow.h"

enum {
    SLOTS = TV_WALKS_MAX,
    SEARCHED_MAX = 64, /* of those in a slot: thousands may have ignored the same token */
};

static const int64_t slow_gap_ns = INT64_C(2000000000);

typedef struct open_walk open_walk;
struct open_walk {
    tv_walk walk;
    open_walk *older, *newer; /* of all; a free one has only `older` */
    open_walk *next, **link;  /* of its slot; what points to this one */
};

struct tv_walks_open {
    open_walk walks[TV_WALKS_MAX];
    open_walk *slots[SLOTS];
    open_walk *free, *oldest, *newest;
};

/* All at once, when the server starts: later, memory may be refused. */
static struct tv_walks_open *new_open(void)
{
    struct tv_walks_open *open = tv_calloc(1, sizeof *open);

    for (size_t i = 0; i < TV_WALKS_MAX; i++) {
        open->walks[i].older = open->free;
        open->free = &open->walks[i];
    }
    return open;
}

void tv_walks_init(tv_walks *walks)
{
    *walks = (tv_walks){.open = new_open()};
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
    return key;
}

/*
 * Several may wait for the same token: the newest of this client, or else of any.  Not an older
 * one: it was left, and would look as if somebody had gone on after a pause.
 */
static open_walk *find(struct tv_walks_open *open, uint64_t key, uint64_t client)
{
    open_walk *any = NULL;
    int searched = 0;

    for (open_walk *at = open->slots[key % SLOTS]; at && searched < SEARCHED_MAX; at = at->next) {
        searched++;
        if (at->walk.key == key && at->walk.client == client)
            return at;
        if (at->walk.key == key && any == NULL)
            any = at;
    }
    return any;
}

static void put(tv_walks *walks, const tv_walk *walk)
{
    struct tv_walks_open *open = walks->open;
    open_walk **slot = &open->slots[walk->key % SLOTS];
    open_walk *put = open->free;

    tv_assert(put);
    open->free = put->older;
    *put = (open_walk){.walk = *walk, .older = open->newest, .next = *slot, .link = slot};
    if (put->next)
        put->next->link = &put->next;
    *slot = put;
    if (open->newest)
        open->newest->newer = put;
    else
        open->oldest = put;
    open->newest = put;
    walks->open_count++;
}

static void take_out(tv_walks *walks, open_walk *taken)
{
    struct tv_walks_open *open = walks->open;

    *taken->link = taken->next;
    if (taken->next)
        taken->next->link = taken->link;
    if (taken->older)
        taken->older->newer = taken->newer;
    else
        open->oldest = taken->newer;
    if (taken->newer)
        taken->newer->older = taken->older;
    else
        open->newest = taken->older;
    taken->older = open->free;
    open->free = taken;
    walks->open_count--;
}

static void close_walk(tv_walks *walks, const tv_walk *walk, tv_walk_state state)
{
    enum { CLOSED_MAX = 4 * TV_WALKS_MAX };

    bool is_one_page = state == TV_WALK_TO_END && walk->pages == 1;

    /* Nobody has asked for a long time, or a flood of scans, which leaves half of the room. */
    if (walks->closed_count >= (size_t)(is_one_page ? CLOSED_MAX / 2 : CLOSED_MAX))
        return;
    tv_grow(&walks->closed, walks->closed_count, &walks->closed_size, 16);
    walks->closed[walks->closed_count] = *walk;
    walks->closed[walks->closed_count++].state = (uint8_t)state;
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
    walk->is_by_top = walk->is_by_top && query->end == TV_PAGE_END_TOP;
}

static void page(tv_walks *walks, const tv_watch_event *event, uint64_t fingerprint, tv_walk *walk)
{
    const tv_watch_query *query = &event->query;
    open_walk *found = NULL;

    if (query->token_in)
        found = find(walks->open, key_of(event->table, fingerprint, query->token_in),
                     event->client.hash);
    *walk = found ? found->walk : begin(event, fingerprint);
    if (found)
        take_out(walks, found);
    step(walk, event);
    /* The end of a walk whose beginning was not seen tells nothing. */
    if (query->token_out == 0) {
        if (found || query->token_in == 0)
            close_walk(walks, walk, TV_WALK_TO_END);
        return;
    }
    if (query->token_in && !found)
        walk->pages++; /* one that is not known; it is not a first page */
    walk->key = key_of(event->table, fingerprint, query->token_out);
    /* When all are in use: how the oldest would have ended is not known, so it does not count. */
    if (walks->open_count == TV_WALKS_MAX)
        take_out(walks, walks->open->oldest);
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
    while (walks->open_count && walks->open->oldest->walk.last_ns < before_ns) {
        close_walk(walks, &walks->open->oldest->walk, TV_WALK_LEFT);
        take_out(walks, walks->open->oldest);
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
    for (open_walk *at = walks->open->oldest; at && at->walk.last_ns < before_ns; at = at->newer) {
        tv_walk walk = at->walk;

        walk.state = TV_WALK_LEFT;
        fn(ctx, &walk);
    }
    pthread_mutex_unlock(&walks->lock);
}
