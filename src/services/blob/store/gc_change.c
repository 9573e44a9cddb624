/*
 * What a change removes: garbage is what it drops minus what is live.  The
 * change itself removes a little of it, much is left to gc.c.
 */
#include "base/assert.h"
#include "services/blob/store/content.h"

/* Of heads that share a content the next one has all of this one's rows, and perhaps more. */
static bool is_shared_with_next(const tv_blob_head *heads, size_t count, size_t i)
{
    return heads[i].pieces == NULL && i + 1 < count &&
           heads[i + 1].content_id == heads[i].content_id;
}

/* Mark the contents of all these heads, given in the order of their age. */
static tv_err mark_heads(tv_live_set *live, tv_txn *txn, tv_blob_change *change,
                         const tv_blob_head *heads, size_t count)
{
    size_t bytes = (count + 1) * sizeof *live->contents;
    tv_err err;

    err = tv_arena_reserve(change->arena, bytes);
    if (err)
        return err;

    live->contents = tv_arena_alloc(change->arena, bytes);
    for (size_t i = 0; i < count; i++) {
        const tv_blob_head *head = &heads[i];
        tv_blob_pieces pieces;

        if (is_shared_with_next(heads, count, i))
            continue;

        err = tv_blob_pieces_load(txn, change, head, &pieces);
        if (err == TV_OK)
            err = tv_live_set_add_pieces(live, change->arena, pieces.list, head->piece_count);
        if (err)
            return err;

        if (head->pieces == NULL)
            live->contents[live->content_count++] =
                (tv_live_content){head->content_id, head->length};
    }
    return TV_OK;
}

tv_err tv_blob_remove_data(tv_txn *txn, tv_blob_change *change, bool is_chunk, tv_extent_id id)
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

static uint64_t live_length(const tv_live_set *live, uint64_t content_id)
{
    uint64_t length = 0;

    for (size_t i = 0; i < live->content_count; i++) {
        if (live->contents[i].id == content_id && live->contents[i].length > length)
            length = live->contents[i].length;
    }
    return length;
}

/* Remove the part of a head's content that is not live. */
static tv_err remove_content(tv_live_set *live, tv_txn *txn, tv_blob_change *change,
                             const tv_blob_head *head)
{
    uint64_t length = live_length(live, head->content_id);
    tv_blob_pieces pieces;
    tv_err err;

    err = tv_blob_pieces_load(txn, change, head, &pieces);
    if (err == TV_OK)
        err = tv_live_set_reserve(live, change->arena, head->piece_count);
    if (err)
        return err;

    for (uint32_t i = 0; err == TV_OK && i < head->piece_count; i++) {
        const tv_blob_piece *piece = &pieces.list[i];

        if (tv_live_set_add(live, piece->is_chunk, piece->id))
            err = tv_blob_remove_data(txn, change, piece->is_chunk, piece->id);
    }
    /* A shorter head of this content ends where a run does. */
    for (size_t i = 0; i < pieces.run_count; i++) {
        if (pieces.run_ends[i] > length)
            tv_txn_delete(txn, tv_blob_key_run(change->arena, change->partition, head->content_id,
                                               pieces.run_ends[i]));
    }
    return err;
}

static tv_err remove_blocks(tv_live_set *live, tv_txn *txn, tv_blob_change *change,
                            const tv_blob_view *view)
{
    const tv_block *blocks;
    size_t count;
    tv_err err;

    if (!view->has_ledger)
        return TV_OK;

    err = tv_blob_blocks_load(txn, change, view, &blocks, &count);
    if (err == TV_OK)
        err = tv_live_set_reserve(live, change->arena, count);
    if (err)
        return err;

    for (size_t i = 0; err == TV_OK && i < count; i++) {
        if (tv_live_set_add(live, blocks[i].is_chunk, blocks[i].extent))
            err = tv_blob_remove_data(txn, change, blocks[i].is_chunk, blocks[i].extent);
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

/* Leave it to gc.c.  Only pieces that were in heads have to be written down. */
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
    tv_assert(count <= size);
    err = discard_key(txn, change, view, &key);
    if (err)
        return err;

    tv_txn_put(txn, key, tv_blob_discard_encode(change->arena, pieces, count));
    if (removal->with_blocks && view->has_ledger)
        tv_txn_delete(txn, tv_blob_key_ledger(change->arena, change->partition));
    change->has_discards = true;
    return TV_OK;
}

tv_err tv_blob_remove(tv_live_set *live, tv_txn *txn, tv_blob_change *change,
                      const tv_blob_view *view, const tv_blob_removal *removal)
{
    size_t work = weight(removal->gone, removal->gone_count) +
                  weight(removal->stays, removal->stay_count) +
                  (removal->with_blocks ? view->ledger.count : 0);
    tv_err err;

    tv_assert(!removal->is_blind || removal->stay_count == 0);
    if (removal->is_blind || work > tv_blob_at_once_max)
        return discard(txn, change, view, removal);

    err = mark_heads(live, txn, change, removal->stays, removal->stay_count);
    if (err)
        return err;

    for (size_t i = 0; i < removal->gone_count; i++) {
        /* Rows that heads share go with the last of them, which has them all. */
        if (is_shared_with_next(removal->gone, removal->gone_count, i))
            continue;

        err = remove_content(live, txn, change, &removal->gone[i]);
        if (err)
            return err;
    }
    return removal->with_blocks ? remove_blocks(live, txn, change, view) : TV_OK;
}

tv_err tv_blob_remove_replaced(tv_live_set *live, tv_txn *txn, tv_blob_change *change,
                               const tv_blob_view *view, bool is_blind)
{
    tv_blob_removal removal = {.gone = &view->head,
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
    return tv_blob_remove(live, txn, change, view, &removal);
}
