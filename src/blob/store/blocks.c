/* Blocks: Put Block, Put Block List, and the end of blocks that nobody committed. */
#include <stdlib.h>

#include "base/assert.h"
#include "blob/store/content.h"

/* Take the place of an uncommitted block with the same id; a new one counts. */
static tv_err replace_block(tv_txn *txn, tv_blob_change *change, tv_slice key,
                            tv_block_ledger *ledger)
{
    tv_slice value;
    tv_block old;
    tv_err err;

    err = tv_txn_get(txn, key, &value);
    if (err == TV_ERR_NOT_FOUND) {
        if (ledger->count >= TV_BLOB_UNCOMMITTED_BLOCKS_MAX)
            return TV_ERR_UNCOMMITTED_BLOCKS;
        ledger->count++;
        return TV_OK;
    }
    if (err)
        return err;

    err = tv_block_decode(TV_NONE, value, &old);
    if (err)
        return err;

    tv_drop_data(txn, change, old.is_chunk, old.extent);
    return TV_OK;
}

tv_err tv_put_block_run(tv_txn *txn, void *put_block)
{
    tv_put_block *put = put_block;
    tv_blob_change *change = &put->change;
    size_t id_len = tv_block_id_len(put->data.block_id);
    tv_blob_view view;
    tv_err err;

    err = tv_blob_view_read(txn, change, &view);
    if (err)
        return err;
    if (id_len == SIZE_MAX)
        return TV_ERR_BLOCK_ID;
    if (view.has_head && view.head.type != TV_BLOB_BLOCK)
        return TV_ERR_BLOB_TYPE;

    err = tv_lease_check_write(&view.head.lease, tv_blob_change_lease_id(change), view.now);
    if (err)
        return err;
    if (view.has_ledger && view.ledger.id_len != id_len)
        return TV_ERR_BLOB_OR_BLOCK;

    tv_slice key = tv_blob_key_block(change->arena, change->partition, put->data.block_id);

    err = replace_block(txn, change, key, &view.ledger);
    if (err)
        return err;

    tv_blob_piece piece = tv_blob_data_write(txn, change, &put->data, view.stamp, 0);
    tv_block block = {.length = piece.length, .is_chunk = piece.is_chunk, .extent = piece.id};

    tv_txn_put(txn, key, tv_block_encode(change->arena, &block));
    view.ledger.id_len = (uint32_t)id_len;
    view.ledger.last = view.stamp;
    tv_txn_put(txn, tv_blob_key_ledger(change->arena, change->partition),
               tv_block_ledger_encode(change->arena, &view.ledger));
    change->etag = view.head.etag;
    return TV_OK;
}

/* Where a block list finds its blocks. */
typedef struct known_blocks {
    const tv_block *uncommitted; /* in the order of their ids */
    size_t uncommitted_count;
    const tv_blob_piece **committed; /* the same; of equal ids the first comes first */
    size_t committed_count;
} known_blocks;

static int compare_committed(const void *a, const void *b)
{
    const tv_blob_piece *one = *(const tv_blob_piece *const *)a;
    const tv_blob_piece *other = *(const tv_blob_piece *const *)b;
    int order = tv_slice_cmp(one->block_id, other->block_id);

    return order ? order : (one->end > other->end) - (one->end < other->end);
}

static tv_err load_known(tv_txn *txn, tv_blob_change *change, const tv_blob_view *view,
                         known_blocks *known)
{
    tv_blob_pieces pieces;
    tv_err err;

    *known = (known_blocks){0};
    if (view->has_ledger) {
        err = tv_blob_blocks_load(txn, change, &known->uncommitted, &known->uncommitted_count);
        if (err)
            return err;
    }
    if (!view->has_head)
        return TV_OK;

    err = tv_blob_pieces_load(txn, change, &view->head, &pieces);
    if (err)
        return err;

    known->committed =
        tv_arena_alloc(change->arena, (view->head.piece_count + 1) * sizeof *known->committed);
    for (uint32_t i = 0; i < view->head.piece_count; i++) {
        if (pieces.list[i].block_id.len)
            known->committed[known->committed_count++] = &pieces.list[i];
    }
    qsort(known->committed, known->committed_count, sizeof *known->committed, compare_committed);
    return TV_OK;
}

