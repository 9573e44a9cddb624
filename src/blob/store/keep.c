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

/* Add a place; false when it is there already. */
static bool add(tv_keep *keep, tv_blob_change *change, bool is_chunk, tv_extent_id id)
{
    size_t slot;

    if (keep->slot_count < 2 * (keep->used + 1)) {
        tv_keep old = *keep;

        keep->slot_count = old.slot_count ? old.slot_count * 2 : SLOTS_MIN;
        keep->slots = tv_arena_zalloc(change->arena, keep->slot_count * sizeof *keep->slots);
        for (size_t i = 0; i < old.slot_count; i++) {
            if (old.slots[i].length)
                keep->slots[slot_of(keep, old.slots[i].is_chunk, old.slots[i].id)] = old.slots[i];
        }
    }
    slot = slot_of(keep, is_chunk, id);
    if (keep->slots[slot].length)
        return false;

    keep->slots[slot] = (tv_blob_piece){.length = 1, .is_chunk = is_chunk, .id = id};
    keep->used++;
    return true;
}

void tv_keep_pieces(tv_keep *keep, tv_blob_change *change, const tv_blob_piece *pieces,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(keep, change, pieces[i].is_chunk, pieces[i].id);
}

tv_err tv_keep_heads(tv_keep *keep, tv_txn *txn, tv_blob_change *change, const tv_blob_head *heads,
                     size_t count)
{
    tv_kept_content *contents =
        tv_arena_alloc(change->arena, (keep->content_count + count + 1) * sizeof *contents);

    if (keep->content_count)
        memcpy(contents, keep->contents, keep->content_count * sizeof *contents);
    keep->contents = contents;

    for (size_t i = 0; i < count; i++) {
        const tv_blob_head *head = &heads[i];
        tv_blob_pieces pieces;
        tv_err err;

        /* Of heads that share a content the next one has all of this one's rows, and perhaps more.
         */
        if (head->pieces == NULL && i + 1 < count && heads[i + 1].content_id == head->content_id)
            continue;

        err = tv_blob_pieces_load(txn, change, head, &pieces);
        if (err)
            return err;

        tv_keep_pieces(keep, change, pieces.list, head->piece_count);
        if (head->pieces == NULL)
            contents[keep->content_count++] = (tv_kept_content){head->content_id, head->length};
    }
    return TV_OK;
}

tv_err tv_keep_snapshots(tv_keep *keep, tv_txn *txn, tv_blob_change *change,
                         const tv_blob_view *view)
{
    const tv_blob_head *heads;
    size_t count;
    tv_err err;

    if (view->head.snapshot_count == 0)
        return TV_OK;

    err = tv_blob_snapshots_load(txn, change, &heads, &count);
    if (err)
        return err;
    if (count != view->head.snapshot_count)
        return TV_ERR_CORRUPT;

    return tv_keep_heads(keep, txn, change, heads, count);
}

void tv_drop_data(tv_txn *txn, tv_blob_change *change, bool is_chunk, tv_extent_id id)
{
    if (is_chunk) {
        tv_txn_delete(txn, tv_blob_key_chunk(change->arena, change->partition, id));
        return;
    }

    /* The list's size is the power of two at or above its count. */
    size_t count = change->garbage_count;

    if ((count & (count - 1)) == 0) {
        tv_extent_id *garbage =
            tv_arena_alloc(change->arena, (count ? count * 2 : 1) * sizeof *garbage);

        if (count)
            memcpy(garbage, change->garbage, count * sizeof *garbage);
        change->garbage = garbage;
    }
    change->garbage[change->garbage_count++] = id;
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

tv_err tv_drop_content(tv_keep *keep, tv_txn *txn, tv_blob_change *change, const tv_blob_head *head)
{
    uint64_t kept = kept_length(keep, head->content_id);
    tv_blob_pieces pieces;
    tv_err err;

    err = tv_blob_pieces_load(txn, change, head, &pieces);
    if (err)
        return err;

    for (uint32_t i = 0; i < head->piece_count; i++) {
        const tv_blob_piece *piece = &pieces.list[i];

        if (add(keep, change, piece->is_chunk, piece->id))
            tv_drop_data(txn, change, piece->is_chunk, piece->id);
    }
    /* A shorter head of this content ends where a run does. */
    for (size_t i = 0; i < pieces.run_count; i++) {
        if (pieces.run_ends[i] > kept)
            tv_txn_delete(txn, tv_blob_key_run(change->arena, change->partition, head->content_id,
                                               pieces.run_ends[i]));
    }
    return TV_OK;
}

tv_err tv_drop_blocks(tv_keep *keep, tv_txn *txn, tv_blob_change *change, const tv_blob_view *view)
{
    const tv_block *blocks;
    size_t count;
    tv_err err;

    if (!view->has_ledger)
        return TV_OK;

    err = tv_blob_blocks_load(txn, change, &blocks, &count);
    if (err)
        return err;
    if (count != view->ledger.count)
        return TV_ERR_CORRUPT;

    for (size_t i = 0; i < count; i++) {
        if (add(keep, change, blocks[i].is_chunk, blocks[i].extent))
            tv_drop_data(txn, change, blocks[i].is_chunk, blocks[i].extent);
        tv_txn_delete(txn, tv_blob_key_block(change->arena, change->partition, blocks[i].id));
    }
    tv_txn_delete(txn, tv_blob_key_ledger(change->arena, change->partition));
    return TV_OK;
}

tv_err tv_drop_replaced(tv_keep *keep, tv_txn *txn, tv_blob_change *change,
                        const tv_blob_view *view)
{
    tv_err err;

    if (view->has_head) {
        err = tv_keep_snapshots(keep, txn, change, view);
        if (err)
            return err;

        err = tv_drop_content(keep, txn, change, &view->head);
        if (err)
            return err;
    }
    return tv_drop_blocks(keep, txn, change, view);
}
