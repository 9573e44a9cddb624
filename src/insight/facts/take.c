/* What is known of a table, as it is given to those who ask. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "insight/facts/class.h"
#include "insight/facts/internal.h"
#include "insight/facts/job.h"
#include "insight/facts/properties.h"
#include "store/engine/key.h"

/* --- copies under the lock --- */

static tv_err split(tv_arena *arena, tv_slice key, tv_facts_key *ret_key)
{
    size_t mark = tv_slice_find(key, TV_KEY_MARK);
    tv_err err = tv_key_decode_text(arena, tv_slice_take(key, mark), &ret_key->partition_key);

    if (err)
        return err;
    return tv_key_decode_text(arena, tv_slice_skip(key, mark < key.len ? mark + 1 : mark),
                              &ret_key->row_key);
}

static tv_slice tail_of(const tv_sketch_key *item)
{
    return (tv_slice){item->key, item->len};
}

static int compare_items(const void *a, const void *b)
{
    return tv_slice_cmp(tail_of(a), tail_of(b));
}

/* The sample in key order; its keys are copies in the arena. */
static tv_sketch_key *copy_sample(tv_arena *arena, const tv_sketch *sketch)
{
    size_t count = sketch->sample_count;
    tv_sketch_key *items = tv_arena_alloc(arena, (count + 1) * sizeof *items);

    memcpy(items, sketch->sample, count * sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i].key = (char *)tv_arena_dup(arena, tail_of(&items[i])).data;
    qsort(items, count, sizeof *items, compare_items);
    return items;
}

static int compare_partitions(const void *a, const void *b)
{
    const tv_facts_partition *p = a, *q = b;

    return p->entities != q->entities ? (p->entities < q->entities ? 1 : -1)
                                      : tv_slice_cmp(p->partition_key, q->partition_key);
}

/*
 * Partitions: those that are counted, and those that the sample shows.  PartitionKeys stay as they
 * are stored.  Returns how many the sample has.
 */
static size_t list_partitions(tv_arena *arena, tv_sketch *sketch, const tv_sketch_key *items,
                              uint64_t entities, tv_facts_table *table)
{
    size_t count = sketch->sample_count, found = 0, groups = 0;
    bool has_all = tv_sketch_has_all(sketch);
    tv_facts_partition *list =
        tv_arena_alloc(arena, (count + TV_FACTS_PARTITIONS_MAX + 1) * sizeof *list);

    for (size_t i = 0; sketch->partitions && i < TV_SKETCH_PARTITION_SLOTS; i++) {
        const tv_sketch_partition *p = &sketch->partitions[i];

        if (p->key && p->entities && !has_all)
            list[found++] = (tv_facts_partition){tv_arena_dup(arena, (tv_slice){p->key, p->len}),
                                                 p->entities, p->bytes, true};
    }
    for (size_t begin = 0, end; begin < count; begin = end, groups++) {
        tv_slice key = tv_sketch_partition_of(tail_of(&items[begin]));
        uint64_t bytes = 0;

        for (end = begin;
             end < count && tv_slice_eq(key, tv_sketch_partition_of(tail_of(&items[end]))); end++)
            bytes += items[end].bytes;
        if (has_all)
            list[found++] = (tv_facts_partition){key, end - begin, bytes, true};
        else if (end - begin >= 2 && tv_sketch_find_partition(sketch, key) == NULL)
            list[found++] = (tv_facts_partition){
                key, (uint64_t)((double)entities * (double)(end - begin) / (double)count),
                (uint64_t)((double)entities * (double)bytes / (double)count), false};
    }
    qsort(list, found, sizeof *list, compare_partitions);
    table->largest_partitions = list;
    table->largest_partition_count =
        found > TV_FACTS_PARTITIONS_MAX ? TV_FACTS_PARTITIONS_MAX : found;
    return groups;
}

static void count_partitions(const tv_sketch *sketch, size_t groups, tv_facts_table *table)
{
    const double error = 1.96 * 1.04 / 32; /* of a standard error of 1.04 / sqrt(1,024) */

    if (tv_sketch_has_all(sketch)) {
        table->partitions = (double)groups;
        return;
    }
    if (table->largest_partition_count && table->largest_partitions[0].is_exact &&
        table->largest_partitions[0].entities == table->count.entities) {
        table->partitions = 1;
        return;
    }
    table->partitions = tv_distinct_estimate(&sketch->partition_keys);
    if (table->partitions < (double)groups)
        table->partitions = (double)groups;
    table->partitions_error = table->partitions * error;
}

