/*
 * The shape of a query: its filter without values, in one normal form.  Queries that differ only
 * in their literals, in the order of what `and` and `or` join, in how long a list of
 * alternatives is or in parentheses have one shape.
 *
 *  (1) A literal becomes `?` and its type: s String, i Int32, l Int64, d Double, b Boolean,
 *      t DateTime, g Guid, x Binary.
 *  (2) `not` before one comparison of PartitionKey or RowKey, which every entity has, turns the
 *      operator round; any other stays as `not(...)`, since a property that is not there passes
 *      no comparison.
 *  (3) Children of an `or` with the same text collapse to `any(text)`, of an `and` to `all(text)`.
 *  (4) Children are sorted: those that begin with PartitionKey, those with RowKey, the others,
 *      and among these by their bytes.
 *  (5) An `and` or `or` inside another operator stands in parentheses unless it has collapsed to
 *      one part.  No filter is `*`.
 *  (6) Names are kept, those of more than 64 bytes cut there and marked by a hash.  What is nested
 *      more than 32 deep is its hash.
 *
 * The fingerprint is FNV-1a over `v1|QueryEntities|<text>|select=<0|1>|top=<0|1>`: it does not
 * depend on the server, its data or its time, so it may stand in files.
 */
#ifndef TV_MODEL_ODATA_SHAPE_H
#define TV_MODEL_ODATA_SHAPE_H

#include "model/odata/filter.h"

enum {
    TV_SHAPE_TEXT_MAX = 512, /* bytes that are kept of a text; its fingerprint is of all of it */
    TV_SHAPE_NAME_MAX = 64,
    TV_SHAPE_DEPTH_MAX = 32,
};

/** What a filter looks at, so that nobody has to read the text again. */
typedef enum tv_shape_flag {
    TV_SHAPE_PARTITION = 1 << 0,          /* PartitionKey is compared somewhere */
    TV_SHAPE_ROW = 1 << 1,                /* RowKey is */
    TV_SHAPE_PROPERTY = 1 << 2,           /* something else is */
    TV_SHAPE_TIMESTAMP = 1 << 3,          /* Timestamp is */
    TV_SHAPE_DATETIME = 1 << 4,           /* a property is compared with a DateTime */
    TV_SHAPE_OLDER = 1 << 5,              /* Timestamp or another DateTime by lt or le */
    TV_SHAPE_NEWER = 1 << 6,              /* by gt or ge */
    TV_SHAPE_ANY_ROW = 1 << 7,            /* an `or` of nothing but comparisons of RowKey */
    TV_SHAPE_ANY_PARTITION = 1 << 8,      /* an `or` all of whose parts compare PartitionKey */
    TV_SHAPE_PARTITION_EQ = 1 << 9,       /* the top `and` has PartitionKey eq */
    TV_SHAPE_PARTITION_SPAN = 1 << 10,    /* the top `and` has PartitionKey gt, ge, lt or le */
    TV_SHAPE_ROW_SPAN = 1 << 11,          /* RowKey is compared by gt, ge, lt or le */
    TV_SHAPE_ONLY_NE_PARTITION = 1 << 12, /* nothing but PartitionKey ne */
} tv_shape_flag;

typedef struct tv_shape {
    tv_slice text; /* at most TV_SHAPE_TEXT_MAX bytes, cut between characters */
    uint64_t fingerprint;
    uint32_t flags;    /* tv_shape_flag */
    uint32_t list_len; /* parts that the longest any() or all() stands for; 0 without one */
    uint32_t comparisons;
} tv_shape;

/** The shape of a query; its text is in the arena. */
tv_shape tv_shape_make(tv_arena *arena, const tv_filter *filter, bool has_select, bool has_top);

/**
 * The literals that the marks of a shape's text stand for, in its order; those of a list one after
 * another.  How many there are; the array is in the arena.  What is hidden by its hash has none.
 */
size_t tv_shape_literals(tv_arena *arena, const tv_filter *filter,
                         const tv_property *const **ret_literals);

/**
 * A hash of all that a shape is made of, without the work of making it: filters with the same one
 * have the same shape, so that it can be looked up.  Under the process's own key (base/hash.h).
 */
uint64_t tv_shape_structure(const tv_filter *filter, bool has_select, bool has_top);

/** The filter as it was sent, without its values: `Name eq '...' and Age gt 0`. */
tv_slice tv_shape_example(tv_arena *arena, const tv_filter *filter, size_t bytes_max);

/** With which case of letters the bounds (gt, ge, lt, le) of keys begin, if all do. */
typedef enum tv_shape_case {
    TV_SHAPE_CASE_NONE,
    TV_SHAPE_CASE_UPPER,
    TV_SHAPE_CASE_LOWER,
} tv_shape_case;
tv_shape_case tv_shape_bounds_case(const tv_filter *filter);

#endif
