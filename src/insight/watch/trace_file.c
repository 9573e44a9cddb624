/* Files of traces, line by line: see trace.h.  The text of a shape stands on its first line only.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/buf.h"
#include "insight/watch/trace.h"

enum {
    SHAPES_MAX = 8192,
    PIECE = 64 << 10,
    LINE_MAX_BYTES = 16 << 20, /* a transaction of 100 entities with the longest keys has 2 MiB */
};

/* A shape whose text was on an earlier line. */
typedef struct known_shape {
    uint64_t fingerprint;
    tv_slice text; /* data is NULL: none */
} known_shape;

typedef struct reader {
    FILE *file;
    tv_buf bytes; /* that were read, */
    size_t at;    /* and where the next line begins */
    bool is_at_end;
    uint64_t number; /* of the line at hand, from 1 */
    tv_watch_trace_head head;
    known_shape *shapes;
    tv_arena texts;
} reader;

/* --- lines --- */

/* Read on; false at the end. */
static bool read_piece(reader *r)
{
    char *to;
    size_t got;

    if (r->at) {
        memmove(r->bytes.data, r->bytes.data + r->at, r->bytes.len - r->at);
        r->bytes.len -= r->at;
        r->at = 0;
    }
    to = tv_buf_reserve(&r->bytes, PIECE);
    got = fread(to, 1, PIECE, r->file);
    r->bytes.len += got;
    r->is_at_end = got < PIECE;
    return got > 0;
}

typedef enum line_end { LINE_WHOLE, LINE_CUT, LINE_LONG, LINE_NONE } line_end;

static line_end next_line(reader *r, tv_slice *ret_line)
{
    size_t looked = 0;

    for (;;) {
        tv_slice rest = tv_slice_skip(tv_buf_slice(&r->bytes), r->at);
        const char *end =
            rest.len > looked ? memchr(rest.data + looked, '\n', rest.len - looked) : NULL;

        if (end) {
            *ret_line = (tv_slice){rest.data, (size_t)(end - rest.data)};
            r->at += ret_line->len + 1;
            r->number++;
            return LINE_WHOLE;
        }
        looked = rest.len;
        if (rest.len > LINE_MAX_BYTES) {
            r->number++;
            return LINE_LONG;
        }
        if (!r->is_at_end && read_piece(r))
            continue;
        *ret_line = tv_slice_skip(tv_buf_slice(&r->bytes), r->at);
        r->at = r->bytes.len;
        r->number += ret_line->len > 0;
        return ret_line->len ? LINE_CUT : LINE_NONE;
    }
}

/* --- shapes --- */

/* Give the request the text of its shape, and keep a new one; beyond the room there is none. */
static void complete_shape(reader *r, tv_shape *shape)
{
    size_t at = shape->fingerprint % SHAPES_MAX, tries = 0;

    while (r->shapes[at].text.data && r->shapes[at].fingerprint != shape->fingerprint) {
        if (++tries == SHAPES_MAX)
            return;
        at = (at + 1) % SHAPES_MAX;
    }
    if (r->shapes[at].text.data == NULL) {
        if (shape->text.len == 0)
            return;
        if (shape->text.len > TV_SHAPE_TEXT_MAX)
            shape->text.len = TV_SHAPE_TEXT_MAX;
        r->shapes[at] = (known_shape){shape->fingerprint, tv_arena_dup(&r->texts, shape->text)};
    }
    shape->text = r->shapes[at].text;
}

/* --- the file --- */

static bool take_head(reader *r, const char *path, tv_slice line, char *reterr_text,
                      size_t reterr_size)
{
    char why[200];
    tv_arena arena;
    bool ok = true;

    if (tv_slice_starts_with(line, TV_LIT("\x1f\x8b"))) {
        snprintf(reterr_text, reterr_size, "%s is packed; unpack it with gzip -d first", path);
        return false;
    }
    tv_arena_init(&arena);
    if (!tv_watch_trace_read_head(&arena, line, &r->head, why, sizeof why)) {
        snprintf(reterr_text, reterr_size, "%s: %s", path, why);
        ok = false;
    }
    tv_arena_done(&arena);
    return ok;
}

static bool take_request(reader *r, tv_slice line, tv_watch_trace_visit *visit, void *ctx)
{
    tv_watch_traced request;
    tv_arena arena;
    bool ok;

    tv_arena_init(&arena);
    ok = tv_watch_trace_read_line(&arena, line, &request);
    if (ok && request.has_shape)
        complete_shape(r, &request.shape);
    if (ok)
        visit(ctx, &r->head, &arena, &request);
    tv_arena_done(&arena);
    return ok;
}

static bool read_lines(reader *r, const char *path, tv_watch_trace_visit *visit, void *ctx,
                       char *reterr_text, size_t reterr_size)
{
    tv_slice line;
    line_end end = next_line(r, &line);

    if (ferror(r->file) || end == LINE_NONE) {
        snprintf(reterr_text, reterr_size, ferror(r->file) ? "cannot read %s: %s" : "%s is empty",
                 path, strerror(errno));
        return false;
    }
    if (end == LINE_LONG)
        line = TV_LIT("");
    if (!take_head(r, path, line, reterr_text, reterr_size))
        return false;
    while (end == LINE_WHOLE && (end = next_line(r, &line)) == LINE_WHOLE) {
        if (take_request(r, line, visit, ctx))
            continue;
        snprintf(reterr_text, reterr_size, "%s line %" PRIu64 " is not one of a trace", path,
                 r->number);
        return false;
    }
    if (ferror(r->file))
        snprintf(reterr_text, reterr_size, "cannot read %s: %s", path, strerror(errno));
    else if (end == LINE_CUT)
        snprintf(reterr_text, reterr_size, "%s is cut off in the middle of line %" PRIu64, path,
                 r->number);
    else if (end == LINE_LONG)
        snprintf(reterr_text, reterr_size, "%s line %" PRIu64 " has more than 16 MiB", path,
                 r->number);
    return !ferror(r->file) && end == LINE_NONE;
}

bool tv_watch_trace_read_file(const char *path, tv_watch_trace_visit *visit, void *ctx,
                              char *reterr_text, size_t reterr_size)
{
    reader r = {.file = fopen(path, "r")};
    bool ok;

    if (r.file == NULL) {
        snprintf(reterr_text, reterr_size, "cannot read %s: %s", path, strerror(errno));
        return false;
    }
    tv_arena_init(&r.texts);
    r.shapes = tv_calloc(SHAPES_MAX, sizeof *r.shapes);
    ok = read_lines(&r, path, visit, ctx, reterr_text, reterr_size);
    free(r.shapes);
    tv_arena_done(&r.texts);
    tv_buf_done(&r.bytes);
    fclose(r.file);
    return ok;
}
