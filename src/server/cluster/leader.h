/*
 * Who leads: the node that holds the lock of the object tv.leader, for a few seconds at a time,
 * by the cluster's own clock.  It keeps two nodes from doing the same work; nothing rests on
 * it (base/lead.h).
 */
#ifndef TV_SERVER_CLUSTER_LEADER_H
#define TV_SERVER_CLUSTER_LEADER_H

#include "base/lead.h"
#include "store/pool/pool.h"

#define TV_LEADER_OBJECT "tv.leader"

enum { TV_LEADER_LOCK_S = 15, TV_LEADER_RENEW_MS = 5000 };

typedef struct tv_leader {
    tv_pool *pool;
    const char *holder; /* the node's incarnation */
    tv_lead lead;       /* for those who ask */
    int64_t until_ns;   /* monotonic: not longer than this without another renewal */
    int pace;           /* for tests: how many times shorter the lock is */
} tv_leader;

void tv_leader_init(tv_leader *leader, tv_pool *pool, const char *holder);

/** Take or renew the lock, or see that another has it.  Every TV_LEADER_RENEW_MS; waits. */
void tv_leader_run(tv_leader *leader);

/** Be the leader no longer.  Waits. */
void tv_leader_resign(tv_leader *leader);

#endif
