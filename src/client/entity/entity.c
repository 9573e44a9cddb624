/*
 * Entities: how they are made, changed and freed.
 *
 * An entity of its own is one piece of memory, in which its first texts and properties lie, too;
 * more come from blocks (room.c).  What is replaced or unset leaves a hole; when holes are most of
 * it, everything moves to a new block, so that an entity that is changed for ever does not grow.
 */
#include "client/entity/entity.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/assert.h"
#include "client/entity/own.h"
#include "client/entity/room.h"
#include "client/entity/rules.h"
#include "client/why.h"

enum {
    FIRST_BYTES = 1024,      /* of an entity that is built: some eight properties fit */
    FIRST_PROPERTIES = 8,    /* the array begins with so many and doubles */
    HOLES_BYTES = 64 * 1024, /* worth to be filled */
};

typedef struct own_entity {
    tavola_entity entity;
    tvc_entity_memory memory;
    char room[];
} own_entity;

const char tvc_no_key[] = "";

tavola_entity *tvc_entity_make(size_t room)
{
    own_entity *own = tvc_alloc(sizeof *own + room);

    if (own == NULL)
        return NULL;

    own->memory = (tvc_entity_memory){.at = own->room, .end = own->room + room};
    own->entity =
        (tavola_entity){.partition_key = tvc_no_key, .row_key = tvc_no_key, .memory = &own->memory};
    return &own->entity;
}

void tavola_entity_free(tavola_entity *entity)
{
    if (entity == NULL || entity->is_view)
        return;

    tvc_room_done(entity->memory);
    tvc_release(entity);
}

static bool has_bytes(const tavola_value *value)
{
    return value->type == TAVOLA_STRING || value->type == TAVOLA_BINARY;
}

/* --- errors --- */

void tvc_entity_fail(tavola_entity *entity, tavola_err err, const char *format, ...)
{
    char line[512];
    va_list args;

    if (entity->error)
        return;

    entity->error = err;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    entity->error_text = tvc_room_dup(entity->memory, tv_slice_of(line));
}

static void fail_for_memory(tavola_entity *entity)
{
    if (entity->error == TAVOLA_OK)
        entity->error = TAVOLA_ERR_NO_MEMORY;
}

/* A name as it can be shown in a line: cut off when it is long. */
typedef struct shown_name {
    char text[68];
} shown_name;

static shown_name show(tv_slice name)
{
    enum { SHOWN_MAX = 60 };
    shown_name shown;
    size_t len = name.len < SHOWN_MAX ? name.len : SHOWN_MAX;

    for (size_t i = 0; i < len; i++) {
        bool is_plain = name.data[i] >= 0x20 && name.data[i] < 0x7f;

        shown.text[i] = is_plain ? name.data[i] : '?';
    }
    *tv_slice_put(shown.text + len, len < name.len ? TV_LIT("...") : TV_LIT("")) = '\0';
    return shown;
}

static bool refuse(tavola_entity *entity, tv_slice name, tvc_refusal refusal)
{
    if (refusal.err)
        tvc_entity_fail(entity, refusal.err, "property '%s' %s", show(name).text, refusal.why);
    return refusal.err != TAVOLA_OK;
}

tavola_err tavola_entity_error(const tavola_entity *entity)
{
    return entity ? entity->error : TAVOLA_ERR_NO_MEMORY;
}

const char *tavola_entity_error_text(const tavola_entity *entity)
{
    if (entity == NULL || entity->error == TAVOLA_ERR_NO_MEMORY)
        return "there is not enough memory for the entity";
    if (entity->error && entity->error_text == NULL)
        return "a property of the entity is not valid";
    return entity->error ? entity->error_text : "";
}

/* --- memory that is moved --- */

size_t tvc_entity_kept_bytes(const tavola_entity *entity)
{
    size_t bytes = strlen(entity->partition_key) + strlen(entity->row_key) + 2;

    bytes += entity->etag ? strlen(entity->etag) + 1 : 0;
    bytes += entity->error_text ? strlen(entity->error_text) + 1 : 0;
    bytes += (entity->count + 1) * sizeof(tvc_property);
    for (uint32_t i = 0; i < entity->count; i++) {
        const tvc_property *property = &entity->properties[i];

        bytes += property->name_len + 1;
        bytes += has_bytes(&property->value) ? property->value.size + 1 : 0;
    }
    return bytes;
}

