/*
 * Answers of a hostile server.  Read at once and byte by byte they give the same: the same end,
 * status, headers and body, also when the body goes through a sink.
 */
#include "fuzz.h"

#include "base/assert.h"
#include "client/net/reader.h"

enum { PIECE_MAX = 7 };

struct outcome {
    tvc_response response;
    tvc_read read;
    tavola_err err;
    bool keep_alive;
    size_t rest;
};

/* A sink that keeps what it gets. */
static bool keep(void *user, const void *bytes, size_t len)
{
    tv_assert(len > 0);
    tv_buf_add(user, (tv_slice){bytes, len});
    return true;
}

/* Feed up to `piece` bytes more at a time, through the body's own memory where the reader asks. */
static struct outcome read_answer(tv_slice bytes, size_t piece, bool is_head, const tvc_sink *sink)
{
    struct outcome outcome = {0};
    tvc_reader reader;
    size_t start = 0, end = 0;

    tvc_reader_init(&reader, &outcome.response, is_head, sink);
    while (outcome.read == TVC_READ_MORE && end < bytes.len) {
        size_t count = bytes.len - end < piece ? bytes.len - end : piece, room;
        char *space = start == end ? tvc_reader_space(&reader, &room) : NULL;

        if (space) {
            count = count < room ? count : room;
            tv_slice_put(space, (tv_slice){bytes.data + end, count});
            outcome.read = tvc_reader_add(&reader, count);
            start = end += count;
            continue;
        }
        end += count;

        tv_slice input = {bytes.data + start, end - start};

        outcome.read = tvc_reader_take(&reader, &input);
        start = end - input.len;
    }
    if (outcome.read == TVC_READ_MORE)
        outcome.read = tvc_reader_end(&reader);
    tv_assert(outcome.read != TVC_READ_MORE);
    tv_assert((outcome.read == TVC_READ_FAILED) == (reader.err != TAVOLA_OK));
    outcome.err = reader.err;
    outcome.keep_alive = reader.keep_alive;
    outcome.rest = bytes.len - start;
    return outcome;
}

static void check_whole(const struct outcome *outcome)
{
    const tvc_response *response = &outcome->response;

    tv_assert(response->status >= 200 && response->status <= 599);
    tv_assert(response->header_count <= TVC_HEADERS_MAX);
    tv_assert(response->body_len <= TVC_BODY_BYTES_MAX);
    tv_assert(response->body_len == 0 || response->body);
    tv_assert(response->body == NULL || response->body[response->body_len] == '\0');
    for (size_t i = 0; i < response->header_count; i++) {
        tv_assert(response->headers[i].name.len > 0);
        tv_slice found = tvc_response_header(response, response->headers[i].name);
        tv_assert(found.data == NULL || tv_slice_is_printable(found));
    }
}

static void check_same(const struct outcome *a, const struct outcome *b)
{
    tv_assert(a->read == b->read && a->err == b->err);
    if (a->read != TVC_READ_WHOLE)
        return;

    tv_assert(a->response.status == b->response.status && a->keep_alive == b->keep_alive);
    tv_assert(a->rest == b->rest && a->response.header_count == b->response.header_count);
    tv_assert(tv_slice_eq((tv_slice){a->response.body, a->response.body_len},
                          (tv_slice){b->response.body, b->response.body_len}));
    for (size_t i = 0; i < a->response.header_count; i++) {
        tv_assert(tv_slice_eq(a->response.headers[i].name, b->response.headers[i].name));
        tv_assert(tv_slice_eq(a->response.headers[i].value, b->response.headers[i].value));
    }
}

/* Through a sink goes what else would be kept, if the answer is a good one. */
static void check_sink(tv_slice bytes, const struct outcome *kept, bool is_head)
{
    tv_buf buf = TV_BUF_EMPTY;
    tvc_sink sink = {keep, &buf};
    struct outcome sunk = read_answer(bytes, PIECE_MAX, is_head, &sink);
    tv_slice body = {kept->response.body, kept->response.body_len};

    tv_assert(sunk.read == TVC_READ_WHOLE && sunk.rest == kept->rest);
    if (kept->response.status / 100 == 2)
        tv_assert(tv_slice_eq(tv_buf_slice(&buf), body) && sunk.response.body == NULL);
    else
        tv_assert(buf.len == 0 && sunk.response.body_len == body.len);
    tv_buf_done(&buf);
    tvc_response_done(&sunk.response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice bytes = {(const char *)data, size};

    for (int is_head = 0; is_head <= 1; is_head++) {
        struct outcome at_once = read_answer(bytes, size, is_head, NULL);

        if (at_once.read == TVC_READ_WHOLE) {
            check_whole(&at_once);
            check_sink(bytes, &at_once, is_head);
        }
        for (size_t piece = 1; piece <= PIECE_MAX; piece += PIECE_MAX - 1) {
            struct outcome in_pieces = read_answer(bytes, piece, is_head, NULL);

            check_same(&at_once, &in_pieces);
            tvc_response_done(&in_pieces.response);
        }
        tvc_response_done(&at_once.response);
    }
    return 0;
}
