/*
 * Where the new rows of a range come.
 *
 * The leader looks at all rows of a range now and then, and keeps a few marks: partitions, each
 * with the rows before it.  The next look tells how many rows have come between any two marks. When
 * nearly all came into one stretch, behind or before all that was there, the range is cut where
 * that stretch goes on, so that what has become still stays where it is.
 *
 * Rows are counted and no samples are taken: reads and updates do not blur it, and one look at a
 * range that grows is enough.
 */
#ifndef TV_SERVER_CLUSTER_GROWTH_H
#define TV_SERVER_CLUSTER_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/** The beginning of a partition within a range, and how much of the range is before it. */
typedef struct tv_range_boundary {
    tv_slice partition;
    uint64_t rows_before, bytes_before;
} tv_range_boundary;

/** A range as it is found by a look at all of its rows. */
typedef struct tv_range_shape {
    tv_slice start, end; /* end "": none */
    tv_slice first;      /* the partition of its first row */
    uint64_t rows, bytes;
    tv_range_boundary
        *boundaries; /* of partitions behind the first, in order; some, and the last one */
    size_t count;
} tv_range_shape;

/** What is remembered of a look.  Zeros: there was none. */
typedef struct tv_marks {
    tv_range_boundary *at; /* the first partition, the last one, and some between */
    size_t count;
    uint64_t rows;
} tv_marks;

void tv_marks_keep(tv_marks *marks, const tv_range_shape *shape);
void tv_marks_done(tv_marks *marks);

typedef enum tv_growth_kind {
    TV_GROWTH_UNKNOWN, /* too little was there, or has come since */
    TV_GROWTH_SPREAD,
    TV_GROWTH_UP,   /* each new row behind the one before: it is appended to */
    TV_GROWTH_DOWN, /* each before the one before: it is prepended to */
} tv_growth_kind;

/** Since the last look.  The boundaries of a shape from `first` to before `end` are in its way. */
typedef struct tv_growth {
    tv_growth_kind kind;
    size_t first, end;
    bool is_from_start; /* its way begins with the range, before all boundaries */
} tv_growth;

tv_growth tv_growth_since(const tv_marks *marks, const tv_range_shape *shape);

#endif