static bool find_uncommitted(const known_blocks *known, tv_slice id, tv_blob_piece *ret_piece)
{
    size_t low = 0, high = known->uncommitted_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (tv_slice_cmp(known->uncommitted[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == known->uncommitted_count || !tv_slice_eq(known->uncommitted[low].id, id))
        return false;

    const tv_block *block = &known->uncommitted[low];

    *ret_piece = (tv_blob_piece){.length = block->length,
                                 .is_chunk = block->is_chunk,
                                 .id = block->extent,
                                 .block_id = block->id};
    return true;
}

static bool find_committed(const known_blocks *known, tv_slice id, tv_blob_piece *ret_piece)
{
    size_t low = 0, high = known->committed_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (tv_slice_cmp(known->committed[middle]->block_id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == known->committed_count || !tv_slice_eq(known->committed[low]->block_id, id))
        return false;

    *ret_piece = *known->committed[low];
    return true;
}

static bool find_block(const known_blocks *known, const tv_block_choice *choice,
                       tv_blob_piece *ret_piece)
{
    switch (choice->source) {
    case TV_BLOCK_COMMITTED:
        return find_committed(known, choice->id, ret_piece);
    case TV_BLOCK_UNCOMMITTED:
        return find_uncommitted(known, choice->id, ret_piece);
    case TV_BLOCK_LATEST:
        return find_uncommitted(known, choice->id, ret_piece) ||
               find_committed(known, choice->id, ret_piece);
    }
    tv_assert(!"a block source");
    return false;
}

/* The pieces that the list asks for, one after the other. */
static tv_err choose_pieces(const tv_put_block_list *put, const known_blocks *known,
                            tv_blob_head *head)
{
    tv_blob_piece *pieces =
        tv_arena_alloc(put->change.arena, (put->choice_count + 1) * sizeof *pieces);

    for (size_t i = 0; i < put->choice_count; i++) {
        if (!find_block(known, &put->choices[i], &pieces[i]))
            return TV_ERR_BLOCK_LIST;
        head->length += pieces[i].length;
        pieces[i].end = head->length;
    }
    head->pieces = pieces;
    head->piece_count = (uint32_t)put->choice_count;
    return TV_OK;
}

tv_err tv_put_block_list_run(tv_txn *txn, void *put_block_list)
{
    tv_put_block_list *put = put_block_list;
    tv_blob_change *change = &put->change;
    tv_keep keep = {0};
    known_blocks known;
    tv_blob_view view;
    tv_err err;

    err = tv_blob_view_read(txn, change, &view);
    if (err)
        return err;
    if (put->choice_count > TV_BLOB_COMMITTED_BLOCKS_MAX)
        return TV_ERR_BLOCK_LIST_TOO_LONG;
    if (view.has_head && view.head.type != TV_BLOB_BLOCK)
        return TV_ERR_BLOB_TYPE;

    err = tv_blob_view_check_put(&view, change);
    if (err)
        return err;

    err = load_known(txn, change, &view, &known);
    if (err)
        return err;

    tv_blob_head head = tv_blob_view_successor(&view, TV_BLOB_BLOCK);

    err = choose_pieces(put, &known, &head);
    if (err)
        return err;

    tv_keep_pieces(&keep, change, head.pieces, head.piece_count);
    err = tv_drop_replaced(&keep, txn, change, &view);
    if (err)
        return err;

    head.headers = put->headers;
    head.metadata = put->metadata;
    if (head.piece_count > TV_BLOB_INLINE_PIECES)
        tv_blob_pieces_write(txn, change, head.content_id, head.pieces, head.piece_count);
    tv_blob_view_touch(txn, change, &view, &head);
    return TV_OK;
}

tv_err tv_expire_blocks_run(tv_txn *txn, void *change)
{
    tv_blob_view view;
    tv_keep keep = {0};
    tv_err err;

    err = tv_blob_view_read(txn, change, &view);
    if (err)
        return err;
    if (!view.has_ledger || view.now - view.ledger.last <= TV_BLOB_UNCOMMITTED_TICKS)
        return TV_OK;

    tv_txn_declare_freeing(txn);
    return tv_drop_blocks(&keep, txn, change, &view);
}
