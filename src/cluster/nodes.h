/*
 * The nodes of a cluster, as they tell each other: the object tv.nodes.
 *
 *     last                  number                       the last incarnation that was given out
 *     n|number, 13 digits   state address http version level clock beat
 *
 * A server that starts takes a new number, its incarnation, which is never used again:
 * after a restart it is another node.  It writes its row anew every few seconds (a
 * beat) and removes it when it stops.  A node whose row the leader has seen unchanged
 * for TV_NODES_DEAD_MS is taken for dead: first it is shut out of the pool, so that
 * nothing it has sent can take effect any more, then its row says so.  (Seen by the
 * leader's own monotonic clock: no two clocks are compared for it.)
 *
 * Every beat has the node's wall clock in it.  Instants that are stored come from these
 * clocks, so a node that is far from the others must not write: see
 * tv_nodes_clock.
 */
#ifndef TV_CLUSTER_NODES_H
#define TV_CLUSTER_NODES_H

#include "base/buf.h"
#include "engine/rados/pool.h"

#define TV_NODES_OBJECT "tv.nodes"

enum {
    TV_NODES_BEAT_MS = 3000, /* at most; at random intervals, see nodes.c */
    TV_NODES_DEAD_MS = 30000,
    TV_NODES_SKEW_TOLD_MS = 1000,  /* from the median: a line in the log */
    TV_NODES_SKEW_AHEAD_MS = 5000, /* ahead of it: no writes */
    TV_NODES_FRESH_MS = 10000,     /* the clock of a beat older than this says nothing */
    TV_NODES_MAX = 1000,
};

typedef struct tv_nodes tv_nodes;

typedef struct tv_nodes_options {
    tv_pool *pool;
    tv_slice
        http; /* copied, as `version` is: where clients reach it: "host:port,host:port,host:port" */
    tv_slice version; /* of the program */
    int64_t level;    /* the highest that it understands, see tv_nodes_common_level */
    /** The wall clock in ms since 1970, for tests; NULL: the system's. */
    int64_t (*clock_ms)(void *ctx);
    /** A monotonic clock in ms, likewise. */
    int64_t (*mono_ms)(void *ctx);
    void *ctx;
} tv_nodes_options;

/**
 * Take an incarnation and write the first beat.  Waits.  TV_ERR_CORRUPT: the object holds
 * something that this source does not understand.
 */
tv_err tv_nodes_join(const tv_nodes_options *options, tv_nodes **ret_nodes) TV_WARN_UNUSED;

/** Remove the row, as far as that is possible, and free.  Waits.  Accepts NULL. */
void tv_nodes_leave(tv_nodes *nodes);

/** Free without a word, as if it had died: for tests. */
void tv_nodes_abandon(tv_nodes *nodes);

/** Its number, from 1 on, and as a word for other objects' names and rows. */
int64_t tv_nodes_incarnation(const tv_nodes *nodes);
tv_slice tv_nodes_name(const tv_nodes *nodes);

/**
 * Write the next beat, and see what the others have written.  At least every TV_NODES_BEAT_MS, on
 * one thread.  TV_ERR_STOPPED: this node was taken for dead; nothing it does has any effect.
 */
tv_err tv_nodes_beat(tv_nodes *nodes) TV_WARN_UNUSED;

/**
 * For the leader, after a beat: shut out and mark those that have not beaten for too long.
 * The same thread.  `ret_died` (may be NULL): how many it was.
 */
tv_err tv_nodes_bury(tv_nodes *nodes, size_t *ret_died) TV_WARN_UNUSED;

/** How this node's clock stands to the others', as of the last beat.  Any thread. */
typedef struct tv_nodes_clock {
    int64_t skew_ms;     /* ahead of the median of those that beat; less than 0: behind */
    bool is_far;         /* more than TV_NODES_SKEW_TOLD_MS either way */
    bool refuses_writes; /* more than TV_NODES_SKEW_AHEAD_MS ahead */
} tv_nodes_clock;
tv_nodes_clock tv_nodes_read_clock(tv_nodes *nodes);

/** A node as its row tells. */
typedef struct tv_cluster_node {
    int64_t incarnation;
    bool is_dead;
    tv_slice address, http, version;
    int64_t level;
    int64_t clock_ms, beat; /* its wall clock at its beat, and the number of the beat */
    int64_t silent_ms;      /* since this node has seen it beat */
    int64_t ahead_ms;       /* of this node's clock, about */
    bool is_clock_known;    /* it has beaten often enough to tell */
} tv_cluster_node;

/** All that have a row, in the order of their numbers, as of the last beat.  Any thread. */
size_t tv_nodes_list(tv_nodes *nodes, tv_arena *arena, tv_cluster_node **ret_list);

/**
 * Whether everybody who could still write is known to be alive: every row is of a node that
 * has beaten lately, or of one that is shut out.  Before something is removed that a node
 * might be about to refer to.
 */
bool tv_nodes_are_settled(tv_nodes *nodes);

/** The highest level that every live node understands. */
int64_t tv_nodes_common_level(tv_nodes *nodes);

/** A JSON array of them, for GET /cluster. */
void tv_nodes_add_json(tv_nodes *nodes, tv_buf *out);

#endif
