/* Walking over JSON in place: strings with escapes, numbers, and what is skipped. */
#include "client/entity/json_scan.h"

#include <stdint.h>

#include "base/hex.h"
#include "base/utf8.h"

/* Four hexadecimal digits; a NUL ends the search, so no bounds. */
static bool read_hex4(const char *at, uint32_t *ret_unit)
{
    uint32_t unit = 0;

    for (int i = 0; i < 4; i++) {
        int value = tv_hex_value(at[i]);

        if (value < 0)
            return false;
        unit = unit << 4 | (uint32_t)value;
    }
    *ret_unit = unit;
    return true;
}

/* What follows "\u", a surrogate together with its partner. */
static bool read_code_point(char **at, uint32_t *ret_code_point)
{
    uint32_t unit, low;

    if (!read_hex4(*at, &unit))
        return false;

    *at += 4;
    if ((unit & 0xF800) == 0xD800) {
        if (unit >= 0xDC00 || (*at)[0] != '\\' || (*at)[1] != 'u' || !read_hex4(*at + 2, &low) ||
            (low & 0xFC00) != 0xDC00)
            return false;
        *at += 6;
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    *ret_code_point = unit;
    return true;
}

/* One escape at *at, written to *to, which is not behind it. */
static bool unescape(char **at, char **to, bool may_have_nul)
{
    static const char meanings[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                       ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    char escape = (*at)[1], meaning = meanings[(unsigned char)escape];
    uint32_t code_point;

    if (meaning) {
        *at += 2;
        *(*to)++ = meaning;
        return true;
    }
    if (escape != 'u')
        return false;

    *at += 2;
    if (!read_code_point(at, &code_point) || (code_point == 0 && !may_have_nul))
        return false;
    *to += tv_utf8_put(*to, code_point);
    return true;
}

/* Most runs between escapes are short: without a call, and without reading what was written. */
static void move_down(char *to, const char *from, size_t len)
{
    if (to == from)
        return;
    if (len > 16) {
        memmove(to, from, len);
    } else if (len >= 8) {
        uint64_t first, last;

        memcpy(&first, from, sizeof first);
        memcpy(&last, from + len - sizeof last, sizeof last);
        memcpy(to, &first, sizeof first);
        memcpy(to + len - sizeof last, &last, sizeof last);
    } else {
        for (size_t i = 0; i < len; i++)
            to[i] = from[i];
    }
}

bool tvc_scan_string_rest(tvc_scan *scan, char *start, char *at, bool may_have_nul,
                          tv_slice *ret_text)
{
    char *to = at;
    bool is_ascii = true;

    for (;;) {
        if (*at == '"')
            break;
        if (*at == '\\') {
            if (!unescape(&at, &to, may_have_nul))
                return false;
        } else if ((unsigned char)*at >= 0x80) {
            is_ascii = false;
            while ((unsigned char)*at >= 0x80)
                *to++ = *at++;
        } else {
            return false;
        }

        char *stop = tvc_scan_plain(at, scan->end);
        size_t len = (size_t)(stop - at);

        move_down(to, at, len);
        to += len;
        at = stop;
    }
    *ret_text = (tv_slice){start, (size_t)(to - start)};
    memset(to, ' ', (size_t)(at - to) + 1);
    *to = '\0';
    scan->at = at + 1;
    return is_ascii || tv_utf8_is_valid(*ret_text);
}

static char *skip_digits(char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)? */
bool tvc_scan_number(tvc_scan *scan, tv_slice *ret_token, bool *ret_is_integer)
{
    char *at = scan->at, *digits;
    bool is_integer = true;

    at += *at == '-';
    digits = at;
    at = skip_digits(at);
    if (at == digits || (*digits == '0' && at - digits > 1))
        return false;
    if (*at == '.') {
        is_integer = false;
        digits = ++at;
        at = skip_digits(at);
        if (at == digits)
            return false;
    }
    if (*at == 'e' || *at == 'E') {
        is_integer = false;
        at++;
        at += *at == '+' || *at == '-';
        digits = at;
        at = skip_digits(at);
        if (at == digits)
            return false;
    }
    *ret_token = (tv_slice){scan->at, (size_t)(at - scan->at)};
    *ret_is_integer = is_integer;
    scan->at = at;
    return true;
}

bool tvc_scan_word(tvc_scan *scan, tv_slice word)
{
    if ((size_t)(scan->end - scan->at) < word.len || memcmp(scan->at, word.data, word.len) != 0)
        return false;

    scan->at += word.len;
    return true;
}

static bool skip_value(tvc_scan *scan, int depth);

static bool skip_nested(tvc_scan *scan, int depth)
{
    bool is_object = *scan->at++ == '{';
    char closing = is_object ? '}' : ']';
    tv_slice name;

    if (depth > TVC_SCAN_DEPTH_MAX)
        return false;
    if (tvc_scan_pass(scan, closing))
        return true;

    for (;;) {
        tvc_scan_blanks(scan);
        if (is_object && (!tvc_scan_string(scan, true, &name) || !tvc_scan_pass(scan, ':')))
            return false;
        tvc_scan_blanks(scan);
        if (!skip_value(scan, depth + 1))
            return false;
        if (!tvc_scan_pass(scan, ','))
            return tvc_scan_pass(scan, closing);
    }
}

static bool skip_value(tvc_scan *scan, int depth)
{
    tv_slice ignored;
    bool is_integer;

    switch (*scan->at) {
    case '"':
        return tvc_scan_string(scan, true, &ignored);
    case 't':
        return tvc_scan_word(scan, TV_LIT("true"));
    case 'f':
        return tvc_scan_word(scan, TV_LIT("false"));
    case 'n':
        return tvc_scan_word(scan, TV_LIT("null"));
    case '{':
    case '[':
        return skip_nested(scan, depth);
    default:
        return tvc_scan_number(scan, &ignored, &is_integer);
    }
}

bool tvc_scan_skip(tvc_scan *scan)
{
    return skip_value(scan, 1);
}
