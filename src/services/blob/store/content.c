/* The blob as a change finds it, and its rows read and written. */
#include "services/blob/store/content.h"

#include "base/assert.h"
#include "base/grow.h"
#include "store/engine/key.h"
#include "store/engine/mutants.h"

static tv_err read_head(tv_txn *txn, tv_blob_change *change, tv_blob_view *view)
{
    tv_slice value;
    tv_err err;

    err = tv_txn_get(txn, tv_blob_key_head(change->arena, change->partition, 0), &value);
    if (err == TV_ERR_NOT_FOUND)
        return TV_OK;
    if (err)
        return err;

    view->has_head = true;
    return tv_blob_head_decode(change->arena, value, 0, &view->head);
}

static tv_err read_ledger(tv_txn *txn, tv_blob_change *change, tv_blob_view *view)
{
    tv_slice value;
    tv_err err;

    err = tv_txn_get(txn, tv_blob_key_ledger(change->arena, change->partition), &value);
    if (err == TV_ERR_NOT_FOUND)
        return TV_OK;
    if (err)
        return err;

    view->has_ledger = true;
    return tv_block_ledger_decode(value, &view->ledger);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Now, for this change, and its stamp. */
static tv_err take_stamp(tv_txn *txn, tv_blob_view *view)
{
    view->last = later(view->head.etag, view->ledger.last);
    if (!TV_MUTANT(NO_SNAPSHOT_LAST))
        view->last = later(view->last, view->head.last_snapshot);
    tv_txn_pass(txn, view->last);
    /* Not the group's own instant: the group may have deleted a blob that had it. */
    view->now = view->stamp = tv_txn_stamp(txn);
    if (view->stamp <= view->last)
        view->stamp = view->last + 1;
    return view->stamp <= TV_BLOB_TICKS_MAX ? TV_OK : TV_ERR_CORRUPT;
}

tv_err tv_blob_view_read(tv_txn *txn, tv_blob_change *change, tv_blob_view *ret_view)
{
    tv_blob_view view = {0};
    tv_err err;

    change->etag = 0;
    change->garbage = NULL;
    change->garbage_count = 0;
    change->has_discards = change->is_partial = false;
    if (atomic_load(change->is_dropped))
        return TV_ERR_CONTAINER_NOT_FOUND;

    err = read_head(txn, change, &view);
    if (err)
        return err;

    err = read_ledger(txn, change, &view);
    if (err)
        return err;

    tv_txn_declare_guarded(txn, tv_blob_key_head(change->arena, change->partition, 0),
                           TV_GUARD_OF_BLOBS);
    err = take_stamp(txn, &view);
    if (err)
        return err;

    *ret_view = view;
    return TV_OK;
}

const tv_guid *tv_blob_change_lease_id(const tv_blob_change *change)
{
    return change->conditions.has_lease_id ? &change->conditions.lease_id : NULL;
}

tv_err tv_blob_view_check(const tv_blob_view *view, const tv_blob_change *change)
{
    tv_err err;

    if (!view->has_head)
        return TV_ERR_BLOB_NOT_FOUND;

    err = tv_lease_check_write(&view->head.lease, tv_blob_change_lease_id(change), view->now);
    if (err)
        return err;

    return tv_conditions_check_write(&change->conditions, view->head.etag);
}

tv_err tv_blob_view_open(tv_txn *txn, tv_blob_change *change, tv_blob_view *ret_view)
{
    tv_err err = tv_blob_view_read(txn, change, ret_view);

    return err ? err : tv_blob_view_check(ret_view, change);
}

tv_err tv_blob_view_check_put(const tv_blob_view *view, const tv_blob_change *change)
{
    tv_err err;

    if (view->has_head && change->conditions.must_be_new)
        return TV_ERR_BLOB_EXISTS;

    err = tv_lease_check_write(&view->head.lease, tv_blob_change_lease_id(change), view->now);
    if (err)
        return err;

    if (!view->has_head && view->has_ledger)
        return tv_conditions_check_commit(&change->conditions, view->ledger.last);
    return tv_conditions_check_put(&change->conditions, view->head.etag);
}

tv_blob_head tv_blob_view_successor(const tv_blob_view *view, tv_blob_type type)
{
    return (tv_blob_head){
        .type = type,
        .created = view->has_head ? view->head.created : view->stamp,
        .content_id = (uint64_t)view->stamp,
        .lease = view->head.lease,
        .snapshot_count = view->head.snapshot_count,
        .last_snapshot = view->head.last_snapshot,
    };
}

void tv_blob_view_touch(tv_txn *txn, tv_blob_change *change, const tv_blob_view *view,
                        tv_blob_head *head)
{
    tv_assert(view->stamp > view->last);
    tv_assert(!view->has_head ||
              (head->type == view->head.type && head->created == view->head.created));
    head->etag = view->stamp;
    tv_lease_note_write(&head->lease, view->now);
    change->etag = head->etag;
    tv_blob_head_write(txn, change, head);
}

void tv_blob_note_gone(tv_txn *txn, int64_t stamp)
{
    if (!TV_MUTANT(NO_BLOB_GONE))
        tv_txn_note_gone(txn, stamp);
}

void tv_blob_head_write(tv_txn *txn, tv_blob_change *change, const tv_blob_head *head)
{
    /* A snapshot has neither snapshots nor a lease. */
    tv_assert(head->snapshot == 0 || (head->snapshot_count == 0 && head->last_snapshot == 0 &&
                                      head->lease.state == TV_LEASE_AVAILABLE));
    tv_txn_put(txn, tv_blob_key_head(change->arena, change->partition, head->snapshot),
               tv_blob_head_encode(change->arena, head));
}

tv_blob_piece tv_blob_data_write(tv_txn *txn, tv_blob_change *change, const tv_blob_data *data,
                                 int64_t stamp, uint64_t index)
{
    tv_blob_piece piece = {
        .length = data->length,
        .is_chunk = data->bytes.data != NULL,
        .id = data->extent,
        .block_id = data->block_id,
    };

    tv_assert(data->length > 0 && stamp > 0);
    tv_assert(piece.is_chunk || data->extent.boot > 0); /* zeros are no extent */
    if (piece.is_chunk) {
        tv_assert(data->bytes.len == data->length && data->length <= TV_BLOB_CHUNK_BYTES_MAX);
        piece.id = (tv_extent_id){.boot = (uint64_t)stamp, .number = index};
        tv_txn_put(txn, tv_blob_key_chunk(change->arena, change->partition, piece.id), data->bytes);
    }
    return piece;
}

tv_err tv_blob_add_length(uint64_t *length, uint64_t more)
{
    if (more > TV_BLOB_LENGTH_MAX - *length)
        return TV_ERR_CORRUPT;

    *length += more;
    return TV_OK;
}

tv_blob_runs tv_blob_runs_encode(tv_arena *arena, const tv_blob_piece *pieces, size_t count)
{
    size_t size = count / TV_BLOB_RUN_PIECES + 1;
    tv_blob_runs runs = {.values = tv_arena_alloc(arena, size * sizeof *runs.values),
                         .ends = tv_arena_alloc(arena, size * sizeof *runs.ends)};

    /* A reader knows where a piece begins from the end of the run and the lengths after it. */
    for (size_t i = 1; i < count; i++)
        tv_assert(pieces[i].end - pieces[i].length == pieces[i - 1].end);
    for (size_t at = 0; at < count; at += TV_BLOB_RUN_PIECES) {
        size_t len = count - at < TV_BLOB_RUN_PIECES ? count - at : TV_BLOB_RUN_PIECES;

        runs.values[runs.count] = tv_blob_run_encode(arena, pieces + at, len);
        runs.ends[runs.count++] = pieces[at + len - 1].end;
    }
    return runs;
}

void tv_blob_runs_write(tv_txn *txn, tv_blob_change *change, uint64_t content_id,
                        const tv_blob_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        tv_assert(i == 0 || runs->ends[i] > runs->ends[i - 1]);
        tv_txn_put(txn,
                   tv_blob_key_run(change->arena, change->partition, content_id, runs->ends[i]),
                   runs->values[i]);
    }
}

