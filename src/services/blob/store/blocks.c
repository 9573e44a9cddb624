/* Blocks: Put Block, Put Block List, and the expiry of blocks that were never committed. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/thread.h"
#include "services/blob/store/content.h"
#include "services/blob/store/reader.h"

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

    return tv_blob_remove_data(txn, change, old.is_chunk, old.extent);
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

    if (!view.has_ledger)
        view.ledger.generation = (uint64_t)view.stamp;

    tv_slice key = tv_blob_key_block(change->arena, change->partition, view.ledger.generation,
                                     put->data.block_id);

    err = replace_block(txn, change, key, &view.ledger);
    if (err)
        return err;

    tv_blob_piece piece = tv_blob_data_write(txn, change, &put->data, view.stamp, 0);
    tv_block block = {.length = piece.length, .is_chunk = piece.is_chunk, .extent = piece.id};

    tv_txn_put(txn, key, tv_block_encode(change->arena, &block));
    tv_assert(view.ledger.last < view.stamp);
    view.ledger.id_len = (uint32_t)id_len;
    view.ledger.last = view.stamp;
    tv_txn_put(txn, tv_blob_key_ledger(change->arena, change->partition),
               tv_block_ledger_encode(change->arena, &view.ledger));
    change->etag = view.head.etag;
    return TV_OK;
}

/* --- Put Block List --- */

/* Where a block list finds its blocks. */
typedef struct known_blocks {
    const tv_block *uncommitted; /* in the order of their ids */
    size_t uncommitted_count;
    const tv_block **committed; /* the same; of equal ids the first comes first */
    size_t committed_count;
} known_blocks;

/* The result of a list, and the blob it was made for. */
typedef struct tv_block_list_plan {
    bool has_head, has_ledger;
    uint64_t content_id, length; /* of the head */
    int64_t ledger_last;
    tv_err err;        /* TV_ERR_BLOCK_LIST when a block is not where the list says */
    tv_blob_head head; /* how many pieces, how long; themselves unless they are too many */
    tv_blob_runs runs; /* none when the pieces fit into the head */
} tv_block_list_plan;

static int compare_committed(const void *a, const void *b)
{
    const tv_block *one = *(const tv_block *const *)a, *other = *(const tv_block *const *)b;
    int order = tv_slice_cmp(one->id, other->id);

    return order ? order : (one > other) - (one < other); /* of one array */
}

/* `committed` is in the order of the content. */
static tv_err sort_known(tv_arena *arena, const tv_block *committed, size_t count,
                         known_blocks *known)
{
    tv_err err = tv_arena_reserve(arena, (count + 1) * sizeof *known->committed);

    if (err)
        return err;

    known->committed = tv_arena_alloc(arena, (count + 1) * sizeof *known->committed);
    for (size_t i = 0; i < count; i++)
        known->committed[i] = &committed[i];
    known->committed_count = count;
    qsort(known->committed, count, sizeof *known->committed, compare_committed);
    return TV_OK;
}

static tv_err load_known(tv_txn *txn, tv_blob_change *change, const tv_blob_view *view,
                         known_blocks *known)
{
    tv_blob_pieces pieces;
    size_t count = 0;
    tv_err err;

    *known = (known_blocks){0};
    if (view->has_ledger) {
        err =
            tv_blob_blocks_load(txn, change, view, &known->uncommitted, &known->uncommitted_count);
        if (err)
            return err;
    }
    if (!view->has_head)
        return TV_OK;

    err = tv_blob_pieces_load(txn, change, &view->head, &pieces);
    if (err == TV_OK)
        err = tv_arena_reserve(change->arena,
                               ((size_t)view->head.piece_count + 1) * sizeof(tv_block));
    if (err)
        return err;

    tv_block *committed =
        tv_arena_alloc(change->arena, (view->head.piece_count + 1) * sizeof *committed);

    for (uint32_t i = 0; i < view->head.piece_count; i++) {
        const tv_blob_piece *piece = &pieces.list[i];

        if (piece->block_id.len)
            committed[count++] = (tv_block){.id = piece->block_id,
                                            .length = piece->length,
                                            .is_chunk = piece->is_chunk,
                                            .extent = piece->id};
    }
    sort_known(change->arena, committed, count, known);
    return TV_OK;
}

