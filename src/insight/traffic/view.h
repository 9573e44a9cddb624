/*
 * Columns as a picture needs them: slots of time by buckets of keys, all on one axis.  The
 * axis is made of all bounds that the columns have, squeezed to as many buckets as were asked for
 * by the traffic that they have had; columns of other axes are projected onto it.
 */
#ifndef TV_INSIGHT_TRAFFIC_VIEW_H
#define TV_INSIGHT_TRAFFIC_VIEW_H

#include "insight/traffic/axis.h"
#include "insight/traffic/pattern.h"

/** Minutes in a column. */
typedef enum tv_grain {
    TV_GRAIN_MINUTE = 1,
    TV_GRAIN_TEN = 10,
    TV_GRAIN_HOUR = 60,
} tv_grain;

enum {
    TV_VIEW_SLOTS_MAX = 672,
    TV_VIEW_BUCKETS_MAX = 1536,
    TV_VIEW_FITTED_SLOTS = 10, /* at least, of a view that begins with its first column */
};

typedef struct tv_view_query {
    tv_slice account;
    int64_t table_id;
    tv_grain grain;
    uint32_t from, to;  /* minutes since 1970; the slots that begin in [from, to) */
    tv_slice low, high; /* keys in [low, high); an empty `high` has no end */
    size_t buckets_max; /* 1 to TV_VIEW_BUCKETS_MAX */
    bool is_fitted;     /* leave out the time before the first column, if there is any */
    uint64_t row_count; /* of these keys, 0 when it is not known: for patterns */
    unsigned measures;  /* a bit, 1 << tv_traffic_measure, for each that is wanted */
} tv_view_query;

/** All zeros is none; tv_view_done. */
typedef struct tv_view {
    uint32_t from; /* of the first slot, a multiple of the grain */
    tv_grain grain;
    size_t slots;  /* at most TV_VIEW_SLOTS_MAX: the newest of the time that was asked for */
    tv_axis *axis; /* the first bound stands for `low` */
    uint64_t *cells[TV_MEASURES]; /* slots x axis->count each, slot-major; NULL: not asked for */
    bool *is_recorded;            /* of each slot: whether there is a column */
    bool is_approximate;          /* a count was divided between buckets */
    /* Of these columns as they were written, whatever measures and buckets were asked for. */
    tv_pattern patterns[TV_PATTERNS_MAX];
    size_t pattern_count;
} tv_view;

/** Slots of which there is a column. */
size_t tv_view_recorded(const tv_view *view);

/** The end of the last of these, in minutes; 0 when there is none.  What came later is not known: a
 * column is there when its time is over. */
uint32_t tv_view_until(const tv_view *view);

static inline uint64_t tv_view_cell(const tv_view *view, tv_traffic_measure measure, size_t slot,
                                    size_t bucket)
{
    return view->cells[measure][slot * view->axis->count + bucket];
}

/** Accepts all zeros. */
void tv_view_done(tv_view *view);

#endif
