/*
 * Patterns of traffic by key, found in columns: functions of their numbers and nothing else.  What
 * is judged are shares of partitions and of keys, and where new entities go; never how buckets
 * compare, which are cut by the load and so always look even.  The answer is the same whatever
 * picture is drawn of the columns.
 *
 *     even       no partition stands out: it may have a half, but not three times the others' mean;
 *                or there are no more than three entities, which have nothing to spread
 *     uneven     the same, but one has a quarter or more and three times that mean
 *     stripes    the total repeats itself (autocorrelation above 0.6)
 *     hot line   a partition with half of the reads or writes, or an entity with a quarter, and
 *                three times the others' mean (advice/shares.h), for three slots
 *     rising,    new entities go behind (before) those of the slot before, for three slots; or the
 *     falling    partition that has nearly all of them is ever a greater (smaller) one
 *     wall       a slot in which nine tenths of the table were scanned, unless it is a small one
 *
 * Slots in which hardly anything happened are left out: they say nothing about keys.
 */
#ifndef TV_INSIGHT_TRAFFIC_PATTERN_H
#define TV_INSIGHT_TRAFFIC_PATTERN_H

#include "base/arena.h"
#include "base/buf.h"
#include "insight/traffic/gather.h"

typedef enum tv_pattern_kind {
    TV_PATTERN_EVEN,
    TV_PATTERN_UNEVEN,
    TV_PATTERN_STRIPES,
    TV_PATTERN_HOT_LINE,
    TV_PATTERN_RISING,
    TV_PATTERN_FALLING,
    TV_PATTERN_WALL,
    TV_PATTERN_KINDS,
} tv_pattern_kind;

enum {
    TV_PATTERN_SLOTS_MIN = 3,   /* with traffic; with fewer nothing is found, but for a wall */
    TV_PATTERN_COUNT_MIN = 100, /* requests in them, likewise */
    TV_PATTERNS_MAX = 8,
    TV_PATTERN_BOUND_BYTES_MAX = TV_COLUMN_BOUND_BYTES_MAX + 2,
};

/** A bound of keys, copied. */
typedef struct tv_pattern_bound {
    uint8_t len;
    char bytes[TV_PATTERN_BOUND_BYTES_MAX];
} tv_pattern_bound;

typedef struct tv_pattern {
    tv_pattern_kind kind;
    tv_traffic_measure measure; /* of hot lines: reads or writes; uneven: writes or reads */
    uint32_t minute, minutes;   /* where it is in time */
    tv_pattern_bound low, high; /* and in the keys; an empty `high` has no end */
    double share;               /* of the measure: hot line, uneven; the most that any partition can
                                   have: even; of inserts that went to the end: rising, falling; of
                                   the table: wall, 0 when its size is not known */
    uint32_t period;            /* of stripes, in minutes */
    size_t times;               /* slots like it: wall */
    uint64_t few;               /* even: all entities there are, where so few cannot be spread */
    bool is_at_least;           /* hot line, uneven: buckets were too wide to tell the rest */
    bool is_one_key;            /* a hot line that no split can cure */
    bool is_now;                /* it is there in the last slot that has traffic */
} tv_pattern;

/** What is judged: one table's part of the columns of some time, each of `grain` minutes. */
typedef struct tv_pattern_input {
    const tv_piece *pieces; /* ascending in time */
    size_t count;
    uint32_t from, to, grain; /* minutes: from the first column that was recorded to the end of the
                                 last one, whether the table is in them or not */
    tv_slice low, high;       /* keys in [low, high); an empty `high` has no end */
    uint64_t row_count;       /* of these keys, 0 when it is not known */
} tv_pattern_input;

/** All patterns, those that weigh most first.  Returns how many. */
size_t tv_patterns_find(const tv_pattern_input *input, tv_pattern ret_patterns[TV_PATTERNS_MAX]);

static inline tv_slice tv_pattern_bound_slice(const tv_pattern_bound *bound)
{
    return (tv_slice){bound->bytes, bound->len};
}

/** "even", "uneven", "stripes", "hot-line", "rising", "falling", "wall". */
const char *tv_pattern_name(tv_pattern_kind kind);

/** "fine" or "watch": what a pattern is worth as long as no rule of advice has more to say. */
const char *tv_pattern_verdict(tv_pattern_kind kind);

/** A sentence about it, for people. */
void tv_pattern_describe(const tv_pattern *pattern, tv_arena *arena, tv_buf *out);

#endif
