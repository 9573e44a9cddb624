/*
 * Bytes that nobody can guess, from the kernel.  For whatever grants something to
 * anybody who knows it: pop receipts, lease ids, keys of hashes.  Any thread.
 */
#ifndef TV_BASE_RANDOM_H
#define TV_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

void tv_random_bytes(void *to, size_t len);

static inline uint64_t tv_random_u64(void)
{
    uint64_t number;

    tv_random_bytes(&number, sizeof number);
    return number;
}

#endif
