/* Structs of the application: to entities, and back. */
#include "client/entity/entity.h"
#include "client/why.h"

/* What a field is to an entity. */
typedef enum field_role { PARTITION_KEY, ROW_KEY, TIMESTAMP, PROPERTY } field_role;

static field_role role_of(const tavola_field *field)
{
    tv_slice name = tv_slice_of(field->name);

    if (tv_slice_eq(name, TV_LIT("PartitionKey")))
        return PARTITION_KEY;
    if (tv_slice_eq(name, TV_LIT("RowKey")))
        return ROW_KEY;
    return tv_slice_eq(name, TV_LIT("Timestamp")) ? TIMESTAMP : PROPERTY;
}

static size_t member_size(tavola_type type)
{
    switch (type) {
    case TAVOLA_STRING:
        return sizeof(const char *);
    case TAVOLA_BINARY:
        return sizeof(tavola_bytes);
    case TAVOLA_BOOLEAN:
        return sizeof(bool);
    case TAVOLA_INT32:
        return sizeof(int32_t);
    case TAVOLA_INT64:
        return sizeof(int64_t);
    case TAVOLA_DOUBLE:
        return sizeof(double);
    case TAVOLA_DATETIME:
        return sizeof(tavola_ticks);
    case TAVOLA_GUID:
        return sizeof(tavola_guid);
    case TAVOLA_NONE:
        break;
    }
    return 0;
}

/* Keys are strings and Timestamp is a time; all have a type. */
static bool is_field_valid(const tavola_field *field)
{
    field_role role = role_of(field);

    if (role == PARTITION_KEY || role == ROW_KEY)
        return field->type == TAVOLA_STRING;
    return role == TIMESTAMP ? field->type == TAVOLA_DATETIME : member_size(field->type) > 0;
}

/* --- to an entity --- */

static const char *string_of(const tavola_field *field, const void *object)
{
    const char *text;

    memcpy(&text, (const char *)object + field->offset, sizeof text);
    return text;
}

static tavola_value value_of(const tavola_field *field, const void *object)
{
    tavola_value value = {.type = field->type};
    const char *member = (const char *)object + field->offset;
    tavola_bytes bytes;

    switch (field->type) {
    case TAVOLA_STRING:
        return tavola_string(string_of(field, object));
    case TAVOLA_BINARY:
        memcpy(&bytes, member, sizeof bytes);
        return tavola_binary(bytes.data, bytes.size);
    default:
        /* The members of the union have the types of those of the struct. */
        memcpy(&value.as, member, member_size(field->type));
        return value;
    }
}

static bool is_left_out(const tavola_field *field, const tavola_value *value)
{
    bool is_pointer = field->type == TAVOLA_STRING || field->type == TAVOLA_BINARY;

    return (field->flags & TAVOLA_FIELD_OPTIONAL) && is_pointer && value->as.ptr == NULL;
}

static void set_field(tavola_entity *entity, const tavola_field *field, const void *object)
{
    tavola_value value = value_of(field, object);

    if (is_left_out(field, &value))
        return;
    tavola_entity_set(entity, field->name, value);
    if (entity->error == TAVOLA_OK && (field->flags & TAVOLA_FIELD_ENCRYPT))
        entity->properties[tvc_entity_find(entity, tv_slice_of(field->name))].is_secret = true;
}

static tavola_err refuse_field(const tavola_field *field)
{
    return tvc_refuse(TAVOLA_ERR_INVALID, "the field %.255s has a type that it cannot have",
                      field->name);
}

tavola_err tavola_entity_from(const tavola_field *fields, const void *object,
                              tavola_entity **ret_entity)
{
    const char *partition_key = NULL, *row_key = NULL;

    if (fields == NULL || object == NULL || ret_entity == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID,
                          "the fields, the object or the place for the entity is NULL");

    for (const tavola_field *field = fields; field->name; field++) {
        if (!is_field_valid(field))
            return refuse_field(field);
        if (role_of(field) == PARTITION_KEY)
            partition_key = string_of(field, object);
        else if (role_of(field) == ROW_KEY)
            row_key = string_of(field, object);
    }

    tavola_entity *entity = tavola_entity_new(partition_key, row_key);

    if (entity == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    for (const tavola_field *field = fields; field->name; field++) {
        if (role_of(field) == PROPERTY)
            set_field(entity, field, object);
    }
    if (entity->error) {
        tavola_err err = tvc_refuse(entity->error, "%s", tavola_entity_error_text(entity));

        tavola_entity_free(entity);
        return err;
    }
    *ret_entity = entity;
    return TAVOLA_OK;
}

/* --- from an entity --- */

/* The bytes of one member: all zeros for an optional property that is absent. */
typedef union struct_member {
    const char *text;
    tavola_bytes bytes;
    bool boolean;
    int32_t int32;
    int64_t int64;
    double real;
    tavola_ticks ticks;
    tavola_guid guid;
} struct_member;

static bool get_property(const tavola_entity *entity, const tavola_field *field,
                         struct_member *ret_member)
{
    switch (field->type) {
    case TAVOLA_STRING:
        return tavola_entity_get_string(entity, field->name, &ret_member->text);
    case TAVOLA_BINARY:
        return tavola_entity_get_binary(entity, field->name, &ret_member->bytes.data,
                                        &ret_member->bytes.size);
    case TAVOLA_BOOLEAN:
        return tavola_entity_get_boolean(entity, field->name, &ret_member->boolean);
    case TAVOLA_INT32:
        return tavola_entity_get_int32(entity, field->name, &ret_member->int32);
    case TAVOLA_INT64:
        return tavola_entity_get_int64(entity, field->name, &ret_member->int64);
    case TAVOLA_DOUBLE:
        return tavola_entity_get_double(entity, field->name, &ret_member->real);
    case TAVOLA_DATETIME:
        return tavola_entity_get_datetime(entity, field->name, &ret_member->ticks);
    case TAVOLA_GUID:
        return tavola_entity_get_guid(entity, field->name, &ret_member->guid);
    case TAVOLA_NONE:
        break;
    }
    return false;
}

static bool get_member(const tavola_entity *entity, const tavola_field *field,
                       struct_member *ret_member)
{
    memset(ret_member, 0, sizeof *ret_member);
    switch (role_of(field)) {
    case PARTITION_KEY:
        ret_member->text = entity->partition_key;
        return true;
    case ROW_KEY:
        ret_member->text = entity->row_key;
        return true;
    case TIMESTAMP:
        ret_member->ticks = entity->timestamp;
        return true;
    case PROPERTY:
        break;
    }
    return get_property(entity, field, ret_member) ||
           ((field->flags & TAVOLA_FIELD_OPTIONAL) &&
            !tavola_entity_get(entity, field->name, NULL));
}

tavola_err tavola_entity_read(const tavola_entity *entity, const tavola_field *fields,
                              void *ret_object)
{
    struct_member member;

    if (entity == NULL || fields == NULL || ret_object == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "the entity, the fields or the object is NULL");

    /* First all are looked at: the object stays as it is when one does not fit. */
    for (const tavola_field *field = fields; field->name; field++) {
        if (!is_field_valid(field))
            return refuse_field(field);
        if (!get_member(entity, field, &member))
            return tvc_refuse(
                TAVOLA_ERR_INVALID,
                "the property %.255s is absent, or does not fit the type of its field",
                field->name);
    }
    for (const tavola_field *field = fields; field->name; field++) {
        get_member(entity, field, &member);
        memcpy((char *)ret_object + field->offset, &member, member_size(field->type));
    }
    return TAVOLA_OK;
}
