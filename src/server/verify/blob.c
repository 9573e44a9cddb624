/*
 * The rows of blobs, and what they refer to.  Each row is decoded when it comes;
 * the contents of a blob and its snapshots are walked when all its rows have been
 * seen, the way a download walks them, and each chunk and extent that belongs to
 * them, or to a block that waits for its list, is read once.
 *
 * What is not there is told by what is: a head says how many snapshots there are, a ledger how
 * many blocks, and rows that nothing refers to are there only with a row that says so (gc.h).
 */
#include "base/assert.h"
#include "base/grow.h"
#include "server/verify/internal.h"
#include "services/blob/store/gc.h"
#include "services/blob/store/reader.h"
#include "services/blob/store/row.h"

enum { READ_BYTES = 1 << 20 };

typedef struct blob_state {
    tv_arena arena, scratch; /* for one blob; for one row */
    tv_slice blob, name;     /* the one whose rows are read */
    tv_blob_live_rows *live;
    int64_t *heads; /* snapshots, 0 for the blob itself */
    size_t head_count, head_size;
    tv_blob_piece *pieces; /* of all heads and blocks; without their block ids */
    size_t piece_count, piece_size;
    tv_extent_id *chunks; /* that there are */
    size_t chunk_count, chunk_size;
    tv_blob_head head; /* for its numbers */
    tv_block_ledger ledger;
    uint32_t snapshot_count, block_count; /* that there are, and are live */
    bool has_head, has_ledger;
    bool has_garbage; /* and a row that says so */
    bool has_dead;    /* runs or blocks */
    char *buffer;
} blob_state;

static void problem(tv_verify_walk *walk, const char *what)
{
    const blob_state *state = walk->state;

    tv_verify_problem(walk->report, "blob %.*s of container %.*s of %.*s: %s", TV_FMT(state->name),
                      TV_FMT(walk->owner->name), TV_FMT(walk->owner->account), what);
}

static void begin(tv_verify_walk *walk)
{
    blob_state *state = tv_calloc(1, sizeof *state);

    tv_arena_init(&state->arena);
    tv_arena_init(&state->scratch);
    state->buffer = tv_malloc(READ_BYTES);
    walk->state = state;
}

/* --- what a blob consists of --- */

static void add_head(blob_state *state, int64_t snapshot)
{
    tv_grow(&state->heads, state->head_count, &state->head_size, 16);
    state->heads[state->head_count++] = snapshot;
}

static void add_piece(blob_state *state, bool is_chunk, tv_extent_id id, uint64_t length)
{
    tv_grow(&state->pieces, state->piece_count, &state->piece_size, 64);
    state->pieces[state->piece_count++] =
        (tv_blob_piece){.is_chunk = is_chunk, .id = id, .length = length};
}

static void add_chunk(blob_state *state, tv_extent_id id)
{
    tv_grow(&state->chunks, state->chunk_count, &state->chunk_size, 64);
    state->chunks[state->chunk_count++] = id;
}

static int compare(const void *a, const void *b)
{
    const tv_blob_piece *left = a, *right = b;

    if (left->is_chunk != right->is_chunk)
        return left->is_chunk ? -1 : 1;
    if (left->id.boot != right->id.boot)
        return left->id.boot < right->id.boot ? -1 : 1;
    if (left->id.number != right->id.number)
        return left->id.number < right->id.number ? -1 : 1;
    return (left->length > right->length) - (left->length < right->length);
}

/* All pieces of a blob or snapshot, as a download would find them. */
static void walk_head(tv_verify_walk *walk, int64_t snapshot)
{
    blob_state *state = walk->state;
    tv_blob_reader *reader;
    uint64_t offset = 0;

    if (tv_blob_reader_open(walk->engine, state->blob, snapshot, &reader)) {
        problem(walk, "its head cannot be read");
        return;
    }
    while (offset < tv_blob_reader_head(reader)->length) {
        tv_blob_piece piece;

        if (tv_blob_reader_piece(reader, offset, &piece) || piece.end <= offset) {
            problem(walk, snapshot ? "a snapshot has lost some of its pieces"
                                   : "it has lost some of its pieces");
            break;
        }
        add_piece(state, piece.is_chunk, piece.id, piece.length);
        offset = piece.end;
    }
    tv_blob_reader_close(reader);
}

/* --- its data --- */

