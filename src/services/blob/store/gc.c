/* The garbage of one blob, and its removal. */
#include "services/blob/store/gc.h"

#include "base/assert.h"
#include "base/grow.h"
#include "services/blob/store/content.h"
#include "store/engine/key.h"

/* Data of rows that are dead; which of it is dead, too, is known at the end. */
typedef struct dead_data {
    bool is_chunk;
    tv_extent_id id;
} dead_data;

typedef struct search {
    tv_slice partition;
    tv_arena *arena;
    tv_arena scratch; /* for one row */
    tv_blob_live_rows *live_rows;
    tv_live_set live_data; /* data of rows that are live */
    dead_data *dead;
    size_t dead_count, dead_size;
    tv_slice *rows; /* dead ones, but for discards */
    size_t row_count, row_size;
    tv_slice *discards;
    size_t discard_count, discard_size;
} search;

static tv_err add_key(tv_arena *arena, tv_slice key, tv_slice **list, size_t *count, size_t *size)
{
    tv_err err = tv_arena_try_grow(arena, list, *count, size, 64);

    if (err)
        return err;

    (*list)[(*count)++] = tv_arena_dup(arena, key);
    return TV_OK;
}

static tv_err note_data(search *s, bool is_live, bool is_chunk, tv_extent_id id)
{
    tv_err err;

    if (is_live) {
        err = tv_live_set_reserve(&s->live_data, s->arena, 1);
        if (err == TV_OK)
            tv_live_set_add(&s->live_data, is_chunk, id);
        return err;
    }
    err = tv_arena_try_grow(s->arena, &s->dead, s->dead_count, &s->dead_size, 64);
    if (err)
        return err;

    s->dead[s->dead_count++] = (dead_data){is_chunk, id};
    return TV_OK;
}

static tv_err note_pieces(search *s, bool is_live, const tv_blob_piece *pieces, size_t count)
{
    tv_err err = TV_OK;

    for (size_t i = 0; err == TV_OK && i < count; i++)
        err = note_data(s, is_live, pieces[i].is_chunk, pieces[i].id);
    return err;
}

/* The data that a row refers to. */
static tv_err note_row(search *s, tv_slice row, tv_slice value, bool is_live)
{
    const tv_blob_piece *pieces;
    size_t count = 0;
    tv_blob_head head;
    tv_block block;
    tv_err err = TV_OK;

    switch (row.data[0]) {
    case TV_BLOB_ROW_SNAPSHOT:
    case TV_BLOB_ROW_HEAD:
        err = tv_blob_head_decode(&s->scratch, value, 0, &head);
        if (err == TV_OK && head.pieces)
            err = note_pieces(s, is_live, head.pieces, head.piece_count);
        return err;
    case TV_BLOB_ROW_BLOCK:
        if (row.len == 1)
            return TV_OK;
        err = tv_block_decode(TV_NONE, value, &block);
        if (err == TV_OK)
            err = note_data(s, is_live, block.is_chunk, block.extent);
        return err;
    case TV_BLOB_ROW_DISCARD:
        err = tv_blob_discard_decode(&s->scratch, value, &pieces, &count);
        break;
    default:
        err = tv_blob_run_decode(&s->scratch, row, value, &pieces, &count);
        break;
    }
    return err ? err : note_pieces(s, is_live, pieces, count);
}

static tv_err look_at_row(search *s, tv_iter *iter)
{
    tv_slice key = tv_iter_key(iter), row = tv_slice_skip(key, s->partition.len);
    bool is_live;
    tv_err err;

    tv_arena_reset(&s->scratch);
    if (row.len && row.data[0] == TV_BLOB_ROW_CHUNK) {
        tv_iter_seek(iter, tv_key_after(&s->scratch, tv_slice_take(key, s->partition.len + 1)));
        return TV_OK;
    }

    err = tv_blob_live_rows_learn(s->live_rows, &s->scratch, row, tv_iter_value(iter), &is_live);
    if (err)
        return err;

    err = note_row(s, row, tv_iter_value(iter), is_live);
    if (err)
        return err;

    if (row.data[0] == TV_BLOB_ROW_DISCARD)
        err = add_key(s->arena, key, &s->discards, &s->discard_count, &s->discard_size);
    else if (!is_live)
        err = add_key(s->arena, key, &s->rows, &s->row_count, &s->row_size);
    tv_iter_next(iter);
    return err;
}

