/*
 * The values of a blob's rows and the attributes of a container.  The first byte of
 * the input says which; the rest is refused, or is just what encoding its
 * meaning gives again: every value has one form.
 */
#include "base/assert.h"
#include "fuzz.h"
#include "services/blob/store/container.h"
#include "services/blob/store/row.h"

static bool decode_and_encode(tv_arena *arena, char kind, tv_slice value, tv_slice *ret_again)
{
    tv_slice key = tv_blob_key_run(arena, TV_LIT("p\x01"), 1, UINT64_MAX);
    tv_container_attributes attributes;
    tv_block_ledger ledger;
    const tv_blob_piece *pieces;
    tv_blob_head head;
    tv_block block;
    size_t count;

    switch (kind) {
    case 'h':
        if (tv_blob_head_decode(arena, value, 0, &head))
            return false;
        *ret_again = tv_blob_head_encode(arena, &head);
        return true;
    case 'p':
        if (tv_blob_run_decode(arena, key, value, &pieces, &count))
            return false;
        *ret_again = tv_blob_run_encode(arena, pieces, count);
        return true;
    case 'd':
        if (tv_blob_discard_decode(arena, value, &pieces, &count))
            return false;
        *ret_again = tv_blob_discard_encode(arena, pieces, count);
        return true;
    case 'b':
        if (tv_block_decode(TV_LIT("MDA="), value, &block))
            return false;
        *ret_again = tv_block_encode(arena, &block);
        return true;
    case 'l':
        if (tv_block_ledger_decode(value, &ledger))
            return false;
        *ret_again = tv_block_ledger_encode(arena, &ledger);
        return true;
    case 'c':
        if (tv_container_attributes_decode(arena, value, &attributes))
            return false;
        *ret_again = tv_container_attributes_encode(arena, &attributes);
        return true;
    default:
        return false;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_arena arena;
    tv_slice again;

    if (size == 0)
        return 0;

    tv_slice value = {(const char *)data + 1, size - 1};

    tv_arena_init(&arena);
    if (decode_and_encode(&arena, (char)data[0], value, &again))
        tv_assert(tv_slice_eq(again, value));
    tv_arena_done(&arena);
    return 0;
}