void tv_blob_pieces_write(tv_txn *txn, tv_blob_change *change, uint64_t content_id,
                          const tv_blob_piece *pieces, size_t count)
{
    tv_blob_runs runs = tv_blob_runs_encode(change->arena, pieces, count);

    tv_blob_runs_write(txn, change, content_id, &runs);
}

/* Add the pieces of one row to those before it. */
static tv_err add_run(tv_blob_change *change, const tv_blob_head *head, tv_slice key,
                      tv_slice value, tv_blob_piece *pieces, uint32_t *count)
{
    const tv_blob_piece *run;
    size_t run_count;
    uint64_t end = *count ? pieces[*count - 1].end : 0;
    tv_err err;

    err = tv_blob_run_decode(change->arena, key, tv_arena_dup(change->arena, value), &run,
                             &run_count);
    if (err)
        return err;
    if (run_count > head->piece_count - *count || run[0].end - run[0].length != end)
        return TV_ERR_CORRUPT;

    memcpy(pieces + *count, run, run_count * sizeof *run);
    *count += (uint32_t)run_count;
    return TV_OK;
}

static tv_err scan_runs(tv_txn *txn, tv_blob_change *change, const tv_blob_head *head,
                        tv_blob_pieces *ret_pieces)
{
    tv_slice from = tv_blob_key_run(change->arena, change->partition, head->content_id, 0);
    tv_slice to =
        tv_blob_key_run(change->arena, change->partition, head->content_id, head->length + 1);
    size_t piece_bytes = head->piece_count * sizeof(tv_blob_piece);
    size_t end_bytes = head->piece_count * sizeof(uint64_t);
    tv_blob_piece *pieces;
    uint64_t *run_ends;
    uint32_t count = 0;
    size_t run_count = 0;
    tv_txn_scan scan;
    tv_err err, end_err;

    err = tv_arena_reserve(change->arena, piece_bytes + end_bytes + sizeof(max_align_t));
    if (err)
        return err;

    pieces = tv_arena_alloc(change->arena, piece_bytes);
    run_ends = tv_arena_alloc(change->arena, end_bytes);
    err = tv_txn_scan_begin(txn, from, to, &scan);
    if (err)
        return err;

    while (err == TV_OK && tv_txn_scan_next(&scan)) {
        err = add_run(change, head, scan.key, scan.value, pieces, &count);
        if (err == TV_OK)
            run_ends[run_count++] = pieces[count - 1].end;
    }
    end_err = tv_txn_scan_end(&scan);
    if (err || end_err)
        return err ? err : end_err;
    if (count != head->piece_count || pieces[count - 1].end != head->length)
        return TV_ERR_CORRUPT;

    *ret_pieces = (tv_blob_pieces){pieces, run_ends, run_count};
    return TV_OK;
}

