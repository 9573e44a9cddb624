/*
 * A growable run of bytes for what is written piece by piece: a response body,
 * an encoded entity.  The code that fills it has bounded its input before, or asks
 * with tv_buf_try_reserve; other growth cannot fail (see base/arena.h), unless the buffer
 * may be lost.  A buffer with a charge counts what it takes (base/budget.h).
 */
#ifndef TV_BASE_BUF_H
#define TV_BASE_BUF_H

#include <stdint.h>

#include "base/assert.h"
#include "base/budget.h"
#include "base/slice.h"

typedef struct tv_buf {
    char *data;
    size_t len;
    size_t size;
    tv_charge *charge; /* where it counts what it takes from now on, or NULL */
    size_t charged;    /* of `size`, to that charge */

    /*
     * For a long text of small pieces, to do without when there is no memory for it.  It is lost
     * then: what was written is forgotten, and what is written after that is not whole.  Whoever
     * sends or keeps it looks at `is_lost` first.  A text of up to 16 KiB is never lost.
     */
    bool may_be_lost, is_lost;
} tv_buf;

/** An empty buffer is all zeros; this is only for readability. */
#define TV_BUF_EMPTY ((tv_buf){.data = NULL})

/** Free the memory; the buffer is empty again, cannot be lost, and keeps its charge. */
void tv_buf_done(tv_buf *buf);

/** The same, but keep its memory, of which nothing is charged any more. */
void tv_buf_reset(tv_buf *buf);

/**
 * Make room for `count` more bytes, and if that is a lot, for not one more than these.
 * TV_ERR_OVERLOADED when the charge or the system does not have that much;
 * nothing has changed then.
 */
tv_err tv_buf_try_reserve(tv_buf *buf, size_t count) TV_WARN_UNUSED;

tv_err tv_buf_try_grow_slow(tv_buf *buf, size_t count) TV_WARN_UNUSED;

/** The same for what grows piece by piece: takes as much again as there is, if it can. */
static inline tv_err tv_buf_try_grow(tv_buf *buf, size_t count)
{
    return buf->size - buf->len >= count ? TV_OK : tv_buf_try_grow_slow(buf, count);
}

/** Give back room that was taken for growth, if it is a lot. */
void tv_buf_trim(tv_buf *buf);

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
