/* Characters of ASCII, whatever the locale, and GUIDs as text. */
#ifndef TV_BASE_CHARS_H
#define TV_BASE_CHARS_H

#include "base/hex.h"
#include "base/slice.h"

static inline bool tv_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool tv_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool tv_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool tv_is_hex(char c)
{
    return tv_hex_value(c) >= 0;
}

enum { TV_GUID_CHARS = 36 };

/** Whether a text begins with a GUID, 8-4-4-4-12 digits of either case. */
static inline bool tv_begins_with_guid(tv_slice text)
{
    if (text.len < TV_GUID_CHARS)
        return false;
    for (int i = 0; i < TV_GUID_CHARS; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (is_dash ? text.data[i] != '-' : !tv_is_hex(text.data[i]))
            return false;
    }
    return true;
}

#endif
