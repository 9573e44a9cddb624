/*
 * Reading blobs, in pieces: each is asked for by its range and, from the second on, by the etag of
 * the first, so that all of them are of one blob.  A piece that breaks is asked for again.
 */
#include "base/number.h"
#include "client/blob/blob.h"

/* A download.  Pieces go to the sink, each once. */
typedef struct download {
    tavola_container *container;
    const char *name;
    tavola_call *call;
    uint64_t at, end; /* what is asked for: from here, up to there or to the end of the blob */
    char *etag;       /* of the first piece; NULL before */
    uint64_t total;   /* of the blob, from the first piece on */
    char *piece;      /* that was received last */
    size_t piece_len;
    tavola_err (*take)(void *user, char **piece, size_t len, uint64_t left);
    void *user;
} download;

/* "bytes 0-25/26" */
static bool parse_content_range(tv_slice text, uint64_t *ret_first, uint64_t *ret_last,
                                uint64_t *ret_total)
{
    tv_slice unit = TV_LIT("bytes ");

    if (!tv_slice_starts_with(text, unit))
        return false;
    text = tv_slice_skip(text, unit.len);

    size_t dash = tv_slice_find(text, '-'), slash = tv_slice_find(text, '/');

    if (dash >= slash || slash == text.len)
        return false;
    return tv_parse_uint64(tv_slice_take(text, dash), ret_first) &&
           tv_parse_uint64((tv_slice){text.data + dash + 1, slash - dash - 1}, ret_last) &&
           tv_parse_uint64(tv_slice_skip(text, slash + 1), ret_total);
}

enum { PARTIAL = 206, NO_SUCH_RANGE = 416 };

/* A service answers with 416 when there is nothing in a range; Azurite sends just that, nothing. */
static bool is_nothing(const tvc_response *response)
{
    return response->status == PARTIAL && response->body_len == 0;
}

/* Whether an answer is just the bytes that were asked for. */
static bool read_range(download *of, const tvc_response *response)
{
    uint64_t first, last;

    if (response->status != PARTIAL) {
        of->total = response->body_len;
        return of->at == 0;
    }
    return parse_content_range(tvc_response_header(response, TV_LIT("Content-Range")), &first,
                               &last, &of->total) &&
           first == of->at && last >= first && last - first == response->body_len - 1 &&
           last < of->total;
}

