/* Walks over many blobs: which extents rows refer to, and where there is garbage. */
#include "services/blob/store/gc.h"

#include "services/blob/store/row.h"
#include "store/engine/key.h"

/* Chunks of a blob that are passed one by one. */
enum { CHUNKS_MAX = 8 };

/* Account names hold no terminator, and a container's id is of one length: where a name begins. */
static bool split_container(tv_slice key, tv_slice *ret_container)
{
    size_t end = tv_slice_find(key, TV_KEY_MARK);

    if (end + 1 + TV_KEY_ID_CHARS >= key.len)
        return false;

    *ret_container = tv_slice_take(key, end + 1 + TV_KEY_ID_CHARS);
    return true;
}

/* A walk over rows of blobs. */
typedef struct walk {
    tv_engine *engine;
    const tv_blob_extent_visitor *visitor;
    tv_iter *iter;
    tv_arena arena;               /* for one row */
    bool with_dead;               /* also what is garbage, see gc.h */
    tv_arena blob_arena;          /* for what is known of one blob */
    tv_slice blob;                /* its prefix */
    tv_blob_live_rows *live_rows; /* what its rows before this one say */
    int chunk_count;              /* that were passed one by one */
} walk;

static tv_err visit_extent(walk *w, tv_extent_id id)
{
    return w->visitor->found(w->visitor->ctx, w->blob, id);
}

static tv_err visit_pieces(walk *w, const tv_blob_piece *pieces, size_t count)
{
    tv_err err = TV_OK;

    for (size_t i = 0; err == TV_OK && i < count; i++) {
        if (!pieces[i].is_chunk)
            err = visit_extent(w, pieces[i].id);
    }
    return err;
}

/* `row` is the key after the blob's prefix. */
static tv_err visit_value(walk *w, tv_slice row, tv_slice value)
{
    const tv_blob_piece *pieces;
    tv_blob_head head;
    tv_block block;
    bool is_live;
    size_t count;
    tv_err err;

    err = tv_blob_live_rows_learn(w->live_rows, &w->arena, row, value, &is_live);
    if (err || (!is_live && !w->with_dead))
        return err;

    switch (row.data[0]) {
    case TV_BLOB_ROW_SNAPSHOT:
    case TV_BLOB_ROW_HEAD:
        err = tv_blob_head_decode(&w->arena, value, 0, &head);
        if (err == TV_OK && head.pieces)
            err = visit_pieces(w, head.pieces, head.piece_count);
        return err;
    case TV_BLOB_ROW_RUN:
        err = tv_blob_run_decode(&w->arena, row, value, &pieces, &count);
        return err ? err : visit_pieces(w, pieces, count);
    case TV_BLOB_ROW_DISCARD:
        err = tv_blob_discard_decode(&w->arena, value, &pieces, &count);
        return err ? err : visit_pieces(w, pieces, count);
    case TV_BLOB_ROW_BLOCK:
        if (row.len == 1)
            return TV_OK;
        err = tv_block_decode(tv_slice_skip(row, 1), value, &block);
        if (err == TV_OK && !block.is_chunk)
            err = visit_extent(w, block.extent);
        return err;
    default:
        return TV_ERR_CORRUPT;
    }
}

/* The prefix of the blob that the row at `iter` is of. */
static tv_err blob_at(walk *w, tv_slice *ret_blob)
{
    tv_slice key = tv_iter_key(w->iter), container;

    if (!split_container(key, &container))
        return TV_ERR_CORRUPT;
    return tv_key_split_blob(&w->arena, container, key, ret_blob, NULL);
}

/* The rows that follow are those of a blob, from its first one on. */
static void begin_blob(walk *w, tv_slice blob)
{
    tv_arena_reset(&w->blob_arena);
    w->blob = tv_arena_dup(&w->blob_arena, blob);
    w->live_rows = tv_blob_live_rows_new(&w->blob_arena);
    w->chunk_count = 0;
}

/*
 * Chunks are passed in one seek.  But where rows come in pages a seek means another page, and a few
 * chunks are in this one.
 */
