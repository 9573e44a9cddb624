/*
 * What a query is going to cost, before it runs: how many entities it examines and returns, by
 * what is known of its table.  Every number has bounds, which hold 95 times in a hundred at least
 * (tests/unit/insight/facts/model_test.c), and says what it goes by.
 */
#ifndef TV_INSIGHT_FACTS_ESTIMATE_H
#define TV_INSIGHT_FACTS_ESTIMATE_H

#include "insight/facts/cost.h"
#include "insight/facts/facts.h"
#include "model/odata/plan.h"

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

/** How it is known how many of the examined entities pass the test on the others' properties. */
typedef enum tv_share_basis {
    TV_SHARE_ALL,       /* there is no test */
    TV_SHARE_COUNTED,   /* all were tested just now: exact */
    TV_SHARE_SAMPLE,    /* those of the key sample in the query's ranges were */
    TV_SHARE_HISTORY,   /* queries of this shape */
    TV_SHARE_BEGINNING, /* the first ones were tested, and the others may differ */
    TV_SHARE_BASES,
} tv_share_basis;

/** "all", "counted", "sample", "history", "beginning". */
const char *tv_share_basis_name(tv_share_basis basis);

typedef struct tv_estimate {
    tv_estimate_basis basis;
    bool is_exact; /* `examined`; then the bounds are the same */
    double examined, low, high;
    tv_share_basis returned_basis;
    double returned, returned_low, returned_high;
    uint64_t pages;
    double ms;
    /* The same query in Azure. */
    const char *azure_plan; /* as tv_plan_kind_name, or "refused" */
    bool azure_is_documented;
    double azure_examined;
} tv_estimate;

/** What queries of the same shape did to the table of late. */
typedef struct tv_estimate_history {
    uint64_t examined, returned, bytes; /* of answers */
    double share_low, share_high;       /* of examined entities that one page returned */
} tv_estimate_history;

typedef struct tv_estimate_query {
    tv_slice account;
    int64_t table_id;
    tv_slice prefix; /* of the table's rows */
    const tv_plan *plan;
    size_t top;                         /* 0: not given */
    const tv_estimate_history *history; /* or NULL */
    const tv_query_cost *cost;          /* of the table, or NULL */
    int64_t probe_ns;                   /* how long to count; 0: 2 ms */
} tv_estimate_query;

/** May wait for the disk, some milliseconds.  Fails as the engine does. */
tv_err tv_facts_estimate(tv_facts *facts, const tv_estimate_query *query, tv_arena *arena,
                         tv_estimate *ret_estimate) TV_WARN_UNUSED;

/** A query that was estimated has run to its end: keep how far the estimate was off. */
void tv_facts_note_estimate(tv_facts *facts, const tv_estimate *estimate, uint64_t examined);

#endif
