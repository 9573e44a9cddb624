/* The growable buffer. */
#include "base/buf.h"

#include <stdarg.h>

void tv_buf_done(tv_buf *buf)
{
    free(buf->data);
    *buf = TV_BUF_EMPTY;
}

char *tv_buf_reserve_slow(tv_buf *buf, size_t count)
{
    size_t size = buf->size ? buf->size : 256;

    tv_assert(count < SIZE_MAX / 4);
    while (size - buf->len < count)
        size *= 2;
    buf->data = tv_realloc(buf->data, size);
    buf->size = size;
    return buf->data + buf->len;
}

void tv_buf_printf(tv_buf *buf, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    tv_assert(len >= 0);

    vsnprintf(tv_buf_reserve(buf, (size_t)len + 1), (size_t)len + 1, format, again);
    va_end(again);
    buf->len += (size_t)len;
}
