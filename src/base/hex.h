/* Hexadecimal digits. */
#ifndef TV_BASE_HEX_H
#define TV_BASE_HEX_H

#include "base/slice.h"

/** The value of a hexadecimal digit in either case, -1 when `c` is not one. */
static inline int tv_hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = tv_ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
