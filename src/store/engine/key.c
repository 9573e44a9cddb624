/*
 * The names of rows.  Text of PartitionKey and RowKey crosses between UTF-8
 * (what clients send) and CESU-8 (what sorts like UTF-16) here and nowhere
 * else.  Both directions are strict: what is not exactly one of our keys is
 * refused, so that a key that was stored always comes back as it was given.
 */
#include "store/engine/key.h"

#include "base/assert.h"

enum {
    BITS_PER_DIGIT = 5,
    DIGITS_MAX = 13, /* of an int64_t */
    SURROGATE_FIRST = 0xD800,
    SURROGATE_LOW_FIRST = 0xDC00,
    SURROGATE_LAST = 0xDFFF,
};

/* Its characters are in the order of their bytes, so that ids sort as numbers do. */
static const char base32[] = "0123456789abcdefghijklmnopqrstuv";

static bool is_control(uint32_t code_point)
{
    return code_point < 0x20 || (code_point >= 0x7F && code_point <= 0x9F);
}

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/*
 * Read one code point of one to four bytes.  Refuses overlong forms, stray and
 * missing continuation bytes and values past U+10FFFF; surrogates are left to
 * the caller, because they are wrong in UTF-8 and right in CESU-8.  Returns the
 * number of bytes, 0 when they are not a code point.
 */
static size_t read_code_point(const unsigned char *in, size_t len, uint32_t *ret_code_point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t count = in[0] < 0x80   ? 1
                   : in[0] < 0xC0 ? 0
                   : in[0] < 0xE0 ? 2
                   : in[0] < 0xF0 ? 3
                   : in[0] < 0xF8 ? 4
                                  : 0;

    if (count == 0 || count > len)
        return 0;

    uint32_t code_point = count == 1 ? in[0] : in[0] & (0xFFu >> (count + 1));

    for (size_t i = 1; i < count; i++) {
        if (!is_continuation(in[i]))
            return 0;
        code_point = code_point << 6 | (in[i] & 0x3F);
    }
    if (code_point < least[count] || code_point > 0x10FFFF)
        return 0;

    *ret_code_point = code_point;
    return count;
}

/* Write a UTF-16 unit of at least U+0800 as three bytes. */
static void put_three(char *out, uint32_t unit)
{
    out[0] = (char)(0xE0 | unit >> 12);
    out[1] = (char)(0x80 | (unit >> 6 & 0x3F));
    out[2] = (char)(0x80 | (unit & 0x3F));
}

/* Append `utf8` to `out` as CESU-8; at most 3/2 of its bytes are written. */
static tv_err encode(tv_slice utf8, char *out, size_t *ret_len, size_t *ret_units)
{
    const unsigned char *in = (const unsigned char *)utf8.data;
    size_t at = 0, len = 0, units = 0;

    while (at < utf8.len) {
        uint32_t code_point;
        size_t count = read_code_point(in + at, utf8.len - at, &code_point);

        if (count == 0 || is_control(code_point) ||
            (code_point >= SURROGATE_FIRST && code_point <= SURROGATE_LAST))
            return TV_ERR_OUT_OF_RANGE;

        if (code_point >= 0x10000) {
            put_three(out + len, SURROGATE_FIRST + ((code_point - 0x10000) >> 10));
            put_three(out + len + 3, SURROGATE_LOW_FIRST + ((code_point - 0x10000) & 0x3FF));
            len += 6;
            units += 2;
        } else {
            memcpy(out + len, in + at, count);
            len += count;
            units++;
        }
        at += count;
    }
    *ret_len = len;
    *ret_units = units;
    return TV_OK;
}

/* Four bytes of UTF-8 become six, everything else keeps its length. */
static size_t encoded_len_max(tv_slice utf8)
{
    return utf8.len + utf8.len / 2;
}

tv_err tv_key_encode_text(tv_arena *arena, tv_slice utf8, tv_slice *ret_cesu8)
{
    char *out = tv_arena_bytes(arena, encoded_len_max(utf8));
    size_t len, units;
    tv_err err;

    err = encode(utf8, out, &len, &units);
    if (err)
        return err;

    *ret_cesu8 = (tv_slice){out, len};
    return TV_OK;
}

/* Join a high surrogate with the low one that must follow it at `in`. */
static bool read_low_surrogate(const unsigned char *in, size_t len, uint32_t high,
                               uint32_t *ret_code_point)
{
    uint32_t low;

    if (high >= SURROGATE_LOW_FIRST || len < 3 || read_code_point(in, len, &low) != 3)
        return false;
    if (low < SURROGATE_LOW_FIRST || low > SURROGATE_LAST)
        return false;

    *ret_code_point =
        0x10000 + ((high - SURROGATE_FIRST) << 10) + (low - (uint32_t)SURROGATE_LOW_FIRST);
    return true;
}