static void check_chunk(tv_verify_walk *walk, const tv_blob_piece *piece)
{
    blob_state *state = walk->state;
    tv_slice bytes;
    tv_err err;

    tv_arena_reset(&state->scratch);
    err = tv_blob_get_chunk(walk->engine, TV_READ_ANY, state->blob, piece, &state->scratch, &bytes);
    if (err)
        problem(walk, err == TV_ERR_NOT_FOUND ? "a chunk of its data is missing"
                                              : "a chunk of its data cannot be read");
}

/* What is wrong with an extent, or NULL. */
static const char *read_extent(tv_verify_walk *walk, const tv_blob_piece *piece)
{
    blob_state *state = walk->state;
    const char *what = "the file is missing";
    tv_extent_reader *reader;
    uint64_t offset = 0;
    size_t len = 1;
    tv_err err;

    if (!walk->mark(walk->marker, piece->id))
        return what;

    err = tv_extent_open(walk->extents, TV_READ_ANY, piece->id, piece->length, &reader);
    if (err == TV_OK) {
        while (err == TV_OK && len && offset < piece->length) {
            err = tv_extent_read(reader, TV_READ_ANY, offset, state->buffer, READ_BYTES, &len);
            offset += len;
        }
        tv_extent_close(reader);
    }
    walk->report->extents++;
    walk->report->extent_bytes += piece->length;
    if (err == TV_OK)
        return NULL;
    if (err == TV_ERR_NOT_FOUND)
        return what;
    (void)tv_extents_may_report(walk->extents, piece->id, &what);
    return what;
}

static void check_extent(tv_verify_walk *walk, const tv_blob_piece *piece)
{
    const blob_state *state = walk->state;
    const char *what = walk->extents ? read_extent(walk, piece) : NULL;
    char path[TV_EXTENT_TEXT_SIZE];

    if (what == NULL)
        return;

    tv_extent_describe(walk->extents, piece->id, path);
    tv_verify_problem(walk->report, "blob %.*s of container %.*s of %.*s: extent %s: %s",
                      TV_FMT(state->name), TV_FMT(walk->owner->name), TV_FMT(walk->owner->account),
                      path, what);
}

/* --- what is missing --- */

/* Whether all chunks belong to a piece.  Both come in the order of their ids. */
static bool are_chunks_used(const blob_state *state)
{
    size_t at = 0;

    for (size_t i = 0; i < state->chunk_count; i++) {
        tv_blob_piece chunk = {.is_chunk = true, .id = state->chunks[i]};

        while (at < state->piece_count && compare(&state->pieces[at], &chunk) < 0)
            at++;
        if (at == state->piece_count || !state->pieces[at].is_chunk ||
            state->pieces[at].id.boot != chunk.id.boot ||
            state->pieces[at].id.number != chunk.id.number)
            return false;
    }
    return true;
}

/* `wanted` by the row that counts them. */
static void check_count(tv_verify_walk *walk, uint32_t count, uint32_t wanted, const char *noun)
{
    char what[80];

    if (count == wanted)
        return;
    snprintf(what, sizeof what, "it has %u %s instead of %u", (unsigned)count, noun,
             (unsigned)wanted);
    problem(walk, what);
}

static void check_missing(tv_verify_walk *walk)
{
    const blob_state *state = walk->state;

    if (state->snapshot_count && !state->has_head)
        problem(walk, "it has snapshots and no head");
    if (state->has_head)
        check_count(walk, state->snapshot_count, state->head.snapshot_count, "snapshots");
    if (state->has_ledger)
        check_count(walk, state->block_count, state->ledger.count, "uncommitted blocks");
    if (!state->has_garbage && (state->has_dead || !are_chunks_used(state)))
        problem(walk, "there are rows of it that nothing refers to: its head, a snapshot or the "
                      "ledger of its blocks is missing");
}

static void end_blob(tv_verify_walk *walk)
{
    blob_state *state = walk->state;

    if (state->blob.data == NULL)
        return;

    for (size_t i = 0; i < state->head_count; i++)
        walk_head(walk, state->heads[i]);
    if (state->piece_count)
        qsort(state->pieces, state->piece_count, sizeof *state->pieces, compare);
    for (size_t i = 0; i < state->piece_count; i++) {
        const tv_blob_piece *piece = &state->pieces[i];

        if (i && compare(piece, piece - 1) == 0)
            continue;
        if (piece->is_chunk)
            check_chunk(walk, piece);
        else
            check_extent(walk, piece);
    }
    if (!walk->is_cut)
        check_missing(walk);
    walk->report->blobs += state->head_count;
    state->head_count = state->piece_count = state->chunk_count = 0;
    state->snapshot_count = state->block_count = 0;
    state->has_head = state->has_ledger = state->has_garbage = state->has_dead = false;
    state->blob = TV_NONE;
    tv_arena_reset(&state->arena);
}

