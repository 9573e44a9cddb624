/* Reading entities, and comparing them. */
#include "client/entity/entity.h"

#include <math.h>

#include "base/assert.h"
#include "base/utf8.h"
#include "model/odata/edm.h"

const char *tavola_entity_partition_key(const tavola_entity *entity)
{
    return entity ? entity->partition_key : "";
}

const char *tavola_entity_row_key(const tavola_entity *entity)
{
    return entity ? entity->row_key : "";
}

const char *tavola_entity_etag(const tavola_entity *entity)
{
    return entity ? entity->etag : NULL;
}

tavola_ticks tavola_entity_timestamp(const tavola_entity *entity)
{
    return entity ? entity->timestamp : 0;
}

static const tavola_value *find(const tavola_entity *entity, const char *name)
{
    int index = entity && name ? tvc_entity_find(entity, tv_slice_of(name)) : -1;

    return index < 0 ? NULL : &entity->properties[index].value;
}

/* The same for a property of this type only. */
static const tavola_value *find_typed(const tavola_entity *entity, const char *name,
                                      tavola_type type)
{
    const tavola_value *value = find(entity, name);

    return value && value->type == type ? value : NULL;
}

bool tavola_entity_get(const tavola_entity *entity, const char *name, tavola_value *ret_value)
{
    const tavola_value *value = find(entity, name);

    if (value && ret_value)
        *ret_value = *value;
    return value != NULL;
}

bool tavola_entity_get_string(const tavola_entity *entity, const char *name, const char **ret_text)
{
    const tavola_value *value = find_typed(entity, name, TAVOLA_STRING);

    /* As a C string, one with a NUL inside would lose what follows. */
    if (value == NULL || memchr(value->as.ptr, '\0', value->size))
        return false;
    if (ret_text)
        *ret_text = value->as.ptr;
    return true;
}

bool tavola_entity_get_int32(const tavola_entity *entity, const char *name, int32_t *ret_value)
{
    const tavola_value *value = find_typed(entity, name, TAVOLA_INT32);

    if (value && ret_value)
        *ret_value = value->as.int32;
    return value != NULL;
}

bool tavola_entity_get_int64(const tavola_entity *entity, const char *name, int64_t *ret_value)
{
    const tavola_value *value = find(entity, name);

    if (value == NULL || (value->type != TAVOLA_INT64 && value->type != TAVOLA_INT32))
        return false;
    if (ret_value)
        *ret_value = value->type == TAVOLA_INT64 ? value->as.int64 : value->as.int32;
    return true;
}

bool tavola_entity_get_double(const tavola_entity *entity, const char *name, double *ret_value)
{
    const tavola_value *value = find(entity, name);

    if (value == NULL || (value->type != TAVOLA_DOUBLE && value->type != TAVOLA_INT32))
        return false;
    if (ret_value)
        *ret_value = value->type == TAVOLA_DOUBLE ? value->as.real : value->as.int32;
    return true;
}

bool tavola_entity_get_boolean(const tavola_entity *entity, const char *name, bool *ret_value)
{
    const tavola_value *value = find_typed(entity, name, TAVOLA_BOOLEAN);

    if (value && ret_value)
        *ret_value = value->as.boolean;
    return value != NULL;
}

bool tavola_entity_get_datetime(const tavola_entity *entity, const char *name,
                                tavola_ticks *ret_value)
{
    const tavola_value *value = find_typed(entity, name, TAVOLA_DATETIME);

    if (value && ret_value)
        *ret_value = value->as.ticks;
    return value != NULL;
}

bool tavola_entity_get_guid(const tavola_entity *entity, const char *name, tavola_guid *ret_value)
{
    const tavola_value *value = find_typed(entity, name, TAVOLA_GUID);

    if (value && ret_value)
        *ret_value = value->as.guid;
    return value != NULL;
}

