/*
 * Sets of keys (PartitionKey, RowKey), as unions of boxes.  A box is a span of
 * partition keys times a span of row keys.
 *
 * Bounds are bytes as they stand in row keys (engine/key.h), the lower one
 * inclusive, the upper one exclusive.  A PartitionKey is followed by 01 in a row
 * key, so "p 01" is before all of partition p and "p 02" behind it; "r" is just
 * before the RowKey r and "r 01" just behind it, for no legal byte is below 20.
 */
#ifndef TV_ODATA_REGION_H
#define TV_ODATA_REGION_H

#include "base/arena.h"
#include "odata/filter.h"

/** More boxes than that are replaced by fewer, wider ones. */
enum { TV_REGION_BOXES_MAX = 1000 };

typedef struct tv_span {
    tv_slice from; /* empty: from the beginning */
    tv_slice to;   /* data is NULL: without end */
} tv_span;

typedef struct tv_box {
    tv_span partition, row;
} tv_box;

typedef struct tv_region {
    tv_box *boxes;
    size_t count;
    bool is_widened; /* holds keys that the key comparisons alone would exclude */
} tv_region;

/**
 * The keys that entities passing the filter can have: never too few, and not
 * too many as far as comparisons of the keys decide.  What other properties
 * must be is not looked at.  The boxes are sorted and may overlap.
 */
tv_region tv_region_of(tv_arena *arena, const tv_filter *filter, const tv_node *node);

/** Whether a span holds everything, or just one key (of which `key_end` is the byte behind it). */
bool tv_span_is_full(const tv_span *span);
bool tv_span_is_point(const tv_span *span, char key_end);

#endif
