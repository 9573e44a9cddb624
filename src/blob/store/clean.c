/* What is dead in a blob, and its removal. */
#include "blob/store/clean.h"

#include "base/assert.h"
#include "blob/store/content.h"
#include "engine/key.h"

/* --- what is alive --- */

struct tv_blob_alive {
    tv_arena *arena;
    tv_kept_content *contents; /* of heads that have their pieces in rows */
    size_t content_count, content_size;
    bool is_unsorted; /* they are not in the order of their ids, as they should be */
    bool has_ledger;
    uint64_t generation;
};

tv_blob_alive *tv_blob_alive_new(tv_arena *arena)
{
    tv_blob_alive *alive = tv_arena_zalloc(arena, sizeof *alive);

    alive->arena = arena;
    return alive;
}

/* Heads that share a content stand together. */
static tv_err learn_head(tv_blob_alive *alive, const tv_blob_head *head)
{
    tv_kept_content *last =
        alive->content_count ? &alive->contents[alive->content_count - 1] : NULL;

    if (head->pieces)
        return TV_OK;
    if (last && last->id == head->content_id) {
        last->length = head->length > last->length ? head->length : last->length;
        return TV_OK;
    }
    if (last && last->id > head->content_id)
        alive->is_unsorted = true;
    if (alive->content_count == alive->content_size) {
        tv_kept_content *old = alive->contents;
        size_t size = alive->content_size ? 2 * alive->content_size : 8;
        tv_err err;

        err = tv_arena_reserve(alive->arena, size * sizeof *old);
        if (err)
            return err;

        alive->content_size = size;
        alive->contents = tv_arena_alloc(alive->arena, size * sizeof *old);
        if (alive->content_count)
            memcpy(alive->contents, old, alive->content_count * sizeof *old);
    }
    alive->contents[alive->content_count++] =
        (tv_kept_content){.id = head->content_id, .length = head->length};
    return TV_OK;
}

/* Stamps grow, and so do the ids of contents, but nothing may depend on it that removes data. */
static bool is_run_alive(const tv_blob_alive *alive, uint64_t content_id, uint64_t end)
{
    size_t low = 0, high = alive->content_count;

    while (!alive->is_unsorted && low < high) {
        size_t middle = low + (high - low) / 2;

        if (alive->contents[middle].id < content_id)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < alive->content_count; i++) {
        if (!alive->is_unsorted && alive->contents[i].id != content_id)
            return false;
        if (alive->contents[i].id == content_id && end <= alive->contents[i].length)
            return true;
    }
    return false;
}

static tv_err learn_run(tv_blob_alive *alive, tv_slice row, bool *ret_is_alive)
{
    tv_slice numbers = tv_slice_skip(row, 1);
    uint64_t content_id, end;

    if (numbers.len != 2 * (size_t)TV_BLOB_NUMBER_LEN ||
        !tv_blob_number_parse(tv_slice_take(numbers, TV_BLOB_NUMBER_LEN), &content_id) ||
        !tv_blob_number_parse(tv_slice_skip(numbers, TV_BLOB_NUMBER_LEN), &end))
        return TV_ERR_CORRUPT;

    *ret_is_alive = is_run_alive(alive, content_id, end);
    return TV_OK;
}

static tv_err learn_block(tv_blob_alive *alive, tv_slice row, tv_slice value, bool *ret_is_alive)
{
    tv_block_ledger ledger;
    uint64_t generation;
    tv_err err;

    if (row.len == 1) {
        err = tv_block_ledger_decode(value, &ledger);
        if (err)
            return err;
        alive->has_ledger = true;
        alive->generation = ledger.generation;
        *ret_is_alive = true;
        return TV_OK;
    }
    if (row.len <= 1 + (size_t)TV_BLOB_NUMBER_LEN ||
        !tv_blob_number_parse(tv_slice_take(tv_slice_skip(row, 1), TV_BLOB_NUMBER_LEN),
                              &generation))
        return TV_ERR_CORRUPT;

    *ret_is_alive = alive->has_ledger && alive->generation == generation;
    return TV_OK;
}

