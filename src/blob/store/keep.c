/*
 * What stays and what goes when a content does.
 *
 * The pieces that stay are in a hash set by their place.  What has been dropped
 * goes into the same set, so that data which a content has twice, or which two
 * dropped contents share, is garbage only once.
 */
#include "base/assert.h"
#include "blob/store/content.h"

enum { SLOTS_MIN = 64 };

static size_t slot_of(const tv_keep *keep, bool is_chunk, tv_extent_id id)
{
    uint64_t hash = (id.boot * UINT64_C(0x9E3779B97F4A7C15) ^ id.number) + is_chunk;
    size_t slot;

    hash = (hash ^ hash >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    slot = (hash ^ hash >> 31) & (keep->slot_count - 1);
    for (; keep->slots[slot].length; slot = (slot + 1) & (keep->slot_count - 1)) {
        const tv_blob_piece *piece = &keep->slots[slot];

        if (piece->id.boot == id.boot && piece->id.number == id.number &&
            piece->is_chunk == is_chunk)
            break;
    }
    return slot;
}

tv_err tv_keep_reserve(tv_keep *keep, tv_arena *arena, size_t count)
{
    tv_keep old = *keep;
    size_t size = old.slot_count ? old.slot_count : SLOTS_MIN;
    tv_err err;

    while (size < 2 * (keep->used + count))
        size *= 2;
    if (size == old.slot_count)
        return TV_OK;

    err = tv_arena_reserve(arena, size * sizeof *keep->slots);
    if (err)
        return err;

    keep->slot_count = size;
    keep->slots = tv_arena_zalloc(arena, size * sizeof *keep->slots);
    for (size_t i = 0; i < old.slot_count; i++) {
        if (old.slots[i].length)
            keep->slots[slot_of(keep, old.slots[i].is_chunk, old.slots[i].id)] = old.slots[i];
    }
    return TV_OK;
}

bool tv_keep_add(tv_keep *keep, bool is_chunk, tv_extent_id id)
{
    size_t slot;

    tv_assert(2 * keep->used < keep->slot_count);
    slot = slot_of(keep, is_chunk, id);
    if (keep->slots[slot].length)
        return false;

    keep->slots[slot] = (tv_blob_piece){.length = 1, .is_chunk = is_chunk, .id = id};
    keep->used++;
    return true;
}

tv_err tv_keep_pieces(tv_keep *keep, tv_arena *arena, const tv_blob_piece *pieces, size_t count)
{
    tv_err err = tv_keep_reserve(keep, arena, count);

    for (size_t i = 0; err == TV_OK && i < count; i++)
        tv_keep_add(keep, pieces[i].is_chunk, pieces[i].id);
    return err;
}

/* Of heads that share a content the next one has all of this one's rows, and perhaps more. */
static bool is_shared_with_next(const tv_blob_head *heads, size_t count, size_t i)
{
    return heads[i].pieces == NULL && i + 1 < count &&
           heads[i + 1].content_id == heads[i].content_id;
}

/* Keep the contents of all these heads, given in the order of their age. */
static tv_err keep_heads(tv_keep *keep, tv_txn *txn, tv_blob_change *change,
                         const tv_blob_head *heads, size_t count)
{
    size_t bytes = (count + 1) * sizeof *keep->contents;
    tv_err err;

    err = tv_arena_reserve(change->arena, bytes);
    if (err)
        return err;

    keep->contents = tv_arena_alloc(change->arena, bytes);
    for (size_t i = 0; i < count; i++) {
        const tv_blob_head *head = &heads[i];
        tv_blob_pieces pieces;

        if (is_shared_with_next(heads, count, i))
            continue;

        err = tv_blob_pieces_load(txn, change, head, &pieces);
        if (err == TV_OK)
            err = tv_keep_pieces(keep, change->arena, pieces.list, head->piece_count);
        if (err)
            return err;

        if (head->pieces == NULL)
            keep->contents[keep->content_count++] =
                (tv_kept_content){head->content_id, head->length};
    }
    return TV_OK;
}

tv_err tv_drop_data(tv_txn *txn, tv_blob_change *change, bool is_chunk, tv_extent_id id)
{
    if (is_chunk) {
        tv_txn_delete(txn, tv_blob_key_chunk(change->arena, change->partition, id));
        return TV_OK;
    }

    /* The list's size is the power of two at or above its count. */
    size_t count = change->garbage_count;

    if ((count & (count - 1)) == 0) {
        size_t bytes = (count ? count * 2 : 1) * sizeof *change->garbage;
        tv_extent_id *garbage;
        tv_err err;

        err = tv_arena_reserve(change->arena, bytes);
        if (err)
            return err;

        garbage = tv_arena_alloc(change->arena, bytes);
        if (count)
            memcpy(garbage, change->garbage, count * sizeof *garbage);
        change->garbage = garbage;
    }
    change->garbage[change->garbage_count++] = id;
    return TV_OK;
}

static uint64_t kept_length(const tv_keep *keep, uint64_t content_id)
{
    uint64_t length = 0;

    for (size_t i = 0; i < keep->content_count; i++) {
        if (keep->contents[i].id == content_id && keep->contents[i].length > length)
            length = keep->contents[i].length;
    }
    return length;
}

/* Remove what of a head's content is not kept. */
static tv_err drop_content(tv_keep *keep, tv_txn *txn, tv_blob_change *change,
                           const tv_blob_head *head)
{
    uint64_t kept = kept_length(keep, head->content_id);
    tv_blob_pieces pieces;
    tv_err err;

    err = tv_blob_pieces_load(txn, change, head, &pieces);
    if (err == TV_OK)
        err = tv_keep_reserve(keep, change->arena, head->piece_count);
    if (err)
        return err;

    for (uint32_t i = 0; err == TV_OK && i < head->piece_count; i++) {
        const tv_blob_piece *piece = &pieces.list[i];

        if (tv_keep_add(keep, piece->is_chunk, piece->id))
            err = tv_drop_data(txn, change, piece->is_chunk, piece->id);
    }
    /* A shorter head of this content ends where a run does. */
    for (size_t i = 0; i < pieces.run_count; i++) {
        if (pieces.run_ends[i] > kept)
            tv_txn_delete(txn, tv_blob_key_run(change->arena, change->partition, head->content_id,
                                               pieces.run_ends[i]));
    }
    return err;
}

static tv_err drop_blocks(tv_keep *keep, tv_txn *txn, tv_blob_change *change,
                          const tv_blob_view *view)
{
    const tv_block *blocks;
    size_t count;
    tv_err err;

    if (!view->has_ledger)
        return TV_OK;

    err = tv_blob_blocks_load(txn, change, view, &blocks, &count);
    if (err == TV_OK)
        err = tv_keep_reserve(keep, change->arena, count);
    if (err)
        return err;

    for (size_t i = 0; err == TV_OK && i < count; i++) {
        if (tv_keep_add(keep, blocks[i].is_chunk, blocks[i].extent))
            err = tv_drop_data(txn, change, blocks[i].is_chunk, blocks[i].extent);
        tv_txn_delete(txn, tv_blob_key_block(change->arena, change->partition,
                                             view->ledger.generation, blocks[i].id));
    }
    tv_txn_delete(txn, tv_blob_key_ledger(change->arena, change->partition));
    return err;
}

/* --- now or later --- */

size_t tv_blob_at_once_max = 1024;

/* A head is more than a piece: it has texts, too. */
enum { PIECES_PER_HEAD = 16 };

bool tv_blob_snapshots_are_few(const tv_blob_view *view)
{
    return view->head.snapshot_count <= tv_blob_at_once_max / PIECES_PER_HEAD;
}

static size_t weight(const tv_blob_head *heads, size_t count)
{
    size_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += is_shared_with_next(heads, count, i) ? 0 : heads[i].piece_count;
    return sum;
}

/* A key that no other discard has: stamps of a blob from the future may come twice. */
static tv_err discard_key(tv_txn *txn, tv_blob_change *change, const tv_blob_view *view,
                          tv_slice *ret_key)
{
    tv_err err = TV_OK;
    tv_slice ignored;

    for (int64_t stamp = view->stamp; err == TV_OK; stamp++) {
        *ret_key = tv_blob_key_discard(change->arena, change->partition, stamp);
        err = tv_txn_get(txn, *ret_key, &ignored);
    }
    return err == TV_ERR_NOT_FOUND ? TV_OK : err;
}

/* Leave it to be cleaned up later.  Only pieces that were in heads have to be written down. */
static tv_err discard(tv_txn *txn, tv_blob_change *change, const tv_blob_view *view,
                      const tv_blob_removal *removal)
{
    size_t count = 0, size = removal->gone_count * TV_BLOB_INLINE_PIECES;
    size_t bytes = (size + 1) * sizeof(tv_blob_piece);
    tv_slice key;
    tv_err err;

    err = tv_arena_reserve(change->arena, bytes);
    if (err)
        return err;

    tv_blob_piece *pieces = tv_arena_alloc(change->arena, bytes);

    for (size_t i = 0; i < removal->gone_count; i++) {
        const tv_blob_head *head = &removal->gone[i];

        for (uint32_t j = 0; head->pieces && j < head->piece_count; j++)
            pieces[count++] = head->pieces[j];
    }
    err = discard_key(txn, change, view, &key);
    if (err)
        return err;

    tv_txn_put(txn, key, tv_blob_discard_encode(change->arena, pieces, count));
    if (removal->with_blocks && view->has_ledger)
        tv_txn_delete(txn, tv_blob_key_ledger(change->arena, change->partition));
    change->has_discards = true;
    return TV_OK;
}

tv_err tv_blob_remove(tv_keep *keep, tv_txn *txn, tv_blob_change *change, const tv_blob_view *view,
                      const tv_blob_removal *removal)
{
    size_t work = weight(removal->gone, removal->gone_count) +
                  weight(removal->stays, removal->stay_count) +
                  (removal->with_blocks ? view->ledger.count : 0);
    tv_err err;

    if (removal->is_blind || work > tv_blob_at_once_max)
        return discard(txn, change, view, removal);

    err = keep_heads(keep, txn, change, removal->stays, removal->stay_count);
    if (err)
        return err;

    for (size_t i = 0; i < removal->gone_count; i++) {
        /* Rows that heads share go with the last of them, which has them all. */
        if (is_shared_with_next(removal->gone, removal->gone_count, i))
            continue;

        err = drop_content(keep, txn, change, &removal->gone[i]);
        if (err)
            return err;
    }
    return removal->with_blocks ? drop_blocks(keep, txn, change, view) : TV_OK;
}

tv_err tv_drop_replaced(tv_keep *keep, tv_txn *txn, tv_blob_change *change,
                        const tv_blob_view *view, bool is_blind)
{
    tv_blob_removal removal = {
        .gone = &view->head,
        .gone_count = view->has_head,
        .is_blind = is_blind || !tv_blob_snapshots_are_few(view),
        .with_blocks = true};
    tv_err err;

    if (!view->has_head && !view->has_ledger)
        return TV_OK;
    if (!removal.is_blind && view->head.snapshot_count) {
        err = tv_blob_snapshots_load(txn, change, SIZE_MAX, &removal.stays, &removal.stay_count);
        if (err)
            return err;
        if (removal.stay_count != view->head.snapshot_count)
            return TV_ERR_CORRUPT;
    }
    return tv_blob_remove(keep, txn, change, view, &removal);
}
