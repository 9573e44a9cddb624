/*
 * A shard: the sheet that one thread fills, and how a fold takes it away.
 *
 * The thread is inside its epoch (base/epoch.h) during tv_watch_record.  A fold puts an empty sheet
 * in the place of the full one and waits until the thread has left.  Tables that leave, and their
 * traffic by key, are let go by the same wait: tables.c.
 */
#ifndef TV_INSIGHT_WATCH_SHARD_H
#define TV_INSIGHT_WATCH_SHARD_H

#include "base/epoch.h"
#include "insight/watch/sheet.h"
#include "insight/watch/watch.h"

/** The shape of a filter's structure: made once, found by the hash of the structure. */
typedef struct tv_shape_cache {
    uint64_t structure;
    tv_shape shape;
    char text[TV_SHAPE_TEXT_MAX];
} tv_shape_cache;

enum { TV_SHAPE_CACHE_SIZE = 128 };

struct tv_watch_shard {
    _Alignas(64) _Atomic(tv_sheet *) sheet;
    tv_epoch *epoch;    /* that of traffic by key where that is counted, too */
    atomic_uint period; /* of sampling: 1, 16 or 64; by the fold */
    tv_watch *watch;
    int index;

    /* The thread's own. */
    uint32_t skip; /* requests until the next sample */
    uint64_t random;
    tv_shape_cache *shapes;

    /* The fold's, with the lock of the watch. */
    tv_sheet *spare;
    tv_sheet *taken; /* during a fold, */
    size_t folded;   /* and how many of its samples are folded */
    int64_t taken_ns; /* when the sheet was last taken, by the monotonic clock */
};

/** Give the thread the spare sheet, and wait until nobody writes to the other, which is returned.
 */
tv_sheet *tv_watch_shard_take(tv_watch_shard *shard);

#endif
