/*
 * Copy Blob and Copy Blob From URL, which here are the same: a copy within the
 * server costs a link for each extent, so both end within their request.  And
 * Abort Copy Blob, which always comes too late.
 *
 * The data is copied by a worker, before the change that makes it a blob: links
 * of extents, and the bytes of chunks.  Very many chunks are gathered in an
 * extent, because a change is one write.
 */
#include "services/blob/body/damage.h"
#include "services/blob/body/visit.h"
#include "services/blob/ops/copy_source.h"
#include "services/blob/ops/headers.h"
#include "services/service/metadata.h"
#include "store/engine/instant.h"

enum {
    /* More chunks than that are gathered. */
    CHUNK_COUNT_MAX = 64,
};

typedef struct copier {
    tv_blob_call *call;
    tv_blob_copying *copying;
    tv_extents *extents;
    tv_blob_reader *reader;
    bool is_gathering;
    tv_extent_writer *writer; /* what is being gathered */
    uint64_t gathered;
    tv_blob_data *data;
    size_t count;
    bool has_links;
    bool is_in_turn;
} copier;

static void note_made(copier *c, tv_extent_id id)
{
    c->call->transfer.made[c->call->transfer.made_count++] = id;
}

/* End the extent that chunks have been gathered in. */
static tv_err end_gathering(copier *c)
{
    tv_extent_writer *writer = c->writer;
    tv_extent_id id;
    tv_err err;

    if (writer == NULL)
        return TV_OK;

    c->writer = NULL;
    err = tv_extent_finish(writer, &id);
    if (err)
        return err;

    note_made(c, id);
    c->data[c->count++] = (tv_blob_data){.extent = id, .length = c->gathered};
    c->gathered = 0;
    return TV_OK;
}

static tv_err copy_chunk(copier *c, const tv_blob_piece *piece)
{
    tv_arena *arena = &c->call->base.req->arena;
    tv_slice block_id = tv_arena_dup(arena, piece->block_id); /* the next call overwrites it */
    tv_slice bytes;
    tv_err err = tv_blob_reader_chunk(c->reader, piece, &bytes);

    if (err)
        return err;

    if (!c->is_gathering) {
        err = tv_arena_allow(arena, bytes.len);
        if (err)
            return err;

        c->data[c->count++] = (tv_blob_data){
            .bytes = tv_arena_dup(arena, bytes), .length = bytes.len, .block_id = block_id};
        return TV_OK;
    }
    if (c->writer == NULL) {
        err = tv_extent_create(c->extents, &c->writer);
        if (err)
            return err;
    }
    c->gathered += bytes.len;
    return tv_extent_append(c->writer, bytes);
}

/* An extent of the source that is gone or damaged. */
static tv_err source_failed(copier *c, const tv_blob_piece *piece, tv_err err)
{
    const tv_blob_copying *copying = c->copying;

    if (err == TV_ERR_NOT_FOUND) {
        if (!tv_extent_visit_is_over(c->extents, &copying->visit))
            tv_extents_note_damage(c->extents, piece->id, "the file is missing");
        err = TV_ERR_CORRUPT;
    }
    if (err == TV_ERR_CORRUPT)
        tv_blob_log_damage(c->extents, piece->id, copying->source.base.endpoint.account,
                           copying->source.base.target.container, copying->source.base.target.blob);
    return err;
}

static tv_err copy_extent(copier *c, const tv_blob_piece *piece)
{
    tv_extent_id id;
    tv_err err;

    err = end_gathering(c);
    if (err)
        return err;

    err = tv_blob_visit_go_on(&(tv_blob_visit){c->call->base.service->engine, c->extents,
                                               &c->copying->visit, c->copying->partition,
                                               c->copying->source.args.snapshot,
                                               tv_blob_reader_head(c->reader)->etag},
                              TV_READ_ANY);
    if (err)
        return err == TV_ERR_CONFLICT ? TV_ERR_OVERLOADED : err;

    err = tv_extent_link(c->extents, piece->id, piece->length, &id);
    if (err)
        return source_failed(c, piece, err);

    note_made(c, id);
    c->has_links = true;
    c->data[c->count++] =
        (tv_blob_data){.extent = id,
                       .length = piece->length,
                       .block_id = tv_arena_dup(&c->call->base.req->arena, piece->block_id)};
    return TV_OK;
}

