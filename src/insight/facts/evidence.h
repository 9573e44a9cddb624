/* The part of the rules' evidence that the facts know. */
#ifndef TV_INSIGHT_FACTS_EVIDENCE_H
#define TV_INSIGHT_FACTS_EVIDENCE_H

#include "insight/advice/evidence.h"
#include "insight/facts/facts.h"

/**
 * Fill in the data of a table: counts, partitions, keys, properties, extremes.  The traffic, which
 * may be there already, stays: partitions in it get their sizes, and large ones are added.
 * Everything lies in the arena.  What cannot be read stays unknown.  May wait for the disk.
 */
void tv_facts_fill_evidence(tv_facts *facts, tv_slice account, int64_t table_id, tv_arena *arena,
                            tv_evidence_table *table);

#endif
