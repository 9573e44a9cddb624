/* Keys that sort as one wants them to. */
#include <stdio.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/utf8.h"
#include "client/memory.h"
#include "client/text.h"
#include "client/why.h"

enum {
    INVERTED_DIGITS = 19,
    KEY_UNITS_MAX = 512, /* 1 KiB of UTF-16 */
};

/* The later, the smaller; times that cannot be are as early or late as can be. */
void tavola_key_inverted(tavola_ticks when, char ret_key[20])
{
    if (ret_key == NULL)
        return;
    if (when < 0)
        when = 0;
    if (when > TV_TICKS_MAX)
        when = TV_TICKS_MAX;
    tavola_key_padded((uint64_t)(TV_TICKS_MAX - when), INVERTED_DIGITS, ret_key,
                      INVERTED_DIGITS + 1);
}

bool tavola_key_from_inverted(const char *key, tavola_ticks *ret_when)
{
    size_t digits = key ? strspn(key, "0123456789") : 0;
    int64_t inverted;

    if (ret_when == NULL || digits != INVERTED_DIGITS ||
        !tv_parse_int64((tv_slice){key, digits}, &inverted) || inverted > TV_TICKS_MAX)
        return false;
    *ret_when = TV_TICKS_MAX - inverted;
    return true;
}

void tavola_key_padded(uint64_t number, unsigned width, char *ret_key, size_t size)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    size_t count = (size_t)len > width ? (size_t)len : width;

    if (ret_key == NULL || size == 0)
        return;
    if (count >= size) {
        ret_key[0] = '\0';
        return;
    }
    memset(ret_key, '0', count - (size_t)len);
    memcpy(ret_key + count - (size_t)len, digits, (size_t)len + 1);
}

char *tavola_key_join(char separator, const char *const *parts)
{
    tvc_text text = {0};

    /* A byte above 7F is half a character. */
    if (parts == NULL || separator == '\0' || (unsigned char)separator >= 0x80) {
        (void)tvc_refuse(TAVOLA_ERR_INVALID, "there are no parts, or the separator is not ASCII");
        return NULL;
    }

    for (size_t i = 0; parts[i]; i++) {
        if (strchr(parts[i], separator)) {
            (void)tvc_refuse(TAVOLA_ERR_INVALID, "part %zu of the key has the separator '%c'",
                             i + 1, separator);
            tvc_text_done(&text);
            return NULL;
        }
        if (i > 0)
            tvc_text_add_char(&text, separator);
        tvc_text_add(&text, tv_slice_of(parts[i]));
    }
    return tvc_text_take(&text);
}

static bool is_forbidden(uint32_t code_point)
{
    return code_point < 0x20 || (code_point >= 0x7F && code_point <= 0x9F) || code_point == '/' ||
           code_point == '\\' || code_point == '#' || code_point == '?';
}

bool tavola_key_is_valid(const char *key)
{
    if (key == NULL)
        return false;

    tv_slice rest = tv_slice_of(key);

    if (!tv_utf8_is_valid(rest) || tv_utf8_units(rest) > KEY_UNITS_MAX)
        return false;
    while (rest.len) {
        if (is_forbidden(tv_utf8_next(&rest)))
            return false;
    }
    return true;
}