/* Call `fn` for every piece, in order. */
static tv_err visit_pieces(copier *c, uint64_t length,
                           tv_err (*fn)(copier *c, const tv_blob_piece *piece))
{
    tv_blob_piece piece;
    tv_err err = TV_OK;

    for (uint64_t offset = 0; !err && offset < length; offset = piece.end) {
        err = tv_blob_reader_piece(c->reader, offset, &piece);
        if (!err)
            err = fn(c, &piece);
    }
    return err;
}

static tv_err copy_piece(copier *c, const tv_blob_piece *piece)
{
    return piece->is_chunk ? copy_chunk(c, piece) : copy_extent(c, piece);
}

static tv_err copy_data(copier *c, const tv_blob_head *head)
{
    tv_arena *arena = &c->call->base.req->arena;
    tv_err err;

    /* A piece becomes a piece, or several become one.  Copies are made faster than they are
     * written, and what waits is charged. */
    err = tv_arena_reserve(arena, ((size_t)head->piece_count + 1) *
                                          (sizeof *c->data + sizeof(tv_extent_id)) +
                                      32 /* to align both */);
    if (err)
        return err;

    c->data = tv_arena_alloc(arena, ((size_t)head->piece_count + 1) * sizeof *c->data);
    c->call->transfer.made =
        tv_arena_alloc(arena, ((size_t)head->piece_count + 1) * sizeof(tv_extent_id));
    c->is_gathering = head->piece_count > CHUNK_COUNT_MAX;
    err = visit_pieces(c, head->length, copy_piece);
    if (!err)
        err = end_gathering(c);
    tv_extent_discard(c->writer);
    if (!err && c->has_links)
        err = tv_extents_sync_links(c->extents);
    return err;
}

static tv_slice keep(tv_arena *arena, tv_slice s)
{
    return s.len ? tv_arena_dup(arena, s) : TV_LIT("");
}

static tv_metadata dup_metadata(tv_arena *arena, tv_metadata metadata)
{
    tv_metadata_pair *list = tv_arena_alloc(arena, (metadata.count + 1) * sizeof *list);

    for (size_t i = 0; i < metadata.count; i++)
        list[i] = (tv_metadata_pair){keep(arena, metadata.list[i].name),
                                     keep(arena, metadata.list[i].value)};
    return (tv_metadata){list, metadata.count};
}

/* What the copy takes from its source in addition to the data. */
static void copy_head(copier *c, const tv_blob_head *head)
{
    tv_arena *arena = &c->call->base.req->arena;
    tv_put_blob *put = &c->copying->put;
    char *id = tv_arena_bytes(arena, TV_GUID_TEXT_LEN);
    tv_guid guid = tv_guid_new_secret();

    tv_guid_format(id, &guid);
    put->type = head->type;
    put->headers = (tv_blob_headers){
        .type = keep(arena, head->headers.type),
        .encoding = keep(arena, head->headers.encoding),
        .language = keep(arena, head->headers.language),
        .disposition = keep(arena, head->headers.disposition),
        .cache_control = keep(arena, head->headers.cache_control),
        .md5 = keep(arena, head->headers.md5),
    };
    if (put->metadata.count == 0)
        put->metadata = dup_metadata(arena, head->metadata);
    put->copy = (tv_blob_copy){
        .id = {id, TV_GUID_TEXT_LEN}, .source = c->copying->url, .bytes = head->length};
}

static tv_err check_head(copier *c, const tv_blob_head *head)
{
    const tv_blob_copying *copying = c->copying;
    tv_err err = tv_lease_check_read(
        &head->lease, copying->has_lease_id ? &copying->lease_id : NULL, tv_instant_now());

    return err ? err : tv_conditions_check_source(&c->call->args.source_conditions, head->etag);
}

/* TV_ERR_WOULD_BLOCK when it takes so long that it has to wait for its turn. */
static tv_err copy_blob(copier *c)
{
    tv_err err = tv_blob_reader_open(c->call->base.service->engine, c->copying->partition,
                                     c->copying->source.args.snapshot, &c->reader);

    if (err == TV_ERR_BLOB_NOT_FOUND)
        return tv_blob_source_failed(c->call, err, TV_ERR_COPY_SOURCE);
    if (err)
        return err;

    const tv_blob_head *head = tv_blob_reader_head(c->reader);

    err = check_head(c, head);
    if (err)
        return err;
    if (head->piece_count > CHUNK_COUNT_MAX && !c->is_in_turn)
        return TV_ERR_WOULD_BLOCK;

    copy_head(c, head);
    err = copy_data(c, head);
    c->copying->put.data = c->data;
    c->copying->put.data_count = c->count;
    return err;
}

