/*
 * What follows the data in an extent's file: a checksum (CRC-32C) for every
 * block of the data, and a footer.
 *
 *     data      `length` bytes
 *     table     4 bytes for each block of TV_EXTENT_BLOCK_BYTES, the last may be short
 *     footer    8 bytes "tvextid2", 8 bytes length, 4 bytes block size,
 *               4 bytes CRC-32C of the 20 bytes before and the 16 after,
 *               8 bytes boot and 8 bytes number of the extent that was written here
 *
 * The sum of a block is that of boot, number and the number of the block (8 bytes each) and of its
 * data, so what belongs elsewhere does not match.  A link has the bytes of another extent, and so
 * that one's id.
 *
 * Extents of a pool, and files of before, have the footer "tvextent" without an id, and sums of the
 * data alone.
 *
 * Numbers are little-endian.  The data comes first, so that a range is read where it
 * lies and a link carries the checksums along.  The table has no checksum of its own:
 * damage there shows as a block that does not match, and so a range needs only the
 * entries of its own blocks.  Private to extent/.
 */
#ifndef TV_STORE_EXTENT_TRAILER_H
#define TV_STORE_EXTENT_TRAILER_H

#include <stdint.h>

#include "base/slice.h"
#include "store/extent/extent.h"

enum {
    TV_EXTENT_BLOCK_BYTES = 16 * 1024, /* what the shortest read has to look at */
    TV_EXTENT_SUM_BYTES = 4,
    TV_EXTENT_FOOTER_BYTES = 24, /* without an id */
    TV_EXTENT_ID_BYTES = 16,
    TV_EXTENT_FOOTER_BYTES_MAX = TV_EXTENT_FOOTER_BYTES + TV_EXTENT_ID_BYTES,
};

/** Whose bytes these are, if they say so. */
typedef struct tv_extent_seal {
    bool has_id;
    tv_extent_id id;
} tv_extent_seal;

static inline uint64_t tv_extent_block_count(uint64_t length)
{
    return length / TV_EXTENT_BLOCK_BYTES + (length % TV_EXTENT_BLOCK_BYTES > 0);
}

/** One entry of the table. */
void tv_extent_sum_encode(uint32_t sum, char to[TV_EXTENT_SUM_BYTES]);
uint32_t tv_extent_sum_decode(const char from[TV_EXTENT_SUM_BYTES]);

/** What the sum of a block begins with. */
uint32_t tv_extent_sum_begin(const tv_extent_seal *seal, uint64_t block);

/** Returns how many bytes it has. */
size_t tv_extent_footer_encode(uint64_t length, const tv_extent_seal *seal,
                               char to[TV_EXTENT_FOOTER_BYTES_MAX]);

/** Whether this is the footer of an extent of that length; `from` has all that is there of it. */
bool tv_extent_footer_decode(tv_slice from, uint64_t length, tv_extent_seal *ret_seal);

#endif
