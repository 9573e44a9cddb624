/*
 * An entity as it is stored: the value of its row.  (The keys are in the row's
 * key.)  The bytes, all numbers little-endian:
 *
 *     timestamp            8 bytes, ticks; the ETag is made of it
 *     then per property:
 *       type               1 byte, tv_edm_type
 *       name length        varint, then the name in UTF-8
 *       value              Boolean 1, Int32 4, Int64 Double DateTime 8, Guid 16 bytes;
 *                          String and Binary: varint length, then the bytes
 *
 * Readers walk it with a cursor and build nothing.
 */
#ifndef TV_MODEL_ENTITY_ENTITY_H
#define TV_MODEL_ENTITY_ENTITY_H

#include "base/arena.h"
#include "base/err.h"
#include "model/odata/edm.h"

enum {
    TV_ENTITY_PROPERTIES_MAX = 252,       /* without the three system properties */
    TV_ENTITY_COST_MAX = 1024 * 1024,     /* by tv_entity_cost */
    TV_PROPERTY_NAME_UNITS_MAX = 255,     /* UTF-16 units */
    TV_PROPERTY_STRING_UNITS_MAX = 32768, /* UTF-16 units */
    TV_PROPERTY_BINARY_BYTES_MAX = 65536,
};

/** A list of properties with distinct names. */
typedef struct tv_entity_properties {
    tv_property *list;
    size_t count;
} tv_entity_properties;

/** Row value with timestamp 0; give it its time with tv_entity_set_timestamp before it is stored.
 */
tv_slice tv_entity_encode(tv_arena *arena, const tv_entity_properties *properties);

/** Write the timestamp into a value made by tv_entity_encode. */
void tv_entity_set_timestamp(tv_slice value, int64_t ticks);

/** Walks over the properties of a stored value. */
typedef struct tv_entity_cursor {
    const char *at, *end;
    int64_t timestamp;
    bool is_corrupt; /* the bytes are not an entity; the walk has ended */
} tv_entity_cursor;

/** Begin a walk.  `value` outlives the cursor and the properties it hands out. */
void tv_entity_cursor_init(tv_entity_cursor *cursor, tv_slice value);

/** The next property; false at the end or when is_corrupt has been set. */
bool tv_entity_next(tv_entity_cursor *cursor, tv_property *ret_property);

/** Ticks of a stored value; TV_ERR_CORRUPT when they are not valid. */
tv_err tv_entity_timestamp(tv_slice value, int64_t *ret_ticks) TV_WARN_UNUSED;

/** TV_ERR_CORRUPT unless the bytes are an entity from beginning to end. */
tv_err tv_entity_check(tv_slice value) TV_WARN_UNUSED;

/**
 * The stored entity with `changes` laid over it: a changed property gets the
 * new value and type, the others stay.  Sorted by name.  TV_ERR_CORRUPT.
 */
tv_err tv_entity_merge(tv_arena *arena, tv_slice stored, const tv_entity_properties *changes,
                       tv_entity_properties *ret_merged) TV_WARN_UNUSED;

/** Sort by name in ordinal order, as the service returns what PUT and MERGE wrote. */
void tv_entity_properties_sort(tv_entity_properties *properties);

/** What a stored entity takes by the service's formula; what can be read of it when it is corrupt.
 */
size_t tv_entity_cost(tv_slice partition_key, tv_slice row_key, tv_slice value);

/**
 * The limits of the whole and of each value: TV_ERR_TOO_MANY_PROPERTIES, TV_ERR_ENTITY_TOO_LARGE
 * or, if neither, TV_ERR_PROPERTY_VALUE_TOO_LARGE.  The service has this order: its clients'
 * suites get EntityTooLarge for one value of 1 MiB.
 */
tv_err tv_entity_check_limits(tv_slice partition_key, tv_slice row_key,
                              const tv_entity_properties *properties) TV_WARN_UNUSED;

#endif
