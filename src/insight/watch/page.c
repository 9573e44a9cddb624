/* The memory of a page. */
#include "insight/watch/page.h"

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

tv_page *tv_page_new(void)
{
    return tv_calloc(1, sizeof(tv_page));
}

static void drop_texts(tv_watch_shape_page *shape)
{
    free(shape->text);
    free(shape->example);
    free(shape->select);
    free(shape->literal);
    for (int i = 0; i < TV_WATCH_SOURCES; i++)
        free(shape->sources[i]);
}

void tv_page_free(tv_page *page)
{
    if (page == NULL)
        return;

    tv_page_reset(page);
    for (size_t i = 0; i < page->shape_size; i++)
        free(page->shapes[i]);
    free(page->shapes);
    free(page->tables);
    free(page->table_slots);
    free(page->samples);
    free(page);
}

void tv_page_reset(tv_page *page)
{
    for (size_t i = 0; i < page->table_count; i++)
        page->table_slots[tv_watch_place(page->tables[i].table)] = 0;
    for (size_t i = 0; i < page->shape_count; i++)
        drop_texts(page->shapes[i]);
    if (page->shape_count)
        memset(page->shape_slots, 0, sizeof page->shape_slots);
    page->table_count = page->shape_count = page->sample_count = 0;
    page->requests = page->dropped = page->shape_overflows = 0;
}

static void make_slot(tv_page *page, uint32_t place)
{
    size_t count = page->table_slot_count;

    if (place < count)
        return;
    while (count <= place)
        count = count ? 2 * count : 64;
    page->table_slots = tv_realloc(page->table_slots, count * sizeof *page->table_slots);
    memset(page->table_slots + page->table_slot_count, 0,
           (count - page->table_slot_count) * sizeof *page->table_slots);
    page->table_slot_count = count;
}

tv_watch_table_page *tv_page_add_table(tv_page *page, uint32_t table)
{
    make_slot(page, tv_watch_place(table));
    tv_grow(&page->tables, page->table_count, &page->table_size, 4);

    tv_watch_table_page *made = &page->tables[page->table_count++];

    memset(made, 0, sizeof *made);
    made->table = table;
    page->table_slots[tv_watch_place(table)] = (uint32_t)page->table_count;
    return made;
}

static tv_watch_shape_page *add_shape(tv_page *page)
{
    size_t size = page->shape_size;

    tv_grow(&page->shapes, page->shape_count, &page->shape_size, 4);
    for (size_t i = size; i < page->shape_size; i++)
        page->shapes[i] = tv_malloc(sizeof *page->shapes[i]);

    tv_watch_shape_page *made = page->shapes[page->shape_count++];

    memset(made, 0, sizeof *made);
    return made;
}

tv_watch_shape_page *tv_page_shape(tv_page *page, uint32_t table, uint64_t fingerprint,
                                   bool *ret_is_new)
{
    enum { SLOTS = sizeof page->shape_slots / sizeof *page->shape_slots };
    uint64_t hash = (fingerprint ^ table) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 54) % SLOTS;

    *ret_is_new = false;
    for (; page->shape_slots[at]; at = (at + 1) % SLOTS) {
        tv_watch_shape_page *shape = page->shapes[page->shape_slots[at] - 1];

        if (shape->fingerprint == fingerprint && shape->table == table)
            return shape;
    }
    if (page->shape_count == TV_PAGE_SHAPES_MAX)
        return NULL;

    tv_watch_shape_page *made = add_shape(page);

    made->table = table;
    made->fingerprint = fingerprint;
    made->share_low = 1;
    made->share_high = -1;
    page->shape_slots[at] = (uint16_t)page->shape_count;
    *ret_is_new = true;
    return made;
}

tv_watch_sample *tv_page_sample(tv_page *page, size_t count_max)
{
    if (page->sample_count >= count_max ||
        !tv_try_grow(&page->samples, page->sample_count, &page->sample_size, 64)) {
        page->dropped++;
        return NULL;
    }

    tv_watch_sample *sample = &page->samples[page->sample_count++];

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
