/* What is known of a table, as it is given to those who ask. */
#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "insight/facts/class.h"
#include "insight/facts/properties.h"
#include "insight/facts/walk.h"
#include "store/engine/key.h"

static tv_err split(tv_arena *arena, tv_slice key, tv_evidence_key *ret_key)
{
    size_t mark = tv_slice_find(key, TV_KEY_MARK);
    tv_err err = tv_key_decode_text(arena, tv_slice_take(key, mark), &ret_key->partition_key);

    if (err)
        return err;
    return tv_key_decode_text(arena, tv_slice_skip(key, mark < key.len ? mark + 1 : mark),
                              &ret_key->row_key);
}

static int compare_items(const void *a, const void *b)
{
    return tv_slice_cmp(tv_sample_key_text(a), tv_sample_key_text(b));
}

/* The keys of the sample in their order. */
static tv_sample_key *sort_keys(tv_arena *arena, const tv_sample *sample)
{
    size_t count = sample->key_count;
    tv_sample_key *items = tv_arena_alloc(arena, (count + 1) * sizeof *items);

    memcpy(items, sample->keys, count * sizeof *items);
    qsort(items, count, sizeof *items, compare_items);
    return items;
}

static int compare_partitions(const void *a, const void *b)
{
    const tv_facts_partition *p = a, *q = b;

    return p->entities != q->entities ? (p->entities < q->entities ? 1 : -1)
                                      : tv_slice_cmp(p->partition_key, q->partition_key);
}

/* One that may be gone by now, or twice as large, is not named. */
static tv_err list_partitions(tv_arena *arena, const tv_sample *sample, const tv_facts_since *since,
                              tv_facts_table *table)
{
    uint64_t error = since->created > since->deleted ? since->created : since->deleted;
    tv_facts_partition *list = tv_arena_alloc(arena, (sample->partition_count + 1) * sizeof *list);
    bool is_current = tv_facts_since_is_nothing(since);
    size_t count = 0;

    for (size_t i = 0; i < sample->partition_count; i++) {
        const tv_sample_partition *p = &sample->partitions[i];

        if (p->entities > error)
            list[count++] =
                (tv_facts_partition){{p->key, p->len}, p->entities, p->bytes, is_current, error};
    }
    qsort(list, count, sizeof *list, compare_partitions);
    for (size_t i = 0; i < count; i++) {
        tv_err err = tv_key_decode_text(arena, list[i].partition_key, &list[i].partition_key);

        if (err)
            return err;
    }
    table->largest_partitions = list;
    table->largest_partition_count = count;
    return TV_OK;
}

