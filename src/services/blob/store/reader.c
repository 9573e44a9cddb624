/* Reading one blob: its head, its pieces, its block lists. */
#include "services/blob/store/reader.h"

#include "base/assert.h"
#include "services/blob/store/row.h"
#include "store/engine/key.h"

tv_err tv_blob_get_head(tv_engine *engine, tv_read_mode mode, tv_slice partition, int64_t snapshot,
                        tv_arena *arena, tv_blob_head *ret_head)
{
    tv_slice value;
    tv_err err;

    err = tv_engine_get(engine, mode, tv_blob_key_head(arena, partition, snapshot), arena, &value);
    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_ERR_BLOB_NOT_FOUND : err;

    return tv_blob_head_decode(arena, value, snapshot, ret_head);
}

tv_err tv_blob_check_read(const tv_blob_head *head, const tv_blob_conditions *conditions,
                          int64_t now)
{
    tv_err err;

    err = tv_lease_check_read(&head->lease, conditions->has_lease_id ? &conditions->lease_id : NULL,
                              now);
    if (err)
        return err;

    return tv_conditions_check_read(conditions, head->etag);
}

const tv_blob_piece *tv_blob_find_piece(const tv_blob_head *head, uint64_t offset)
{
    tv_assert(head->pieces != NULL);
    for (uint32_t i = 0; i < head->piece_count; i++) {
        if (head->pieces[i].end > offset)
            return &head->pieces[i];
    }
    return NULL;
}

tv_err tv_blob_get_chunk(tv_engine *engine, tv_read_mode mode, tv_slice partition,
                         const tv_blob_piece *piece, tv_arena *arena, tv_slice *ret_bytes)
{
    tv_slice bytes;
    tv_err err;

    tv_assert(piece->is_chunk);
    err =
        tv_engine_get(engine, mode, tv_blob_key_chunk(arena, partition, piece->id), arena, &bytes);
    if (err)
        return err;
    if (bytes.len != piece->length)
        return TV_ERR_CORRUPT;

    *ret_bytes = bytes;
    return TV_OK;
}

tv_err tv_blob_get_chunks(tv_engine *engine, tv_read_mode mode, tv_slice partition,
                          const tv_blob_piece *const *pieces, size_t count, tv_arena *arena,
                          tv_slice *ret_bytes)
{
    tv_slice keys[TV_BLOB_INLINE_PIECES];
    tv_err err = TV_ERR_MOVED;

    tv_assert(count <= TV_BLOB_INLINE_PIECES);
    if (count > 1 && mode == TV_READ_ANY && engine->ops->get_many) {
        for (size_t i = 0; i < count; i++)
            keys[i] = tv_blob_key_chunk(arena, partition, pieces[i]->id);
        err = engine->ops->get_many(engine, keys, count, arena, ret_bytes);
    }
    if (err == TV_ERR_MOVED) { /* one by one they are found wherever they are */
        err = TV_OK;
        for (size_t i = 0; err == TV_OK && i < count; i++)
            err = tv_blob_get_chunk(engine, mode, partition, pieces[i], arena, &ret_bytes[i]);
        return err;
    }
    for (size_t i = 0; err == TV_OK && i < count; i++) {
        if (ret_bytes[i].data == NULL)
            err = TV_ERR_NOT_FOUND;
        else if (ret_bytes[i].len != pieces[i]->length)
            err = TV_ERR_CORRUPT;
    }
    return err;
}

struct tv_blob_reader {
    tv_engine *engine;
    tv_iter *iter;
    int64_t snapshot;
    tv_slice partition;
    tv_blob_head head;
    tv_arena arena;           /* for the life of the reader */
    tv_arena scratch;         /* for one call */
    tv_arena run_arena;       /* for `run` */
    const tv_blob_piece *run; /* the row of pieces that was read last */
    size_t run_count;
};

