/*
 * The JSON reader and the writer of strings.
 *
 * Between two calls the reader is at the quote of the next name or, when
 * the object is over, at the end of the text.  So a member is handed out only
 * after what follows it has been looked at, and what follows the object fails
 * with its last member.
 *
 * Strings are searched eight bytes at a time for what ends or interrupts them.
 */
#include "base/json.h"

#include <endian.h>

#include "base/datetime.h"
#include "base/hex.h"
#include "base/utf8.h"

#define EVERY_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

static uint64_t load_word(const char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return le64toh(word);
}

/*
 * The top bit of every byte of `word` that a string cannot hold as it is: the
 * quote, the backslash, control characters.  Exact up to the first one; after
 * it a borrow may show more.
 */
static uint64_t special_bytes(uint64_t word)
{
    uint64_t quote = word ^ EVERY_BYTE('"');
    uint64_t backslash = word ^ EVERY_BYTE('\\');
    uint64_t found = ((quote - EVERY_BYTE(1)) & ~quote) |
                     ((backslash - EVERY_BYTE(1)) & ~backslash) |
                     ((word - EVERY_BYTE(0x20)) & ~word);

    return found & EVERY_BYTE(0x80);
}

static bool is_special(char c)
{
    return c == '"' || c == '\\' || (unsigned char)c < 0x20;
}

static size_t first_byte(uint64_t mask)
{
    return (size_t)__builtin_ctzll(mask) / 8;
}

/* Refuse the input: nothing more will be read. */
static bool fail(tv_json_reader *reader)
{
    reader->failed = true;
    reader->at = reader->end;
    return false;
}

static void skip_blanks(tv_json_reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\r' || *reader->at == '\t'))
        reader->at++;
}

/* Step over `c`, which must come next. */
static bool expect(tv_json_reader *reader, char c)
{
    if (reader->at == reader->end || *reader->at != c)
        return fail(reader);

    reader->at++;
    return true;
}

/* Four hexadecimal digits. */
static bool read_hex4(const char *at, const char *end, uint32_t *ret_unit)
{
    uint32_t unit = 0;

    if (end - at < 4)
        return false;

    for (int i = 0; i < 4; i++) {
        int value = tv_hex_value(at[i]);

        if (value < 0)
            return false;
        unit = unit << 4 | (uint32_t)value;
    }
    *ret_unit = unit;
    return true;
}

