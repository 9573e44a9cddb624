/* The stored form of an entity. */
#include "model/entity/entity.h"

#include <endian.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/utf8.h"

enum { TIMESTAMP_BYTES = 8, VARINT_BYTES_MAX = 5 };

/* No other instant can be formatted: none is written, and the bytes of one are damaged. */
static bool is_instant(uint64_t ticks)
{
    return ticks <= (uint64_t)TV_TICKS_MAX;
}

/* --- writing --- */

static char *put_fixed(char *to, uint64_t value, int byte_count)
{
    for (int i = 0; i < byte_count; i++)
        *to++ = (char)(value >> (8 * i));
    return to;
}

static char *put_varint(char *to, size_t value)
{
    tv_assert(value <= UINT32_MAX);
    while (value >= 0x80) {
        *to++ = (char)(value | 0x80);
        value >>= 7;
    }
    *to++ = (char)value;
    return to;
}

static char *put_bytes(char *to, tv_slice bytes)
{
    to = put_varint(to, bytes.len);
    if (bytes.len)
        memcpy(to, bytes.data, bytes.len);
    return to + bytes.len;
}

static char *put_value(char *to, const tv_property *property)
{
    uint64_t bits;

    switch (property->type) {
    case TV_EDM_STRING:
    case TV_EDM_BINARY:
        return put_bytes(to, property->bytes);
    case TV_EDM_BOOLEAN:
        return put_fixed(to, property->boolean, 1);
    case TV_EDM_INT32:
        return put_fixed(to, (uint32_t)property->int32, 4);
    case TV_EDM_INT64:
        return put_fixed(to, (uint64_t)property->int64, 8);
    case TV_EDM_DATETIME:
        tv_assert(is_instant((uint64_t)property->ticks));
        return put_fixed(to, (uint64_t)property->ticks, 8);
    case TV_EDM_DOUBLE:
        memcpy(&bits, &property->real, sizeof bits);
        return put_fixed(to, bits, 8);
    case TV_EDM_GUID:
        memcpy(to, property->guid.bytes, sizeof property->guid.bytes);
        return to + sizeof property->guid.bytes;
    }
    tv_assert(!"a property type");
    return to;
}

static size_t encoded_bytes_max(const tv_property *property)
{
    bool has_bytes = property->type == TV_EDM_STRING || property->type == TV_EDM_BINARY;

    return 1 + VARINT_BYTES_MAX + property->name.len + VARINT_BYTES_MAX +
           (has_bytes ? property->bytes.len : sizeof property->guid);
}

tv_slice tv_entity_encode(tv_arena *arena, const tv_entity_properties *properties)
{
    size_t size = TIMESTAMP_BYTES;

    tv_assert(properties->count <= TV_ENTITY_PROPERTIES_MAX);
    for (size_t i = 0; i < properties->count; i++)
        size += encoded_bytes_max(&properties->list[i]);

    char *value = tv_arena_bytes(arena, size);
    char *to = put_fixed(value, 0, TIMESTAMP_BYTES);

    for (size_t i = 0; i < properties->count; i++) {
        *to++ = (char)properties->list[i].type;
        to = put_bytes(to, properties->list[i].name);
        to = put_value(to, &properties->list[i]);
    }
    tv_assert((size_t)(to - value) <= size);
    return (tv_slice){value, (size_t)(to - value)};
}

void tv_entity_set_timestamp(tv_slice value, int64_t ticks)
{
    tv_assert(value.len >= TIMESTAMP_BYTES && ticks > 0 && is_instant((uint64_t)ticks));
    put_fixed((char *)value.data, (uint64_t)ticks, TIMESTAMP_BYTES);
}

/* --- reading: every length is checked, because disks lie --- */

static uint64_t get_fixed(const char *from, int byte_count)
{
    uint64_t eight;
    uint32_t four;

    switch (byte_count) {
    case 8:
        memcpy(&eight, from, sizeof eight);
        return le64toh(eight);
    case 4:
        memcpy(&four, from, sizeof four);
        return le32toh(four);
    case 1:
        return (unsigned char)*from;
    default:
        break;
    }
    tv_assert(!"a size of a number");
    return 0;
}

static bool get_bytes(tv_entity_cursor *cursor, tv_slice *ret_bytes)
{
    uint64_t len = 0;
    int shift = 0;

    for (;;) {
        if (cursor->at == cursor->end || shift > 28)
            return false;
        unsigned char byte = (unsigned char)*cursor->at++;
        len |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte < 0x80)
            break;
    }
    if (len > (uint64_t)(cursor->end - cursor->at))
        return false;

    *ret_bytes = (tv_slice){cursor->at, (size_t)len};
    cursor->at += len;
    return true;
}

static bool get_value(tv_entity_cursor *cursor, tv_property *property)
{
    static const unsigned char sizes[] = {
        [TV_EDM_BOOLEAN] = 1, [TV_EDM_INT32] = 4,    [TV_EDM_INT64] = 8,
        [TV_EDM_DOUBLE] = 8,  [TV_EDM_DATETIME] = 8, [TV_EDM_GUID] = 16,
    };
    uint64_t bits;

    if (property->type == TV_EDM_STRING || property->type == TV_EDM_BINARY)
        return get_bytes(cursor, &property->bytes);
    if (property->type < TV_EDM_STRING || property->type > TV_EDM_BINARY)
        return false;

    int size = sizes[property->type];

    if (cursor->end - cursor->at < size)
        return false;
    if (property->type == TV_EDM_GUID) {
        memcpy(property->guid.bytes, cursor->at, sizeof property->guid.bytes);
        cursor->at += size;
        return true;
    }

    bits = get_fixed(cursor->at, size);
    cursor->at += size;
    if (property->type == TV_EDM_DATETIME && !is_instant(bits))
        return false;
    if (property->type == TV_EDM_BOOLEAN)
        property->boolean = bits != 0;
    else if (property->type == TV_EDM_INT32)
        property->int32 = (int32_t)(uint32_t)bits;
    else if (property->type == TV_EDM_DOUBLE)
        memcpy(&property->real, &bits, sizeof bits);
    else
        property->int64 = (int64_t)bits; /* Int64, and the ticks of a DateTime */
    return true;
}