tv_err tv_blob_pieces_load(tv_txn *txn, tv_blob_change *change, const tv_blob_head *head,
                           tv_blob_pieces *ret_pieces)
{
    if (head->pieces == NULL)
        return scan_runs(txn, change, head, ret_pieces);

    *ret_pieces = (tv_blob_pieces){.list = head->pieces};
    return TV_OK;
}

tv_err tv_blob_blocks_load(tv_txn *txn, tv_blob_change *change, const tv_blob_view *view,
                           const tv_block **ret_blocks, size_t *ret_count)
{
    tv_slice prefix = tv_blob_key_blocks(change->arena, change->partition, view->ledger.generation);
    size_t count = 0, size = 0;
    tv_block *blocks = NULL;
    tv_txn_scan scan;
    tv_err err, end_err;

    err = tv_txn_scan_begin(txn, prefix, tv_key_after(change->arena, prefix), &scan);
    if (err)
        return err;

    while (err == TV_OK && tv_txn_scan_next(&scan)) {
        tv_slice id = tv_slice_skip(scan.key, prefix.len);

        err = tv_arena_try_grow(change->arena, &blocks, count, &size, 16);
        if (err == TV_OK)
            err = tv_block_decode(tv_arena_dup(change->arena, id), scan.value, &blocks[count++]);
    }
    end_err = tv_txn_scan_end(&scan);
    if (err || end_err)
        return err ? err : end_err;

    if (count != view->ledger.count)
        return TV_ERR_CORRUPT;

    *ret_blocks = blocks;
    *ret_count = count;
    return TV_OK;
}

tv_err tv_blob_snapshots_load(tv_txn *txn, tv_blob_change *change, size_t count_max,
                              const tv_blob_head **ret_heads, size_t *ret_count)
{
    tv_slice from = tv_blob_key_kind(change->arena, change->partition, TV_BLOB_ROW_SNAPSHOT);
    size_t count = 0, size = 0;
    tv_blob_head *heads = NULL;
    tv_txn_scan scan;
    tv_err err, end_err;

    err = tv_txn_scan_begin(txn, from, tv_key_after(change->arena, from), &scan);
    if (err)
        return err;

    while (err == TV_OK && count < count_max && tv_txn_scan_next(&scan)) {
        int64_t snapshot;

        err = tv_arena_try_grow(change->arena, &heads, count, &size, 4);
        if (err)
            break;
        if (!tv_blob_snapshot_parse(tv_slice_skip(scan.key, from.len), &snapshot))
            err = TV_ERR_CORRUPT;
        else
            err = tv_blob_head_decode(change->arena, tv_arena_dup(change->arena, scan.value),
                                      snapshot, &heads[count++]);
    }
    end_err = tv_txn_scan_end(&scan);
    if (err || end_err)
        return err ? err : end_err;

    *ret_heads = heads;
    *ret_count = count;
    return TV_OK;
}