/* --- texts, without the lock --- */

static tv_err decode_keys(tv_arena *arena, const tv_sketch_key *items, tv_facts_table *table)
{
    tv_class_list *partitions = tv_arena_zalloc(arena, sizeof *partitions);
    tv_class_list *rows = tv_arena_zalloc(arena, sizeof *rows);

    table->sample = tv_arena_alloc(arena, (table->sample_count + 1) * sizeof *table->sample);
    for (size_t i = 0; i < table->sample_count; i++) {
        tv_facts_key *key = &table->sample[i];
        tv_err err = split(arena, tail_of(&items[i]), key);

        if (err)
            return err;

        size_t partition_units = tv_utf8_units(key->partition_key);
        size_t row_units = tv_utf8_units(key->row_key);
        size_t units = partition_units > row_units ? partition_units : row_units;

        if (units > table->key_units_max)
            table->key_units_max = (uint32_t)units;
        tv_class_list_add(partitions, arena, key->partition_key);
        tv_class_list_add(rows, arena, key->row_key);
    }
    table->partition_classes = partitions->list;
    table->partition_class_count = partitions->count;
    table->row_classes = rows->list;
    table->row_class_count = rows->count;
    for (size_t i = 0; i < table->largest_partition_count; i++) {
        tv_slice *key = &table->largest_partitions[i].partition_key;
        tv_err err = tv_key_decode_text(arena, *key, key);

        if (err)
            return err;
    }
    return TV_OK;
}

static tv_err copy_largest(tv_arena *arena, const tv_sketch *sketch, tv_facts_table *table)
{
    table->largest_count = sketch->largest_count;
    for (size_t i = 0; i < sketch->largest_count; i++) {
        tv_err err = split(arena, tail_of(&sketch->largest[i]), &table->largest[i].key);

        if (err)
            return err;
        table->largest[i].bytes = sketch->largest[i].bytes;
    }
    return TV_OK;
}

static tv_slice name_of(tv_arena *arena, const tv_sketch_extreme *extreme)
{
    return extreme->name ? tv_arena_dup(arena, (tv_slice){extreme->name, extreme->len}) : TV_NONE;
}

static tv_err copy_extremes(tv_arena *arena, const tv_sketch *sketch, tv_facts_extremes *ret)
{
    const tv_sketch_extreme *list = sketch->extremes;
    tv_err err = TV_OK;

    *ret = (tv_facts_extremes){
        .properties_max = (uint32_t)list[TV_EXTREME_PROPERTIES].value,
        .cost_max = list[TV_EXTREME_COST].value,
        .string_units_max = (uint32_t)list[TV_EXTREME_STRING].value,
        .string_property = name_of(arena, &list[TV_EXTREME_STRING]),
        .string_count = sketch->long_strings,
        .binary_bytes_max = (uint32_t)list[TV_EXTREME_BINARY].value,
        .binary_property = name_of(arena, &list[TV_EXTREME_BINARY]),
        .binary_count = sketch->long_binaries,
    };
    if (list[TV_EXTREME_PROPERTIES].name)
        err = split(arena, name_of(arena, &list[TV_EXTREME_PROPERTIES]), &ret->properties_key);
    if (err == TV_OK && list[TV_EXTREME_COST].name)
        err = split(arena, name_of(arena, &list[TV_EXTREME_COST]), &ret->cost_key);
    return err;
}

