/*
 * When ranges are split and merged, where they are cut, why not, and which node usually
 * serves them.  Numbers in, decisions out: no clock, no thread and no store, so that a
 * test can try every number and simulate a day in a second.
 *
 * A split by load pays only where writes wait for each other although they travel in
 * large groups; below that, more ranges only make more operations of fewer rows.  A
 * split by size keeps a range so small that its object is quickly copied and recovered.
 * What cannot be helped by a split is refused with a word (tv_policy_refusal) that is
 * shown to users: it names the anti-pattern.
 *
 * Merges begin at 40 % of the size of a split and after an hour, so that no range is
 * split and merged in turns.
 *
 * Times are milliseconds of any clock that only grows.
 */
#ifndef TV_SERVER_CLUSTER_POLICY_H
#define TV_SERVER_CLUSTER_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "server/cluster/growth.h"

/* Split by load. */
#define TV_POLICY_BUSY_MIN 0.80         /* share of the time that the writers of a range are busy */
#define TV_POLICY_ROWS_PER_OP_MIN 128.0 /* rows in each of their operations */
#define TV_POLICY_HOT_READS 40000.0     /* keys read in a second */
enum {
    TV_POLICY_HOT_MS = 10 * 1000, /* that long without a break */
    TV_POLICY_RANGES_PER_OSD = 4, /* no more ranges are made for the sake of writes */
};

/* Split by size. */
enum { TV_POLICY_ROWS_MAX = 50 * 1000, TV_POLICY_BYTES_MAX = 32 * 1024 * 1024 };

/* Merge. */
enum {
    TV_POLICY_MERGE_ROWS_MAX = 20 * 1000,
    TV_POLICY_MERGE_BYTES_MAX = 12 * 1024 * 1024,
    TV_POLICY_QUIET_MS = 10 * 60 * 1000,
    TV_POLICY_AGE_MIN_MS = 60 * 60 * 1000,
};
#define TV_POLICY_QUIET_WRITE_OPS (100.0 / 60) /* in a second */
#define TV_POLICY_QUIET_READS 1000.0

/* Rate of splits and merges together. */
enum {
    TV_POLICY_PAUSE_MS = 10 * 1000, /* between the end of one and the beginning of the next */
    TV_POLICY_HOUR_MS = 60 * 60 * 1000,
    TV_POLICY_PER_HOUR_MAX = 60,
    TV_POLICY_FREE_ROWS = TV_POLICY_ROWS_MAX / 10, /* a split that moves no more is not counted */
    TV_POLICY_REST_MS = 10 * 60 * 1000, /* of a range whose change was rolled back, or refused */
};

/* Balance of usual nodes. */
#define TV_POLICY_UNEVEN                                                                           \
    0.30 /* the busiest node has that much of its load more than the idlest                        \
          */
#define TV_POLICY_MOVE_LOAD_MIN 100.0 /* rows in a second on the busiest node: below, let it be */
#define TV_POLICY_MOVE_GAIN 0.10      /* the least share of the difference that a move takes away */
enum { TV_POLICY_UNEVEN_MS = 60 * 1000 };

/** What the nodes say together about a range, as of the last seconds. */
typedef struct tv_policy_load {
    double busy;        /* share of the time in which a write operation was under way, 0 to 1 */
    double write_ops_s; /* write operations in a second */
    double rows_per_op; /* rows in each */
    double reads_s;     /* keys read in a second */
    uint64_t rows, bytes;
} tv_policy_load;

/** A range as it is seen from pass to pass.  A new one: zeros, and `born_ms`. */
typedef struct tv_policy_range {
    tv_policy_load load;
    int64_t born_ms;        /* its bounds are as they are since then */
    int64_t rests_until_ms; /* no change before, see tv_policy_rest */
    /* No split before, see tv_policy_refuse; for its size neither before it has so many rows. */
    int64_t load_rests_until_ms, size_rests_until_ms;
    uint64_t size_rests_until_rows;
    bool has_intent; /* it is being changed */
    /* Kept by tv_policy_observe: since when without a break; 0 when it is not so. */
    int64_t busy_since_ms, read_since_ms, quiet_since_ms;
    double mean_load; /* rows read and written in a second, over about a minute: for balance */
} tv_policy_range;

/** Take note of what a range does now.  Each pass, that is every 5 s. */
void tv_policy_observe(tv_policy_range *range, const tv_policy_load *load, int64_t now_ms);

/** Its change was rolled back: leave it alone for a while. */
void tv_policy_rest(tv_policy_range *range, int64_t now_ms);

typedef enum tv_policy_reason {
    TV_POLICY_NO_REASON,
    TV_POLICY_WRITES, /* writers wait for each other */
    TV_POLICY_READS,
    TV_POLICY_SIZE,
} tv_policy_reason;

/** "writes", "reads", "size"; "" for none. */
const char *tv_policy_reason_name(tv_policy_reason reason);

