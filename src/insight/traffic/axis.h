/*
 * An axis: how the keys of a table are divided into buckets.  Bucket i holds the keys
 * from bounds[i] (included) to bounds[i + 1]; the first bound is empty, the last bucket
 * has no end.  Bounds ascend.  Immutable, counted, any thread.
 */
#ifndef TV_INSIGHT_TRAFFIC_AXIS_H
#define TV_INSIGHT_TRAFFIC_AXIS_H

#include <stdatomic.h>
#include <stdint.h>

#include "insight/traffic/measure.h"

typedef struct tv_axis {
    atomic_int refs;
    size_t count; /* of buckets, at least 1 */
    tv_slice bounds[];
} tv_axis;

/** A copy of ascending bounds, the first of which is empty. */
tv_axis *tv_axis_new(const tv_slice *bounds, size_t count);
tv_axis *tv_axis_ref(tv_axis *axis);
/** Accepts NULL. */
void tv_axis_unref(tv_axis *axis);

/** The bucket that a key lies in. */
size_t tv_axis_find(const tv_axis *axis, tv_slice key);

bool tv_axis_eq(const tv_axis *a, const tv_axis *b);

/** Whether bucket i can hold one key only: its end is its beginning and 01. */
bool tv_axis_is_one_key(const tv_axis *axis, size_t bucket);

/**
 * Bring counts from one axis onto another and add them to `to`.  A bucket that lies in several
 * of the other axis is divided by their weights (evenly when all are 0), the remainder goes to the
 * heaviest: all sums are kept.  Returns whether any count had to be divided.
 */
bool tv_axis_project(const tv_axis *from, const tv_counts *counts, const tv_axis *to_axis,
                     const double *weights, tv_counts *to);

/**
 * Merge neighbours until no more than `count_max` (at least 1) buckets are left, always the pair
 * that weighs least together, among equal ones the narrowest.  `weights` has one for each bucket.
 * The axis is returned as it is, counted once more, when it is short enough.
 */
tv_axis *tv_axis_squeeze(tv_axis *axis, const double *weights, size_t count_max);

/** All bounds of several axes. */
tv_axis *tv_axis_unite(tv_axis *const *axes, size_t count);

#endif
