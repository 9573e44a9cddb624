/* The memory of a sheet. */
#include "insight/watch/sheet.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/grow.h"

void tv_kept_key_set(tv_kept_key *kept, tv_slice key, size_t partition_len)
{
    kept->len = (uint16_t)(key.len < TV_WATCH_KEY_BYTES ? key.len : TV_WATCH_KEY_BYTES);
    kept->partition_len = (uint16_t)(partition_len < kept->len ? partition_len : kept->len);
    if (kept->len)
        memcpy(kept->bytes, key.data, kept->len);
}

void tv_few_clients_add(tv_few_clients *clients, uint64_t hash)
{
    for (uint32_t i = 0; i < clients->count; i++) {
        if (clients->hashes[i] == hash)
            return;
    }
    if (clients->count < TV_WATCH_CLIENTS)
        clients->hashes[clients->count++] = hash;
}

void tv_few_clients_join(tv_few_clients *clients, const tv_few_clients *more)
{
    for (uint32_t i = 0; i < more->count; i++)
        tv_few_clients_add(clients, more->hashes[i]);
}

tv_sheet *tv_sheet_new(void)
{
    return tv_calloc(1, sizeof(tv_sheet));
}

static void drop_texts(tv_sheet_shape *shape)
{
    free(shape->text);
    free(shape->example);
    free(shape->select);
    free(shape->literal);
    for (int i = 0; i < TV_WATCH_SOURCES; i++)
        free(shape->sources[i]);
}

void tv_sheet_free(tv_sheet *sheet)
{
    if (sheet == NULL)
        return;

    tv_sheet_reset(sheet);
    for (size_t i = 0; i < sheet->shape_size; i++)
        free(sheet->shapes[i]);
    free(sheet->shapes);
    free(sheet->tables);
    free(sheet->table_slots);
    free(sheet->samples);
    free(sheet);
}

void tv_sheet_reset(tv_sheet *sheet)
{
    for (size_t i = 0; i < sheet->table_count; i++)
        sheet->table_slots[tv_watch_place(sheet->tables[i].table)] = 0;
    for (size_t i = 0; i < sheet->shape_count; i++)
        drop_texts(sheet->shapes[i]);
    if (sheet->shape_count)
        memset(sheet->shape_slots, 0, sizeof sheet->shape_slots);
    sheet->table_count = sheet->shape_count = sheet->sample_count = 0;
    sheet->requests = sheet->dropped = sheet->shape_overflows = 0;
}

static void make_slot(tv_sheet *sheet, uint32_t place)
{
    size_t count = sheet->table_slot_count;

    if (place < count)
        return;
    while (count <= place)
        count = count ? 2 * count : 64;
    sheet->table_slots = tv_realloc(sheet->table_slots, count * sizeof *sheet->table_slots);
    memset(sheet->table_slots + sheet->table_slot_count, 0,
           (count - sheet->table_slot_count) * sizeof *sheet->table_slots);
    sheet->table_slot_count = count;
}

tv_sheet_table *tv_sheet_add_table(tv_sheet *sheet, uint32_t table)
{
    make_slot(sheet, tv_watch_place(table));
    tv_grow(&sheet->tables, sheet->table_count, &sheet->table_size, 4);

    tv_sheet_table *made = &sheet->tables[sheet->table_count++];

    memset(made, 0, sizeof *made);
    made->table = table;
    sheet->table_slots[tv_watch_place(table)] = (uint32_t)sheet->table_count;
    return made;
}

static tv_sheet_shape *add_shape(tv_sheet *sheet)
{
    size_t size = sheet->shape_size;

    tv_grow(&sheet->shapes, sheet->shape_count, &sheet->shape_size, 4);
    for (size_t i = size; i < sheet->shape_size; i++)
        sheet->shapes[i] = tv_malloc(sizeof *sheet->shapes[i]);

    tv_sheet_shape *made = sheet->shapes[sheet->shape_count++];

    memset(made, 0, sizeof *made);
    return made;
}

tv_sheet_shape *tv_sheet_shape_of(tv_sheet *sheet, uint32_t table, uint64_t fingerprint,
                                  bool *ret_is_new)
{
    enum { SLOTS = sizeof sheet->shape_slots / sizeof *sheet->shape_slots };
    uint64_t hash = (fingerprint ^ table) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 54) % SLOTS;

    *ret_is_new = false;
    for (; sheet->shape_slots[at]; at = (at + 1) % SLOTS) {
        tv_sheet_shape *shape = sheet->shapes[sheet->shape_slots[at] - 1];

        if (shape->fingerprint == fingerprint && shape->table == table)
            return shape;
    }
    if (sheet->shape_count == TV_SHEET_SHAPES_MAX)
        return NULL;

    tv_sheet_shape *made = add_shape(sheet);

    made->table = table;
    made->fingerprint = fingerprint;
    made->share_low = 1;
    made->share_high = -1;
    sheet->shape_slots[at] = (uint16_t)sheet->shape_count;
    *ret_is_new = true;
    return made;
}

tv_watch_sample *tv_sheet_add_sample(tv_sheet *sheet, size_t count_max)
{
    if (sheet->sample_count >= count_max ||
        !tv_try_grow(&sheet->samples, sheet->sample_count, &sheet->sample_size, 64)) {
        sheet->dropped++;
        return NULL;
    }

    tv_watch_sample *sample = &sheet->samples[sheet->sample_count++];

    memset(sample, 0, offsetof(tv_watch_sample, key));
    sample->key.len = sample->key.partition_len = 0;
    return sample;
}

/* Slot 4n + q holds [2^n * (1 + q/4), 2^n * (1 + (q+1)/4)) us. */
int tv_latency_slot(int64_t ns)
{
    uint64_t us = ns < 1000 ? 1 : (uint64_t)ns / 1000;
    int power = 63 - __builtin_clzll(us);
    int quarter = power >= 2 ? (int)(us >> (power - 2) & 3) : (int)(us << (2 - power) & 3);
    int slot = 4 * power + quarter;

    return slot < TV_WATCH_LATENCIES ? slot : TV_WATCH_LATENCIES - 1;
}

double tv_latency_ms(int slot)
{
    double from = (double)(UINT64_C(1) << slot / 4) * (1 + slot % 4 / 4.0);

    return (from + (double)(UINT64_C(1) << slot / 4) / 8) / 1000;
}
