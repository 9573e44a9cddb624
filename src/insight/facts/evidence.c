/* From facts to evidence. */
#include "insight/facts/evidence.h"

enum { LARGE_MAX = 16 }; /* partitions that are added, whatever their traffic */

/* Every n-th key of the sample is a sample of it: it is in key order, and hashes chose it. */
static void fill_keys(const tv_facts_table *facts, tv_arena *arena, tv_evidence_table *table)
{
    size_t count =
        facts->sample_count < TV_EVIDENCE_KEYS_MAX ? facts->sample_count : TV_EVIDENCE_KEYS_MAX;

    table->keys = tv_arena_alloc(arena, (count + 1) * sizeof *table->keys);
    table->key_count = count;
    for (size_t i = 0; i < count; i++)
        table->keys[i] = facts->sample[i * facts->sample_count / count];
    table->max_key_units = facts->key_units_max;
}

/* What was refused is of the traffic, and stays. */
static void fill_extremes(const tv_facts_table *facts, tv_evidence_extremes *extremes)
{
    tv_evidence_extremes known = facts->extremes;

    known.refused_properties = extremes->refused_properties;
    known.refused_entity = extremes->refused_entity;
    known.refused_value = extremes->refused_value;
    *extremes = known;
}

static tv_evidence_partition *find_partition(tv_evidence_table *table, tv_slice partition_key)
{
    for (size_t i = 0; i < table->partition_count; i++) {
        if (tv_slice_eq(table->partitions[i].partition_key, partition_key))
            return &table->partitions[i];
    }
    return NULL;
}

static void fill_partitions(const tv_facts_table *facts, tv_arena *arena, tv_evidence_table *table)
{
    size_t traffic = table->partition_count;
    tv_evidence_partition *list = tv_arena_zalloc(arena, (traffic + LARGE_MAX) * sizeof *list);

    if (traffic)
        memcpy(list, table->partitions, traffic * sizeof *list);
    table->partitions = list;
    for (size_t i = 0; i < facts->largest_partition_count; i++) {
        const tv_facts_partition *from = &facts->largest_partitions[i];
        tv_evidence_partition *to = find_partition(table, from->partition_key);

        if (to == NULL && table->partition_count < traffic + LARGE_MAX) {
            to = &list[table->partition_count++];
            to->partition_key = from->partition_key;
        }
        if (to) {
            to->entities_now = from->entities;
            to->bytes_now = from->bytes;
            to->is_exact = from->is_exact && facts->count.basis == TV_FACTS_EXACT;
        }
    }
}

void tv_facts_fill_evidence(tv_facts *facts, tv_slice account, int64_t table_id, tv_arena *arena,
                            tv_evidence_table *table)
{
    tv_facts_table known;

    if (tv_facts_take(facts, account, table_id, TV_FACTS_KEYS | TV_FACTS_PROPERTIES,
                      TV_FACTS_WAIT_LEAST_NS, arena, &known))
        return;

    table->is_exact = known.count.basis == TV_FACTS_EXACT;
    table->entities_now = known.count.entities;
    table->bytes_now = known.count.bytes;
    table->partitions_now = known.partitions;
    table->partitions_exact = table->is_exact && known.partitions_error == 0 && known.sample_count;
    fill_keys(&known, arena, table);
    table->properties = known.properties;
    table->property_count = known.property_count;
    table->property_samples = known.property_samples;
    fill_extremes(&known, &table->extremes);
    fill_partitions(&known, arena, table);
}