bool tavola_entity_get_binary(const tavola_entity *entity, const char *name, const void **ret_data,
                              size_t *ret_size)
{
    const tavola_value *value = find_typed(entity, name, TAVOLA_BINARY);

    if (value && ret_data)
        *ret_data = value->as.ptr;
    if (value && ret_size)
        *ret_size = value->size;
    return value != NULL;
}

size_t tavola_entity_count(const tavola_entity *entity)
{
    return entity ? entity->count : 0;
}

const char *tavola_entity_name_at(const tavola_entity *entity, size_t i, tavola_value *ret_value)
{
    if (entity == NULL || i >= entity->count)
        return NULL;

    if (ret_value)
        *ret_value = entity->properties[i].value;
    return entity->properties[i].name;
}

/* --- size --- */

static size_t value_bytes(const tavola_value *value)
{
    tv_property property = {.name = TV_LIT("")};

    switch (value->type) {
    case TAVOLA_STRING:
        property.type = TV_EDM_STRING;
        property.bytes = (tv_slice){value->as.ptr, value->size};
        break;
    case TAVOLA_BINARY:
        property.type = TV_EDM_BINARY;
        property.bytes = (tv_slice){value->as.ptr, value->size};
        break;
    case TAVOLA_BOOLEAN:
        property.type = TV_EDM_BOOLEAN;
        break;
    case TAVOLA_INT32:
        property.type = TV_EDM_INT32;
        break;
    case TAVOLA_INT64:
        property.type = TV_EDM_INT64;
        break;
    case TAVOLA_DOUBLE:
        property.type = TV_EDM_DOUBLE;
        break;
    case TAVOLA_DATETIME:
        property.type = TV_EDM_DATETIME;
        break;
    case TAVOLA_GUID:
        property.type = TV_EDM_GUID;
        break;
    case TAVOLA_NONE:
        return 0;
    }
    return tv_property_cost(&property);
}

size_t tavola_entity_bytes(const tavola_entity *entity)
{
    if (entity == NULL)
        return 0;

    size_t bytes = 4 + 2 * (tv_utf8_units(tv_slice_of(entity->partition_key)) +
                            tv_utf8_units(tv_slice_of(entity->row_key)));

    for (uint32_t i = 0; i < entity->count; i++) {
        const tvc_property *property = &entity->properties[i];

        bytes += 2 * tv_utf8_units((tv_slice){property->name, property->name_len});
        bytes += value_bytes(&property->value);
    }
    return bytes;
}

/* --- comparing --- */

/* The service does not keep the sign of a zero, and NaN is what it was. */
static bool is_same_double(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool is_same_value(const tavola_value *a, const tavola_value *b)
{
    if (a->type != b->type)
        return false;

    switch (a->type) {
    case TAVOLA_STRING:
    case TAVOLA_BINARY:
        return tv_slice_eq((tv_slice){a->as.ptr, a->size}, (tv_slice){b->as.ptr, b->size});
    case TAVOLA_BOOLEAN:
        return a->as.boolean == b->as.boolean;
    case TAVOLA_INT32:
        return a->as.int32 == b->as.int32;
    case TAVOLA_INT64:
        return a->as.int64 == b->as.int64;
    case TAVOLA_DOUBLE:
        return is_same_double(a->as.real, b->as.real);
    case TAVOLA_DATETIME:
        return a->as.ticks == b->as.ticks;
    case TAVOLA_GUID:
        return memcmp(&a->as.guid, &b->as.guid, sizeof a->as.guid) == 0;
    case TAVOLA_NONE:
        break;
    }
    return true;
}

bool tvc_entity_contains(const tavola_entity *whole, const tavola_entity *part)
{
    for (uint32_t i = 0; i < part->count; i++) {
        const tvc_property *property = &part->properties[i];
        int index = tvc_entity_find(whole, (tv_slice){property->name, property->name_len});

        if (index < 0 || !is_same_value(&whole->properties[index].value, &property->value))
            return false;
    }
    return true;
}

bool tvc_entity_same(const tavola_entity *a, const tavola_entity *b)
{
    return a->count == b->count && tvc_entity_contains(a, b) && tvc_entity_contains(b, a);
}
