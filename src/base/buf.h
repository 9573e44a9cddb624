/*
 * A growable run of bytes for what is written piece by piece: a response body,
 * an encoded entity.  Whoever fills it has bounded its input before, so growth
 * cannot fail.
 */
#ifndef TV_BASE_BUF_H
#define TV_BASE_BUF_H

#include <stdint.h>

#include "base/assert.h"
#include "base/slice.h"

typedef struct tv_buf {
    char *data;
    size_t len;
    size_t size;
} tv_buf;

/** An empty buffer is all zeros; this is only for the reader's eye. */
#define TV_BUF_EMPTY ((tv_buf){NULL, 0, 0})

/** Free the memory; the buffer is empty again. */
void tv_buf_done(tv_buf *buf);

/** Make room for `count` more bytes and return where they go.  `len` is left alone. */
char *tv_buf_reserve_slow(tv_buf *buf, size_t count);

static inline char *tv_buf_reserve(tv_buf *buf, size_t count)
{
    if (buf->size - buf->len >= count)
        return buf->data + buf->len;
    return tv_buf_reserve_slow(buf, count);
}

static inline void tv_buf_add(tv_buf *buf, tv_slice bytes)
{
    if (bytes.len == 0)
        return;

    memcpy(tv_buf_reserve(buf, bytes.len), bytes.data, bytes.len);
    buf->len += bytes.len;
}

static inline void tv_buf_add_char(tv_buf *buf, char c)
{
    *tv_buf_reserve(buf, 1) = c;
    buf->len++;
}

/** Append a string literal. */
#define tv_buf_add_lit(buf, text) tv_buf_add((buf), TV_LIT(text))

/** Append formatted text. */
void tv_buf_printf(tv_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));

/** What has been written so far; valid until the next append. */
static inline tv_slice tv_buf_slice(const tv_buf *buf)
{
    return (tv_slice){buf->data, buf->len};
}

#endif
