/*
 * Testing stored rows against what the ranges of a plan do not decide: the residual.  Used by
 * scans, and by estimates, which test some rows of a table to see how many pass.
 */
#ifndef TV_SERVICES_TABLE_ROW_TEST_H
#define TV_SERVICES_TABLE_ROW_TEST_H

#include "model/odata/plan.h"

typedef struct tv_table_row_test tv_table_row_test;

/** A row at hand.  The keys are decoded only when they are needed. */
typedef struct tv_table_row {
    tv_slice key, value;
    tv_slice partition_key, row_key;
    bool is_split;
} tv_table_row;

/** The test of a plan, which outlives it; in the arena.  Without a residual every row passes. */
tv_table_row_test *tv_table_row_test_new(tv_arena *arena, const tv_plan *plan);

/** What testing a row costs, in units of a plain row: see tv_turn_is_over. */
unsigned tv_table_row_work(const tv_table_row_test *test, tv_slice value);

/** Split the key, which begins with the table's prefix, into PartitionKey and RowKey, once. */
tv_err tv_table_row_split(tv_table_row *row, tv_slice prefix, tv_arena *scratch) TV_WARN_UNUSED;

/** TV_ERR_CORRUPT when the row is no entity. */
tv_err tv_table_row_passes(tv_table_row_test *test, tv_table_row *row, tv_slice prefix,
                           tv_arena *scratch, bool *ret_passes) TV_WARN_UNUSED;

#endif
