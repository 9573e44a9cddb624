/*
 * The nodes of a cluster, as they tell each other: the object tv.nodes.
 *
 *     last                  number                       the last incarnation that was given out
 *     level                 number                       whoever joins must understand it
 *     n|number, 13 digits   state address http version level clock beat
 *
 * A server that starts takes a new number, its incarnation, which is never used again:
 * after a restart it is another node.  It rewrites its row every few seconds (a
 * beat) and removes it when it stops.  A node whose row the leader has seen unchanged
 * for TV_NODES_DEAD_MS is taken for dead: first it is shut out of the pool, so that
 * nothing it has sent can take effect any more, then its row says so, and goes some time later.
 * (Seen by the leader's own monotonic clock: no two clocks are compared for it.)
 *
 * A row may have been damaged, or be of somebody who is no node.  So a node puts itself on the
 * object's list (tv_pool_ops.enlist) before it has a row, and an address is shut out only when the
 * storage has it there, and no node that beats has it, too.  A row of another address stays as
 * it is, and with it the doubt who could write (tv_nodes_settle), until somebody removes it.
 *
 * Every beat has the node's wall clock in it.  Instants that are stored come from these
 * clocks, so a node that is far from the others must not write: see
 * tv_nodes_clock.
 */
#ifndef TV_SERVER_CLUSTER_NODES_H
#define TV_SERVER_CLUSTER_NODES_H

#include "base/buf.h"
#include "store/pool/pool.h"

#define TV_NODES_OBJECT "tv.nodes"

enum {
    TV_NODES_BEAT_MS = 3000, /* at most; at random intervals, see nodes.c */
    TV_NODES_DEAD_MS = 30000,
    TV_NODES_FORGET_MS = 3600 * 1000, /* a dead node's row is kept for so long, to be seen */
    TV_NODES_SKEW_TOLD_MS = 1000,     /* from the median: a line in the log */
    TV_NODES_SKEW_AHEAD_MS = 5000,    /* ahead of it: no writes */
    TV_NODES_FRESH_MS = 10000,        /* the clock of a beat older than this says nothing */
    TV_NODES_CLOCKS_MS = 4000,        /* a node that lives has beaten at least once in that time */
    TV_NODES_MAX = 1000,
};

typedef struct tv_nodes tv_nodes;

typedef struct tv_nodes_options {
    tv_pool *pool;
    tv_slice http;    /* where clients reach it, "host:port,host:port,host:port"; copied */
    tv_slice version; /* of the program; copied */
    int64_t level;    /* the highest that it understands, see tv_nodes_require_level */
    int64_t dead_ms;  /* for tests; 0: TV_NODES_DEAD_MS */
    /** The wall clock in ms since 1970, for tests; NULL: the system's. */
    int64_t (*clock_ms)(void *ctx);
    /** A monotonic clock in ms, likewise. */
    int64_t (*mono_ms)(void *ctx);
    /** Let some time pass, likewise; NULL: the pool's. */
    void (*pause)(void *ctx, int ms);
    void *ctx;
} tv_nodes_options;

/**
 * Take an incarnation and write the first beat.  Waits; when this clock looks as if it were far
 * ahead, for up to TV_NODES_CLOCKS_MS, until others have beaten and tv_nodes_read_clock is
 * certain about it: a node with a wrong clock takes no write at all.  TV_ERR_CORRUPT: the object
 * holds something that this source does not understand.  TV_ERR_NOT_IMPLEMENTED: the nodes of this
 * cluster use a higher level.
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
 * For the leader, after a beat: shut out and mark those that have not beaten for too long,
 * and forget those that have been dead for long.  The same thread.  `ret_died` (may be NULL): how
 * many it was.
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
 * Who could still write, before something is removed that one of them might be about to refer
 * to: those in `ret_live`, in order, and any with a number beyond `ret_last`.  All others have
 * left or are shut out.  TV_ERR_OVERLOADED while that is not certain: somebody has not beaten
 * lately and is not shut out yet.  Waits.
 */
tv_err tv_nodes_settle(tv_nodes *nodes, tv_arena *arena, int64_t *ret_last, uint64_t **ret_live,
                       size_t *ret_count) TV_WARN_UNUSED;

/** The highest level that every live node understands, as of the last beat. */
int64_t tv_nodes_common_level(tv_nodes *nodes);

/**
 * See to it that no node is or becomes a member that does not understand this level.  After
 * it has returned TV_OK what needs that level may be stored.  TV_ERR_OVERLOADED when a live
 * node does not understand it; the next beat tells.  Waits.
 */
tv_err tv_nodes_require_level(tv_nodes *nodes, int64_t level) TV_WARN_UNUSED;

/** A JSON array of them, for GET /cluster. */
void tv_nodes_add_json(tv_nodes *nodes, tv_buf *out);

#endif
