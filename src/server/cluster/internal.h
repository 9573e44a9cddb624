/* What balancer.c, force.c and status.c share. */
#ifndef TV_SERVER_CLUSTER_INTERNAL_H
#define TV_SERVER_CLUSTER_INTERNAL_H

#include "base/background.h"
#include "server/cluster/balancer.h"
#include "server/cluster/measure.h"
#include "server/cluster/stats.h"
#include "store/engine/rados/ranges.h"

/** A range as the leader knows it; and as it tells the others, in the object tv.ranges. */
typedef struct tv_balance_entry {
    char object[TV_POOL_NAME_MAX + 1];
    tv_policy_range policy;
    tv_policy_trend trend;
    int64_t trend_ms;
    bool is_measured;
    uint64_t bounds;      /* a hash: when it changes, rows have come or gone */
    uint64_t epoch;       /* a hash: when it changes, rows may have been dropped */
    int64_t remeasure_ms; /* look at all rows again then; 0: no need */
    uint64_t measured_rows, measured_bytes; /* as of then */
    int64_t rows_more;                      /* since then */
    uint64_t written_bytes;                 /* since then */
    tv_marks marks;                         /* as of then */
    bool has_waited;                        /* a pass, to see where rows come */
    tv_policy_refusal refused;
    tv_slice *partitions; /* samples of all nodes, in the pass's arena */
    size_t partition_count;
} tv_balance_entry;

/** A node's counts for a range in the last pass; and zeros for each node. */
typedef struct tv_balance_seen {
    uint64_t key; /* hash of both names, or of the node's */
    tv_stats_row row;
} tv_balance_seen;

/** What the leader tells all nodes: a row for each range, "leader", "pool" and "check". */
#define TV_BALANCE_OBJECT "tv.ranges"

enum { TV_PAUSE_SLOTS = 16, TV_FORCE_TEXT = 7000 };

typedef struct tv_force_job {
    uint64_t number; /* 0: none yet */
    tv_force_op op;
    char range[TV_FORCE_TEXT], key[TV_FORCE_TEXT]; /* coded */
    bool is_waiting, is_done;
    tv_err err;
} tv_force_job;

struct tv_balancer {
    tv_balancer_options options;
    tv_range_changer changer;
    tv_background thread;

    /* The thread's own. */
    tv_balance_entry *entries; /* sorted by object */
    size_t entry_count;
    tv_balance_seen *seen;
    size_t seen_count;
    int64_t last_pass_ms;
    uint64_t pass_count;
    size_t osd_count, osds_up; /* as of the last minute */
    tv_pool_space space;
    int64_t checked_ms; /* 0: not yet */
    tv_range_watch watch;
    tv_policy_rate rate;
    tv_policy_balance balance;

    /* Under the thread's lock. */
    tv_buf status;
    tv_force_job job;
    bool is_leader;
    uint64_t splits[4], merges, refused[8], undone; /* by reason, by refusal */
    uint64_t pause_slots[TV_PAUSE_SLOTS], pause_ms_sum;
};

/** A split or a merge that was made, or not, for the metrics. */
void tv_balancer_note_change(tv_balancer *balancer, bool is_split, tv_policy_reason reason,
                             const tv_range_result *result);

/** What the leader knows of a range, by its object; NULL when it has not seen it in a pass. */
tv_balance_entry *tv_balancer_entry(const tv_balancer *balancer, tv_slice object);

/** Look at all rows of a range, and note what was found; not its marks. */
tv_err tv_balancer_measure(tv_balancer *balancer, const tv_routes *routes, size_t index,
                           tv_arena *arena, tv_range_shape *ret_shape) TV_WARN_UNUSED;

/** Do what an operator wants, if something waits.  force.c. */
void tv_balancer_do_job(tv_balancer *balancer);

/**
 * List the pool; remove what nobody names where that is safe, and tell all nodes of the rest.
 * check.c.
 */
tv_err tv_balancer_check(tv_balancer *balancer) TV_WARN_UNUSED;
/** What was found last, as a member of GET /cluster. */
void tv_balancer_add_check(tv_buf *out, tv_arena *arena, tv_slice value);

/** Rows for people, in one object: change them, making it if need be. */
tv_err tv_balancer_tell(tv_pool *pool, tv_pool_step *steps, size_t count) TV_WARN_UNUSED;

/** Tell others what the leader knows, and rebuild this node's status.  status.c. */
void tv_balancer_publish(tv_balancer *balancer);
void tv_balancer_make_status(tv_balancer *balancer);

#endif