static tv_err decode_keys(tv_arena *arena, const tv_sample_key *items, tv_facts_table *table)
{
    tv_class_list *partitions = tv_arena_zalloc(arena, sizeof *partitions);
    tv_class_list *rows = tv_arena_zalloc(arena, sizeof *rows);

    table->sample = tv_arena_alloc(arena, (table->sample_count + 1) * sizeof *table->sample);
    for (size_t i = 0; i < table->sample_count; i++) {
        tv_evidence_key *key = &table->sample[i];
        tv_err err = split(arena, tv_sample_key_text(&items[i]), key);

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
    return TV_OK;
}

static tv_err copy_largest(tv_arena *arena, const tv_sample *sample, tv_facts_table *table)
{
    table->largest_count = sample->largest_count;
    for (size_t i = 0; i < sample->largest_count; i++) {
        tv_err err = split(arena, tv_sample_key_text(&sample->largest[i]), &table->largest[i].key);

        if (err)
            return err;
        table->largest[i].bytes = sample->largest[i].bytes;
    }
    return TV_OK;
}

static tv_slice name_of(tv_arena *arena, const tv_extreme *extreme)
{
    return extreme->name ? tv_arena_dup(arena, (tv_slice){extreme->name, extreme->len}) : TV_NONE;
}

static tv_err copy_extremes(tv_arena *arena, const tv_extremes *from, tv_evidence_extremes *ret)
{
    const tv_extreme *list = from->list;
    tv_err err = TV_OK;

    *ret = (tv_evidence_extremes){
        .properties_max = (uint32_t)list[TV_EXTREME_PROPERTIES].value,
        .cost_max = list[TV_EXTREME_COST].value,
        .string_units_max = (uint32_t)list[TV_EXTREME_STRING].value,
        .string_property = name_of(arena, &list[TV_EXTREME_STRING]),
        .string_count = from->long_strings,
        .binary_bytes_max = (uint32_t)list[TV_EXTREME_BINARY].value,
        .binary_property = name_of(arena, &list[TV_EXTREME_BINARY]),
        .binary_count = from->long_binaries,
    };
    if (list[TV_EXTREME_PROPERTIES].name)
        err = split(arena, name_of(arena, &list[TV_EXTREME_PROPERTIES]), &ret->properties_key);
    if (err == TV_OK && list[TV_EXTREME_COST].name)
        err = split(arena, name_of(arena, &list[TV_EXTREME_COST]), &ret->cost_key);
    return err;
}

/* How old a sample is. */
static void tell_age(const tv_sample *sample, const tv_facts_since *since, tv_facts_table *table)
{
    int64_t ticks = tv_clock_ticks() - sample->ticks;

    table->is_aged = !tv_facts_since_is_nothing(since);
    if (!table->is_aged)
        return;
    table->sample_changes = tv_facts_since_changes(since);
    table->sample_seconds = ticks > 0 ? (uint64_t)ticks / TV_TICKS_PER_SECOND : 0;
}

/* Each entity that came or went may have been a partition. */
static void tell_partitions(const tv_sample *sample, const tv_facts_since *since,
                            tv_facts_table *table)
{
    table->partitions = (double)sample->partition_total;
    table->partitions_error = HUGE_VAL;
    if (since->is_known)
        table->partitions_error =
            (double)(since->created > since->deleted ? since->created : since->deleted);
}

/*
 * What was billed for the table then, in proportion to its bytes now.  Nothing that was written
 * since the start costs more than the most expensive entity, so that bounds what has changed.
 */
static void tell_billed(const tv_sample *sample, const tv_facts_since *since, tv_facts_table *table)
{
    double then = (double)sample->billed, most = (double)table->extremes.cost_max;
    double low = fmax(then - (double)(since->deleted + since->replaced) * most, 0);
    double high = then + (double)(since->created + since->replaced) * most;
    double now = sample->bytes ? then / (double)sample->bytes * (double)table->count.bytes : then;

    table->billed = fmin(fmax(now, low), high);
    table->billed_error = fmax(table->billed - low, high - table->billed);
    if (!since->is_known)
        table->billed_error = HUGE_VAL;
}

static tv_err take_keys(tv_arena *arena, const tv_sample *sample, const tv_facts_since *since,
                        const tv_sample_key *items, tv_facts_table *table)
{
    tv_err err;

    table->has_sample = true;
    tell_age(sample, since, table);
    tell_partitions(sample, since, table);
    tell_billed(sample, since, table);
    table->sample_count = sample->key_count;
    table->sample_is_all = sample->has_all && !table->is_aged;
    err = list_partitions(arena, sample, since, table);
    if (err == TV_OK)
        err = copy_largest(arena, sample, table);
    if (err == TV_OK)
        err = decode_keys(arena, items, table);
    return err;
}

tv_err tv_facts_take(tv_facts *facts, tv_slice account, int64_t table_id, int parts,
                     int64_t wait_ns, tv_arena *arena, tv_facts_table *ret_table)
{
    tv_fact *fact = tv_fact_find_id(facts, account, table_id);
    tv_sample *sample = parts ? tv_fact_take_sample(facts, fact, wait_ns) : NULL;
    tv_err err = TV_OK;

    *ret_table = (tv_facts_table){0};
    pthread_mutex_lock(&fact->lock);
    ret_table->count = tv_fact_count(fact);
    ret_table->counted_ticks = fact->counted_ticks;
    tv_facts_since since = {0};

    if (sample) {
        since = tv_fact_since(facts, fact, sample);
        err = copy_extremes(arena, &fact->extremes, &ret_table->extremes);
    }
    pthread_mutex_unlock(&fact->lock);
    if (err == TV_OK && sample) {
        tv_sample_key *items = sort_keys(arena, sample);

        err = take_keys(arena, sample, &since, items, ret_table);
        if (err == TV_OK && parts & TV_FACTS_PROPERTIES)
            err = tv_facts_take_properties(facts, fact, sample, items, arena, ret_table);
    }
    tv_sample_unref(sample);
    tv_fact_unref(fact);
    return err;
}

/* --- what others tell --- */

void tv_facts_note_entity(tv_facts *facts, tv_slice account, int64_t table_id, tv_slice row,
                          const tv_property *properties, size_t property_count)
{
    tv_fact *fact = tv_fact_find_id(facts, account, table_id);

    tv_slice key = tv_slice_skip(row, 1 + fact->table.len);
    uint64_t cost = tv_facts_key_cost(key);

    pthread_mutex_lock(&fact->lock);
    for (size_t i = 0; i < property_count; i++) {
        cost += tv_property_cost(&properties[i]);
        tv_facts_look_at_value(&fact->extremes, &properties[i]);
    }
    tv_extremes_note(&fact->extremes, TV_EXTREME_PROPERTIES, property_count, key);
    tv_extremes_note(&fact->extremes, TV_EXTREME_COST, cost, key);
    pthread_mutex_unlock(&fact->lock);
    tv_fact_unref(fact);
}
