/* Base 64. */
#include "base/base64.h"

#include <stdint.h>

static const char alphabet[64] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* What a character stands for, plus one; 0 for those outside the alphabet. */
static const uint8_t sextets[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

void tv_base64_encode(char *to, tv_slice bytes)
{
    const uint8_t *at = (const uint8_t *)bytes.data;
    size_t left = bytes.len;

    for (; left >= 3; left -= 3, at += 3) {
        *to++ = alphabet[at[0] >> 2];
        *to++ = alphabet[(at[0] & 3) << 4 | at[1] >> 4];
        *to++ = alphabet[(at[1] & 15) << 2 | at[2] >> 6];
        *to++ = alphabet[at[2] & 63];
    }
    if (left) {
        uint8_t second = left == 2 ? at[1] : 0;

        *to++ = alphabet[at[0] >> 2];
        *to++ = alphabet[(at[0] & 3) << 4 | second >> 4];
        *to++ = left == 2 ? alphabet[(second & 15) << 2] : '=';
        *to++ = '=';
    }
}

/* Read `count` characters into the upper bits of a 24 bit group; false for another character. */
static bool read_group(const uint8_t *at, size_t count, uint32_t *ret_bits)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t sextet = sextets[at[i]];

        if (sextet == 0)
            return false;
        bits |= (sextet - 1) << (18 - 6 * i);
    }
    *ret_bits = bits;
    return true;
}

bool tv_base64_decode(char *to, tv_slice text, size_t *ret_len)
{
    const uint8_t *at = (const uint8_t *)text.data;
    const char *start = to;
    size_t count = text.len;
    uint32_t bits;

    if (count % 4 != 0)
        return false;

    for (int padding = 0; padding < 2 && count && at[count - 1] == '='; padding++)
        count--;
    for (; count >= 4; count -= 4, at += 4) {
        if (!read_group(at, 4, &bits))
            return false;
        *to++ = (char)(bits >> 16);
        *to++ = (char)(bits >> 8);
        *to++ = (char)bits;
    }
    if (count) {
        /* Two characters carry one byte, three carry two; the bits after them must be zero. */
        if (!read_group(at, count, &bits) || (bits & (count == 2 ? 0xFFFF : 0xFF)))
            return false;
        *to++ = (char)(bits >> 16);
        if (count == 3)
            *to++ = (char)(bits >> 8);
    }
    *ret_len = (size_t)(to - start);
    return true;
}
