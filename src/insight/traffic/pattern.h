/*
 * Pictures that traffic by key has, found in a view: functions of its numbers and nothing else.
 *
 *     even       the hottest bucket has less than four times the median
 *     stripes    the total repeats itself (autocorrelation above 0.6), and the keys are even
 *     hot line   a quarter of the measure or more in 0.2 % of the buckets, for ten slots; in one
 *                bucket four times its part, at most 80 %, where there are few
 *     rising,    writes go to ever larger (smaller) keys: more than 80 % of the steps of their
 *     falling    middle go one way, and half of them or more to the edge
 *     wall       a slot in which nine tenths of the table were scanned
 */
#ifndef TV_INSIGHT_TRAFFIC_PATTERN_H
#define TV_INSIGHT_TRAFFIC_PATTERN_H

#include "base/buf.h"
#include "insight/traffic/view.h"

typedef enum tv_pattern_kind {
    TV_PATTERN_EVEN,
    TV_PATTERN_STRIPES,
    TV_PATTERN_HOT_LINE,
    TV_PATTERN_RISING,
    TV_PATTERN_FALLING,
    TV_PATTERN_WALL,
    TV_PATTERN_KINDS,
} tv_pattern_kind;

/** Slots of data that are needed; with fewer nothing is found. */
enum { TV_PATTERN_SLOTS_MIN = 10 };

typedef struct tv_pattern {
    tv_pattern_kind kind;
    size_t slot, slots;     /* where it is in time */
    size_t bucket, buckets; /* and in the keys */
    double share;           /* of the measure: hot line; of writes at the edge: rising, falling;
                               of the table: wall, 0 when its size is not known */
    size_t period;          /* of stripes, in slots */
    size_t times;           /* slots like it: wall */
    bool is_one_key;        /* a hot line that no split can cure */
} tv_pattern;

/** One measure of a view. */
typedef struct tv_grid {
    const uint64_t *cells; /* slot-major */
    size_t slots, buckets;
} tv_grid;

/* Each is false when its pattern is not there.  All zeros is what they leave alone. */
bool tv_pattern_even(const tv_grid *grid, tv_pattern *ret_pattern);
bool tv_pattern_stripes(const tv_grid *grid, tv_pattern *ret_pattern);
bool tv_pattern_hot_line(const tv_grid *grid, tv_pattern *ret_pattern);
/** Of writes: TV_PATTERN_RISING or TV_PATTERN_FALLING. */
bool tv_pattern_diagonal(const tv_grid *grid, tv_pattern *ret_pattern);
/** Of scanned rows.  `row_count` is that of the table, 0 when it is not known. */
bool tv_pattern_wall(const tv_grid *grid, uint64_t row_count, tv_pattern *ret_pattern);

/**
 * All patterns of a view for a measure that it has; those of writes and of scanned rows with
 * these measures only.  Returns how many, at most TV_PATTERN_KINDS.
 */
size_t tv_patterns_find(const tv_view *view, tv_traffic_measure measure, uint64_t row_count,
                        tv_pattern ret_patterns[TV_PATTERN_KINDS]);

/** Slots of a view of which there is a column. */
size_t tv_view_recorded(const tv_view *view);

/** "even", "stripes", "hot-line", "rising", "falling", "wall". */
const char *tv_pattern_name(tv_pattern_kind kind);

/** "fine", "watch" or "fix". */
const char *tv_pattern_verdict(tv_pattern_kind kind);

/** A sentence about it, for people. */
void tv_pattern_describe(const tv_pattern *pattern, const tv_view *view, tv_traffic_measure measure,
                         tv_buf *out);

#endif
