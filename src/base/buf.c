/* The growable buffer. */
#include "base/buf.h"

#include <stdarg.h>

enum { SMALL_BYTES = 16 * 1024 };

static void discharge(tv_buf *buf)
{
    if (buf->charged)
        tv_charge_unuse(buf->charge, buf->charged);
    buf->charged = 0;
}

/* The memory has another size now. */
static void resized(tv_buf *buf, size_t size)
{
    if (buf->charge && buf->charge->share) {
        if (size > buf->size) {
            tv_charge_use(buf->charge, size - buf->size);
            buf->charged += size - buf->size;
        } else {
            size_t less = buf->size - size < buf->charged ? buf->size - size : buf->charged;

            tv_charge_unuse(buf->charge, less);
            buf->charged -= less;
        }
    }
    buf->size = size;
}

void tv_buf_done(tv_buf *buf)
{
    discharge(buf);
    free(buf->data);
    *buf = (tv_buf){.charge = buf->charge};
}

void tv_buf_reset(tv_buf *buf)
{
    discharge(buf);
    buf->len = 0;
    buf->may_be_lost = buf->is_lost = false;
}

/* Small ones grow by doubling, so that one that is used again and again soon fits. */
static size_t rounded(size_t size)
{
    size_t round = 256;

    if (size > SMALL_BYTES)
        return size;
    while (round < size)
        round *= 2;
    return round;
}

tv_err tv_buf_try_reserve(tv_buf *buf, size_t count)
{
    size_t size = rounded(buf->len + count);
    tv_err err = TV_OK;

    tv_assert(count < SIZE_MAX / 4);
    if (buf->size - buf->len >= count)
        return TV_OK;

    if (buf->charge)
        err = tv_charge_reserve(buf->charge, size - buf->size);
    if (err)
        return err;

    char *data = realloc(buf->data, size);
    if (data == NULL) {
        if (buf->charge)
            tv_charge_trim(buf->charge);
        return TV_ERR_OVERLOADED;
    }
    buf->data = data;
    resized(buf, size);
    return TV_OK;
}

tv_err tv_buf_try_grow_slow(tv_buf *buf, size_t count)
{
    if (count < buf->len && tv_buf_try_reserve(buf, buf->len) == TV_OK)
        return TV_OK;
    return tv_buf_try_reserve(buf, count);
}

void tv_buf_trim(tv_buf *buf)
{
    enum { MUCH_BYTES = 64 * 1024 };
    char *data;

    if (buf->size - buf->len < MUCH_BYTES)
        return;

    data = realloc(buf->data, buf->len ? buf->len : 1);
    if (data == NULL)
        return;

    buf->data = data;
    resized(buf, buf->len ? buf->len : 1);
}

/* Room in a buffer that may be lost; if there is none, at its beginning. */
static bool reserve_or_lose(tv_buf *buf, size_t count)
{
    if (!buf->is_lost && tv_buf_try_grow_slow(buf, count) == TV_OK)
        return true;
    buf->is_lost = true;
    buf->len = 0;
    return buf->size >= count;
}

char *tv_buf_reserve_slow(tv_buf *buf, size_t count)
{
    size_t size = buf->size ? buf->size : 256;

    tv_assert(count < SIZE_MAX / 4);
    if (buf->may_be_lost && buf->len + count > SMALL_BYTES && reserve_or_lose(buf, count))
        return buf->data + buf->len;
    while (size - buf->len < count)
        size *= 2;
    buf->data = tv_realloc(buf->data, size);
    resized(buf, size);
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
