/* Walks over all rows of a table in a snapshot: its count and its sample, while writes go on. */
#ifndef TV_INSIGHT_FACTS_WALK_H
#define TV_INSIGHT_FACTS_WALK_H

#include "base/utf8.h"
#include "insight/facts/internal.h"

/** What a walk may take. */
typedef struct tv_facts_budget {
    int64_t ns;       /* in all; 0: no bound */
    int part_of_core; /* rest so that it takes one n-th of a core; 0: it does not rest */
} tv_facts_budget;

/** What it has found. */
typedef struct tv_facts_found {
    tv_facts_sums base; /* what the sums lack */
    tv_sample *sample;  /* the caller's */
    tv_extremes extremes;
} tv_facts_found;

/**
 * Walk over a table.  TV_ERR_STOPPED: the thread is to stop, the table is dropped, or the budget is
 * used up.  On TV_OK the caller ends `ret_found` with tv_facts_found_done.
 */
tv_err tv_facts_walk(tv_facts *facts, tv_fact *fact, tv_facts_budget budget,
                     tv_facts_found *ret_found) TV_WARN_UNUSED;

void tv_facts_found_done(tv_facts_found *found);

/** Note the length of a value. */
void tv_facts_look_at_value(tv_extremes *extremes, const tv_property *property);

#endif