static const tv_block *find_uncommitted(const known_blocks *known, tv_slice id)
{
    size_t low = 0, high = known->uncommitted_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (tv_slice_cmp(known->uncommitted[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < known->uncommitted_count && tv_slice_eq(known->uncommitted[low].id, id)
               ? &known->uncommitted[low]
               : NULL;
}

static const tv_block *find_committed(const known_blocks *known, tv_slice id)
{
    size_t low = 0, high = known->committed_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (tv_slice_cmp(known->committed[middle]->id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < known->committed_count && tv_slice_eq(known->committed[low]->id, id)
               ? known->committed[low]
               : NULL;
}

static const tv_block *find_block(const known_blocks *known, const tv_block_choice *choice)
{
    const tv_block *block = NULL;

    if (choice->source != TV_BLOCK_COMMITTED)
        block = find_uncommitted(known, choice->id);
    if (block == NULL && choice->source != TV_BLOCK_UNCOMMITTED)
        block = find_committed(known, choice->id);
    return block;
}

/* The pieces that the list names, one after the other, in the arena. */
static tv_err choose_pieces(const tv_put_block_list *put, const known_blocks *known,
                            tv_arena *arena, tv_blob_head *head)
{
    size_t bytes = (put->choice_count + 1) * sizeof(tv_blob_piece);
    tv_err err = tv_arena_reserve(arena, bytes);

    if (err)
        return err;

    tv_blob_piece *pieces = tv_arena_alloc(arena, bytes);

    for (size_t i = 0; i < put->choice_count; i++) {
        tv_thread_step(TV_STEP_SMALL);
        const tv_block *block = find_block(known, &put->choices[i]);

        if (block == NULL)
            return TV_ERR_BLOCK_LIST;
        err = tv_blob_add_length(&head->length, block->length);
        if (err)
            return err;
        pieces[i] = (tv_blob_piece){.end = head->length,
                                    .length = block->length,
                                    .is_chunk = block->is_chunk,
                                    .id = block->extent,
                                    .block_id = block->id};
    }
    head->pieces = pieces;
    head->piece_count = (uint32_t)put->choice_count;
    return TV_OK;
}

/* What the change needs of the pieces, in its arena: their rows, and few of them as they are. */
static tv_err keep_pieces(tv_arena *arena, tv_block_list_plan *plan)
{
    tv_blob_head *head = &plan->head;
    tv_blob_piece *pieces;
    tv_err err;

    if (head->piece_count > TV_BLOB_INLINE_PIECES)
        plan->runs = tv_blob_runs_encode(arena, head->pieces, head->piece_count);
    if (head->piece_count > tv_blob_at_once_max && plan->runs.count) {
        head->pieces = NULL;
        return TV_OK;
    }
    err = tv_arena_reserve(arena, ((size_t)head->piece_count + 1) * sizeof *pieces);
    if (err)
        return err;

    pieces = tv_arena_alloc(arena, (head->piece_count + 1) * sizeof *pieces);
    for (uint32_t i = 0; i < head->piece_count; i++) {
        pieces[i] = head->pieces[i];
        pieces[i].block_id = tv_arena_dup(arena, pieces[i].block_id);
    }
    head->pieces = pieces;
    return TV_OK;
}

/* `scratch` is for what is needed no longer than this call. */
static tv_err make_plan(tv_engine *engine, const tv_put_block_list *put, tv_arena *scratch,
                        tv_block_list_plan *plan)
{
    known_blocks known = {0};
    tv_block_lists lists = {0};
    tv_err err;

    err = tv_blob_get_block_lists(engine, put->change.partition, 0, TV_BLOCK_LIST_ALL, scratch,
                                  &lists);
    if (err && err != TV_ERR_BLOB_NOT_FOUND)
        return err; /* TV_ERR_BLOB_TYPE: as the change would say */

    plan->has_head = lists.has_head;
    plan->content_id = lists.head.content_id;
    plan->length = lists.head.length;
    plan->has_ledger = lists.has_ledger;
    plan->ledger_last = lists.ledger.last;
    known.uncommitted = lists.uncommitted;
    known.uncommitted_count = lists.uncommitted_count;
    err = sort_known(scratch, lists.committed, lists.committed_count, &known);
    if (err)
        return err;

    plan->err = choose_pieces(put, &known, scratch, &plan->head);
    if (plan->err == TV_OK)
        plan->err = keep_pieces(put->change.arena, plan);
    return plan->err == TV_ERR_OVERLOADED ? plan->err : TV_OK;
}

tv_err tv_put_block_list_plan(tv_engine *engine, tv_put_block_list *put)
{
    tv_block_list_plan *plan = tv_arena_zalloc(put->change.arena, sizeof *plan);
    tv_arena scratch;
    tv_err err;

    tv_arena_init(&scratch);
    err = make_plan(engine, put, &scratch, plan);
    tv_arena_done(&scratch);
    put->plan = err ? NULL : plan;
    return err;
}

/* Of a blob that is just as it was: it was not replaced, and no block has come or gone. */
static bool is_current(const tv_block_list_plan *plan, const tv_blob_view *view)
{
    return plan && plan->has_head == view->has_head && plan->has_ledger == view->has_ledger &&
           plan->content_id == view->head.content_id && plan->length == view->head.length &&
           plan->ledger_last == view->ledger.last;
}

/* Fill in what the list says of the new head; and the rows of its pieces, if they are in rows. */
static tv_err read_list(tv_txn *txn, tv_put_block_list *put, const tv_blob_view *view,
                        tv_blob_head *head, tv_blob_runs *runs)
{
    known_blocks known;
    tv_err err;

    if (is_current(put->plan, view)) {
        head->pieces = put->plan->head.pieces;
        head->piece_count = put->plan->head.piece_count;
        head->length = put->plan->head.length;
        *runs = put->plan->runs;
        return put->plan->err;
    }
    if (put->choice_count + view->ledger.count + view->head.piece_count > tv_blob_at_once_max)
        return TV_ERR_UNPLANNED;

    err = load_known(txn, &put->change, view, &known);
    if (err)
        return err;

    err = choose_pieces(put, &known, put->change.arena, head);
    if (err == TV_OK && head->piece_count > TV_BLOB_INLINE_PIECES)
        *runs = tv_blob_runs_encode(put->change.arena, head->pieces, head->piece_count);
    return err;
}

tv_err tv_put_block_list_run(tv_txn *txn, void *put_block_list)
{
    tv_put_block_list *put = put_block_list;
    tv_blob_change *change = &put->change;
    tv_blob_runs runs = {0};
    tv_live_set live = {0};
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

    tv_blob_head head = tv_blob_view_successor(&view, TV_BLOB_BLOCK);

    err = read_list(txn, put, &view, &head, &runs);
    if (err)
        return err;

    if (head.pieces)
        err = tv_live_set_add_pieces(&live, change->arena, head.pieces, head.piece_count);
    if (err)
        return err;

    err = tv_blob_remove_replaced(&live, txn, change, &view, head.pieces == NULL);
    if (err)
        return err;

    head.headers = put->headers;
    head.metadata = put->metadata;
    tv_assert((runs.count > 0) == (head.piece_count > TV_BLOB_INLINE_PIECES));
    tv_assert(runs.count == 0 || runs.ends[runs.count - 1] == head.length);
    tv_blob_runs_write(txn, change, head.content_id, &runs);
    tv_blob_view_touch(txn, change, &view, &head);
    return TV_OK;
}

/* --- the expiry of blocks that were never committed --- */

tv_err tv_expire_blocks_run(tv_txn *txn, void *change)
{
    tv_blob_removal removal = {.with_blocks = true};
    tv_blob_view view;
    tv_live_set live = {0};
    tv_err err;

    err = tv_blob_view_read(txn, change, &view);
    if (err)
        return err;
    if (!view.has_ledger || view.now - view.ledger.last <= TV_BLOB_UNCOMMITTED_TICKS)
        return TV_OK;

    tv_txn_declare_freeing(txn);
    tv_blob_note_gone(txn, view.stamp); /* which a discard may have */
    return tv_blob_remove(&live, txn, change, &view, &removal);
}
