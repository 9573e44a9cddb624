/* Percent-encoding. */
#include "base/uri.h"

#include "base/hex.h"
#include "base/utf8.h"

/* Whether a text stands for itself.  Most do, and a URL with a SAS has two dozen of them. */
static bool is_plain(tv_slice text, char blank)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '%' || text.data[i] == blank || (unsigned char)text.data[i] >= 0x80)
            return false;
    }
    return true;
}

/* `blank` is the character that stands for a blank, '%' when none does. */
static bool decode(tv_arena *arena, tv_slice text, char blank, tv_slice *ret_decoded)
{
    if (is_plain(text, blank)) {
        *ret_decoded = text.data ? text : TV_LIT("");
        return true;
    }

    char *decoded = tv_arena_bytes(arena, text.len);
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];

        if (c == '%') {
            int high = text.len - i > 2 ? tv_hex_value(text.data[i + 1]) : -1;
            int low = text.len - i > 2 ? tv_hex_value(text.data[i + 2]) : -1;

            if (high < 0 || low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == blank) {
            c = ' ';
        }
        decoded[len++] = c;
    }
    if (!tv_utf8_is_valid((tv_slice){decoded, len}))
        return false;

    *ret_decoded = (tv_slice){decoded, len};
    return true;
}

bool tv_uri_decode_path(tv_arena *arena, tv_slice text, tv_slice *ret_decoded)
{
    return decode(arena, text, '%', ret_decoded);
}

bool tv_uri_decode_query(tv_arena *arena, tv_slice text, tv_slice *ret_decoded)
{
    return decode(arena, text, '+', ret_decoded);
}

/* RFC 3986: what never needs encoding. */
static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void tv_uri_add_key(tv_buf *buf, tv_slice key)
{
    static const char hex_digits[] = "0123456789ABCDEF";

    if (key.len == 0)
        return;

    char *start = tv_buf_reserve(buf, key.len * 3), *to = start;

    for (size_t i = 0; i < key.len; i++) {
        char c = key.data[i];

        if (is_unreserved(c)) {
            *to++ = c;
        } else if (c == '\'') {
            *to++ = '\'';
            *to++ = '\'';
        } else {
            *to++ = '%';
            *to++ = hex_digits[(uint8_t)c >> 4];
            *to++ = hex_digits[(uint8_t)c & 15];
        }
    }
    buf->len += (size_t)(to - start);
}

/* Take one character, which may be encoded: "=", "%3d", "%253D". */
static bool take_char(tv_slice *rest, char wanted)
{
    tv_slice r = *rest;

    if (r.len && tv_ascii_lower(r.data[0]) == wanted) {
        *rest = tv_slice_skip(r, 1);
        return true;
    }
    if (r.len == 0 || r.data[0] != '%')
        return false;

    r = tv_slice_skip(r, 1);
    while (tv_slice_starts_with(r, TV_LIT("25")))
        r = tv_slice_skip(r, 2);
    if (r.len < 2 || tv_hex_value(r.data[0]) < 0 || tv_hex_value(r.data[1]) < 0 ||
        tv_ascii_lower((char)(tv_hex_value(r.data[0]) * 16 + tv_hex_value(r.data[1]))) != wanted)
        return false;

    *rest = tv_slice_skip(r, 2);
    return true;
}

size_t tv_uri_find_signature(tv_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        tv_slice rest = tv_slice_skip(text, i);

        if (take_char(&rest, 's') && take_char(&rest, 'i') && take_char(&rest, 'g') &&
            take_char(&rest, '='))
            return i;
    }
    return text.len;
}