tavola_err tvc_entity_check(const tavola_entity *entity, const char **ret_why)
{
    tavola_err err = tavola_entity_error(entity);
    const char *why = tavola_entity_error_text(entity);

    /* The service counts at most twice what we keep: it is rarely necessary to count as it does. */
    if (err == TAVOLA_OK && tvc_entity_kept_bytes(entity) > TVC_ENTITY_BYTES_MAX / 2 &&
        tavola_entity_bytes(entity) > TVC_ENTITY_BYTES_MAX) {
        err = TAVOLA_ERR_TOO_LARGE;
        why = "the entity is larger than 1 MiB";
    }
    if (err == TAVOLA_OK && entity->is_wide && entity->count > TVC_PROPERTIES_MAX) {
        err = TAVOLA_ERR_TOO_LARGE;
        why = "the entity has more than 252 properties: only tavola_wide_put takes it";
    }
    if (ret_why)
        *ret_why = why;
    return err;
}

static void *keep(tvc_entity_memory *memory, tv_slice bytes)
{
    const char *copy = tvc_room_dup(memory, bytes);

    tv_assert(copy != NULL); /* there is room: tvc_entity_kept_bytes has counted it */
    return (void *)(uintptr_t)copy;
}

/* All that `from` has, in `memory`, which has room for tvc_entity_kept_bytes.  Nothing else of `to`
 * changes.
 */
static void keep_all(tavola_entity *to, tvc_entity_memory *memory, const tavola_entity *from)
{
    tvc_property *properties = from->count ? tvc_room_properties(memory, from->count) : NULL;

    for (uint32_t i = 0; i < from->count; i++) {
        tvc_property property = from->properties[i];

        property.name = keep(memory, (tv_slice){property.name, property.name_len});
        if (has_bytes(&property.value))
            property.value.as.ptr =
                keep(memory, (tv_slice){property.value.as.ptr, property.value.size});
        properties[i] = property;
    }
    to->partition_key = keep(memory, tv_slice_of(from->partition_key));
    to->row_key = keep(memory, tv_slice_of(from->row_key));
    to->etag = from->etag ? keep(memory, tv_slice_of(from->etag)) : NULL;
    to->etag_room = NULL;
    to->error_text = from->error_text ? keep(memory, tv_slice_of(from->error_text)) : NULL;
    to->properties = properties;
    to->count = to->size = from->count;
}

/* Fill the holes, if there are many.  When there is no memory for that, it does not matter. */
static void fill_holes(tavola_entity *entity)
{
    tvc_entity_memory *memory = entity->memory, filled = {0};

    if (entity->is_view || memory->wasted < HOLES_BYTES || memory->wasted < memory->taken / 2)
        return;
    if (!tvc_room_reserve(&filled, tvc_entity_kept_bytes(entity)))
        return;

    keep_all(entity, &filled, entity);
    tvc_room_done(memory);
    *memory = filled;
}

tavola_entity *tavola_entity_copy(const tavola_entity *entity)
{
    if (entity == NULL)
        (void)tvc_refuse(TAVOLA_ERR_INVALID, "there is no entity: it is NULL");

    tavola_entity *copy = entity ? tvc_entity_make(tvc_entity_kept_bytes(entity)) : NULL;

    if (copy == NULL)
        return NULL;

    keep_all(copy, copy->memory, entity);
    copy->timestamp = entity->timestamp;
    copy->is_unset = entity->is_unset;
    copy->is_part = entity->is_part;
    copy->is_wide = entity->is_wide;
    copy->error = entity->error;
    return copy;
}

/* --- properties --- */

int tvc_entity_find(const tavola_entity *entity, tv_slice name)
{
    for (uint32_t i = 0; i < entity->count; i++) {
        const tvc_property *property = &entity->properties[i];

        if (property->name_len == name.len && memcmp(property->name, name.data, name.len) == 0)
            return (int)i;
    }
    return -1;
}

char *tvc_entity_room(tavola_entity *entity, size_t size)
{
    return tvc_room_take(entity->memory, size);
}

/* A view's array is full: there, others' properties follow. */
static bool make_place(tavola_entity *entity)
{
    uint32_t size = entity->size < FIRST_PROPERTIES ? FIRST_PROPERTIES : 2 * entity->size;

    if (entity->count < entity->size)
        return true;

    tvc_property *properties = tvc_room_properties(entity->memory, size);

    if (properties == NULL)
        return false;
    if (entity->count)
        memcpy(properties, entity->properties, entity->count * sizeof *properties);
    entity->memory->wasted += entity->size * sizeof *properties;
    entity->properties = properties;
    entity->size = size;
    return true;
}

/*
 * The bytes of a value in the entity's own memory: in place of the old ones if they fit there,
 * which may be the very same or overlap.
 */