/* Go to the row with exactly this key.  TV_ERR_NOT_FOUND. */
static tv_err seek_row(tv_iter *iter, tv_slice key, tv_slice *ret_value)
{
    tv_iter_seek(iter, key);
    if (!tv_iter_is_valid(iter)) {
        tv_err err = tv_iter_status(iter);

        return err ? err : TV_ERR_NOT_FOUND;
    }
    if (!tv_slice_eq(tv_iter_key(iter), key))
        return TV_ERR_NOT_FOUND;

    *ret_value = tv_iter_value(iter);
    return TV_OK;
}

static tv_err read_head(tv_iter *iter, tv_slice partition, int64_t snapshot, tv_arena *arena,
                        tv_blob_head *ret_head)
{
    tv_slice value;
    tv_err err;

    err = seek_row(iter, tv_blob_key_head(arena, partition, snapshot), &value);
    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_ERR_BLOB_NOT_FOUND : err;

    return tv_blob_head_decode(arena, tv_arena_dup(arena, value), snapshot, ret_head);
}

tv_err tv_blob_reader_open(tv_engine *engine, tv_slice partition, int64_t snapshot,
                           tv_blob_reader **ret_reader)
{
    tv_blob_reader *reader = tv_calloc(1, sizeof *reader);
    tv_err err;

    reader->engine = engine;
    reader->snapshot = snapshot;
    tv_arena_init(&reader->arena);
    tv_arena_init(&reader->scratch);
    tv_arena_init(&reader->run_arena);
    reader->partition = tv_arena_dup(&reader->arena, partition);
    err = tv_engine_iter(engine, reader->partition, tv_key_after(&reader->arena, reader->partition),
                         &reader->iter);
    if (err == TV_OK)
        err = read_head(reader->iter, reader->partition, snapshot, &reader->arena, &reader->head);
    if (err) {
        tv_blob_reader_close(reader);
        return err;
    }

    *ret_reader = reader;
    return TV_OK;
}

void tv_blob_reader_close(tv_blob_reader *reader)
{
    if (reader == NULL)
        return;

    tv_iter_free(reader->iter);
    tv_arena_done(&reader->run_arena);
    tv_arena_done(&reader->scratch);
    tv_arena_done(&reader->arena);
    free(reader);
}

const tv_blob_head *tv_blob_reader_head(const tv_blob_reader *reader)
{
    return &reader->head;
}

/*
 * A row is not there, or not as the head says.  Without a snapshot that is damage only if
 * the head is still the same.
 */
static tv_err explain_damage(tv_blob_reader *reader)
{
    tv_blob_head head;
    tv_err err;

    if (reader->engine->ops->has_snapshots)
        return TV_ERR_CORRUPT;

    err = tv_blob_get_head(reader->engine, TV_READ_ANY, reader->partition, reader->snapshot,
                           &reader->scratch, &head);
    if (err)
        return err == TV_ERR_BLOB_NOT_FOUND ? TV_ERR_CONFLICT : err;
    return head.etag == reader->head.etag && head.content_id == reader->head.content_id &&
                   head.length == reader->head.length
               ? TV_ERR_CORRUPT
               : TV_ERR_CONFLICT;
}

/* Read the run in which the byte at `offset` is. */
static tv_err load_run(tv_blob_reader *reader, uint64_t offset)
{
    const tv_blob_head *head = &reader->head;
    tv_arena *arena = &reader->run_arena;
    tv_err err;

    reader->run_count = 0;
    tv_arena_reset(arena);

    /*
     * Rows are named by where their run ends, so the first one after the offset holds it.
     * Without a snapshot the last run may have grown since: by what lies beyond our head.
     */
    tv_slice last = tv_blob_key_run(arena, reader->partition, head->content_id,
                                    reader->engine->ops->has_snapshots ? head->length : UINT64_MAX);

    tv_iter_seek(reader->iter,
                 tv_blob_key_run(arena, reader->partition, head->content_id, offset + 1));
    if (!tv_iter_is_valid(reader->iter)) {
        err = tv_iter_status(reader->iter);
        return err ? err : explain_damage(reader);
    }
    if (tv_slice_cmp(tv_iter_key(reader->iter), last) > 0)
        return explain_damage(reader);

    err = tv_blob_run_decode(arena, tv_iter_key(reader->iter),
                             tv_arena_dup(arena, tv_iter_value(reader->iter)), &reader->run,
                             &reader->run_count);
    if (err)
        return err;
    if (reader->run[0].end - reader->run[0].length > offset) {
        reader->run_count = 0;
        return explain_damage(reader);
    }
    return TV_OK;
}

