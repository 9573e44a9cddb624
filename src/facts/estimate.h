/*
 * What a query is going to cost, before it runs: how many entities it examines and returns, by
 * what is known of its table.  Every number has bounds, which hold in nine of ten cases at least
 * (tests/unit/facts/estimate_test.c), and says what it goes by.
 */
#ifndef TV_FACTS_ESTIMATE_H
#define TV_FACTS_ESTIMATE_H

#include "facts/facts.h"
#include "odata/plan.h"

typedef enum tv_estimate_basis {
    TV_ESTIMATE_COUNTED,        /* the keys were counted just now: exact */
    TV_ESTIMATE_TABLE_FACT,     /* the whole table, whose count is exact */
    TV_ESTIMATE_PARTITION_FACT, /* whole partitions, likewise */
    TV_ESTIMATE_KEY_SAMPLE,
    TV_ESTIMATE_MEAN_PARTITION,
    TV_ESTIMATE_NOTHING, /* the table is not counted yet: what was counted is the least */
    TV_ESTIMATE_BASES,
} tv_estimate_basis;

/** "counted", "table fact", "partition fact", "key sample", "mean partition", "nothing". */
const char *tv_estimate_basis_name(tv_estimate_basis basis);

typedef struct tv_estimate {
    tv_estimate_basis basis;
    double examined, low, high; /* all three the same: exact */
    double returned, returned_low, returned_high;
    bool returned_is_guess; /* by the selectivity of a test on properties */
    uint64_t pages;
    double ms;
    /* The same query in Azure. */
    const char *azure_plan; /* as tv_plan_kind_name, or "refused" */
    bool azure_is_documented;
    double azure_examined;
} tv_estimate;

typedef struct tv_estimate_query {
    tv_slice account;
    int64_t table_id;
    tv_slice prefix; /* of the table's rows */
    const tv_plan *plan;
    size_t top; /* 0: not given */
} tv_estimate_query;

/** May wait for the disk, some milliseconds.  Fails as the engine does. */
tv_err tv_facts_estimate(tv_facts *facts, const tv_estimate_query *query, tv_arena *arena,
                         tv_estimate *ret_estimate) TV_WARN_UNUSED;

/** A query that was estimated has run to its end: keep how far the estimate was off. */
void tv_facts_note_estimate(tv_facts *facts, const tv_estimate *estimate, uint64_t examined);

#endif
