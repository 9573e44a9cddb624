/* Counts of the background thread, one at a time. */
#ifndef TV_INSIGHT_FACTS_JOB_H
#define TV_INSIGHT_FACTS_JOB_H

#include "base/utf8.h"
#include "insight/facts/internal.h"

/** What a count has found of a table. */
typedef struct tv_facts_found {
    tv_facts_sums base; /* what the sums lack */
    bool differs;       /* from what the table had, which was exact: a bug */
} tv_facts_found;

/**
 * Count all of a table and make its sketch anew; its base is left to the caller.  TV_ERR_STOPPED:
 * the thread is to stop, the table is dropped, or so much was written that it must be done again.
 */
tv_err tv_facts_count_table(tv_facts *facts, tv_fact *fact,
                            tv_facts_found *ret_found) TV_WARN_UNUSED;

/** Count one partition, from now on exactly known.  `partition_key` as it is stored. */
tv_err tv_facts_count_partition(tv_facts *facts, tv_fact *fact,
                                tv_slice partition_key) TV_WARN_UNUSED;

/** Where all places are taken, give up the smallest partition for one of so many entities. */
void tv_facts_make_room(tv_sketch *sketch, uint64_t entities);

/** Note the length of a value. */
void tv_facts_look_at_value(tv_sketch *sketch, const tv_property *property);

/** What a key adds to the cost of its entity. */
uint64_t tv_facts_key_cost(tv_slice key);

#endif