static bool own_bytes(tavola_entity *entity, const tavola_value *old, tavola_value *value)
{
    char *bytes;

    if (!has_bytes(value))
        return true;

    if (old && has_bytes(old) && old->size >= value->size)
        bytes = (char *)(uintptr_t)old->as.ptr;
    else
        bytes = tvc_room_take(entity->memory, value->size + 1);
    if (bytes == NULL)
        return false;

    if (value->size)
        memmove(bytes, value->as.ptr, value->size);
    bytes[value->size] = '\0';
    value->as.ptr = bytes;
    return true;
}

/* The property of this name with a copy of the value; NULL when there is no memory. */
static tvc_property *put(tavola_entity *entity, tv_slice name, tavola_value value)
{
    int index = tvc_entity_find(entity, name);

    if (index >= 0) {
        tavola_value *old = &entity->properties[index].value;

        if (!own_bytes(entity, old, &value))
            return NULL;
        if (has_bytes(old) && !(has_bytes(&value) && value.as.ptr == old->as.ptr))
            entity->memory->wasted += old->size + 1;
        *old = value;
        return &entity->properties[index];
    }

    const char *own_name = tvc_room_dup(entity->memory, name);

    if (own_name == NULL || !own_bytes(entity, NULL, &value) || !make_place(entity))
        return NULL;

    tvc_property *property = &entity->properties[entity->count++];

    *property = (tvc_property){.name = own_name, .name_len = (uint32_t)name.len, .value = value};
    return property;
}

tavola_err tvc_entity_put(tavola_entity *entity, tv_slice name, tavola_value value)
{
    return put(entity, name, value) ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
}

void tvc_entity_drop(tavola_entity *entity, int index)
{
    tv_assert(index >= 0 && (uint32_t)index < entity->count);

    tvc_property *property = &entity->properties[index];
    size_t after = entity->count - (uint32_t)index - 1;

    entity->memory->wasted += property->name_len + 1;
    entity->memory->wasted += has_bytes(&property->value) ? property->value.size + 1 : 0;
    memmove(property, property + 1, after * sizeof *property);
    entity->count--;
}

/* --- what the application calls --- */

static const char *new_key(tavola_entity *entity, const char *name, const char *key)
{
    tv_slice text = key ? tv_slice_of(key) : TV_NONE;
    tvc_refusal refusal = tvc_check_key(text);

    if (refusal.err) {
        tvc_entity_fail(entity, refusal.err, "%s %s", name, refusal.why);
        return tvc_no_key;
    }

    const char *copy = tvc_room_dup(entity->memory, text);

    if (copy == NULL)
        fail_for_memory(entity);
    return copy ? copy : tvc_no_key;
}

tavola_entity *tavola_entity_new(const char *partition_key, const char *row_key)
{
    tavola_entity *entity = tvc_entity_make(FIRST_BYTES - sizeof(own_entity));

    if (entity == NULL)
        return NULL;

    entity->partition_key = new_key(entity, "PartitionKey", partition_key);
    entity->row_key = new_key(entity, "RowKey", row_key);
    return entity;
}

tavola_entity *tavola_entity_new_wide(const char *partition_key, const char *row_key)
{
    tavola_entity *entity = tavola_entity_new(partition_key, row_key);

    if (entity)
        entity->is_wide = true;
    return entity;
}

void tavola_entity_set(tavola_entity *entity, const char *name, tavola_value value)
{
    tv_slice text = name ? tv_slice_of(name) : TV_NONE;

    if (entity == NULL || entity->error || refuse(entity, text, tvc_check_name(text)) ||
        refuse(entity, text, tvc_check_value(&value)))
        return;
    if (!has_bytes(&value))
        value.size = 0;
    if (entity->count >= TVC_PROPERTIES_MAX && !entity->is_wide &&
        tvc_entity_find(entity, text) < 0) {
        tvc_entity_fail(entity, TAVOLA_ERR_TOO_LARGE,
                        "property '%s' is one too many: an entity has at most %d", show(text).text,
                        TVC_PROPERTIES_MAX);
        return;
    }

    tvc_property *property = put(entity, text, value);

    if (property == NULL) {
        fail_for_memory(entity);
        return;
    }
    property->is_set = true;
    fill_holes(entity);
}

void tavola_entity_set_string(tavola_entity *entity, const char *name, const char *text)
{
    tavola_entity_set(entity, name, tavola_string(text));
}

void tavola_entity_set_int32(tavola_entity *entity, const char *name, int32_t value)
{
    tavola_entity_set(entity, name, tavola_int32(value));
}

void tavola_entity_set_int64(tavola_entity *entity, const char *name, int64_t value)
{
    tavola_entity_set(entity, name, tavola_int64(value));
}