/**
 * A split for this reason makes no sense now: do not ask for it for a while.  One for another
 * reason may.
 */
void tv_policy_refuse(tv_policy_range *range, tv_policy_reason reason, int64_t now_ms);

/** Whether to split it, and why; size first, because that is never refused for the sake of load. */
tv_policy_reason tv_policy_split(const tv_policy_range *range, int64_t now_ms, size_t range_count,
                                 size_t osd_count);

/** Whether it has grown so much since it had these rows that where they came should be looked at.
 */
bool tv_policy_wants_look(const tv_policy_load *load, uint64_t rows, uint64_t bytes);

/** Whether two neighbours may become one. */
bool tv_policy_may_merge(const tv_policy_range *left, const tv_policy_range *right, int64_t now_ms);

/* --- where to cut --- */

typedef enum tv_policy_refusal {
    TV_POLICY_ALLOWED,
    TV_POLICY_NO_SAMPLES,       /* nothing is known yet */
    TV_POLICY_HOT_PARTITION,    /* one partition has half of the load or more */
    TV_POLICY_UNBALANCED,       /* every cut leaves more than three quarters on one side */
    TV_POLICY_APPEND,           /* the load moves to the end, and would follow any cut */
    TV_POLICY_SINGLE_PARTITION, /* there is no boundary in it */
} tv_policy_refusal;

/** "hot_partition" …; "" for TV_POLICY_ALLOWED. */
const char *tv_policy_refusal_name(tv_policy_refusal refusal);

/** A partition, and how much of the load it has had: rows read and written. */
typedef struct tv_policy_sample {
    tv_slice partition;
    uint64_t weight;
} tv_policy_sample;

/** Sort by partition and add up equal ones.  Returns how many are left. */
size_t tv_policy_sort_samples(tv_policy_sample *samples, size_t count);

/**
 * Where to cut for the sake of load: at the sampled partition nearest to half the
 * weight.  Sorted samples, all in the range that begins at `start`.
 */
tv_policy_refusal tv_policy_cut_by_load(const tv_policy_sample *samples, size_t count,
                                        tv_slice start, tv_slice *ret_cut);

/**
 * Where to cut for the sake of size.  Where new rows continue others, the cut is close to where
 * they come, so that nearly nothing moves and the next rows go to a small range; what is there
 * behind them (before them, where they come in front) is cut off first when it is much.  Else the
 * boundary nearest to half the rows.
 */
tv_policy_refusal tv_policy_cut_by_size(const tv_range_shape *shape, const tv_growth *growth,
                                        tv_slice *ret_cut);

/** Whether the load of a range moves to its end.  Zeros is a new one. */
typedef struct tv_policy_trend {
    char *edge; /* the 95th percentile of the last window's samples */
    size_t edge_len;
    int windows; /* so many in a row had most of their samples beyond the one before */
} tv_policy_trend;

/** Note the samples of a window (a minute), sorted.  An empty window says nothing. */
void tv_policy_trend_add(tv_policy_trend *trend, const tv_policy_sample *samples, size_t count);
bool tv_policy_trend_is_append(const tv_policy_trend *trend);
void tv_policy_trend_done(tv_policy_trend *trend);

/* --- how often --- */

/** When the last changes were; all zeros when there were none. */
typedef struct tv_policy_rate {
    int64_t at_ms[TV_POLICY_PER_HOUR_MAX]; /* of those that are counted: a ring; 0 stands for no
                                              change */
    size_t next;
    int64_t last_ms; /* of any; 0 when there was none */
} tv_policy_rate;

/** Whether a split or a merge may begin now. */
bool tv_policy_rate_allows(const tv_policy_rate *rate, int64_t now_ms);
/** One has ended.  A split that has moved next to nothing is not counted: is_free. */
void tv_policy_rate_add(tv_policy_rate *rate, bool is_free, int64_t now_ms);

/* --- which node --- */

/** The usual node of a range as long as no hint says another: the same on every node. */
size_t tv_policy_usual_node(tv_slice range_object, const tv_slice *incarnations, size_t count);

typedef struct tv_policy_place {
    size_t node; /* the usual one, an index */
    double load;
} tv_policy_place;

/** Since when the nodes are uneven; 0 when they are not. */
typedef struct tv_policy_balance {
    int64_t since_ms;
} tv_policy_balance;

typedef struct tv_policy_move {
    size_t range, to_node;
} tv_policy_move;

/**
 * Whether to make another node the usual one of a range: that range of the busiest node whose
 * move to the idlest brings the two nearest; of the next busiest where no move would help.  At
 * most one a pass.
 */
bool tv_policy_balance_next(tv_policy_balance *balance, const tv_policy_place *ranges,
                            size_t range_count, size_t node_count, int64_t now_ms,
                            tv_policy_move *ret_move);

#endif