/* Read what follows "\u", a surrogate together with its partner, and step over it. */
static bool read_code_point(const char **at, const char *end, uint32_t *ret_code_point)
{
    uint32_t unit, low;

    if (!read_hex4(*at, end, &unit))
        return false;

    *at += 4;
    if ((unit & 0xF800) == 0xD800) {
        if (unit >= 0xDC00 || end - *at < 2 || (*at)[0] != '\\' || (*at)[1] != 'u' ||
            !read_hex4(*at + 2, end, &low) || (low & 0xFC00) != 0xDC00)
            return false;
        *at += 6;
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    *ret_code_point = unit;
    return true;
}

/* Copy the inside of a string without its escapes, which make it longer than what they mean. */
static bool unescape(tv_arena *arena, tv_slice raw, tv_slice *ret_text)
{
    static const char meanings[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                       ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    char *text = tv_arena_bytes(arena, raw.len), *to = text;
    const char *at = raw.data, *end = raw.data + raw.len;

    while (at < end) {
        size_t run = tv_slice_find((tv_slice){at, (size_t)(end - at)}, '\\');

        memcpy(to, at, run);
        to += run;
        at += run;
        if (at == end)
            break;

        /* The search for the closing quote has left a character after every backslash. */
        char escape = at[1];

        at += 2;
        if (escape == 'u') {
            uint32_t code_point;

            if (!read_code_point(&at, end, &code_point))
                return false;
            to += tv_utf8_put(to, code_point);
        } else {
            char meaning = meanings[(unsigned char)escape];

            if (meaning == 0)
                return false;
            *to++ = meaning;
        }
    }
    *ret_text = (tv_slice){text, (size_t)(to - text)};
    return true;
}

/* A string, from its opening quote to just after its closing one. */
static bool read_string(tv_json_reader *reader, tv_slice *ret_text)
{
    uint64_t seen = 0; /* all bytes or-ed together, maybe with some after the string */
    bool escaped = false;

    if (!expect(reader, '"'))
        return false;

    const char *start = reader->at, *at = start, *end = reader->end;

    for (;;) {
        uint64_t special = 0;

        while (end - at >= 8) {
            uint64_t word = load_word(at);

            seen |= word;
            special = special_bytes(word);
            if (special)
                break;
            at += 8;
        }
        if (special) {
            at += first_byte(special);
        } else {
            for (; at < end && !is_special(*at); at++)
                seen |= (unsigned char)*at;
        }
        if (at == end || (unsigned char)*at < 0x20)
            return fail(reader);
        if (*at == '"')
            break;
        /* A backslash: whatever follows does not end the string; unescape will look at it. */
        escaped = true;
        if (end - at < 2)
            return fail(reader);
        at += 2;
    }
    reader->at = at + 1;

    tv_slice raw = {start, (size_t)(at - start)};

    if ((seen & EVERY_BYTE(0x80)) && !tv_utf8_is_valid(raw))
        return fail(reader);
    if (!escaped) {
        *ret_text = raw;
        return true;
    }
    return unescape(reader->arena, raw, ret_text) || fail(reader);
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)? */
static bool read_number(tv_json_reader *reader)
{
    const char *at = reader->at, *end = reader->end, *digits;

    at += *at == '-';
    digits = at;
    at = skip_digits(at, end);
    if (at == digits || (*digits == '0' && at - digits > 1))
        return fail(reader);
    if (at < end && *at == '.') {
        digits = ++at;
        at = skip_digits(at, end);
        if (at == digits)
            return fail(reader);
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        digits = at;
        at = skip_digits(at, end);
        if (at == digits)
            return fail(reader);
    }
    reader->at = at;
    return true;
}

static bool read_word(tv_json_reader *reader, tv_slice word)
{
    tv_slice rest = {reader->at, (size_t)(reader->end - reader->at)};

    if (!tv_slice_starts_with(rest, word))
        return fail(reader);

    reader->at += word.len;
    return true;
}

static bool read_value(tv_json_reader *reader, int depth, tv_json_kind *ret_kind,
                       tv_slice *ret_text);

/* The value of a member, and the blanks behind it. */
static bool read_item(tv_json_reader *reader, int depth, tv_json_member *ret_member)
{
    const char *start = reader->at;

    if (!read_value(reader, depth, &ret_member->kind, &ret_member->text))
        return false;
    ret_member->raw = (tv_slice){start, (size_t)(reader->at - start)};
    skip_blanks(reader);
    return true;
}

/* A name, the colon and the value, with the blanks around them. */
static bool read_member(tv_json_reader *reader, int depth, tv_json_member *ret_member)
{
    if (!read_string(reader, &ret_member->name))
        return false;
    skip_blanks(reader);
    if (!expect(reader, ':'))
        return false;
    skip_blanks(reader);
    return read_item(reader, depth, ret_member);
}

/* An object or array inside the object: checked, and otherwise skipped. */
static bool skip_nested(tv_json_reader *reader, int depth)
{
    bool is_object = *reader->at++ == '{';
    char closing = is_object ? '}' : ']';
    tv_json_member ignored;

    if (depth > TV_JSON_DEPTH_MAX)
        return fail(reader);

    skip_blanks(reader);
    if (reader->at < reader->end && *reader->at == closing) {
        reader->at++;
        return true;
    }
    for (;;) {
        if (is_object ? !read_member(reader, depth + 1, &ignored)
                      : !read_value(reader, depth + 1, &ignored.kind, &ignored.text))
            return false;
        skip_blanks(reader);
        if (reader->at == reader->end || *reader->at != ',')
            return expect(reader, closing);
        reader->at++;
        skip_blanks(reader);
    }
}

/* Any value; `depth` is that of an object or array found here. */
static bool read_value(tv_json_reader *reader, int depth, tv_json_kind *ret_kind,
                       tv_slice *ret_text)
{
    const char *start = reader->at;
    bool ok;

    if (reader->at == reader->end)
        return fail(reader);

    switch (*start) {
    case '"':
        *ret_kind = TV_JSON_STRING;
        return read_string(reader, ret_text);
    case 't':
        *ret_kind = TV_JSON_TRUE;
        ok = read_word(reader, TV_LIT("true"));
        break;
    case 'f':
        *ret_kind = TV_JSON_FALSE;
        ok = read_word(reader, TV_LIT("false"));
        break;
    case 'n':
        *ret_kind = TV_JSON_NULL;
        ok = read_word(reader, TV_LIT("null"));
        break;
    case '{':
    case '[':
        *ret_kind = TV_JSON_NESTED;
        ok = skip_nested(reader, depth);
        break;
    default:
        *ret_kind = TV_JSON_NUMBER;
        ok = read_number(reader);
    }
    *ret_text = (tv_slice){start, (size_t)(reader->at - start)};
    return ok;
}

static char closing_of(const tv_json_reader *reader)
{
    return reader->is_list ? ']' : '}';
}

/* Nothing but blanks. */
static bool finish(tv_json_reader *reader)
{
    skip_blanks(reader);
    return reader->at == reader->end || fail(reader);
}

void tv_json_reader_init(tv_json_reader *reader, tv_arena *arena, tv_slice text)
{
    if (text.data == NULL)
        text = TV_LIT("");
    *reader = (tv_json_reader){.at = text.data, .end = text.data + text.len, .arena = arena};
}

void tv_json_reader_init_list(tv_json_reader *reader, tv_arena *arena, tv_slice text)
{
    tv_json_reader_init(reader, arena, text);
    reader->is_list = true;
}

bool tv_json_value(tv_arena *arena, tv_slice text, tv_json_member *ret_value)
{
    tv_json_member value = {.name = TV_NONE};
    tv_json_reader reader;

    tv_json_reader_init(&reader, arena, text);
    skip_blanks(&reader);
    if (!read_item(&reader, 1, &value) || !finish(&reader))
        return false;
    *ret_value = value;
    return true;
}

bool tv_json_next(tv_json_reader *reader, tv_json_member *ret_member)
{
    tv_json_member member;

    if (!reader->started) {
        reader->started = true;
        skip_blanks(reader);
        if (!expect(reader, reader->is_list ? '[' : '{'))
            return false;
        skip_blanks(reader);
        if (reader->at < reader->end && *reader->at == closing_of(reader)) {
            reader->at++;
            finish(reader);
            return false;
        }
    } else if (reader->at == reader->end) {
        return false;
    }

    member.name = TV_NONE;
    if (!(reader->is_list ? read_item(reader, 1, &member) : read_member(reader, 1, &member)))
        return false;

    if (reader->at < reader->end && *reader->at == ',') {
        reader->at++;
        skip_blanks(reader);
        if (reader->at == reader->end || (!reader->is_list && *reader->at != '"'))
            return fail(reader);
    } else if (!expect(reader, closing_of(reader)) || !finish(reader)) {
        return false;
    }
    *ret_member = member;
    return true;
}

static char *put_unit(char *to, uint32_t unit)
{
    static const char hex_digits[] = "0123456789abcdef";

    to[0] = '\\';
    to[1] = 'u';
    for (int i = 5; i > 1; i--, unit >>= 4)
        to[i] = hex_digits[unit & 15];
    return to + 6;
}

/* One code point that cannot be written as it is. */
static char *put_escape(char *to, uint32_t code_point)
{
    static const char letters[128] = {['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                      ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};

    if (code_point < 128 && letters[code_point]) {
        to[0] = '\\';
        to[1] = letters[code_point];
        return to + 2;
    }
    if (code_point < 0x10000)
        return put_unit(to, code_point);
    to = put_unit(to, 0xD800 + ((code_point - 0x10000) >> 10));
    return put_unit(to, 0xDC00 + ((code_point - 0x10000) & 0x3FF));
}

/* How many bytes at the front of `text` a string in the answer can hold as they are. */
static size_t plain_len(tv_slice text)
{
    size_t len = 0;

    for (; text.len - len >= 8; len += 8) {
        uint64_t word = load_word(text.data + len);
        uint64_t found = special_bytes(word) | (word & EVERY_BYTE(0x80));

        if (found)
            return len + first_byte(found);
    }
    /* The last eight bytes once more, of which the first ones are known to be plain. */
    if (len < text.len && text.len >= 8) {
        uint64_t word = load_word(text.data + text.len - 8);
        uint64_t found = special_bytes(word) | (word & EVERY_BYTE(0x80));

        return found ? text.len - 8 + first_byte(found) : text.len;
    }
    while (len < text.len && !is_special(text.data[len]) && (unsigned char)text.data[len] < 0x80)
        len++;
    return len;
}

/* Whether a text of four to seven bytes is plain: as one word, of two loads that overlap. */
static bool is_short_and_plain(tv_slice text)
{
    uint32_t first, last;

    if (text.len < 4 || text.len > 7)
        return false;

    memcpy(&first, text.data, sizeof first);
    memcpy(&last, text.data + text.len - 4, sizeof last);

    uint64_t word = (uint64_t)last << 32 | first;

    return ((special_bytes(word) | word) & EVERY_BYTE(0x80)) == 0;
}

void tv_json_add_string(tv_buf *buf, tv_slice text)
{
    enum { ESCAPE_MAX = 12 };

    /* Most strings need no escape: one check for room, one copy. */
    if (text.len && (is_short_and_plain(text) || plain_len(text) == text.len)) {
        char *to = tv_buf_reserve(buf, text.len + 2);

        to[0] = '"';
        memcpy(to + 1, text.data, text.len);
        to[text.len + 1] = '"';
        buf->len += text.len + 2;
        return;
    }
    tv_buf_add_char(buf, '"');
    while (text.len) {
        size_t run = plain_len(text);

        tv_buf_add(buf, tv_slice_take(text, run));
        text = tv_slice_skip(text, run);
        if (text.len) {
            char *to = tv_buf_reserve(buf, ESCAPE_MAX);

            buf->len += (size_t)(put_escape(to, tv_utf8_next(&text)) - to);
        }
    }
    tv_buf_add_char(buf, '"');
}

void tv_json_name(tv_buf *out, const char *name)
{
    if (out->len && memchr("{[:,\n", out->data[out->len - 1], 5) == NULL)
        tv_buf_add_char(out, ',');
    if (name == NULL)
        return;
    tv_buf_add_char(out, '"');
    tv_buf_add(out, tv_slice_of(name));
    tv_buf_add_lit(out, "\":");
}

void tv_json_open(tv_buf *out, const char *name, char bracket)
{
    tv_json_name(out, name);
    tv_buf_add_char(out, bracket);
}

void tv_json_text(tv_buf *out, const char *name, tv_slice text)
{
    tv_json_name(out, name);
    tv_json_add_string(out, text);
}

void tv_json_number(tv_buf *out, const char *name, uint64_t number)
{
    tv_json_name(out, name);
    tv_buf_printf(out, "%llu", (unsigned long long)number);
}

void tv_json_bool(tv_buf *out, const char *name, bool is_true)
{
    tv_json_name(out, name);
    tv_buf_add(out, is_true ? TV_LIT("true") : TV_LIT("false"));
}

void tv_json_time(tv_buf *out, const char *name, int64_t ticks)
{
    char text[TV_DATETIME_TEXT_MAX];

    tv_json_text(out, name, (tv_slice){text, tv_datetime_format(text, ticks)});
}