void tavola_entity_set_double(tavola_entity *entity, const char *name, double value)
{
    tavola_entity_set(entity, name, tavola_double(value));
}

void tavola_entity_set_boolean(tavola_entity *entity, const char *name, bool value)
{
    tavola_entity_set(entity, name, tavola_boolean(value));
}

void tavola_entity_set_datetime(tavola_entity *entity, const char *name, tavola_ticks value)
{
    tavola_entity_set(entity, name, tavola_datetime(value));
}

void tavola_entity_set_guid(tavola_entity *entity, const char *name, tavola_guid value)
{
    tavola_entity_set(entity, name, tavola_guid_value(value));
}

void tavola_entity_set_binary(tavola_entity *entity, const char *name, const void *data,
                              size_t size)
{
    tavola_entity_set(entity, name, tavola_binary(data, size));
}

/* A name that cannot be set may have been read: only those with another meaning are refused. */
void tavola_entity_unset(tavola_entity *entity, const char *name)
{
    tv_slice text = name ? tv_slice_of(name) : TV_NONE;

    if (entity == NULL || entity->error)
        return;

    int index = name ? tvc_entity_find(entity, text) : -1;

    if (index < 0) {
        refuse(entity, text, tvc_check_name(text));
        return;
    }
    tvc_entity_drop(entity, index);
    entity->is_unset = true;
    fill_holes(entity);
}

static void change_etag(tavola_entity *entity, const char *etag)
{
    if (entity->etag && entity->etag != entity->etag_room)
        entity->memory->wasted += strlen(entity->etag) + 1;
    entity->etag = etag;
}

bool tvc_entity_reserve_etag(tavola_entity *entity)
{
    if (entity->etag_room == NULL)
        entity->etag_room = tvc_room_take(entity->memory, TVC_ETAG_ROOM);
    return entity->etag_room != NULL;
}

void tvc_entity_take_etag(tavola_entity *entity, const char *etag)
{
    if (etag && strlen(etag) < TVC_ETAG_ROOM) {
        memmove(entity->etag_room, etag, strlen(etag) + 1);
        change_etag(entity, entity->etag_room);
    } else {
        change_etag(entity, etag ? tvc_room_dup(entity->memory, tv_slice_of(etag)) : NULL);
    }
}

tavola_err tvc_entity_reserve_text(tavola_entity *entity, const char *name, size_t len,
                                   tvc_text_slot *ret_slot, const char **ret_why)
{
    tv_slice text = tv_slice_of(name);
    tvc_refusal refusal = tvc_check_name(text);

    if (refusal.err) {
        *ret_why = refusal.why;
        return refusal.err;
    }
    if (entity->count >= TVC_PROPERTIES_MAX && !entity->is_wide &&
        tvc_entity_find(entity, text) < 0) {
        *ret_why = "it would be the 253rd property of the entity";
        return TAVOLA_ERR_TOO_LARGE;
    }
    ret_slot->name = tvc_room_dup(entity->memory, text);
    ret_slot->bytes = tvc_room_take(entity->memory, len + 1);
    *ret_why = "there is no memory";
    return ret_slot->name && ret_slot->bytes && make_place(entity) ? TAVOLA_OK
                                                                   : TAVOLA_ERR_NO_MEMORY;
}

void tvc_entity_take_text(tavola_entity *entity, const tvc_text_slot *slot, const char *text)
{
    size_t len = strlen(text);
    int at = tvc_entity_find(entity, tv_slice_of(slot->name));

    memcpy(slot->bytes, text, len + 1);
    if (at < 0) {
        at = (int)entity->count++;
        entity->properties[at] =
            (tvc_property){.name = slot->name, .name_len = (uint32_t)strlen(slot->name)};
    }
    entity->properties[at].value =
        (tavola_value){.type = TAVOLA_STRING, .size = len, .as.ptr = slot->bytes};
    entity->properties[at].is_set = true;
}

/* It goes into a header: nothing there but what such a text can have. */
void tavola_entity_set_etag(tavola_entity *entity, const char *etag)
{
    if (entity == NULL || entity->error)
        return;

    if (etag && (*etag == '\0' || !tv_slice_is_printable(tv_slice_of(etag)))) {
        tvc_entity_fail(entity, TAVOLA_ERR_INVALID, "that is not an etag");
        return;
    }

    const char *copy = etag ? tvc_room_dup(entity->memory, tv_slice_of(etag)) : NULL;

    if (etag && copy == NULL) {
        fail_for_memory(entity);
        return;
    }
    change_etag(entity, copy);
    fill_holes(entity);
}
