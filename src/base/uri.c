/* Percent-encoding and query strings. */
#include "base/uri.h"

#include "base/hex.h"
#include "base/utf8.h"

/* `blank` is the character that stands for a blank, '%' when none does. */
static bool decode(tv_arena *arena, tv_slice text, char blank, tv_slice *ret_decoded)
{
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

/* Whether a name means itself.  Nearly all do, and a URL with a SAS has a dozen of them. */
static bool is_plain(tv_slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] == '%' || name.data[i] == '+' || (unsigned char)name.data[i] >= 0x80)
            return false;
    }
    return true;
}

static bool find_parameter(tv_arena *arena, tv_slice query, tv_slice name,
                           bool (*is_name)(tv_slice a, tv_slice b), tv_slice *ret_value)
{
    tv_slice rest = query, part;

    while (tv_slice_next(&rest, '&', &part)) {
        size_t equals = tv_slice_find(part, '=');
        tv_slice part_name = tv_slice_take(part, equals);
        tv_slice value = tv_slice_skip(part, equals < part.len ? equals + 1 : equals);

        if (!is_plain(part_name) && !tv_uri_decode_query(arena, part_name, &part_name))
            return false;
        if (is_name(part_name, name))
            return tv_uri_decode_query(arena, value, ret_value);
    }
    *ret_value = TV_NONE;
    return true;
}

bool tv_uri_query_parameter(tv_arena *arena, tv_slice query, tv_slice name, tv_slice *ret_value)
{
    return find_parameter(arena, query, name, tv_slice_eq, ret_value);
}

bool tv_uri_query_parameter_nocase(tv_arena *arena, tv_slice query, tv_slice name,
                                   tv_slice *ret_value)
{
    return find_parameter(arena, query, name, tv_slice_eq_nocase, ret_value);
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