static bool is_in_run(const tv_blob_reader *reader, uint64_t offset)
{
    const tv_blob_piece *run = reader->run;

    return reader->run_count && offset >= run[0].end - run[0].length &&
           offset < run[reader->run_count - 1].end;
}

tv_err tv_blob_reader_piece(tv_blob_reader *reader, uint64_t offset, tv_blob_piece *ret_piece)
{
    const tv_blob_head *head = &reader->head;
    size_t low = 0, high;
    tv_err err;

    tv_assert(offset < head->length);
    if (head->pieces) {
        *ret_piece = *tv_blob_find_piece(head, offset);
        return TV_OK;
    }

    if (!is_in_run(reader, offset)) {
        err = load_run(reader, offset);
        if (err)
            return err;
    }
    for (high = reader->run_count - 1; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (reader->run[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_piece = reader->run[low];
    return TV_OK;
}

tv_err tv_blob_reader_chunk(tv_blob_reader *reader, const tv_blob_piece *piece, tv_slice *ret_bytes)
{
    tv_slice bytes;
    tv_err err;

    tv_assert(piece->is_chunk);
    tv_arena_reset(&reader->scratch);
    err = seek_row(reader->iter, tv_blob_key_chunk(&reader->scratch, reader->partition, piece->id),
                   &bytes);
    if (err)
        return err == TV_ERR_NOT_FOUND ? explain_damage(reader) : err;
    if (bytes.len != piece->length)
        return TV_ERR_CORRUPT;

    *ret_bytes = bytes;
    return TV_OK;
}

/* --- block lists --- */

/* Pieces that were put as blocks; other data is not part of a block list. */
static tv_err list_committed(tv_blob_reader *reader, tv_arena *arena, tv_block_lists *lists)
{
    const tv_blob_head *head = &reader->head;
    size_t count = 0, bytes = ((size_t)head->piece_count + 1) * sizeof(tv_block);
    tv_err err = tv_arena_reserve(arena, bytes);

    if (err)
        return err;

    tv_block *blocks = tv_arena_alloc(arena, bytes);

    for (uint64_t offset = 0; offset < head->length;) {
        tv_blob_piece piece;

        err = tv_blob_reader_piece(reader, offset, &piece);
        if (err)
            return err;

        offset = piece.end;
        if (piece.block_id.len == 0)
            continue;
        tv_assert(count < head->piece_count);
        blocks[count++] = (tv_block){.id = tv_arena_dup(arena, piece.block_id),
                                     .length = piece.length,
                                     .is_chunk = piece.is_chunk,
                                     .extent = piece.id};
    }
    lists->committed = blocks;
    lists->committed_count = count;
    return TV_OK;
}

/* The ledger says how many there are; 0 when there is no ledger. */
static tv_err list_uncommitted(tv_iter *iter, tv_slice partition, tv_arena *arena,
                               tv_block_lists *lists)
{
    tv_slice ledger_key = tv_blob_key_ledger(arena, partition);
    tv_block_ledger ledger;
    tv_slice value;
    tv_err err;

    err = seek_row(iter, ledger_key, &value);
    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_OK : err;

    err = tv_block_ledger_decode(value, &ledger);
    if (err == TV_OK)
        err = tv_arena_reserve(arena, ledger.count * sizeof(tv_block));
    if (err)
        return err;

    tv_slice prefix = tv_blob_key_blocks(arena, partition, ledger.generation);
    tv_block *blocks = tv_arena_alloc(arena, ledger.count * sizeof *blocks);

    tv_iter_seek(iter, prefix);
    for (uint32_t i = 0; i < ledger.count; i++) {
        if (i > 0)
            tv_iter_next(iter);
        if (!tv_iter_is_valid(iter)) {
            err = tv_iter_status(iter);
            return err ? err : TV_ERR_CORRUPT;
        }
        if (!tv_slice_starts_with(tv_iter_key(iter), prefix))
            return TV_ERR_CORRUPT;

        tv_slice id = tv_slice_skip(tv_iter_key(iter), prefix.len);

        err = tv_block_decode(tv_arena_dup(arena, id), tv_iter_value(iter), &blocks[i]);
        if (err)
            return err;
    }
    lists->uncommitted = blocks;
    lists->uncommitted_count = ledger.count;
    lists->has_ledger = true;
    lists->ledger = ledger;
    return TV_OK;
}

/* Only uncommitted blocks, of a blob without a head. */
static tv_err list_headless(tv_engine *engine, tv_slice partition, tv_arena *arena,
                            tv_block_lists *lists)
{
    tv_iter *iter;
    tv_err err;

    err = tv_engine_iter(engine, partition, tv_key_after(arena, partition), &iter);
    if (err)
        return err;

    err = list_uncommitted(iter, partition, arena, lists);
    tv_iter_free(iter);
    if (err)
        return err;

    return lists->uncommitted_count ? TV_OK : TV_ERR_BLOB_NOT_FOUND;
}

static tv_err read_block_lists(tv_engine *engine, tv_slice partition, int64_t snapshot,
                               tv_block_list_type type, tv_arena *arena, tv_block_lists *ret_lists)
{
    tv_block_lists lists = {0};
    tv_blob_reader *reader = NULL;
    tv_err err;

    err = tv_blob_reader_open(engine, partition, snapshot, &reader);
    if (err == TV_ERR_BLOB_NOT_FOUND && snapshot == 0) {
        err = list_headless(engine, partition, arena, &lists);
        if (!(type & TV_BLOCK_LIST_UNCOMMITTED))
            lists.uncommitted_count = 0;
    } else if (err == TV_OK && reader->head.type != TV_BLOB_BLOCK) {
        err = TV_ERR_BLOB_TYPE;
    } else if (err == TV_OK) {
        lists.has_head = true;
        err = read_head(reader->iter, reader->partition, snapshot, arena, &lists.head);
        if (err == TV_OK && (type & TV_BLOCK_LIST_COMMITTED))
            err = list_committed(reader, arena, &lists);
        if (err == TV_OK && (type & TV_BLOCK_LIST_UNCOMMITTED) && snapshot == 0)
            err = list_uncommitted(reader->iter, partition, arena, &lists);
    }
    tv_blob_reader_close(reader);
    if (err)
        return err;

    *ret_lists = lists;
    return TV_OK;
}

/* The rows by which a change of the lists is known. */
static tv_err read_guards(tv_engine *engine, tv_slice partition, int64_t snapshot, tv_arena *arena,
                          tv_slice ret_values[2])
{
    const tv_slice keys[2] = {tv_blob_key_head(arena, partition, snapshot),
                              tv_blob_key_ledger(arena, partition)};

    return tv_engine_get_rows(engine, keys, 2, arena, ret_values);
}

/* Without a snapshot lists are good, and damage is damage, if nothing has changed meanwhile. */
enum { TRIES_MAX = 16 };

tv_err tv_blob_get_block_lists(tv_engine *engine, tv_slice partition, int64_t snapshot,
                               tv_block_list_type type, tv_arena *arena, tv_block_lists *ret_lists)
{
    if (engine->ops->has_snapshots)
        return read_block_lists(engine, partition, snapshot, type, arena, ret_lists);

    for (int i = 0; i < TRIES_MAX; i++) {
        tv_slice before[2], after[2];
        tv_err err = read_guards(engine, partition, snapshot, arena, before);

        if (err)
            return err;

        tv_err result = read_block_lists(engine, partition, snapshot, type, arena, ret_lists);

        err = read_guards(engine, partition, snapshot, arena, after);
        if (err)
            return err;
        if (tv_slice_eq(before[0], after[0]) && tv_slice_eq(before[1], after[1]))
            return result;
    }
    return TV_ERR_OVERLOADED;
}
