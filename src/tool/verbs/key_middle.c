/*
 * A key is a number: its characters are the digits, in the base of how many letters there are, and
 * behind its end there are lowest digits.  That is not quite the order of texts ("ab" and "ab-" are
 * one number when '-' is the lowest letter), so a middle may be none; see key_middle.h.
 */
#include "key_middle.h"

#include <stdlib.h>
#include <string.h>

static void learn(tool_letters *letters, uint32_t code, const char *bytes, size_t size)
{
    size_t at = 0, most = sizeof letters->list / sizeof letters->list[0];

    while (at < letters->count && letters->list[at].code < code)
        at++;
    if (letters->count == most || (at < letters->count && letters->list[at].code == code))
        return;
    memmove(&letters->list[at + 1], &letters->list[at],
            (letters->count++ - at) * sizeof letters->list[0]);
    letters->list[at].code = code;
    memcpy(letters->list[at].bytes, bytes, size);
    letters->list[at].bytes[size] = '\0';
}

void tool_letters_learn(tool_letters *letters, const char *key)
{
    static const char digits[] = "0123456789";

    for (size_t left = strlen(key), size; left; key += size, left -= size) {
        uint32_t code = tool_utf8_next(key, left, &size);

        for (const char *digit = digits; code >= '0' && code <= '9' && *digit; digit++)
            learn(letters, (unsigned char)*digit, digit, 1);
        learn(letters, code, key, size);
    }
}

/* The digit of a character: its place, or that of the next higher letter; at most the last. */
static unsigned digit_of(const tool_letters *letters, uint32_t code)
{
    size_t at = 0;

    while (at + 1 < letters->count && letters->list[at].code < code)
        at++;
    return (unsigned)at;
}

/* The number of a text, in `count` digits. */
static void to_digits(const tool_letters *letters, const char *text, unsigned *digits, size_t count)
{
    size_t left = strlen(text), size;

    for (size_t i = 0; i < count; i++) {
        digits[i] = left ? digit_of(letters, tool_utf8_next(text, left, &size)) : 0;
        text += left ? size : 0;
        left -= left ? size : 0;
    }
}

/* Half of the sum; `carry` is what stands before the first digit of it. */
static void halve(unsigned *low, const unsigned *high, unsigned carry, size_t count, unsigned base)
{
    for (size_t i = count; i-- > 0;) {
        low[i] += high ? high[i] : 0;
        if (i && low[i] >= base) {
            low[i] -= base;
            low[i - 1]++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        unsigned all = carry * base + low[i];

        low[i] = all / 2;
        carry = all % 2;
    }
}

/* The digits as a text, without lowest letters at its end as long as it stays above `low`. */
static void to_text(const tool_letters *letters, const unsigned *digits, size_t count,
                    const char *low, tool_text *ret_text)
{
    for (size_t used = 0; used <= count; used++) {
        bool is_rest_lowest = true;

        for (size_t i = used; i < count; i++)
            is_rest_lowest &= digits[i] == 0;
        if (is_rest_lowest && ret_text->size && strcmp(ret_text->at, low) > 0)
            return;
        if (used < count)
            tool_text_puts(ret_text, letters->list[digits[used]].bytes);
    }
}

bool tool_letters_middle(const tool_letters *letters, const char *low, const char *high,
                         tool_text *ret_middle)
{
    size_t size = strlen(low) + (high ? strlen(high) : 0) + 1;
    unsigned *middle = tool_alloc(2 * size * sizeof *middle), *above = middle + size;
    bool is_between = false;

    for (size_t count = 1; letters->count > 1 && !is_between && count <= size; count++) {
        tool_text text = {0};

        to_digits(letters, low, middle, count);
        if (high)
            to_digits(letters, high, above, count);
        /* Without a bound above it is the number 1.000, which is one more than all digits say. */
        halve(middle, high ? above : NULL, high ? 0 : 1, count, (unsigned)letters->count);
        to_text(letters, middle, count, low, &text);
        is_between = text.size && strcmp(text.at, low) > 0 && (!high || strcmp(text.at, high) < 0);
        if (is_between)
            tool_text_puts(ret_middle, text.at);
        tool_text_done(&text);
    }
    free(middle);
    return is_between;
}