tv_err tv_blob_alive_learn(tv_blob_alive *alive, tv_arena *scratch, tv_slice row, tv_slice value,
                           bool *ret_is_alive)
{
    tv_blob_head head;
    tv_err err;

    switch (row.len ? row.data[0] : 0) {
    case TV_BLOB_ROW_SNAPSHOT:
    case TV_BLOB_ROW_HEAD:
        err = tv_blob_head_decode(scratch, value, 0, &head);
        if (err == TV_OK)
            err = learn_head(alive, &head);
        *ret_is_alive = true;
        return err;
    case TV_BLOB_ROW_BLOCK:
        return learn_block(alive, row, value, ret_is_alive);
    case TV_BLOB_ROW_DISCARD:
        *ret_is_alive = false;
        return TV_OK;
    case TV_BLOB_ROW_RUN:
        return learn_run(alive, row, ret_is_alive);
    default:
        return TV_ERR_CORRUPT;
    }
}

/* --- what can go --- */

/* Data of rows that are dead; what of it is dead, too, is known at the end. */
typedef struct dead_data {
    bool is_chunk;
    tv_extent_id id;
} dead_data;

typedef struct search {
    tv_slice partition;
    tv_arena *arena;
    tv_arena scratch; /* for one row */
    tv_blob_alive *alive;
    tv_keep kept; /* data of rows that are alive */
    dead_data *dead;
    size_t dead_count, dead_size;
    tv_slice *rows; /* dead ones, but for discards */
    size_t row_count, row_size;
    tv_slice *discards;
    size_t discard_count, discard_size;
} search;

static tv_err add_key(tv_arena *arena, tv_slice key, tv_slice **list, size_t *count, size_t *size)
{
    if (*count == *size) {
        size_t new_size = *size ? 2 * *size : 64;
        tv_slice *old = *list;
        tv_err err;

        err = tv_arena_reserve(arena, new_size * sizeof **list);
        if (err)
            return err;

        *size = new_size;
        *list = tv_arena_alloc(arena, new_size * sizeof **list);
        if (*count)
            memcpy(*list, old, *count * sizeof **list);
    }
    (*list)[(*count)++] = tv_arena_dup(arena, key);
    return TV_OK;
}

static tv_err note_data(search *s, bool is_alive, bool is_chunk, tv_extent_id id)
{
    tv_err err;

    if (is_alive) {
        err = tv_keep_reserve(&s->kept, s->arena, 1);
        if (err == TV_OK)
            tv_keep_add(&s->kept, is_chunk, id);
        return err;
    }
    if (s->dead_count == s->dead_size) {
        size_t new_size = s->dead_size ? 2 * s->dead_size : 64;
        dead_data *old = s->dead;

        err = tv_arena_reserve(s->arena, new_size * sizeof *s->dead);
        if (err)
            return err;

        s->dead_size = new_size;
        s->dead = tv_arena_alloc(s->arena, new_size * sizeof *s->dead);
        if (s->dead_count)
            memcpy(s->dead, old, s->dead_count * sizeof *s->dead);
    }
    s->dead[s->dead_count++] = (dead_data){is_chunk, id};
    return TV_OK;
}

static tv_err note_pieces(search *s, bool is_alive, const tv_blob_piece *pieces, size_t count)
{
    tv_err err = TV_OK;

    for (size_t i = 0; err == TV_OK && i < count; i++)
        err = note_data(s, is_alive, pieces[i].is_chunk, pieces[i].id);
    return err;
}

/* The data that a row refers to. */
static tv_err note_row(search *s, tv_slice row, tv_slice value, bool is_alive)
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
            err = note_pieces(s, is_alive, head.pieces, head.piece_count);
        return err;
    case TV_BLOB_ROW_BLOCK:
        if (row.len == 1)
            return TV_OK;
        err = tv_block_decode(TV_NONE, value, &block);
        if (err == TV_OK)
            err = note_data(s, is_alive, block.is_chunk, block.extent);
        return err;
    case TV_BLOB_ROW_DISCARD:
        err = tv_blob_discard_decode(&s->scratch, value, &pieces, &count);
        break;
    default:
        err = tv_blob_run_decode(&s->scratch, row, value, &pieces, &count);
        break;
    }
    return err ? err : note_pieces(s, is_alive, pieces, count);
}

