/*
 * What follows the data in an extent's file: a checksum (CRC-32C) for every
 * block of the data, and a footer.
 *
 *     data      `length` bytes
 *     table     4 bytes for each block of TV_EXTENT_BLOCK_BYTES, the last may be short
 *     footer    8 bytes "tvextent", 8 bytes length, 4 bytes block size,
 *               4 bytes CRC-32C of the 20 bytes before
 *
 * Numbers are little-endian.  The data comes first, so that a range is read where it
 * lies and a link carries the checksums along.  The table has no checksum of its own:
 * damage there shows as a block that does not match, and so a range needs only the
 * entries of its own blocks.  Private to extent/.
 */
#ifndef TV_EXTENT_TRAILER_H
#define TV_EXTENT_TRAILER_H

#include <stdint.h>

#include "base/slice.h"

enum {
    TV_EXTENT_BLOCK_BYTES = 16 * 1024, /* what the shortest read has to look at */
    TV_EXTENT_SUM_BYTES = 4,
    TV_EXTENT_FOOTER_BYTES = 24,
};

static inline uint64_t tv_extent_block_count(uint64_t length)
{
    return length / TV_EXTENT_BLOCK_BYTES + (length % TV_EXTENT_BLOCK_BYTES > 0);
}

/** One entry of the table. */
void tv_extent_sum_encode(uint32_t sum, char to[TV_EXTENT_SUM_BYTES]);
uint32_t tv_extent_sum_decode(const char from[TV_EXTENT_SUM_BYTES]);

void tv_extent_footer_encode(uint64_t length, char to[TV_EXTENT_FOOTER_BYTES]);

/** Whether this is the footer of an extent of that length. */
bool tv_extent_footer_is_of(const char from[TV_EXTENT_FOOTER_BYTES], uint64_t length);

#endif
