/*
 * Sets of keys (PartitionKey, RowKey), as unions of boxes.  A box is a span of
 * partition keys times a span of row keys.
 *
 * The bounds of spans are numbers, so that comparing and copying them costs the
 * same whatever the length of the keys: the keys that a filter names are sorted
 * once, and key i has two bounds, just before and just after it.  The lower
 * bound of a span is inclusive, the upper one exclusive.
 */
#ifndef TV_MODEL_ODATA_REGION_H
#define TV_MODEL_ODATA_REGION_H

#include "base/arena.h"
#include "model/odata/filter.h"

enum {
    /** More boxes than this are replaced by fewer, wider ones. */
    TV_REGION_BOXES_MAX = 1000,
    /** Boxes that are made or compared for one region: a bound on time and memory. */
    TV_REGION_WORK_MAX = 50 * 1000,
};

/** 0 is before all keys, TV_BOUND_END after them. */
typedef uint32_t tv_bound;

#define TV_BOUND_END UINT32_MAX

typedef struct tv_span {
    tv_bound from, to;
} tv_span;

typedef struct tv_box {
    tv_span partition, row;
} tv_box;

/** The PartitionKeys, or the RowKeys, that a filter names. */
typedef struct tv_named_keys {
    tv_slice *list; /* in the form of row keys (engine/key.h), sorted, each once */
    uint32_t count;
    bool has_empty; /* the first is empty; then the bound before it is 0 */
} tv_named_keys;

typedef struct tv_region {
    tv_named_keys partitions, rows; /* what the bounds stand for */
    tv_box *boxes;
    size_t count;
    size_t work;     /* boxes that were made or compared to get here */
    bool is_widened; /* holds keys that the key comparisons alone would exclude */
} tv_region;

/**
 * The keys that entities passing the filter can have: never too few, and as
 * few as comparisons of the keys allow.  What other properties must be is not
 * looked at.  The boxes are sorted and may overlap.
 */
tv_region tv_region_of(tv_arena *arena, const tv_filter *filter);

/** Fewer boxes that hold more, for a region of more than one: down to one, if called again. */
void tv_region_widen(tv_region *region);

static inline bool tv_span_is_full(tv_span span)
{
    return span.from == 0 && span.to == TV_BOUND_END;
}

/** Whether a span holds just one key, and which. */
static inline bool tv_span_is_point(const tv_named_keys *keys, tv_span span)
{
    return span.to == span.from + 1 && (span.from & 1) == !keys->has_empty;
}

/** The key next to a bound, which is neither 0 nor the end, and whether the bound is after it. */
static inline tv_slice tv_bound_key(const tv_named_keys *keys, tv_bound bound, bool *ret_is_after)
{
    uint32_t number = bound - !keys->has_empty;

    *ret_is_after = number & 1;
    return keys->list[number / 2];
}

#endif