static void pass_chunk(walk *w)
{
    tv_slice chunks = tv_slice_take(tv_iter_key(w->iter), w->blob.len + 1);

    if (w->iter->ops->view && w->chunk_count++ < CHUNKS_MAX)
        tv_iter_next(w->iter);
    else
        tv_iter_seek(w->iter, tv_key_after(&w->arena, chunks));
}

/* Visit what the row at `iter` refers to, and go on. */
static tv_err visit_row(walk *w)
{
    tv_slice row = tv_slice_skip(tv_iter_key(w->iter), w->blob.len);
    tv_err err;

    if (row.len && row.data[0] == TV_BLOB_ROW_CHUNK) {
        pass_chunk(w);
        return TV_OK;
    }

    err = visit_value(w, row, tv_iter_value(w->iter));
    tv_iter_next(w->iter);
    return err;
}

/* Visit the rows at `iter` that are of the blob. */
static tv_err visit_rows(walk *w)
{
    const tv_blob_extent_visitor *visitor = w->visitor;
    tv_err err = TV_OK;

    while (err == TV_OK && tv_iter_is_valid(w->iter) &&
           tv_slice_starts_with(tv_iter_key(w->iter), w->blob)) {
        if (visitor->is_stopping && visitor->is_stopping(visitor->ctx))
            err = TV_ERR_STOPPED;
        else
            err = visit_row(w);
        tv_arena_reset(&w->arena);
    }
    return err ? err : tv_iter_status(w->iter);
}

/* --- without snapshots: see tv_blob_guard.  What was met for nothing does no harm. --- */

/* One visit of all rows of the blob, from the beginning. */
static tv_err visit_blob_once(walk *w, tv_arena *arena)
{
    walk one = {.engine = w->engine, .visitor = w->visitor, .with_dead = w->with_dead};
    tv_err err;

    err = tv_engine_iter(w->engine, w->blob, tv_key_after(arena, w->blob), &one.iter);
    if (err)
        return err;

    tv_arena_init(&one.arena);
    tv_arena_init(&one.blob_arena);
    begin_blob(&one, w->blob);
    tv_iter_seek(one.iter, w->blob);
    err = visit_rows(&one);
    tv_iter_free(one.iter);
    tv_arena_done(&one.arena);
    tv_arena_done(&one.blob_arena);
    return err;
}

static tv_err visit_blob(walk *w)
{
    tv_err err;
    tv_arena arena;
    tv_blob_guard guard;

    tv_arena_init(&arena);
    tv_blob_guard_init(&guard, w->engine, w->blob);
    do {
        tv_arena_reset(&arena);
        err = tv_blob_guard_begin(&guard);
        if (err == TV_OK)
            err = visit_blob_once(w, &arena);
    } while (tv_blob_guard_again(&guard, &err));
    tv_blob_guard_done(&guard);
    tv_arena_done(&arena);
    return err;
}

/* Whether the row at `iter` is of this view. */
static bool is_of_view(const walk *w, uint64_t view)
{
    return tv_iter_is_valid(w->iter) && w->iter->ops->view(w->iter) == view;
}

/*
 * Visit the blob whose first row is at `iter`, and leave `iter` behind it.  Its rows are of one
 * view if the row after its last one is of it, too.
 */
static tv_err visit_in_pages(walk *w)
{
    tv_err err;

    if (w->iter->ops->view) {
        uint64_t view = w->iter->ops->view(w->iter);

        err = visit_rows(w);
        if ((err == TV_OK || err == TV_ERR_CORRUPT) && is_of_view(w, view))
            return err;
        if (err && err != TV_ERR_CORRUPT)
            return err;
    }

    err = visit_blob(w);
    tv_iter_seek(w->iter, tv_key_after(&w->blob_arena, w->blob));
    return err;
}

/* --- all blobs of a range --- */

