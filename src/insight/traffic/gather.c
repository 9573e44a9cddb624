#include "insight/traffic/gather.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/grow.h"
#include "base/hash.h"

void tv_traffic_gather_done(tv_traffic_gather *gather)
{
    for (size_t i = 0; i < gather->count; i++) {
        tv_gathered *table = &gather->tables[i];

        for (size_t k = 0; k < table->count; k++) {
            tv_axis_unref(table->pieces[k].axis);
            free(table->pieces[k].counts);
        }
        tv_axis_unref(table->last);
        free(table->pieces);
    }
    free(gather->tables);
    free(gather->slots);
    *gather = (tv_traffic_gather){0};
}

static uint64_t hash_of(tv_slice account, int64_t id)
{
    return tv_hash(account) ^ ((uint64_t)id * UINT64_C(0x9E3779B97F4A7C15));
}

static uint32_t *slot_of(tv_traffic_gather *gather, tv_slice account, int64_t id)
{
    size_t at = hash_of(account, id) & (gather->slot_count - 1);

    for (;; at = (at + 1) & (gather->slot_count - 1)) {
        uint32_t *slot = &gather->slots[at];

        if (*slot == 0)
            return slot;

        const tv_gathered *table = &gather->tables[*slot - 1];

        if (table->id == id && tv_slice_eq(table->account, account))
            return slot;
    }
}

static void grow(tv_traffic_gather *gather)
{
    tv_grow(&gather->tables, gather->count, &gather->size, 64);
    free(gather->slots);
    gather->slot_count = 2 * gather->size;
    gather->slots = tv_calloc(gather->slot_count, sizeof *gather->slots);
    for (size_t i = 0; i < gather->count; i++)
        *slot_of(gather, gather->tables[i].account, gather->tables[i].id) = (uint32_t)i + 1;
}

static tv_gathered *table_of(tv_traffic_gather *gather, const tv_column_table *from)
{
    if (gather->count == gather->size)
        grow(gather);

    uint32_t *slot = slot_of(gather, from->account, from->id);

    if (*slot == 0) {
        gather->tables[gather->count++] = (tv_gathered){.account = from->account, .id = from->id};
        *slot = (uint32_t)gather->count;
    }
    return &gather->tables[*slot - 1];
}

static void forget_axes(tv_traffic_gather *gather)
{
    for (size_t i = 0; i < gather->count; i++) {
        tv_axis_unref(gather->tables[i].last);
        gather->tables[i].last = NULL;
    }
}

static void add_block(tv_traffic_gather *gather, uint32_t minute, const tv_column_table *from)
{
    tv_gathered *table = table_of(gather, from);
    tv_counts *counts;
    tv_axis *axis;

    if (tv_column_read_block(from->block, table->last, &axis, &counts)) {
        tv_axis_unref(table->last);
        table->last = NULL;
        return;
    }
    tv_axis_unref(table->last);
    table->last = tv_axis_ref(axis);
    if (minute < gather->from || minute >= gather->to) {
        tv_axis_unref(axis);
        free(counts);
        return;
    }
    tv_grow(&table->pieces, table->count, &table->size, 16);
    table->pieces[table->count++] = (tv_piece){minute, axis, counts};
}

void tv_traffic_gather_file(tv_traffic_gather *gather, tv_slice file)
{
    tv_column column;
    size_t at = 0;

    forget_axes(gather);
    while (tv_column_next(file, &at, &column)) {
        tv_column_table table;

        if (column.gap_bytes)
            forget_axes(gather);
        if (column.head.minute >= gather->from && column.head.minute < gather->to) {
            gather->flags |= column.head.flags;
            if (gather->on_column)
                gather->on_column(gather->ctx, &column.head);
        }
        while (tv_column_next_table(&column, &table) == TV_OK) {
            if (gather->account.data &&
                (table.id != gather->table_id || !tv_slice_eq(table.account, gather->account)))
                continue;
            add_block(gather, column.head.minute, &table);
        }
    }
}
