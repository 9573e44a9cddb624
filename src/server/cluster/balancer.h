/*
 * Ranges as the load wants them.
 *
 * Every node tells every 5 s what it does on each range (stats.h).  The leader adds it up, asks the
 * rules (policy.h) and changes at most one range at a time (engine/rados/ranges.h); it also ends
 * what dead nodes have begun, and removes what changes have left behind.  All that it does is
 * conditional, so a leader that is one no more does no harm.
 *
 * One thread of its own; the other functions may be called from any thread.
 */
#ifndef TV_SERVER_CLUSTER_BALANCER_H
#define TV_SERVER_CLUSTER_BALANCER_H

#include "base/buf.h"
#include "server/cluster/policy.h"
#include "store/engine/rados/map.h"

typedef struct tv_balancer tv_balancer;

/** What the catalogues call the rows that begin so: "account/table". */
typedef struct tv_balancer_name {
    tv_slice prefix, name;
} tv_balancer_name;

/** All of it outlives the balancer. */
typedef struct tv_balancer_options {
    tv_pool *pool;
    tv_maps *maps; /* of this node; NULL: it uses no ranges */
    tv_slice incarnation;
    bool (*is_leader)(void *ctx);
    /** The incarnations of the nodes that are alive, in the arena. */
    size_t (*live_nodes)(void *ctx, tv_arena *arena, tv_slice **ret_incarnations);
    /** A JSON array of nodes for GET /cluster; NULL: an array of their incarnations. */
    void (*describe_nodes)(void *ctx, tv_buf *out);
    /** The names of all rows, in no order, in the arena; NULL: they are shown by their ids. */
    size_t (*list_names)(void *ctx, tv_arena *arena, tv_balancer_name **ret_names);
    void *ctx;
    bool has_no_thread; /* a test calls tv_balancer_pass */
    int pace;           /* for tests: how many times too fast its clock runs; 0: it does not */
} tv_balancer_options;

tv_balancer *tv_balancer_new(const tv_balancer_options *options);
void tv_balancer_free(tv_balancer *balancer); /* accepts NULL */

/** One pass, at a time of a clock that grows: what the thread does every 5 s. */
void tv_balancer_pass(tv_balancer *balancer, int64_t now_ms);

/* --- what an operator, or a test, wants done now --- */

typedef enum tv_force_op {
    TV_FORCE_SPLIT,   /* at `key`, or in the middle of `range` */
    TV_FORCE_MERGE,   /* the range that starts at `range` into the one before it */
    TV_FORCE_MOVE,    /* `range`: its usual node is `key` */
    TV_FORCE_FENCE,   /* from `range` to `key` */
    TV_FORCE_COLLECT, /* recover, clean and collect, however young */
    TV_FORCE_CHECK,   /* list the pool for objects that nobody names */
    TV_FORCE_OPS,
} tv_force_op;

bool tv_force_op_parse(tv_slice name, tv_force_op *ret_op);

/** Keys are coded as in tv.route (tv_words_add).  False: another is under way; else its number. */
bool tv_balancer_force(tv_balancer *balancer, tv_force_op op, tv_slice range, tv_slice key,
                       uint64_t *ret_job);

/* --- what is to be seen --- */

/** GET /cluster: JSON, some seconds old; without keys these are null. */
void tv_balancer_write_status(tv_balancer *balancer, tv_buf *out, bool with_keys);

/** Of this node, for Prometheus. */
void tv_balancer_write_metrics(tv_balancer *balancer, tv_buf *out);

#endif