/* --- its rows --- */

static tv_err decode_chunk(blob_state *state, tv_slice row, tv_slice value)
{
    tv_extent_id id;

    if (value.len == 0 || value.len > TV_BLOB_CHUNK_BYTES_MAX ||
        !tv_blob_pair_parse(row, &id.boot, &id.number))
        return TV_ERR_CORRUPT;
    add_chunk(state, id);
    return TV_OK;
}

static tv_err decode_head(blob_state *state, tv_slice value)
{
    tv_err err = tv_blob_head_decode(&state->scratch, value, 0, &state->head);

    state->has_head = err == TV_OK;
    add_head(state, 0);
    return err;
}

static tv_err decode_snapshot(blob_state *state, tv_slice row)
{
    int64_t snapshot = 0;

    if (!tv_blob_snapshot_parse(tv_slice_skip(row, 1), &snapshot))
        return TV_ERR_CORRUPT;
    state->snapshot_count++;
    add_head(state, snapshot);
    return TV_OK;
}

static tv_err decode_block(blob_state *state, tv_slice row, tv_slice value, bool is_live)
{
    tv_block block;
    tv_err err;

    if (row.len == 1) {
        state->has_ledger = true;
        return tv_block_ledger_decode(value, &state->ledger);
    }
    err = tv_block_decode(tv_slice_skip(row, 1), value, &block);
    if (err == TV_OK && is_live) {
        state->block_count++;
        add_piece(state, block.is_chunk, block.extent, block.length);
    }
    return err;
}

/* TV_ERR_CORRUPT when it cannot be decoded.  `row` is the key after the blob's. */
static tv_err decode(blob_state *state, tv_slice row, tv_slice value)
{
    const tv_blob_piece *pieces;
    bool is_live;
    size_t count;
    tv_err err;

    if (row.len && row.data[0] == TV_BLOB_ROW_CHUNK)
        return decode_chunk(state, row, value);

    err = tv_blob_live_rows_learn(state->live, &state->scratch, row, value, &is_live);
    if (err)
        return err;

    switch (row.data[0]) {
    case TV_BLOB_ROW_SNAPSHOT:
        return decode_snapshot(state, row);
    case TV_BLOB_ROW_HEAD:
        return decode_head(state, value);
    case TV_BLOB_ROW_BLOCK:
        state->has_dead |= !is_live;
        return decode_block(state, row, value, is_live);
    case TV_BLOB_ROW_RUN:
        state->has_dead |= !is_live;
        return tv_blob_run_decode(&state->scratch, row, value, &pieces, &count);
    default: /* learning from a row of no known kind has failed */
        state->has_garbage = true;
        return tv_blob_discard_decode(&state->scratch, value, &pieces, &count);
    }
}

static void check_row(tv_verify_walk *walk, tv_slice key, tv_slice value)
{
    blob_state *state = walk->state;
    tv_slice blob, name;

    tv_arena_reset(&state->scratch);
    if (tv_key_split_blob(&state->scratch, walk->owner->prefix, key, &blob, &name)) {
        tv_verify_problem(walk->report, "container %.*s of %.*s: a row whose key is no blob's",
                          TV_FMT(walk->owner->name), TV_FMT(walk->owner->account));
        return;
    }
    if (state->blob.data == NULL || !tv_slice_eq(blob, state->blob)) {
        end_blob(walk);
        state->blob = tv_arena_dup(&state->arena, blob);
        /* Read again: the blob before has used the scratch arena. */
        tv_assert(tv_key_split_blob(&state->arena, walk->owner->prefix, key, &blob, &state->name) ==
                  TV_OK);
        state->live = tv_blob_live_rows_new(&state->arena);
    }
    if (decode(state, tv_slice_skip(key, blob.len), value))
        problem(walk, "one of its rows cannot be decoded");
}

/* When rows could not be read, they may be the blob's own; its extents are looked at all the same.
 */
static void end(tv_verify_walk *walk)
{
    blob_state *state = walk->state;

    end_blob(walk);
    tv_arena_done(&state->arena);
    tv_arena_done(&state->scratch);
    free(state->heads);
    free(state->pieces);
    free(state->chunks);
    free(state->buffer);
    free(state);
    walk->state = NULL;
}

const tv_verify_check tv_verify_blob = {"container", begin, check_row, end};