static tv_err copy(tv_blob_call *call, bool is_in_turn)
{
    copier c = {.call = call,
                .copying = call->transfer.copying,
                .extents = tv_blob_service_of(call)->io.extents,
                .is_in_turn = is_in_turn};
    tv_err err = copy_blob(&c);

    tv_blob_reader_close(c.reader);
    return err == TV_ERR_CONFLICT ? TV_ERR_OVERLOADED : err; /* the source was replaced */
}

static tv_err copy_on_worker(tv_call *base, tv_read_mode mode)
{
    tv_assert(mode == TV_READ_ANY);
    return copy(tv_blob_call_of(base), false);
}

/* In one turn: its work is bounded by the pieces of a blob. */
static bool copy_in_turn(tv_call *base, tv_turn *turn)
{
    (void)turn;
    base->result = copy(tv_blob_call_of(base), true);
    return true;
}

static void respond_copied(tv_blob_call *call)
{
    tv_call_start(&call->base, 202);
    tv_blob_add_etag(call, call->change.etag);
    tv_response_header(call->base.req, TV_LIT("x-ms-copy-id"), call->put.copy.id);
    tv_response_header(call->base.req, TV_LIT("x-ms-copy-status"), TV_LIT("success"));
    tv_call_finish(&call->base);
}

/* A copy is a small request and may write much: see commit/queue.h. */
static size_t written_bytes(const tv_put_blob *put)
{
    size_t bytes = put->data_count * sizeof(tv_blob_piece); /* about the row of one */

    for (size_t i = 0; i < put->data_count; i++)
        bytes += put->data[i].bytes.len;
    return bytes;
}

static void end_visit(tv_blob_call *call)
{
    tv_extent_visit_end(tv_blob_service_of(call)->io.extents, &call->transfer.copying->visit);
}

static tv_err on_copied(tv_call *base, tv_err err)
{
    tv_blob_call *call = tv_blob_call_of(base);

    if (err == TV_ERR_WOULD_BLOCK) {
        err = tv_call_take_turns(base, copy_in_turn, on_copied);
        if (err == TV_OK)
            return TV_OK;
    }
    end_visit(call);
    if (err == TV_OK) {
        call->put = call->transfer.copying->put;
        base->write.bytes = written_bytes(&call->put);
        err = tv_blob_submit(call, tv_put_blob_run, respond_copied);
    }
    if (err)
        tv_blob_discard(call);
    return err;
}

tv_err tv_blob_run_copy(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_blob_io *io = &tv_blob_service_of(call)->io;
    tv_blob_copying *copying;
    tv_err err;

    err = tv_blob_find_source(call);
    if (err)
        return err;

    copying = call->transfer.copying;
    err = tv_metadata_read(call->base.req, &copying->put.metadata);
    if (err)
        return err;

    tv_extent_visit_begin(io->extents, &copying->visit);
    err = tv_call_read_on(base, io->workers, copy_on_worker, on_copied);
    if (err)
        end_visit(call);
    return err;
}

/* --- Abort Copy Blob --- */

static void respond_aborted(tv_blob_call *call)
{
    tv_call_respond_empty(&call->base, 204);
}

/* Which copy does not matter, for none is pending; but it must name one. */
static tv_err check_copy_id(tv_call *call)
{
    static const tv_slice name = {"copyid", 6};
    tv_slice text;
    tv_guid id;
    tv_err err = tv_call_need_parameter(call, name, &text);

    if (err)
        return err;
    return tv_guid_parse_any(text, &id) ? TV_OK : tv_call_bad_parameter(call, name, text, NULL);
}

tv_err tv_blob_abort_copy(tv_call *base)
{
    static const tv_slice header = {"x-ms-copy-action", 16};
    tv_slice action = tv_request_header(base->req, header);
    tv_err err;

    if (action.data == NULL)
        return tv_blob_missing_header(base, header);
    if (!tv_slice_eq_nocase(action, TV_LIT("abort")))
        return tv_call_bad_header(base, header, action);

    err = check_copy_id(base);
    if (err)
        return err;

    return tv_blob_submit(tv_blob_call_of(base), tv_abort_copy_run, respond_aborted);
}