/* Whether a text is printable ASCII, and so the same in both encodings; by words. */
static bool is_printable_ascii(tv_slice text)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t others = 0;
    size_t at = 0;

    for (; at + sizeof(uint64_t) <= text.len; at += sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, text.data + at, sizeof word);
        /* The top bit of a byte tells: it is set, or the byte is below 20 or is 7f.  A byte below
         * borrows from its neighbour, which does not matter, for one is enough. */
        others |= word | (word - ones * 0x20) | (word + ones);
    }
    others &= ones * 0x80;
    for (; at < text.len; at++)
        others |= text.data[at] < 0x20 || text.data[at] > 0x7e;
    return others == 0;
}

tv_err tv_key_decode_text(tv_arena *arena, tv_slice cesu8, tv_slice *ret_utf8)
{
    if (is_printable_ascii(cesu8)) {
        *ret_utf8 = tv_arena_dup(arena, cesu8);
        return TV_OK;
    }

    const unsigned char *in = (const unsigned char *)cesu8.data;
    char *out = tv_arena_bytes(arena, cesu8.len);
    size_t at = 0, len = 0;

    while (at < cesu8.len) {
        uint32_t code_point;
        size_t count = read_code_point(in + at, cesu8.len - at, &code_point);

        if (count == 0 || count == 4 || is_control(code_point))
            return TV_ERR_CORRUPT;

        if (code_point >= SURROGATE_FIRST && code_point <= SURROGATE_LAST) {
            if (!read_low_surrogate(in + at + 3, cesu8.len - at - 3, code_point, &code_point))
                return TV_ERR_CORRUPT;

            out[len++] = (char)(0xF0 | code_point >> 18);
            out[len++] = (char)(0x80 | (code_point >> 12 & 0x3F));
            out[len++] = (char)(0x80 | (code_point >> 6 & 0x3F));
            out[len++] = (char)(0x80 | (code_point & 0x3F));
            at += 6;
        } else {
            memcpy(out + len, in + at, count);
            len += count;
            at += count;
        }
    }
    *ret_utf8 = (tv_slice){out, len};
    return TV_OK;
}

static char *append(char *out, tv_slice bytes)
{
    if (bytes.len)
        memcpy(out, bytes.data, bytes.len);
    return out + bytes.len;
}

/* Account names are checked where they come in; here they only must not break the order. */
static char *append_space(char *out, char space, tv_slice account)
{
    tv_assert(account.len > 0);
    for (size_t i = 0; i < account.len; i++)
        tv_assert((unsigned char)account.data[i] > 0x20);

    *out++ = space;
    out = append(out, account);
    *out++ = TV_KEY_MARK;
    return out;
}

char *tv_key_put_number(char *out, int64_t number, int chars)
{
    tv_assert(chars > 0 && chars <= DIGITS_MAX);
    tv_assert(number >= 0 && (chars == DIGITS_MAX || number >> (chars * BITS_PER_DIGIT) == 0));

    for (int i = chars - 1; i >= 0; i--)
        *out++ = base32[number >> (i * BITS_PER_DIGIT) & 31];
    return out;
}

tv_err tv_key_read_number(tv_slice digits, int64_t *ret_number)
{
    int64_t number = 0;

    if (digits.len == 0 || digits.len > DIGITS_MAX)
        return TV_ERR_CORRUPT;

    for (size_t i = 0; i < digits.len; i++) {
        const char *digit = memchr(base32, digits.data[i], sizeof base32 - 1);

        if (digit == NULL || number > INT64_MAX >> BITS_PER_DIGIT)
            return TV_ERR_CORRUPT;
        number = number << BITS_PER_DIGIT | (digit - base32);
    }
    *ret_number = number;
    return TV_OK;
}

static char *append_table_id(char *out, int64_t table_id)
{
    tv_assert(table_id >= 0 && table_id <= TV_TABLE_ID_MAX);
    return tv_key_put_number(out, table_id, TV_KEY_ID_CHARS);
}

static tv_err read_table_id(tv_slice text, int64_t *ret_table_id)
{
    if (text.len != TV_KEY_ID_CHARS)
        return TV_ERR_CORRUPT;

    return tv_key_read_number(text, ret_table_id);
}

/* The rows of the table or queue with this id. */
static tv_slice space_of_id(tv_arena *arena, char space, tv_slice account, int64_t id)
{
    char *key = tv_arena_bytes(arena, account.len + 2 + TV_KEY_ID_CHARS);
    char *end = append_table_id(append_space(key, space, account), id);

    return (tv_slice){key, (size_t)(end - key)};
}

