/*
 * The head parser and the chunked decoder.  Every input is read whole and again
 * in pieces, and both readings must agree in all they say.
 */
#include "fuzz.h"

#include "base/assert.h"
#include "base/buf.h"
#include "http/chunked.h"
#include "http/parser.h"

enum { HEAD_MAX = 4096, COUNT_MAX = 16 };

typedef struct reading {
    tv_err err;
    size_t end; /* of the head or the body; 0 when incomplete */
    tv_head head;
    tv_buf body;
} reading;

/* The next piece is 1 to 8 bytes, by a rule that depends on nothing but the place. */
static size_t next_len(size_t len, size_t total, bool is_split)
{
    size_t step = is_split ? 1 + (len * 7 + len / 3) % 8 : total;

    return total - len < step ? total : len + step;
}

static reading read_head(tv_arena *arena, tv_slice input, bool is_split)
{
    reading r = {0};
    tv_head_scan scan = {0};

    for (size_t len = 0; len < input.len && r.end == 0;) {
        len = next_len(len, input.len, is_split);
        r.err = tv_head_scan_run(&scan, tv_slice_take(input, len), HEAD_MAX, COUNT_MAX, &r.end);
        if (r.err)
            return r;
    }
    if (r.end)
        r.err = tv_head_parse(arena, tv_slice_skip(tv_slice_take(input, r.end), scan.start),
                              scan.line_count, &r.head);
    return r;
}

static void compare_heads(const reading *a, const reading *b)
{
    tv_assert(a->err == b->err);
    if (a->err || a->end == 0)
        return;

    const tv_head *x = &a->head, *y = &b->head;

    tv_assert(a->end == b->end);
    tv_assert(x->method == y->method && tv_slice_eq(x->path, y->path));
    tv_assert(tv_slice_eq(x->query, y->query) && tv_slice_eq(x->host, y->host));
    tv_assert(x->header_count == y->header_count && x->content_length == y->content_length);
    tv_assert(x->path.len > 0 && x->path.data[0] == '/');
    tv_assert(x->is_1_0 || x->host.len > 0);
    tv_assert(!x->is_chunked || !x->has_length);
    for (size_t i = 0; i < x->header_count; i++) {
        tv_assert(tv_http_is_token(x->headers[i].name));
        tv_assert(tv_http_is_field_value(x->headers[i].value));
        tv_assert(tv_slice_eq(x->headers[i].value, y->headers[i].value));
    }
}

static reading read_body(tv_slice input, bool is_split)
{
    reading r = {0};
    tv_chunked chunked = {0};
    bool is_done = false;

    for (size_t used = 0, len = 0; len < input.len && !is_done;) {
        len = next_len(len, input.len, is_split);
        while (used < len && !is_done) {
            tv_slice piece = tv_slice_skip(tv_slice_take(input, len), used), data;

            r.err = tv_chunked_decode(&chunked, &piece, &data, &is_done);
            if (r.err)
                return r;
            tv_buf_add(&r.body, data);
            used = len - piece.len;
        }
        r.end = is_done ? used : 0;
    }
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice input = {(const char *)data, size};
    tv_arena arena;

    tv_arena_init(&arena);
    reading whole = read_head(&arena, input, false), split = read_head(&arena, input, true);
    compare_heads(&whole, &split);

    /* What follows the head is its body; without a head all of it is. */
    tv_slice rest = tv_slice_skip(input, whole.err ? 0 : whole.end);
    reading body = read_body(rest, false), split_body = read_body(rest, true);

    tv_assert(body.err == split_body.err && body.end == split_body.end);
    tv_assert(tv_slice_eq(tv_buf_slice(&body.body), tv_buf_slice(&split_body.body)));
    tv_buf_done(&body.body);
    tv_buf_done(&split_body.body);
    tv_arena_done(&arena);
    return 0;
}
