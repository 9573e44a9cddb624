/*
 * How a query is answered: which key ranges are read, and what is still to be
 * tested on the rows found there.  Each plan has the name that the Table Design
 * Guide gives to such a query.
 */
#ifndef TV_MODEL_ODATA_PLAN_H
#define TV_MODEL_ODATA_PLAN_H

#include "model/odata/filter.h"

/** From best to worst, in the guide's order. */
typedef enum tv_plan_kind {
    TV_PLAN_POINT,     /* Point Query: both keys are given, of one entity or of several */
    TV_PLAN_RANGE,     /* Range Query: PartitionKey and a range of RowKey */
    TV_PLAN_PARTITION, /* Partition Scan: PartitionKey, and no bounds on RowKey */
    TV_PLAN_TABLE,     /* Table Scan: no certain PartitionKey */
    TV_PLAN_KINDS,
} tv_plan_kind;

/** "point", "range", "partition", "table". */
const char *tv_plan_kind_name(tv_plan_kind kind);

/** Why a page of a query ended. */
typedef enum tv_page_end {
    TV_PAGE_END_DONE,  /* there is nothing more: no token */
    TV_PAGE_END_ROWS,  /* 1,000 entities */
    TV_PAGE_END_TOP,   /* as many as $top asked for, fewer than 1,000 */
    TV_PAGE_END_BYTES, /* 4 MiB, or no memory for more */
    TV_PAGE_END_TIME,
    TV_PAGE_ENDS,
} tv_page_end;

/** "done", "rows", "top", "bytes", "time". */
const char *tv_page_end_name(tv_page_end end);

/** The rows in [from, to). */
typedef struct tv_key_range {
    tv_slice from, to;
    tv_plan_kind kind;
} tv_key_range;

typedef struct tv_plan {
    tv_plan_kind kind;    /* the worst of its ranges; TV_PLAN_POINT when there is none */
    tv_key_range *ranges; /* sorted, disjoint */
    size_t count;
    const tv_filter *filter;
    const tv_node *residual; /* what the ranges do not decide; NULL when they decide all */
} tv_plan;

/** Ranges that would take more are replaced by fewer, wider ones. */
enum { TV_PLAN_BYTES_MAX = 256 * 1024 };

/**
 * Plan a query over the rows that begin with `table_prefix`.  Lives in the arena,
 * which nothing else of the planning touches.  The work is bounded (region.h): a
 * millisecond or two.
 */
tv_plan tv_plan_make(tv_arena *arena, tv_slice table_prefix, const tv_filter *filter);

/** What all keys of the one partition begin with that all ranges are in; TV_NONE for none or many.
 */
tv_slice tv_plan_partition(const tv_plan *plan);

/**
 * The kind that such a plan has, without the plan: for a client, which has no rows.  All that it
 * takes is what tv_region_of takes of `scratch`.
 */
tv_plan_kind tv_plan_kind_of(tv_arena *scratch, size_t prefix_len, const tv_filter *filter);

#endif