tv_slice tv_key_table(tv_arena *arena, tv_slice account, int64_t table_id)
{
    return space_of_id(arena, 'r', account, table_id);
}

tv_slice tv_key_table_facts(tv_arena *arena, tv_slice account, int64_t table_id)
{
    return space_of_id(arena, 'f', account, table_id);
}

tv_slice tv_key_queue(tv_arena *arena, tv_slice account, int64_t queue_id)
{
    return space_of_id(arena, 's', account, queue_id);
}

tv_err tv_key_partition(tv_arena *arena, tv_slice account, int64_t table_id, tv_slice partition_key,
                        tv_slice *ret_prefix)
{
    char *key = tv_arena_bytes(arena, account.len + 2 + TV_KEY_ID_CHARS +
                                          encoded_len_max(partition_key) + 1);
    char *end = append_table_id(append_space(key, 'r', account), table_id);
    size_t len, units;
    tv_err err;

    err = encode(partition_key, end, &len, &units);
    if (err)
        return err;
    if (units > TV_KEY_UNITS_MAX)
        return TV_ERR_OUT_OF_RANGE;

    end += len;
    *end++ = TV_KEY_MARK;
    *ret_prefix = (tv_slice){key, (size_t)(end - key)};
    return TV_OK;
}

tv_err tv_key_row(tv_arena *arena, tv_slice partition_prefix, tv_slice row_key, tv_slice *ret_key)
{
    char *key = tv_arena_bytes(arena, partition_prefix.len + encoded_len_max(row_key));
    char *end = append(key, partition_prefix);
    size_t len, units;
    tv_err err;

    err = encode(row_key, end, &len, &units);
    if (err)
        return err;
    if (units > TV_KEY_UNITS_MAX)
        return TV_ERR_OUT_OF_RANGE;

    *ret_key = (tv_slice){key, partition_prefix.len + len};
    return TV_OK;
}

tv_err tv_key_split_row(tv_arena *arena, tv_slice table_prefix, tv_slice key,
                        tv_slice *ret_partition_key, tv_slice *ret_row_key)
{
    tv_assert(tv_slice_starts_with(key, table_prefix));

    tv_slice rest = tv_slice_skip(key, table_prefix.len);
    size_t end = tv_slice_find(rest, TV_KEY_MARK);
    tv_slice partition_key, row_key;
    tv_err err;

    if (end == rest.len)
        return TV_ERR_CORRUPT;

    err = tv_key_decode_text(arena, tv_slice_take(rest, end), &partition_key);
    if (err)
        return err;

    /* A second terminator would be a control character, which decoding refuses. */
    err = tv_key_decode_text(arena, tv_slice_skip(rest, end + 1), &row_key);
    if (err)
        return err;

    *ret_partition_key = partition_key;
    *ret_row_key = row_key;
    return TV_OK;
}

tv_slice tv_key_partition_of(tv_slice key)
{
    size_t account = tv_slice_find(key, TV_KEY_MARK), end = account + 1;

    if (tv_slice_starts_with(key, TV_KEY_STORE))
        return tv_slice_take(key, TV_KEY_STORE.len);
    if (account == key.len)
        return key;

    switch (key.data[0]) {
    case TV_SPACE_TABLES:
    case TV_SPACE_QUEUES:
    case TV_SPACE_CONTAINERS:
        break;
    case 's':
    case 'f':
        end += TV_KEY_ID_CHARS;
        break;
    case 'r':
    case 'o':
        end += tv_slice_find(tv_slice_skip(key, end), TV_KEY_MARK) + 1;
        break;
    default:
        return key;
    }
    return end <= key.len ? tv_slice_take(key, end) : key;
}

tv_slice tv_key_container(tv_arena *arena, tv_slice account, int64_t container_id)
{
    char *key = tv_arena_bytes(arena, account.len + 2 + TV_KEY_ID_CHARS);
    char *end = append_space(key, 'o', account);

    end = append_table_id(end, container_id);
    return (tv_slice){key, (size_t)(end - key)};
}

tv_err tv_key_blob(tv_arena *arena, tv_slice container_prefix, tv_slice name, tv_slice *ret_prefix)
{
    char *key = tv_arena_bytes(arena, container_prefix.len + encoded_len_max(name) + 1);
    char *end = append(key, container_prefix);
    size_t len, units;
    tv_err err;

    err = encode(name, end, &len, &units);
    if (err)
        return err;
    if (units == 0 || units > TV_KEY_UNITS_MAX)
        return TV_ERR_OUT_OF_RANGE;

    end += len;
    *end++ = TV_KEY_MARK;
    *ret_prefix = (tv_slice){key, (size_t)(end - key)};
    return TV_OK;
}

