/* Changes of whole blobs and additions to them: Put Blob, Append Block. */
#include "base/assert.h"
#include "services/blob/store/content.h"

tv_err tv_put_blob_run(tv_txn *txn, void *put_blob)
{
    tv_put_blob *put = put_blob;
    tv_blob_change *change = &put->change;
    tv_live_set live = {0};
    tv_blob_view view;
    tv_err err;

    tv_assert(put->data_count <= TV_BLOB_COMMITTED_BLOCKS_MAX);
    tv_assert(put->type != TV_BLOB_APPEND || put->data_count == 0 || put->copy.id.len > 0);
    err = tv_blob_view_read(txn, change, &view);
    if (err)
        return err;
    if (put->type == TV_BLOB_PAGES)
        return TV_ERR_PAGE_BLOB;

    err = tv_blob_view_check_put(&view, change);
    if (err)
        return err;
    if (view.has_head && view.head.type != put->type)
        return TV_ERR_BLOB_TYPE;

    err = tv_blob_remove_replaced(&live, txn, change, &view, false);
    if (err)
        return err;

    err = tv_arena_reserve(change->arena, (put->data_count + 1) * sizeof(tv_blob_piece));
    if (err)
        return err;

    tv_blob_head head = tv_blob_view_successor(&view, put->type);
    tv_blob_piece *pieces = tv_arena_alloc(change->arena, (put->data_count + 1) * sizeof *pieces);

    for (size_t i = 0; i < put->data_count; i++) {
        pieces[i] = tv_blob_data_write(txn, change, &put->data[i], view.stamp, i);
        err = tv_blob_add_length(&head.length, pieces[i].length);
        if (err)
            return err;
        pieces[i].end = head.length;
    }
    head.headers = put->headers;
    head.metadata = put->metadata;
    head.copy = put->copy;
    head.copy.completed = view.now;
    head.pieces = pieces;
    head.piece_count = (uint32_t)put->data_count;
    if (head.piece_count > TV_BLOB_INLINE_PIECES)
        tv_blob_pieces_write(txn, change, head.content_id, pieces, head.piece_count);
    tv_blob_view_touch(txn, change, &view, &head);
    return TV_OK;
}

/* The conditions that only Append Block has. */
static tv_err check_append(const tv_append_block *append, const tv_blob_head *head)
{
    if (append->has_position && append->position != head->length)
        return TV_ERR_APPEND_POSITION;
    if (append->has_max_size &&
        (head->length > append->max_size || append->data.length > append->max_size - head->length))
        return TV_ERR_BLOB_MAX_SIZE;
    if (head->piece_count >= TV_BLOB_COMMITTED_BLOCKS_MAX)
        return TV_ERR_COMMITTED_BLOCKS;
    return TV_OK;
}

/* Put a piece after the last one: into the head while there is room, else all go into rows. */
static void append_piece(tv_txn *txn, tv_blob_change *change, tv_blob_head *head,
                         const tv_blob_piece *piece)
{
    tv_assert(piece->end == head->length + piece->length);
    tv_assert((head->pieces == NULL) == (head->piece_count > TV_BLOB_INLINE_PIECES));
    if (head->pieces == NULL) {
        tv_blob_pieces_write(txn, change, head->content_id, piece, 1);
    } else {
        tv_blob_piece *pieces =
            tv_arena_alloc(change->arena, (head->piece_count + 1) * sizeof *pieces);

        memcpy(pieces, head->pieces, head->piece_count * sizeof *pieces);
        pieces[head->piece_count] = *piece;
        if (head->piece_count == TV_BLOB_INLINE_PIECES)
            tv_blob_pieces_write(txn, change, head->content_id, pieces, head->piece_count + 1);
        head->pieces = pieces;
    }
    head->piece_count++;
    head->length = piece->end;
}

tv_err tv_append_block_run(tv_txn *txn, void *append_block)
{
    tv_append_block *append = append_block;
    tv_blob_change *change = &append->change;
    tv_blob_view view;
    tv_err err;

    err = tv_blob_view_read(txn, change, &view);
    if (err)
        return err;
    if (!view.has_head)
        return TV_ERR_BLOB_NOT_FOUND;
    if (view.head.type != TV_BLOB_APPEND)
        return TV_ERR_BLOB_TYPE;

    err = tv_blob_view_check(&view, change);
    if (err)
        return err;

    err = check_append(append, &view.head);
    if (err)
        return err;

    tv_blob_head *head = &view.head;
    uint64_t end = head->length;

    err = tv_blob_add_length(&end, append->data.length);
    if (err)
        return err;

    tv_blob_piece piece = tv_blob_data_write(txn, change, &append->data, view.stamp, 0);

    /* Its MD5 was that of the content before. */
    head->headers.md5 = TV_NONE;
    append->offset = head->length;
    piece.end = end;
    append_piece(txn, change, head, &piece);
    append->block_count = head->piece_count;
    tv_blob_view_touch(txn, change, &view, head);
    return TV_OK;
}
