/*
 * Values of rows, written and read field by field: numbers as varints of seven
 * bits a byte, bytes with their length before them.  Reading is strict: there
 * is one form of every value, and any other one marks the reader as failed,
 * after which it yields zeros.  So a decoder reads all its fields and asks
 * once.
 */
#ifndef TV_BASE_PACK_H
#define TV_BASE_PACK_H

#include <stdint.h>

#include "base/buf.h"

static inline void tv_pack_number(tv_buf *buf, uint64_t value)
{
    while (value >= 0x80) {
        tv_buf_add_char(buf, (char)(value | 0x80));
        value >>= 7;
    }
    tv_buf_add_char(buf, (char)value);
}

static inline void tv_pack_bytes(tv_buf *buf, tv_slice bytes)
{
    tv_pack_number(buf, bytes.len);
    tv_buf_add(buf, bytes);
}

typedef struct tv_unpack {
    tv_slice rest;
    bool has_failed;
} tv_unpack;

static inline void tv_unpack_fail(tv_unpack *in)
{
    in->has_failed = true;
    in->rest.len = 0;
}

static inline uint64_t tv_unpack_number(tv_unpack *in)
{
    uint64_t value = 0;

    for (int shift = 0; in->rest.len > 0; shift += 7) {
        unsigned char byte = (unsigned char)in->rest.data[0];

        /* The tenth byte holds one bit, and only a lone byte may be zero. */
        if ((shift == 63 && byte > 1) || (shift > 0 && byte == 0))
            break;
        in->rest = tv_slice_skip(in->rest, 1);
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    tv_unpack_fail(in);
    return 0;
}

/** A number of at most `max`. */
static inline uint64_t tv_unpack_number_max(tv_unpack *in, uint64_t max)
{
    uint64_t value = tv_unpack_number(in);

    if (value <= max)
        return value;
    tv_unpack_fail(in);
    return 0;
}

/** Exactly `count` bytes; TV_NONE after a failure. */
static inline tv_slice tv_unpack_fixed(tv_unpack *in, size_t count)
{
    if (in->has_failed || count > in->rest.len) {
        tv_unpack_fail(in);
        return TV_NONE;
    }

    tv_slice bytes = tv_slice_take(in->rest, count);

    in->rest = tv_slice_skip(in->rest, count);
    return bytes;
}

static inline tv_slice tv_unpack_bytes(tv_unpack *in)
{
    return tv_unpack_fixed(in, tv_unpack_number_max(in, in->rest.len));
}

/** Whether all went well and nothing is left. */
static inline bool tv_unpack_is_done(const tv_unpack *in)
{
    return !in->has_failed && in->rest.len == 0;
}

#endif
