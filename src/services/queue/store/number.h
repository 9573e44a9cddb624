/* Numbers in rows and receipts: eight bytes, most significant first, on every machine. */
#ifndef TV_SERVICES_QUEUE_STORE_NUMBER_H
#define TV_SERVICES_QUEUE_STORE_NUMBER_H

#include <stdint.h>

enum { TV_NUMBER_BYTES = 8 };

static inline void tv_number_put(char *to, int64_t number)
{
    for (int i = 0; i < TV_NUMBER_BYTES; i++)
        to[i] = (char)((uint64_t)number >> (56 - 8 * i));
}

static inline int64_t tv_number_get(const char *from)
{
    uint64_t number = 0;

    for (int i = 0; i < TV_NUMBER_BYTES; i++)
        number = number << 8 | (unsigned char)from[i];
    return (int64_t)number;
}

#endif
