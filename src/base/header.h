/*
 * One header of a request: what the HTTP layer reads and signatures cover.
 */
#ifndef TV_BASE_HEADER_H
#define TV_BASE_HEADER_H

#include <stdint.h>

#include "base/slice.h"

typedef struct tv_header {
    tv_slice name;  /* as sent */
    tv_slice value; /* without blanks at its ends */
} tv_header;

/** Up to eight bytes of a name; its letters in one case, other bytes changed alike in all names. */
static inline uint64_t tv_header_key_part(const char *from, size_t len)
{
    uint64_t word = 0;

    memcpy(&word, from, len);
    return word | 0x2020202020202020;
}

/**
 * A number that names which differ only in case share, and different names
 * hardly ever: made of the length and both ends of a name, where those of the
 * services differ.  The compiler knows it when it knows the name.
 */
static inline uint32_t tv_header_key(tv_slice name)
{
    uint64_t key = name.len;

    if (name.len >= 8) {
        key += tv_header_key_part(name.data, 8) * 0x9e3779b97f4a7c15;
        key ^= tv_header_key_part(name.data + name.len - 8, 8) * 0xc2b2ae3d27d4eb4f;
    } else if (name.len) {
        key += tv_header_key_part(name.data, name.len) * 0x9e3779b97f4a7c15;
    }
    return (uint32_t)(key >> 32);
}

#endif
