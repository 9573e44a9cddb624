/*
 * A shape as rules look at it: its text with sample literals in it is a filter again, which is
 * parsed.  A text that was cut does not parse, and rules then say less.
 */
#ifndef TV_INSIGHT_ADVICE_SHAPE_VIEW_H
#define TV_INSIGHT_ADVICE_SHAPE_VIEW_H

#include "insight/advice/evidence.h"

enum { TV_VIEW_PARTS_MAX = 16 };

/** A comparison of a property, which is neither key, in the outermost `and`. */
typedef struct tv_view_part {
    tv_slice name;
    tv_compare_op op;
    tv_edm_type type;
} tv_view_part;

typedef struct tv_shape_view {
    bool is_parsed;
    tv_slice filter; /* with sample literals: `Email eq 'x'` */
    tv_filter *parsed;
    bool is_all;        /* `*`, or PartitionKey ne and nothing else */
    bool has_partition; /* PartitionKey is compared by anything but ne */
    bool has_row;       /* RowKey is compared by anything but ne */
    bool has_row_range; /* by gt, ge, lt or le */
    bool has_partition_range;
    bool has_property;  /* something else is compared */
    bool has_timestamp; /* Timestamp among it */
    bool has_old;       /* Timestamp or another DateTime by lt or le */
    bool has_time;      /* Timestamp or another DateTime by anything */
    tv_compare_op timestamp_op;
    bool has_row_list;       /* an `or` of RowKeys */
    bool has_partition_list; /* an `or` of PartitionKeys */

    /* The outermost `and`, or the body of an outermost `or` of one repeated shape. */
    bool is_conjunction;
    bool fixes_partition; /* PartitionKey eq */
    tv_view_part parts[TV_VIEW_PARTS_MAX];
    size_t part_count;
} tv_shape_view;

/** Lives in the arena; `text` outlives it. */
tv_shape_view tv_shape_view_of(tv_arena *arena, tv_slice text);

/** The first property that is compared, as a name for people; empty when there is none. */
tv_slice tv_shape_view_property(const tv_shape_view *view);

/** Whether a property is compared anywhere in it. */
bool tv_shape_view_compares(const tv_shape_view *view, tv_slice name);

#endif
