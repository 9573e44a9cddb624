/*
 * For tests of entities: when two properties are the same, and random ones.
 */
#ifndef TV_TESTS_UNIT_TABLE_PROPERTIES_H
#define TV_TESTS_UNIT_TABLE_PROPERTIES_H

#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "model/entity/entity.h"

/* By bits, so that NaN equals itself and -0.0 differs from 0.0. */
static inline bool same_property(const tv_property *a, const tv_property *b)
{
    if (a->type != b->type || !tv_slice_eq(a->name, b->name))
        return false;

    switch (a->type) {
    case TV_EDM_STRING:
    case TV_EDM_BINARY:
        return tv_slice_eq(a->bytes, b->bytes);
    case TV_EDM_BOOLEAN:
        return a->boolean == b->boolean;
    case TV_EDM_INT32:
        return a->int32 == b->int32;
    case TV_EDM_INT64:
        return a->int64 == b->int64;
    case TV_EDM_DOUBLE:
        return memcmp(&a->real, &b->real, sizeof a->real) == 0;
    case TV_EDM_DATETIME:
        return a->ticks == b->ticks;
    case TV_EDM_GUID:
        return memcmp(&a->guid, &b->guid, sizeof a->guid) == 0;
    }
    return false;
}

/* Whether a walk over `value` yields just these properties. */
static inline bool walks_to(tv_slice value, const tv_entity_properties *want)
{
    tv_entity_cursor cursor;
    tv_property property;
    size_t count = 0;

    tv_entity_cursor_init(&cursor, value);
    while (tv_entity_next(&cursor, &property)) {
        if (count == want->count || !same_property(&property, &want->list[count]))
            return false;
        count++;
    }
    return !cursor.is_corrupt && count == want->count;
}

static inline tv_slice random_text(tv_arena *arena, uint64_t (*next)(void), size_t chars_max)
{
    static const uint32_t limits[] = {0x80, 0x80, 0x80, 0x800, 0xD800, 0x110000};
    size_t count = next() % (chars_max + 1), len = 0;
    char *text = tv_arena_bytes(arena, 4 * count);

    while (count--) {
        uint32_t c = (uint32_t)(next() % limits[next() % 6]);

        if (c >= 0xD800 && c <= 0xDFFF)
            c = '\\';
        len += tv_utf8_put(text + len, c);
    }
    return (tv_slice){text, len};
}

static inline tv_property random_property(tv_arena *arena, uint64_t (*next)(void), size_t index)
{
    tv_property property = {
        .name = tv_arena_printf(arena, "p%zu%.*s", index, (int)(next() % 20),
                                "_abcdefghijklmnopqrstuvw"),
        .type = (tv_edm_type)(TV_EDM_STRING + next() % 8),
    };
    uint64_t bits = next();

    switch (property.type) {
    case TV_EDM_STRING:
        property.bytes = random_text(arena, next, next() % 8 ? 20 : 500);
        break;
    case TV_EDM_BINARY:
        property.bytes = random_text(arena, next, next() % 8 ? 20 : 500);
        break;
    case TV_EDM_BOOLEAN:
        property.boolean = bits & 1;
        break;
    case TV_EDM_INT32:
        property.int32 = (int32_t)(uint32_t)bits;
        break;
    case TV_EDM_INT64:
        property.int64 = (int64_t)bits;
        break;
    case TV_EDM_DOUBLE:
        memcpy(&property.real, &bits, sizeof bits);
        break;
    case TV_EDM_DATETIME:
        property.ticks =
            TV_TICKS_MIN + (int64_t)(bits % (uint64_t)(TV_TICKS_MAX - TV_TICKS_MIN + 1));
        break;
    case TV_EDM_GUID:
        memcpy(property.guid.bytes, &bits, sizeof bits);
        memset(property.guid.bytes + sizeof bits, (int)(bits >> 7 & 0xFF), sizeof bits);
        break;
    }
    return property;
}

static inline tv_entity_properties random_properties(tv_arena *arena, uint64_t (*next)(void),
                                                     size_t count)
{
    tv_entity_properties properties = {tv_arena_alloc(arena, count * sizeof(tv_property)), count};

    for (size_t i = 0; i < count; i++)
        properties.list[i] = random_property(arena, next, i);
    return properties;
}

#endif
