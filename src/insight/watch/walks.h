/*
 * Walks over the pages of queries.  They are not bound to connections, which clients keep in
 * pools: an open walk is found by the token that its last page gave.  A walk whose token does not
 * come within a minute is taken for left; if the token comes later, another walk begins.  Of
 * several that wait for one token the newest goes on, of the same client if it has one.
 *
 * Any thread: one mutex, which only scans of a table and queries with a token take.
 */
#ifndef TV_INSIGHT_WATCH_WALKS_H
#define TV_INSIGHT_WATCH_WALKS_H

#include <pthread.h>

#include "insight/watch/sheet.h"

enum { TV_WALKS_MAX = 4096, TV_WALK_IDLE_S = 60 };

typedef enum tv_walk_state {
    TV_WALK_OPEN,
    TV_WALK_TO_END,
    TV_WALK_LEFT, /* of one page: its token was ignored */
} tv_walk_state;

typedef struct tv_walk {
    uint64_t key; /* hash of table, shape and the token that comes next */
    uint64_t fingerprint, client;
    uint32_t table;
    uint8_t state;             /* tv_walk_state */
    uint8_t first_end;         /* tv_page_end of its first page */
    bool below_top;            /* its first page had less than its $top */
    bool is_by_top;            /* all its pages ended by $top */
    uint32_t pages, slow_gaps; /* gaps of two seconds and more between them */
    uint64_t examined, returned;
    int64_t begun_ns, last_ns;
    char agent[TV_WATCH_AGENT_BYTES];
} tv_walk;

typedef struct tv_walks {
    pthread_mutex_t lock;
    struct tv_walks_open *open;
    size_t open_count;
    tv_walk *closed; /* for the next fold */
    size_t closed_count, closed_size;
} tv_walks;

void tv_walks_init(tv_walks *walks);
void tv_walks_done(tv_walks *walks);

/**
 * A page with a token on either side, or one that is all of its walk.  Gives what the whole walk
 * has examined and returned so far.
 */
void tv_walks_page(tv_walks *walks, const tv_watch_event *event, uint64_t fingerprint,
                   uint64_t *ret_examined, uint64_t *ret_returned);

/** Close those silent since before `before_ns`, and call `fn` for each that was closed since. */
void tv_walks_take_closed(tv_walks *walks, int64_t before_ns,
                          void (*fn)(void *ctx, const tv_walk *walk), void *ctx);

/** Call `fn` for each open walk that is silent since before `before_ns`, as if it were left. */
void tv_walks_visit_idle(tv_walks *walks, int64_t before_ns,
                         void (*fn)(void *ctx, const tv_walk *walk), void *ctx);

#endif
