/* Guids: text, and new ones from generators that each thread has to itself. */
#include "base/guid.h"

#include <errno.h>
#include <sys/random.h>

#include "base/assert.h"
#include "base/hex.h"
#include "base/random.h"

static const char hex_digits[] = "0123456789abcdef";

/* A dash precedes these bytes. */
static bool is_after_dash(size_t byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

bool tv_guid_parse(tv_slice text, tv_guid *ret_guid)
{
    const char *at = text.data;
    tv_guid guid;

    if (text.len != TV_GUID_TEXT_LEN)
        return false;

    for (size_t i = 0; i < sizeof guid.bytes; i++, at += 2) {
        if (is_after_dash(i) && *at++ != '-')
            return false;

        int high = tv_hex_value(at[0]), low = tv_hex_value(at[1]);

        if (high < 0 || low < 0)
            return false;
        guid.bytes[i] = (uint8_t)(high * 16 + low);
    }
    *ret_guid = guid;
    return true;
}

/* 32 digits and nothing else. */
static bool parse_digits(tv_slice text, tv_guid *ret_guid)
{
    tv_guid guid;

    if (text.len != 2 * sizeof guid.bytes)
        return false;

    for (size_t i = 0; i < sizeof guid.bytes; i++) {
        int high = tv_hex_value(text.data[2 * i]), low = tv_hex_value(text.data[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        guid.bytes[i] = (uint8_t)(high * 16 + low);
    }
    *ret_guid = guid;
    return true;
}

/* Pass one character; blanks before it are skipped. */
static bool pass(tv_slice *rest, char c)
{
    *rest = tv_slice_trim(*rest);
    if (rest->len == 0 || rest->data[0] != c)
        return false;

    *rest = tv_slice_skip(*rest, 1);
    return true;
}

/* A number, "0x" and at least one digit, of up to `size` bytes. */
static bool parse_number(tv_slice *rest, uint8_t *to, size_t size)
{
    uint32_t number = 0;
    size_t count = 0;

    if (!pass(rest, '0') || rest->len == 0 || tv_ascii_lower(rest->data[0]) != 'x')
        return false;

    *rest = tv_slice_skip(*rest, 1);
    for (; count < rest->len && tv_hex_value(rest->data[count]) >= 0; count++) {
        if (count == 2 * size)
            return false;
        number = number << 4 | (uint32_t)tv_hex_value(rest->data[count]);
    }
    *rest = tv_slice_skip(*rest, count);
    for (size_t i = size; i > 0; i--, number >>= 8)
        to[i - 1] = (uint8_t)number;
    return count > 0;
}

static bool parse_numbers(tv_slice text, tv_guid *ret_guid)
{
    static const uint8_t sizes[] = {4, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1};
    tv_guid guid;
    size_t at = 0;

    if (!pass(&text, '{'))
        return false;

    for (size_t i = 0; i < sizeof sizes; i++) {
        if ((i > 0 && !pass(&text, ',')) || (i == 3 && !pass(&text, '{')) ||
            !parse_number(&text, guid.bytes + at, sizes[i]))
            return false;
        at += sizes[i];
    }
    if (!pass(&text, '}') || !pass(&text, '}') || text.len)
        return false;

    *ret_guid = guid;
    return true;
}

bool tv_guid_parse_any(tv_slice text, tv_guid *ret_guid)
{
    text = tv_slice_trim(text);
    if (text.len == TV_GUID_TEXT_LEN + 2) {
        char first = text.data[0], last = text.data[text.len - 1];

        if ((first == '{' && last == '}') || (first == '(' && last == ')'))
            text = tv_slice_take(tv_slice_skip(text, 1), TV_GUID_TEXT_LEN);
    }
    return tv_guid_parse(text, ret_guid) || parse_digits(text, ret_guid) ||
           parse_numbers(text, ret_guid);
}

void tv_guid_format(char to[TV_GUID_TEXT_LEN], const tv_guid *guid)
{
    for (size_t i = 0; i < sizeof guid->bytes; i++) {
        if (is_after_dash(i))
            *to++ = '-';
        *to++ = hex_digits[guid->bytes[i] >> 4];
        *to++ = hex_digits[guid->bytes[i] & 15];
    }
}

/*
 * xoshiro256** (Blackman and Vigna): 256 bits of state, seeded once per thread
 * by the kernel, so that two threads or two runs never share a sequence.
 */
static _Thread_local struct {
    uint64_t s[4];
    bool seeded;
} generator;

static void seed_generator(void)
{
    ssize_t count;

    do {
        count = getrandom(generator.s, sizeof generator.s, 0);
    } while (count < 0 && errno == EINTR);
    tv_assert(count == sizeof generator.s);
    generator.seeded = true;
}

static uint64_t rotate_left(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t next_random(void)
{
    uint64_t *s = generator.s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

static tv_guid mark(tv_guid guid)
{
    guid.bytes[6] = (guid.bytes[6] & 0x0F) | 0x40; /* version 4: random */
    guid.bytes[8] = (guid.bytes[8] & 0x3F) | 0x80; /* the variant of RFC 4122 */
    return guid;
}

tv_guid tv_guid_new(void)
{
    tv_guid guid;

    if (!generator.seeded)
        seed_generator();

    uint64_t words[2] = {next_random(), next_random()};

    memcpy(guid.bytes, words, sizeof guid.bytes);
    return mark(guid);
}

tv_guid tv_guid_new_secret(void)
{
    tv_guid guid;

    tv_random_bytes(guid.bytes, sizeof guid.bytes);
    return mark(guid);
}
