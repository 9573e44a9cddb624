/*
 * A hash set of pieces by their place.
 */
#include "services/blob/store/live_set.h"

#include "base/assert.h"

enum { SLOTS_MIN = 64 };

static size_t slot_of(const tv_live_set *live, bool is_chunk, tv_extent_id id)
{
    uint64_t hash = (id.boot * UINT64_C(0x9E3779B97F4A7C15) ^ id.number) + is_chunk;
    size_t slot;

    hash = (hash ^ hash >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    slot = (hash ^ hash >> 31) & (live->slot_count - 1);
    for (; live->slots[slot].length; slot = (slot + 1) & (live->slot_count - 1)) {
        const tv_blob_piece *piece = &live->slots[slot];

        if (piece->id.boot == id.boot && piece->id.number == id.number &&
            piece->is_chunk == is_chunk)
            break;
    }
    return slot;
}

tv_err tv_live_set_reserve(tv_live_set *live, tv_arena *arena, size_t count)
{
    tv_live_set old = *live;
    size_t size = old.slot_count ? old.slot_count : SLOTS_MIN;
    tv_err err;

    while (size < 2 * (live->used + count))
        size *= 2;
    if (size == old.slot_count)
        return TV_OK;

    err = tv_arena_reserve(arena, size * sizeof *live->slots);
    if (err)
        return err;

    live->slot_count = size;
    live->slots = tv_arena_zalloc(arena, size * sizeof *live->slots);
    for (size_t i = 0; i < old.slot_count; i++) {
        if (old.slots[i].length)
            live->slots[slot_of(live, old.slots[i].is_chunk, old.slots[i].id)] = old.slots[i];
    }
    return TV_OK;
}

bool tv_live_set_add(tv_live_set *live, bool is_chunk, tv_extent_id id)
{
    size_t slot;

    tv_assert(2 * live->used < live->slot_count);
    slot = slot_of(live, is_chunk, id);
    if (live->slots[slot].length)
        return false;

    live->slots[slot] = (tv_blob_piece){.length = 1, .is_chunk = is_chunk, .id = id};
    live->used++;
    return true;
}

tv_err tv_live_set_add_pieces(tv_live_set *live, tv_arena *arena, const tv_blob_piece *pieces,
                              size_t count)
{
    tv_err err = tv_live_set_reserve(live, arena, count);

    for (size_t i = 0; err == TV_OK && i < count; i++)
        tv_live_set_add(live, pieces[i].is_chunk, pieces[i].id);
    return err;
}