tv_err tv_key_split_blob(tv_arena *arena, tv_slice container_prefix, tv_slice key,
                         tv_slice *ret_blob_prefix, tv_slice *ret_name)
{
    tv_assert(tv_slice_starts_with(key, container_prefix));

    tv_slice rest = tv_slice_skip(key, container_prefix.len);
    size_t end = tv_slice_find(rest, TV_KEY_MARK);
    tv_err err;

    if (end == 0 || end == rest.len)
        return TV_ERR_CORRUPT;

    if (ret_name) {
        err = tv_key_decode_text(arena, tv_slice_take(rest, end), ret_name);
        if (err)
            return err;
    }
    *ret_blob_prefix = tv_slice_take(key, container_prefix.len + end + 1);
    return TV_OK;
}

/* space account 01, then `kind` unless it is 0, with room for `extra` more bytes after it. */
static char *start_catalog(tv_arena *arena, tv_key_space space, tv_slice account, char kind,
                           size_t extra, char **ret_end)
{
    char *key = tv_arena_bytes(arena, account.len + 3 + extra);
    char *end = append_space(key, (char)space, account);

    if (kind)
        *end++ = kind;
    *ret_end = end;
    return key;
}

static tv_slice catalog(tv_arena *arena, tv_key_space space, tv_slice account, char kind)
{
    char *end;
    char *key = start_catalog(arena, space, account, kind, 0, &end);

    return (tv_slice){key, (size_t)(end - key)};
}

tv_slice tv_key_catalog(tv_arena *arena, tv_key_space space, tv_slice account)
{
    return catalog(arena, space, account, 0);
}

/* A row of `kind` that goes with a name. */
static tv_slice catalog_name_row(tv_arena *arena, tv_key_space space, tv_slice account, char kind,
                                 tv_slice name)
{
    char *end;
    char *key = start_catalog(arena, space, account, kind, name.len, &end);

    /* Names are ASCII letters, digits, '-' and '$', so this is all the case folding there is. */
    for (size_t i = 0; i < name.len; i++)
        *end++ = tv_ascii_lower(name.data[i]);
    return (tv_slice){key, (size_t)(end - key)};
}

tv_slice tv_key_catalog_name(tv_arena *arena, tv_key_space space, tv_slice account, tv_slice name)
{
    return catalog_name_row(arena, space, account, 'n', name);
}

tv_slice tv_key_catalog_policies(tv_arena *arena, tv_key_space space, tv_slice account,
                                 tv_slice name)
{
    return catalog_name_row(arena, space, account, 'a', name);
}

tv_slice tv_key_catalog_unfenced(tv_arena *arena, tv_key_space space, tv_slice account,
                                 tv_slice name)
{
    return catalog_name_row(arena, space, account, 'u', name);
}

tv_slice tv_key_catalog_properties(tv_arena *arena, tv_key_space space, tv_slice account)
{
    return catalog(arena, space, account, 'p');
}

tv_slice tv_key_catalog_dropped(tv_arena *arena, tv_key_space space, tv_slice account)
{
    return catalog(arena, space, account, 'd');
}

tv_slice tv_key_catalog_dropped_id(tv_arena *arena, tv_key_space space, tv_slice account,
                                   int64_t table_id)
{
    char *end;
    char *key = start_catalog(arena, space, account, 'd', TV_KEY_ID_CHARS, &end);

    end = append_table_id(end, table_id);
    return (tv_slice){key, (size_t)(end - key)};
}

tv_err tv_key_split_dropped(tv_slice dropped_prefix, tv_slice key, int64_t *ret_table_id)
{
    if (!tv_slice_starts_with(key, dropped_prefix))
        return TV_ERR_CORRUPT;

    return read_table_id(tv_slice_skip(key, dropped_prefix.len), ret_table_id);
}

tv_slice tv_key_catalog_last_id(tv_arena *arena, tv_key_space space, tv_slice account)
{
    return catalog(arena, space, account, 'i');
}

tv_slice tv_key_catalog_generation(tv_arena *arena, tv_key_space space, tv_slice account)
{
    return catalog(arena, space, account, 'g');
}

tv_slice tv_key_after(tv_arena *arena, tv_slice prefix)
{
    char *key = tv_arena_bytes(arena, prefix.len);
    size_t len = prefix.len;

    append(key, prefix);
    /* Bytes of 0xFF cannot be raised; the one before them is. */
    while (len > 0 && (unsigned char)key[len - 1] == 0xFF)
        len--;
    tv_assert(len > 0);
    key[len - 1]++;
    return (tv_slice){key, len};
}
