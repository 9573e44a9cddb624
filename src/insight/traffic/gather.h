/*
 * The columns of some time, by table: read out of the bytes of their file, in which a block may
 * need the bounds of an earlier one.
 */
#ifndef TV_INSIGHT_TRAFFIC_GATHER_H
#define TV_INSIGHT_TRAFFIC_GATHER_H

#include "insight/traffic/column.h"

/** A table's part of one column. */
typedef struct tv_piece {
    uint32_t minute;
    tv_axis *axis;
    tv_counts *counts; /* one for each bucket of the axis */
} tv_piece;

typedef struct tv_gathered {
    tv_slice account; /* in the file's bytes */
    int64_t id;
    tv_axis *last; /* of its blocks so far, or NULL */
    tv_piece *pieces;
    size_t count, size;
} tv_gathered;

/** All zeros at first. */
typedef struct tv_traffic_gather {
    tv_slice account; /* with data: of this table only */
    int64_t table_id;
    uint32_t from, to; /* minutes: columns in [from, to) */
    tv_gathered *tables;
    size_t count, size;
    uint32_t *slots; /* a hash table: places in `tables` and 1 */
    size_t slot_count;
    unsigned flags; /* of all these columns */

    /** Called for each of these columns, or NULL. */
    void (*on_column)(void *ctx, const tv_column_head *head);
    void *ctx;
} tv_traffic_gather;

void tv_traffic_gather_done(tv_traffic_gather *gather);

/**
 * Add the columns of a file, whose bytes outlive what is gathered.  Damaged blocks are left out.
 * Files are added in the order of time; each begins with no axes.
 */
void tv_traffic_gather_file(tv_traffic_gather *gather, tv_slice file);

#endif