/* Chunks, then rows, then discards; see gc.h. */
static tv_err list_garbage(search *s, tv_blob_garbage *garbage)
{
    size_t key_bytes =
        (s->dead_count + s->row_count + s->discard_count + 1) * sizeof *garbage->keys;
    size_t extent_bytes = (s->dead_count + 1) * sizeof *garbage->extents;
    tv_arena *arena = s->arena;
    tv_err err;

    err = tv_live_set_reserve(&s->live_data, arena, s->dead_count + 1);
    if (err == TV_OK)
        err = tv_arena_reserve(arena, key_bytes + extent_bytes + sizeof(max_align_t));
    if (err)
        return err;

    garbage->keys = tv_arena_alloc(arena, key_bytes);
    garbage->extents = tv_arena_alloc(arena, extent_bytes);
    for (size_t i = 0; i < s->dead_count; i++) {
        const dead_data *dead = &s->dead[i];

        if (!tv_live_set_add(&s->live_data, dead->is_chunk, dead->id))
            continue; /* live, or listed already */
        if (dead->is_chunk)
            garbage->keys[garbage->key_count++] = tv_blob_key_chunk(arena, s->partition, dead->id);
        else
            garbage->extents[garbage->extent_count++] = dead->id;
    }
    for (size_t i = 0; i < s->row_count; i++)
        garbage->keys[garbage->key_count++] = s->rows[i];
    for (size_t i = 0; i < s->discard_count; i++)
        garbage->keys[garbage->key_count++] = s->discards[i];
    return TV_OK;
}

static tv_err look_at_rows(search *s, tv_engine *engine)
{
    tv_iter *iter;
    tv_err err;

    err = tv_engine_iter(engine, s->partition, tv_key_after(s->arena, s->partition), &iter);
    if (err)
        return err;

    tv_arena_init(&s->scratch);
    tv_iter_seek(iter, s->partition);
    while (err == TV_OK && tv_iter_is_valid(iter))
        err = look_at_row(s, iter);
    if (err == TV_OK)
        err = tv_iter_status(iter);
    tv_iter_free(iter);
    tv_arena_done(&s->scratch);
    return err;
}

tv_err tv_blob_find_garbage(tv_engine *engine, tv_slice partition, tv_arena *arena,
                            tv_blob_garbage *ret_garbage)
{
    tv_blob_guard guard;
    search s;
    tv_err err;

    tv_blob_guard_init(&guard, engine, partition);
    do {
        s = (search){
            .partition = partition, .arena = arena, .live_rows = tv_blob_live_rows_new(arena)};
        err = tv_blob_guard_begin(&guard);
        if (err == TV_OK)
            err = look_at_rows(&s, engine);
    } while (tv_blob_guard_again(&guard, &err));
    tv_blob_guard_done(&guard);
    if (err)
        return err;

    *ret_garbage = (tv_blob_garbage){0};
    return s.discard_count ? list_garbage(&s, ret_garbage) : TV_OK;
}

/* Heads and the ledger are live, always: only a change of the blob removes them. */
static bool can_be_garbage(tv_slice partition, tv_slice key)
{
    tv_slice row = tv_slice_skip(key, partition.len);

    return row.len > 1 && row.data[0] != TV_BLOB_ROW_SNAPSHOT && row.data[0] != TV_BLOB_ROW_HEAD;
}

tv_err tv_blob_gc_run(tv_txn *txn, void *gc_step)
{
    const tv_blob_gc_step *step = gc_step;

    tv_assert(step->key_count <= TV_BLOB_GC_ROWS);
    if (atomic_load(step->change.is_dropped))
        return TV_ERR_CONTAINER_NOT_FOUND;

    tv_txn_declare_freeing(txn);
    for (size_t i = 0; i < step->key_count; i++) {
        tv_assert(can_be_garbage(step->change.partition, step->keys[i]));
        tv_txn_delete(txn, step->keys[i]);
    }
    return TV_OK;
}
