/* UTF-8: checking, counting, taking apart and putting together. */
#include "base/utf8.h"

#include "base/assert.h"

static bool is_between(uint8_t byte, uint8_t low, uint8_t high)
{
    return byte >= low && byte <= high;
}

static bool is_tail(uint8_t byte)
{
    return is_between(byte, 0x80, 0xBF);
}

/*
 * Bytes of the sequence at `at`, 0 when it is malformed or cut off.  The first
 * tail byte has the narrower range: that keeps out overlong forms (after E0 and
 * F0), surrogates (after ED) and what lies past U+10FFFF (after F4).
 */
static size_t sequence_len(const uint8_t *at, size_t left)
{
    uint8_t lead = at[0];

    if (lead < 0x80)
        return 1;
    if (lead < 0xC2)
        return 0;
    if (lead < 0xE0)
        return left >= 2 && is_tail(at[1]) ? 2 : 0;
    if (lead < 0xF0) {
        uint8_t low = lead == 0xE0 ? 0xA0 : 0x80;
        uint8_t high = lead == 0xED ? 0x9F : 0xBF;

        return left >= 3 && is_between(at[1], low, high) && is_tail(at[2]) ? 3 : 0;
    }
    if (lead < 0xF5) {
        uint8_t low = lead == 0xF0 ? 0x90 : 0x80;
        uint8_t high = lead == 0xF4 ? 0x8F : 0xBF;

        return left >= 4 && is_between(at[1], low, high) && is_tail(at[2]) && is_tail(at[3]) ? 4
                                                                                             : 0;
    }
    return 0;
}

bool tv_utf8_is_valid(tv_slice text)
{
    const uint8_t *at = (const uint8_t *)text.data;
    size_t left = text.len;

    while (left) {
        uint64_t word;
        size_t len;

        /* Most text is ASCII: eight bytes at a time. */
        if (left >= sizeof word) {
            memcpy(&word, at, sizeof word);
            len = (word & UINT64_C(0x8080808080808080)) ? sequence_len(at, left) : sizeof word;
        } else {
            len = sequence_len(at, left);
        }
        if (len == 0)
            return false;

        at += len;
        left -= len;
    }
    return true;
}

size_t tv_utf8_units(tv_slice text)
{
    size_t units = 0;

    /* Every lead byte starts one unit; that of a four byte sequence, a surrogate pair. */
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = (uint8_t)text.data[i];

        units += (size_t)!is_tail(byte) + (size_t)(byte >= 0xF0);
    }
    return units;
}

uint32_t tv_utf8_next(tv_slice *rest)
{
    tv_assert(rest->len > 0);

    const uint8_t *at = (const uint8_t *)rest->data;
    size_t len = at[0] < 0x80 ? 1 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    /* The lead byte of `len` bytes holds 7 - len bits of the code point, but 7 when alone. */
    uint32_t code_point = len == 1 ? at[0] : at[0] & (0x7Fu >> len);

    tv_assert(rest->len >= len);
    for (size_t i = 1; i < len; i++)
        code_point = code_point << 6 | (at[i] & 0x3F);
    *rest = tv_slice_skip(*rest, len);
    return code_point;
}

size_t tv_utf8_put(char *to, uint32_t code_point)
{
    if (code_point < 0x80) {
        to[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        to[0] = (char)(0xC0 | code_point >> 6);
        to[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        to[0] = (char)(0xE0 | code_point >> 12);
        to[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
        to[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    tv_assert(code_point <= 0x10FFFF);
    to[0] = (char)(0xF0 | code_point >> 18);
    to[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
    to[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
    to[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}

uint32_t tv_utf8_next_of_any(tv_slice *rest)
{
    tv_assert(rest->len > 0);
    if (sequence_len((const uint8_t *)rest->data, rest->len))
        return tv_utf8_next(rest);
    *rest = tv_slice_skip(*rest, 1);
    return 0xFFFD;
}

bool tv_utf8_is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

void tv_utf8_mask_controls(char *text, size_t len)
{
    for (size_t at = 0, bytes; at < len; at += bytes) {
        tv_slice rest = {text + at, len - at};

        bytes = sequence_len((const uint8_t *)rest.data, rest.len);
        if (bytes && !tv_utf8_is_control(tv_utf8_next(&rest)))
            continue;
        bytes = bytes ? bytes : 1;
        memset(text + at, '?', bytes);
    }
}
