/* Reading and writing the trailer of an extent's file. */
#include "extent/trailer.h"

#include <endian.h>

#include "base/crc32c.h"

enum { MAGIC_BYTES = 8, LENGTH_AT = 8, BLOCK_AT = 16, SUM_AT = 20 };

static const char magic[MAGIC_BYTES] = {'t', 'v', 'e', 'x', 't', 'e', 'n', 't'};

void tv_extent_sum_encode(uint32_t sum, char to[TV_EXTENT_SUM_BYTES])
{
    sum = htole32(sum);
    memcpy(to, &sum, sizeof sum);
}

uint32_t tv_extent_sum_decode(const char from[TV_EXTENT_SUM_BYTES])
{
    uint32_t sum;

    memcpy(&sum, from, sizeof sum);
    return le32toh(sum);
}

void tv_extent_footer_encode(uint64_t length, char to[TV_EXTENT_FOOTER_BYTES])
{
    uint64_t length_le = htole64(length);

    memcpy(to, magic, sizeof magic);
    memcpy(to + LENGTH_AT, &length_le, sizeof length_le);
    tv_extent_sum_encode(TV_EXTENT_BLOCK_BYTES, to + BLOCK_AT);
    tv_extent_sum_encode(tv_crc32c(0, (tv_slice){to, SUM_AT}), to + SUM_AT);
}

bool tv_extent_footer_is_of(const char from[TV_EXTENT_FOOTER_BYTES], uint64_t length)
{
    char want[TV_EXTENT_FOOTER_BYTES];

    tv_extent_footer_encode(length, want);
    return memcmp(from, want, sizeof want) == 0;
}
