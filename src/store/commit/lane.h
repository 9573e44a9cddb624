/*
 * Lanes: the writes that wait for one range of the storage.  A lane has one group
 * under way at a time; different lanes do not wait for each other.
 *
 * A local engine has a single lane per committer.  An engine with ranges has a lane
 * for each range that is written to: it is made by the first write, and dropped when
 * it has had nothing to do for a while.
 *
 * No threads and no locks here; see pipeline.c.
 */
#ifndef TV_STORE_COMMIT_LANE_H
#define TV_STORE_COMMIT_LANE_H

#include <pthread.h>

#include "store/commit/gather.h"
#include "store/commit/queue.h"

typedef struct tv_lane {
    uint64_t range;
    tv_write_queue *queue;
    tv_gather gather;
    bool is_served;     /* a thread has it, or it is on the list of those that are ready */
    size_t next_wanted; /* it pays to wait a moment for this many: see gather.h */
    size_t wanted;      /* the thread that has it waits for this many now; 0 if it does not wait */
    pthread_cond_t filled; /* ... and this is how it is woken */
    int64_t idle_since_ns; /* while it is not served */
    struct tv_lane *next;  /* in its bucket */
    struct tv_lane *next_ready;
} tv_lane;

enum { TV_LANE_BUCKETS = 256 };

/** All zeros, apart from what comes first, has no lanes. */
typedef struct tv_lanes {
    size_t places;  /* of each lane's queue: see tv_write_queue_new */
    bool is_shared; /* the storage: see gather.h */
    size_t count;
    tv_lane *buckets[TV_LANE_BUCKETS];
    tv_lane *first_ready, **ready_end; /* those with writes that no thread has, in order */
} tv_lanes;

void tv_lanes_init(tv_lanes *lanes, size_t places, bool is_shared);

/** Their queues must be empty. */
void tv_lanes_done(tv_lanes *lanes);

/** The lane of a range; a new one if there is none. */
tv_lane *tv_lanes_find(tv_lanes *lanes, uint64_t range);

/** Put a lane at the end of those that are ready.  It is not served. */
void tv_lanes_add_ready(tv_lanes *lanes, tv_lane *lane);

/** Take the first that is ready, NULL for none.  It stays marked as served. */
tv_lane *tv_lanes_take_ready(tv_lanes *lanes);

/** Take the writes that have waited since `before_ns` or longer out of all lanes. */
void tv_lanes_take_old(tv_lanes *lanes, int64_t before_ns, tv_mail_chain *ret_writes);

/** Drop the lanes that have been idle since `before_ns` or longer. */
void tv_lanes_drop_idle(tv_lanes *lanes, int64_t before_ns);

#endif
