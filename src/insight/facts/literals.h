/* Comparisons of a filter that are hardly meant: with another type than what is stored, or of a
 * name in another case. */
#ifndef TV_INSIGHT_FACTS_LITERALS_H
#define TV_INSIGHT_FACTS_LITERALS_H

#include "insight/facts/facts.h"
#include "model/odata/filter.h"

enum { TV_FACTS_MISTAKES_MAX = 8 };

/**
 * A sentence for each property that is compared with a type that no entity of the sample has:
 * "Age is Int32 in 12 of 12 sampled entities; write 60".  Such a comparison is the same for all
 * entities, and hardly meant; of keys and Timestamp the parser refuses it.  `table` has properties;
 * of a name that no sampled entity has nothing is said, unless one has it in another case: "age is
 * in none of 12 sampled entities; write Age".  At most TV_FACTS_MISTAKES_MAX, in the arena.
 */
size_t tv_facts_find_mistakes(const tv_facts_table *table, const tv_filter *filter, tv_arena *arena,
                              tv_slice ret_mistakes[TV_FACTS_MISTAKES_MAX]);

#endif
