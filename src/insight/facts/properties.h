/* What properties the entities of a table have, by those of its key sample. */
#ifndef TV_INSIGHT_FACTS_PROPERTIES_H
#define TV_INSIGHT_FACTS_PROPERTIES_H

#include "insight/facts/internal.h"

/**
 * Fill in the properties of a table whose keys have been taken: `items` are those of the sample.
 * What was read a moment ago is given again while little has changed, and the sample is still that
 * one.
 */
tv_err tv_facts_take_properties(tv_facts *facts, tv_fact *fact, const tv_sample *sample,
                                const tv_sample_key *items, tv_arena *arena,
                                tv_facts_table *table) TV_WARN_UNUSED;

#endif
