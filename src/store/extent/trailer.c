/* Reading and writing the trailer of an extent's file. */
#include "store/extent/trailer.h"

#include <endian.h>

#include "base/crc32c.h"

enum { MAGIC_BYTES = 8, LENGTH_AT = 8, BLOCK_AT = 16, SUM_AT = 20, ID_AT = 24, NUMBER_BYTES = 8 };

static const char magic[MAGIC_BYTES] = {'t', 'v', 'e', 'x', 't', 'e', 'n', 't'};
static const char magic_with_id[MAGIC_BYTES] = {'t', 'v', 'e', 'x', 't', 'i', 'd', '2'};

static void put_number(uint64_t number, char to[NUMBER_BYTES])
{
    number = htole64(number);
    memcpy(to, &number, sizeof number);
}

static uint64_t get_number(const char from[NUMBER_BYTES])
{
    uint64_t number;

    memcpy(&number, from, sizeof number);
    return le64toh(number);
}

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

uint32_t tv_extent_sum_begin(const tv_extent_seal *seal, uint64_t block)
{
    char place[3 * NUMBER_BYTES];

    if (!seal->has_id)
        return 0;
    put_number(seal->id.boot, place);
    put_number(seal->id.number, place + NUMBER_BYTES);
    put_number(block, place + 2 * NUMBER_BYTES);
    return tv_crc32c(0, (tv_slice){place, sizeof place});
}

size_t tv_extent_footer_encode(uint64_t length, const tv_extent_seal *seal,
                               char to[TV_EXTENT_FOOTER_BYTES_MAX])
{
    size_t id_bytes = seal->has_id ? TV_EXTENT_ID_BYTES : 0;
    uint32_t sum;

    memcpy(to, seal->has_id ? magic_with_id : magic, MAGIC_BYTES);
    put_number(length, to + LENGTH_AT);
    tv_extent_sum_encode(TV_EXTENT_BLOCK_BYTES, to + BLOCK_AT);
    if (seal->has_id) {
        put_number(seal->id.boot, to + ID_AT);
        put_number(seal->id.number, to + ID_AT + NUMBER_BYTES);
    }
    sum = tv_crc32c(0, (tv_slice){to, SUM_AT});
    tv_extent_sum_encode(tv_crc32c(sum, (tv_slice){to + ID_AT, id_bytes}), to + SUM_AT);
    return TV_EXTENT_FOOTER_BYTES + id_bytes;
}

bool tv_extent_footer_decode(tv_slice from, uint64_t length, tv_extent_seal *ret_seal)
{
    char want[TV_EXTENT_FOOTER_BYTES_MAX];
    tv_extent_seal seal = {0};

    if (from.len >= TV_EXTENT_FOOTER_BYTES_MAX &&
        memcmp(from.data, magic_with_id, MAGIC_BYTES) == 0)
        seal = (tv_extent_seal){true,
                                {.boot = get_number(from.data + ID_AT),
                                 .number = get_number(from.data + ID_AT + NUMBER_BYTES)}};

    size_t len = tv_extent_footer_encode(length, &seal, want);

    if (from.len < len || memcmp(from.data, want, len) != 0)
        return false;
    *ret_seal = seal;
    return true;
}