tv_err tv_entity_timestamp(tv_slice value, int64_t *ret_ticks)
{
    uint64_t ticks =
        value.len < TIMESTAMP_BYTES ? UINT64_MAX : get_fixed(value.data, TIMESTAMP_BYTES);

    if (!is_instant(ticks))
        return TV_ERR_CORRUPT;

    *ret_ticks = (int64_t)ticks;
    return TV_OK;
}

void tv_entity_cursor_init(tv_entity_cursor *cursor, tv_slice value)
{
    *cursor = (tv_entity_cursor){.at = value.data, .end = value.data + value.len};
    if (tv_entity_timestamp(value, &cursor->timestamp)) {
        cursor->is_corrupt = true;
        return;
    }
    cursor->at += TIMESTAMP_BYTES;
}

bool tv_entity_next(tv_entity_cursor *cursor, tv_property *ret_property)
{
    if (cursor->is_corrupt || cursor->at == cursor->end)
        return false;

    ret_property->type = (tv_edm_type)(unsigned char)*cursor->at++;
    if (!get_bytes(cursor, &ret_property->name) || !get_value(cursor, ret_property)) {
        cursor->is_corrupt = true;
        return false;
    }
    return true;
}

tv_err tv_entity_check(tv_slice value)
{
    tv_entity_cursor cursor;
    tv_property property;

    tv_entity_cursor_init(&cursor, value);
    while (tv_entity_next(&cursor, &property))
        ;
    return cursor.is_corrupt ? TV_ERR_CORRUPT : TV_OK;
}

/* --- lists of properties --- */

/*
 * Ordinal order is that of UTF-16 units.  It differs from that of UTF-8 bytes
 * only where a character beyond the BMP meets one from U+E000 on; no client
 * relies on the order of properties, so bytes will do.
 */
static int compare_names(const void *a, const void *b)
{
    return tv_slice_cmp(((const tv_property *)a)->name, ((const tv_property *)b)->name);
}

void tv_entity_properties_sort(tv_entity_properties *properties)
{
    if (properties->count > 1)
        qsort(properties->list, properties->count, sizeof *properties->list, compare_names);
}

static bool has_name(const tv_entity_properties *properties, tv_slice name)
{
    for (size_t i = 0; i < properties->count; i++) {
        if (tv_slice_eq(properties->list[i].name, name))
            return true;
    }
    return false;
}

tv_err tv_entity_merge(tv_arena *arena, tv_slice stored, const tv_entity_properties *changes,
                       tv_entity_properties *ret_merged)
{
    size_t count_max = TV_ENTITY_PROPERTIES_MAX + changes->count;
    tv_entity_properties merged = {tv_arena_alloc(arena, count_max * sizeof(tv_property)), 0};
    tv_entity_cursor cursor;
    tv_property property;

    tv_entity_cursor_init(&cursor, stored);
    while (tv_entity_next(&cursor, &property)) {
        if (merged.count == TV_ENTITY_PROPERTIES_MAX)
            return TV_ERR_CORRUPT;
        if (!has_name(changes, property.name))
            merged.list[merged.count++] = property;
    }
    if (cursor.is_corrupt)
        return TV_ERR_CORRUPT;

    for (size_t i = 0; i < changes->count; i++)
        merged.list[merged.count++] = changes->list[i];
    tv_entity_properties_sort(&merged);
    *ret_merged = merged;
    return TV_OK;
}

static size_t cost_of_keys(tv_slice partition_key, tv_slice row_key)
{
    return 4 + 2 * (tv_utf8_units(partition_key) + tv_utf8_units(row_key));
}

size_t tv_entity_cost(tv_slice partition_key, tv_slice row_key, tv_slice value)
{
    size_t cost = cost_of_keys(partition_key, row_key);
    tv_entity_cursor cursor;
    tv_property property;

    tv_entity_cursor_init(&cursor, value);
    while (tv_entity_next(&cursor, &property))
        cost += tv_property_cost(&property);
    return cost;
}

/* A string has at most as many UTF-16 units as bytes: count only long ones. */
static bool is_too_large(const tv_property *property)
{
    tv_slice bytes = property->bytes;

    if (property->type == TV_EDM_STRING)
        return bytes.len > TV_PROPERTY_STRING_UNITS_MAX &&
               tv_utf8_units(bytes) > TV_PROPERTY_STRING_UNITS_MAX;
    return property->type == TV_EDM_BINARY && bytes.len > TV_PROPERTY_BINARY_BYTES_MAX;
}

tv_err tv_entity_check_limits(tv_slice partition_key, tv_slice row_key,
                              const tv_entity_properties *properties)
{
    size_t cost = cost_of_keys(partition_key, row_key);
    bool has_large_value = false;

    if (properties->count > TV_ENTITY_PROPERTIES_MAX)
        return TV_ERR_TOO_MANY_PROPERTIES;

    for (size_t i = 0; i < properties->count; i++) {
        cost += tv_property_cost(&properties->list[i]);
        has_large_value |= is_too_large(&properties->list[i]);
    }
    if (cost > TV_ENTITY_COST_MAX)
        return TV_ERR_ENTITY_TOO_LARGE;
    return has_large_value ? TV_ERR_PROPERTY_VALUE_TOO_LARGE : TV_OK;
}