static tavola_err read_piece(tavola_op *op, tvc_response *response)
{
    download *of = op->user_data;
    tv_slice etag = tvc_response_header(response, TV_LIT("ETag"));

    if (is_nothing(response))
        return TAVOLA_END;
    if (!read_range(of, response) || etag.len == 0) {
        tvc_call_set_error(op->call, "", "the answer is not the range that was asked for");
        return TAVOLA_ERR_PROTOCOL;
    }
    /* Somebody on the way may not know of If-Match. */
    if (of->etag && !tv_slice_eq(tv_slice_of(of->etag), etag)) {
        tvc_call_set_error(op->call, "", "the blob was changed while it was read");
        return TAVOLA_ERR_ETAG;
    }
    if (of->etag == NULL && (of->etag = tvc_dup(etag)) == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    of->piece = response->body;
    of->piece_len = response->body_len;
    response->body = NULL;
    return TAVOLA_OK;
}

static void add_range(tavola_op *op, const download *of)
{
    uint64_t left = of->end - of->at;
    uint64_t last = of->at + (left < TVC_BLOB_PIECE ? left : TVC_BLOB_PIECE) - 1;
    tvc_text *headers = &op->request.headers;

    tvc_text_add_lit(headers, "x-ms-range: bytes=");
    tvc_text_add_int64(headers, (int64_t)of->at);
    tvc_text_add_char(headers, '-');
    tvc_text_add_int64(headers, (int64_t)last);
    tvc_text_add_lit(headers, "\r\n");
}

static tavola_err get_piece(download *of, bool is_whole)
{
    tavola_op *op = tvc_blob_ask(of->container, of->name, of->call, "GET", NULL);

    if (op) {
        op->is_read = true;
        op->finish = read_piece;
        op->user_data = of;
        if (!is_whole)
            add_range(op, of);
        if (of->etag)
            tvc_op_add_header(op, TV_LIT("If-Match"), tv_slice_of(of->etag));
    }
    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tvc_op_run(op);
    bool is_behind_end = op->call->status == NO_SUCH_RANGE;

    tavola_op_free(op);
    if (err && is_behind_end)
        return TAVOLA_END;
    return err;
}

/* No range of an empty blob is one, so it is asked for as a whole. */
static tavola_err get_first(download *of)
{
    tavola_err err = get_piece(of, false);

    if (err != TAVOLA_END || of->at > 0)
        return err;
    err = get_piece(of, true);
    return err == TAVOLA_END ? TAVOLA_ERR_PROTOCOL : err;
}

static tavola_err get_pieces(download *of)
{
    tavola_err err = get_first(of);

    while (!err) {
        uint64_t end = of->total < of->end ? of->total : of->end;

        of->at += of->piece_len;
        err = of->take(of->user, &of->piece, of->piece_len, of->at < end ? end - of->at : 0);
        tvc_release(of->piece);
        of->piece = NULL;
        if (err || of->at >= end)
            break;
        err = get_piece(of, false);
        if (err == TAVOLA_END)
            err = tvc_call_refuse(of->call, TAVOLA_ERR_PROTOCOL, "the blob ends before its end");
    }
    tvc_release(of->etag);
    return err;
}

/* ---- into memory ---------------------------------------------------------------------------- */

typedef struct memory {
    tavola_call *call;
    char *data;
    size_t len, size_max;
} memory;

/* The first piece is the whole if it can be: most blobs are small. */
static tavola_err keep_piece(void *user, char **piece, size_t len, uint64_t left)
{
    memory *to = user;

    if (len > to->size_max - to->len || left > to->size_max - to->len - len)
        return tvc_call_refuse(to->call, TAVOLA_ERR_TOO_LARGE, "the blob has more than %zu bytes",
                               to->size_max);
    if (to->data == NULL && left == 0 && *piece) {
        to->data = *piece;
        to->len = len;
        *piece = NULL;
        return TAVOLA_OK;
    }

    /* Room for what has come, not for what is announced. */
    char *grown = tvc_resize(to->data, to->len + len + 1);

    if (grown == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    to->data = grown;
    if (len)
        memcpy(to->data + to->len, *piece, len);
    to->len += len;
    to->data[to->len] = '\0';
    return TAVOLA_OK;
}

static tavola_err get_into_memory(download *of, memory *to, void **ret_data, size_t *ret_size)
{
    of->call = to->call;
    of->take = keep_piece;
    of->user = to;

    tavola_err err = get_pieces(of);

    /* Behind the end there is nothing, and that is something. */
    if (err == TAVOLA_END)
        err = keep_piece(to, &of->piece, 0, 0);
    if (err) {
        tvc_release(to->data);
        return err;
    }
    *ret_data = to->data;
    *ret_size = to->len;
    return TAVOLA_OK;
}

static tavola_err check_get(tavola_container *container, const char *name, tavola_call *call,
                            const void *ret_data, const void *ret_size)
{
    tavola_err err = tvc_blob_check(container, name, call);

    if (!err && (ret_data == NULL || ret_size == NULL))
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID, "ret_data and ret_size are needed");
    return err;
}

tavola_err tavola_blob_get(tavola_container *container, const char *name, size_t size_max,
                           tavola_call *call, void **ret_data, size_t *ret_size)
{
    tavola_err err = check_get(container, name, call, ret_data, ret_size);

    if (err)
        return err;
    if (size_max == 0)
        size_max = SIZE_MAX;

    /* One byte more than is wanted tells that there is more. */
    download of = {
        .container = container,
        .name = name,
        .end = size_max < INT64_MAX ? size_max + UINT64_C(1) : INT64_MAX,
    };
    memory to = {.call = call, .size_max = size_max};

    return get_into_memory(&of, &to, ret_data, ret_size);
}

tavola_err tavola_blob_get_range(tavola_container *container, const char *name, uint64_t offset,
                                 size_t size, tavola_call *call, void **ret_data, size_t *ret_size)
{
    tavola_err err = check_get(container, name, call, ret_data, ret_size);

    if (!err && (size == 0 || offset > INT64_MAX || size > INT64_MAX - offset))
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no such range");
    if (err)
        return err;

    download of = {.container = container, .name = name, .at = offset, .end = offset + size};
    memory to = {.call = call, .size_max = size};

    return get_into_memory(&of, &to, ret_data, ret_size);
}

/* ---- to a callback -------------------------------------------------------------------------- */

typedef struct sink {
    tavola_call *call;
    tavola_sink_fn write;
    void *user;
} sink;

static tavola_err pass_piece(void *user, char **piece, size_t len, uint64_t left)
{
    const sink *to = user;

    (void)left;
    if (len == 0 || to->write(to->user, *piece, len))
        return TAVOLA_OK;
    return tvc_call_refuse(to->call, TAVOLA_ERR_CANCELLED, "the sink gave up");
}

tavola_err tavola_blob_read(tavola_container *container, const char *name, tavola_sink_fn write,
                            void *user, tavola_call *call)
{
    tavola_err err = tvc_blob_check(container, name, call);

    if (!err && write == NULL)
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a sink is needed");
    if (err)
        return err;

    sink to = {call, write, user};
    download of = {
        .container = container,
        .name = name,
        .call = call,
        .end = INT64_MAX,
        .take = pass_piece,
        .user = &to,
    };

    return get_pieces(&of);
}