tv_err tv_facts_take(tv_facts *facts, tv_slice account, int64_t table_id, int parts,
                     tv_arena *arena, tv_facts_table *ret_table)
{
    tv_fact *fact = tv_fact_find_id(facts, account, table_id);
    tv_sketch_key *items = NULL;
    tv_sketch *sketch = NULL;
    uint64_t seed = 0;
    tv_err err = TV_OK;

    *ret_table = (tv_facts_table){0};
    pthread_mutex_lock(&fact->lock);
    ret_table->count = tv_fact_count(fact);
    ret_table->counted_ticks = fact->counted_ticks;
    if (parts)
        sketch = tv_fact_sketch(facts, fact);
    if (sketch) {
        fact->used_ns = tv_clock_mono_ns();
        items = copy_sample(arena, sketch);
        seed = sketch->seed;
        ret_table->sample_count = sketch->sample_count;
        ret_table->sample_is_all = tv_sketch_has_all(sketch);

        size_t groups = list_partitions(arena, sketch, items, ret_table->count.entities, ret_table);

        count_partitions(sketch, groups, ret_table);
        err = copy_largest(arena, sketch, ret_table);
        if (err == TV_OK)
            err = copy_extremes(arena, sketch, &ret_table->extremes);
    }

    bool wants_count = fact->wants_count;

    pthread_mutex_unlock(&fact->lock);
    if (wants_count)
        tv_facts_wake(facts);
    if (err == TV_OK && items)
        err = decode_keys(arena, items, ret_table);
    if (err == TV_OK && items && parts & TV_FACTS_PROPERTIES)
        err = tv_facts_take_properties(facts, fact, seed, items, arena, ret_table);
    tv_fact_unref(fact);
    return err;
}

bool tv_facts_partition_count(tv_facts *facts, tv_slice account, int64_t table_id,
                              tv_slice partition_key, uint64_t *ret_entities)
{
    tv_fact *fact = tv_fact_find_id(facts, account, table_id);
    bool is_known = false;
    tv_arena arena;
    tv_slice stored;

    tv_arena_init(&arena);
    if (tv_key_encode_text(&arena, partition_key, &stored) == TV_OK) {
        pthread_mutex_lock(&fact->lock);
        tv_sketch *sketch = fact->is_uncounted ? NULL : tv_fact_sketch(facts, fact);
        tv_sketch_partition *partition = sketch ? tv_sketch_find_partition(sketch, stored) : NULL;

        if (partition) {
            *ret_entities = partition->entities;
            is_known = true;
        } else if (sketch && tv_sketch_has_all(sketch)) {
            *ret_entities = 0;
            for (size_t i = 0; i < sketch->sample_count; i++)
                *ret_entities +=
                    tv_slice_eq(tv_sketch_partition_of(tail_of(&sketch->sample[i])), stored);
            is_known = true;
        }
        pthread_mutex_unlock(&fact->lock);
    }
    tv_arena_done(&arena);
    tv_fact_unref(fact);
    return is_known;
}

/* --- what others tell --- */

void tv_facts_note_scan(tv_facts *facts, tv_slice account, int64_t table_id, tv_slice partition,
                        uint64_t examined)
{
    enum { WORTH_COUNTING = 1000 };

    if (examined < WORTH_COUNTING || facts->is_shared)
        return;

    tv_fact *fact = tv_fact_find_id(facts, account, table_id);
    tv_slice key = tv_sketch_partition_of(partition);

    pthread_mutex_lock(&fact->lock);
    if (fact->sketch && !tv_sketch_has_all(fact->sketch) && fact->wanted_partition.data == NULL &&
        tv_sketch_find_partition(fact->sketch, key) == NULL) {
        char *copy = tv_malloc(key.len + 1);

        if (key.len)
            memcpy(copy, key.data, key.len);
        fact->wanted_partition = (tv_slice){copy, key.len};
    }
    pthread_mutex_unlock(&fact->lock);
    tv_fact_unref(fact);
}

void tv_facts_note_entity(tv_facts *facts, tv_slice account, int64_t table_id, tv_slice row,
                          const tv_property *properties, size_t property_count)
{
    tv_fact *fact = tv_fact_find_id(facts, account, table_id);

    pthread_mutex_lock(&fact->lock);
    if (fact->sketch) {
        tv_slice key = tv_slice_skip(row, 1 + fact->table.len);
        uint64_t cost = tv_facts_key_cost(key);

        for (size_t i = 0; i < property_count; i++) {
            cost += tv_property_cost(&properties[i]);
            tv_facts_look_at_value(fact->sketch, &properties[i]);
        }
        tv_sketch_note_extreme(fact->sketch, TV_EXTREME_PROPERTIES, property_count, key);
        tv_sketch_note_extreme(fact->sketch, TV_EXTREME_COST, cost, key);
    }
    pthread_mutex_unlock(&fact->lock);
    tv_fact_unref(fact);
}