static tv_err visit(tv_engine *engine, tv_slice from, tv_slice to, bool with_dead,
                    const tv_blob_extent_visitor *visitor)
{
    walk w = {.engine = engine, .visitor = visitor, .with_dead = with_dead};
    tv_err err;

    err = tv_engine_iter_across(engine, from, to, &w.iter);
    if (err)
        return err;

    tv_arena_init(&w.arena);
    tv_arena_init(&w.blob_arena);
    tv_iter_seek(w.iter, from);
    while (err == TV_OK && tv_iter_is_valid(w.iter)) {
        tv_slice blob;

        err = blob_at(&w, &blob);
        if (err)
            break;

        begin_blob(&w, blob);
        tv_arena_reset(&w.arena);
        err = engine->ops->has_snapshots ? visit_rows(&w) : visit_in_pages(&w);
    }
    if (err == TV_OK)
        err = tv_iter_status(w.iter);
    tv_iter_free(w.iter);
    tv_arena_done(&w.arena);
    tv_arena_done(&w.blob_arena);
    return err;
}

tv_err tv_blob_visit_extents(tv_engine *engine, tv_slice from, tv_slice to,
                             const tv_blob_extent_visitor *visitor)
{
    return visit(engine, from, to, true, visitor);
}

tv_err tv_blob_visit_all_extents(tv_engine *engine, const tv_blob_extent_visitor *visitor)
{
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = visit(engine, TV_KEY_BLOBS, tv_key_after(&arena, TV_KEY_BLOBS), false, visitor);
    tv_arena_done(&arena);
    return err;
}

/* Whether a blob has discard rows; `iter` is at its first row from the ledger on. */
static bool has_discards(tv_iter *iter, tv_arena *arena, tv_slice blob)
{
    tv_slice prefix = tv_blob_key_kind(arena, blob, TV_BLOB_ROW_DISCARD);

    if (tv_iter_is_valid(iter) && tv_slice_cmp(tv_iter_key(iter), prefix) < 0)
        tv_iter_seek(iter, prefix);
    return tv_iter_is_valid(iter) && tv_slice_starts_with(tv_iter_key(iter), prefix);
}

/* Whether the blob whose ledger would be at `iter` has blocks that are too old. */
static tv_err is_expired(tv_iter *iter, tv_slice ledger_key, int64_t now, bool *ret_is_expired)
{
    tv_block_ledger ledger;
    tv_err err;

    *ret_is_expired = false;
    if (!tv_iter_is_valid(iter))
        return tv_iter_status(iter);
    if (!tv_slice_eq(tv_iter_key(iter), ledger_key))
        return TV_OK;

    err = tv_block_ledger_decode(tv_iter_value(iter), &ledger);
    if (err)
        return err;

    *ret_is_expired = now - ledger.last > TV_BLOB_UNCOMMITTED_TICKS;
    return TV_OK;
}

tv_err tv_blob_gc_next(tv_engine *engine, tv_slice container, int64_t now, size_t blobs_max,
                       tv_arena *arena, tv_blob_gc_cursor *cursor, tv_slice *ret_partitions,
                       size_t size, size_t *ret_count)
{
    tv_slice at = cursor->from.data ? cursor->from : container;
    size_t count = 0;
    tv_iter *iter;
    tv_err err;

    err = tv_engine_iter(engine, container, tv_key_after(arena, container), &iter);
    if (err)
        return err;

    tv_iter_seek(iter, at);
    for (size_t i = 0; i < blobs_max && count < size && tv_iter_is_valid(iter); i++) {
        tv_slice blob;
        bool is_old;

        err = tv_key_split_blob(arena, container, tv_iter_key(iter), &blob, NULL);
        if (err)
            break;

        blob = tv_arena_dup(arena, blob);

        tv_slice ledger_key = tv_blob_key_ledger(arena, blob);

        tv_iter_seek(iter, ledger_key);
        err = is_expired(iter, ledger_key, now, &is_old);
        if (err)
            break;
        if (is_old || has_discards(iter, arena, blob))
            ret_partitions[count++] = blob;
        at = tv_key_after(arena, blob);
        tv_iter_seek(iter, at);
    }
    if (err == TV_OK)
        err = tv_iter_status(iter);
    if (err == TV_OK)
        *cursor = (tv_blob_gc_cursor){.from = at, .is_done = !tv_iter_is_valid(iter)};
    tv_iter_free(iter);
    if (err)
        return err;

    *ret_count = count;
    return TV_OK;
}
