/* Names of objects, and what the first part of an extent says. */
#include <inttypes.h>

#include "base/assert.h"
#include "store/extent/pool/internal.h"
#include "store/extent/trailer.h"

enum { PREFIX_LEN = sizeof TV_EXTENT_OBJECT_PREFIX - 1 };

void tv_pool_extent_name(tv_extent_id id, uint32_t part, char ret_name[TV_EXTENT_OBJECT_SIZE])
{
    int len = snprintf(ret_name, TV_EXTENT_OBJECT_SIZE,
                       TV_EXTENT_OBJECT_PREFIX "%016" PRIx64 "-%016" PRIx64 ".%08" PRIx32, id.boot,
                       id.number, part);

    tv_assert(len == TV_EXTENT_OBJECT_SIZE - 1);
}

/* What we would have named so is ours, nothing else. */
bool tv_pool_extent_name_parse(const char *name, tv_extent_id *ret_id, uint32_t *ret_part)
{
    char again[TV_EXTENT_OBJECT_SIZE];
    tv_extent_id id;
    uint32_t part;

    if (strlen(name) != TV_EXTENT_OBJECT_SIZE - 1 ||
        memcmp(name, TV_EXTENT_OBJECT_PREFIX, PREFIX_LEN) != 0 ||
        sscanf(name + PREFIX_LEN, "%16" SCNx64 "-%16" SCNx64 ".%8" SCNx32, &id.boot, &id.number,
               &part) != 3 ||
        id.boot == 0 || id.boot > TV_EXTENT_BOOT_MAX)
        return false;

    tv_pool_extent_name(id, part, again);
    if (strcmp(name, again) != 0)
        return false;

    *ret_id = id;
    *ret_part = part;
    return true;
}

uint32_t tv_pool_extent_parts(uint64_t length)
{
    uint64_t bytes =
        length + tv_extent_block_count(length) * TV_EXTENT_SUM_BYTES + TV_EXTENT_FOOTER_BYTES;

    return (uint32_t)((bytes + TV_EXTENT_PART_BYTES - 1) / TV_EXTENT_PART_BYTES);
}

/* False when it is not a decimal number that fits. */
static bool parse_number(tv_slice text, uint64_t *ret_number)
{
    uint64_t number = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || number > (uint64_t)INT64_MAX / 10 - 1)
            return false;
        number = 10 * number + (uint64_t)(text.data[i] - '0');
    }
    *ret_number = number;
    return text.len > 0;
}

tv_err tv_pool_extent_look(tv_pool_extents *extents, tv_extent_id id,
                           tv_pool_extent_facts *ret_facts)
{
    char name[TV_EXTENT_OBJECT_SIZE];
    tv_arena arena;
    tv_pool_read read = {.object = name, .kind = TV_POOL_READ_ATTRS, .arena = &arena};
    tv_err err;

    *ret_facts = (tv_pool_extent_facts){.begun = INT64_MAX, .length = UINT64_MAX};
    tv_pool_extent_name(id, 0, name);
    tv_arena_init(&arena);
    err = tv_pool_read_now(extents->options.pool, &read);
    for (size_t i = 0; err == TV_OK && i < read.row_count; i++) {
        uint64_t number;

        if (!parse_number(read.rows[i].value, &number))
            continue;
        if (tv_slice_eq(read.rows[i].key, TV_LIT(TV_EXTENT_ATTR_BEGUN)))
            ret_facts->begun = (int64_t)number;
        else if (tv_slice_eq(read.rows[i].key, TV_LIT(TV_EXTENT_ATTR_LEN)))
            ret_facts->length = number;
    }
    tv_arena_done(&arena);
    return err;
}