static tv_err look_at_row(search *s, tv_iter *iter)
{
    tv_slice key = tv_iter_key(iter), row = tv_slice_skip(key, s->partition.len);
    bool is_alive;
    tv_err err;

    tv_arena_reset(&s->scratch);
    if (row.len && row.data[0] == TV_BLOB_ROW_CHUNK) {
        tv_iter_seek(iter, tv_key_after(&s->scratch, tv_slice_take(key, s->partition.len + 1)));
        return TV_OK;
    }

    err = tv_blob_alive_learn(s->alive, &s->scratch, row, tv_iter_value(iter), &is_alive);
    if (err)
        return err;

    err = note_row(s, row, tv_iter_value(iter), is_alive);
    if (err)
        return err;

    if (row.data[0] == TV_BLOB_ROW_DISCARD)
        err = add_key(s->arena, key, &s->discards, &s->discard_count, &s->discard_size);
    else if (!is_alive)
        err = add_key(s->arena, key, &s->rows, &s->row_count, &s->row_size);
    tv_iter_next(iter);
    return err;
}

/* Chunks, then rows, then discards; see clean.h. */
static tv_err list_waste(search *s, tv_blob_waste *waste)
{
    size_t key_bytes =
        (s->dead_count + s->row_count + s->discard_count + 1) * sizeof *waste->keys;
    size_t extent_bytes = (s->dead_count + 1) * sizeof *waste->extents;
    tv_arena *arena = s->arena;
    tv_err err;

    err = tv_keep_reserve(&s->kept, arena, s->dead_count + 1);
    if (err == TV_OK)
        err = tv_arena_reserve(arena, key_bytes + extent_bytes + sizeof(max_align_t));
    if (err)
        return err;

    waste->keys = tv_arena_alloc(arena, key_bytes);
    waste->extents = tv_arena_alloc(arena, extent_bytes);
    for (size_t i = 0; i < s->dead_count; i++) {
        const dead_data *dead = &s->dead[i];

        if (!tv_keep_add(&s->kept, dead->is_chunk, dead->id))
            continue; /* alive, or listed already */
        if (dead->is_chunk)
            waste->keys[waste->key_count++] = tv_blob_key_chunk(arena, s->partition, dead->id);
        else
            waste->extents[waste->extent_count++] = dead->id;
    }
    for (size_t i = 0; i < s->row_count; i++)
        waste->keys[waste->key_count++] = s->rows[i];
    for (size_t i = 0; i < s->discard_count; i++)
        waste->keys[waste->key_count++] = s->discards[i];
    return TV_OK;
}

tv_err tv_blob_find_waste(tv_engine *engine, tv_slice partition, tv_arena *arena,
                          tv_blob_waste *ret_waste)
{
    search s = {.partition = partition, .arena = arena, .alive = tv_blob_alive_new(arena)};
    tv_iter *iter;
    tv_err err;

    err = tv_engine_iter(engine, partition, tv_key_after(arena, partition), &iter);
    if (err)
        return err;

    tv_arena_init(&s.scratch);
    tv_iter_seek(iter, partition);
    while (err == TV_OK && tv_iter_is_valid(iter))
        err = look_at_row(&s, iter);
    if (err == TV_OK)
        err = tv_iter_status(iter);
    tv_iter_free(iter);
    tv_arena_done(&s.scratch);
    if (err)
        return err;

    *ret_waste = (tv_blob_waste){0};
    return s.discard_count ? list_waste(&s, ret_waste) : TV_OK;
}

tv_err tv_clean_blob_run(tv_txn *txn, void *clean_blob)
{
    const tv_clean_blob *clean = clean_blob;

    tv_assert(clean->key_count <= TV_BLOB_CLEAN_ROWS);
    if (atomic_load(clean->change.is_dropped))
        return TV_ERR_CONTAINER_NOT_FOUND;

    tv_txn_declare_freeing(txn);
    for (size_t i = 0; i < clean->key_count; i++)
        tv_txn_delete(txn, clean->keys[i]);
    return TV_OK;
}
