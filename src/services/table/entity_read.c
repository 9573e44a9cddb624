/* JSON members to typed properties. */
#include "services/table/entity_read.h"

#include <math.h>

#include "base/assert.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/number.h"
#include "services/table/names.h"

enum {
    /* Members of a kind we keep; more cannot be an entity, even with nulls and annotations. */
    MEMBERS_MAX = 1024,
};

/* The members of one object: values and, apart, their type annotations. */
typedef struct member_set {
    tv_json_member *list;
    size_t count, size;
    uint16_t *slots; /* name -> index + 1 */
    uint32_t slot_mask;
} member_set;

/* How many members a text can have at most: each has a colon, and so may strings. */
static size_t count_members(tv_slice json)
{
    size_t count = 0;

    for (size_t i = 0; i < json.len; i++)
        count += json.data[i] == ':';
    return count;
}

static void member_set_init(member_set *set, tv_arena *arena, size_t members)
{
    uint32_t slots = 16;

    set->count = 0;
    set->size = members < MEMBERS_MAX ? members : MEMBERS_MAX;
    while (slots < 2 * set->size)
        slots *= 2;
    set->slot_mask = slots - 1;
    set->list = tv_arena_alloc(arena, set->size * sizeof *set->list);
    set->slots = tv_arena_zalloc(arena, slots * sizeof *set->slots);
}

static uint16_t *slot_of(const member_set *set, tv_slice name)
{
    for (uint64_t hash = tv_hash(name);; hash++) {
        uint16_t *slot = &set->slots[hash & set->slot_mask];

        if (*slot == 0 || tv_slice_eq(set->list[*slot - 1].name, name))
            return slot;
    }
}

static tv_err member_set_add(member_set *set, const tv_json_member *member)
{
    uint16_t *slot = slot_of(set, member->name);

    if (*slot)
        return TV_ERR_DUPLICATE_PROPERTIES;
    if (set->count == set->size)
        return TV_ERR_TOO_MANY_PROPERTIES;

    set->list[set->count++] = *member;
    *slot = (uint16_t)set->count;
    return TV_OK;
}

static const tv_json_member *member_set_find(const member_set *set, tv_slice name)
{
    uint16_t slot = *slot_of(set, name);

    return slot ? &set->list[slot - 1] : NULL;
}

/* Sort the members of the object into values and annotations. */
static tv_err split_members(tv_arena *arena, tv_slice json, member_set *values, member_set *types)
{
    static const tv_slice suffix = {"@odata.type", 11};
    tv_json_reader reader;
    tv_json_member member;

    tv_json_reader_init(&reader, arena, json);
    while (tv_json_next(&reader, &member)) {
        member_set *set = values;
        tv_err err;

        if (tv_slice_starts_with(member.name, TV_LIT("odata.")))
            continue;
        if (tv_slice_find(member.name, '@') < member.name.len) {
            size_t name_len = member.name.len - suffix.len;

            if (member.name.len < suffix.len ||
                !tv_slice_eq(tv_slice_skip(member.name, name_len), suffix))
                continue; /* some other annotation */
            if (member.kind != TV_JSON_STRING)
                return TV_ERR_INVALID_INPUT;
            member.name.len = name_len;
            set = types;
        }
        err = member_set_add(set, &member);
        if (err)
            return err;
    }
    return reader.failed ? TV_ERR_INVALID_INPUT : TV_OK;
}

/* --- one value of each type --- */

static tv_err read_string(const tv_json_member *member, tv_property *property)
{
    if (member->kind != TV_JSON_STRING)
        return TV_ERR_INVALID_INPUT;

    property->bytes = member->text;
    return TV_OK;
}

/* As text in any case: .NET writes True and False. */
static tv_err read_boolean(const tv_json_member *member, tv_property *property)
{
    bool is_string = member->kind == TV_JSON_STRING;

    if (member->kind == TV_JSON_TRUE ||
        (is_string && tv_slice_eq_nocase(member->text, TV_LIT("true"))))
        property->boolean = true;
    else if (member->kind == TV_JSON_FALSE ||
             (is_string && tv_slice_eq_nocase(member->text, TV_LIT("false"))))
        property->boolean = false;
    else
        return TV_ERR_INVALID_INPUT;
    return TV_OK;
}

static bool is_number_or_string(const tv_json_member *member)
{
    return member->kind == TV_JSON_NUMBER || member->kind == TV_JSON_STRING;
}

static tv_err read_int32(const tv_json_member *member, tv_property *property)
{
    if (!is_number_or_string(member) || !tv_parse_int32(member->text, &property->int32))
        return TV_ERR_INVALID_INPUT;
    return TV_OK;
}

static tv_err read_int64(const tv_json_member *member, tv_property *property)
{
    if (!is_number_or_string(member) || !tv_parse_int64(member->text, &property->int64))
        return TV_ERR_INVALID_INPUT;
    return TV_OK;
}

static tv_err read_double(const tv_json_member *member, tv_property *property)
{
    if (!is_number_or_string(member))
        return TV_ERR_INVALID_INPUT;

    if (member->kind == TV_JSON_STRING && tv_slice_eq(member->text, TV_LIT("NaN")))
        property->real = NAN;
    else if (member->kind == TV_JSON_STRING && tv_slice_eq(member->text, TV_LIT("Infinity")))
        property->real = INFINITY;
    else if (member->kind == TV_JSON_STRING && tv_slice_eq(member->text, TV_LIT("-Infinity")))
        property->real = -INFINITY;
    else if (!tv_parse_double(member->text, &property->real))
        return TV_ERR_INVALID_INPUT;
    return TV_OK;
}

static tv_err read_datetime(tv_arena *arena, const tv_json_member *member, tv_property *property,
                            tv_error_info *reterr_info)
{
    if (member->kind != TV_JSON_STRING || !tv_datetime_parse(member->text, &property->ticks))
        return TV_ERR_INVALID_INPUT;

    if (property->ticks < TV_TICKS_MIN || property->ticks > TV_TICKS_MAX) {
        tv_date date = tv_date_of(property->ticks);

        reterr_info->text = tv_arena_printf(
            arena, "The '%.*s' parameter of value '%02d/%02d/%04d %02d:%02d:%02d' is out of range.",
            TV_FMT(property->name), date.month, date.day, date.year, date.hour, date.minute,
            date.second);
        return TV_ERR_OUT_OF_RANGE;
    }
    return TV_OK;
}

static tv_err read_binary(tv_arena *arena, const tv_json_member *member, tv_property *property)
{
    size_t len;

    if (member->kind != TV_JSON_STRING)
        return TV_ERR_INVALID_INPUT;

    char *bytes = tv_arena_bytes(arena, tv_base64_decoded_max(member->text.len));

    if (!tv_base64_decode(bytes, member->text, &len))
        return TV_ERR_INVALID_INPUT;

    property->bytes = (tv_slice){bytes, len};
    return TV_OK;
}

static tv_err read_typed(tv_arena *arena, const tv_json_member *member, tv_property *property,
                         tv_error_info *reterr_info)
{
    switch (property->type) {
    case TV_EDM_STRING:
        return read_string(member, property);
    case TV_EDM_BOOLEAN:
        return read_boolean(member, property);
    case TV_EDM_INT32:
        return read_int32(member, property);
    case TV_EDM_INT64:
        return read_int64(member, property);
    case TV_EDM_DOUBLE:
        return read_double(member, property);
    case TV_EDM_DATETIME:
        return read_datetime(arena, member, property, reterr_info);
    case TV_EDM_GUID:
        if (member->kind != TV_JSON_STRING || !tv_guid_parse(member->text, &property->guid))
            return TV_ERR_INVALID_INPUT;
        return TV_OK;
    case TV_EDM_BINARY:
        return read_binary(arena, member, property);
    }
    tv_assert(!"a property type");
    return TV_ERR_INVALID_INPUT;
}

/*
 * The type of a value without annotation.  It is decided by the text of the
 * token: 20 is an Int32, 20.0 a Double, and so is an integer too large for Int32.
 */
static tv_err infer_type(const tv_json_member *member, tv_edm_type *ret_type)
{
    int32_t small;

    switch (member->kind) {
    case TV_JSON_STRING:
        *ret_type = TV_EDM_STRING;
        return TV_OK;
    case TV_JSON_TRUE:
    case TV_JSON_FALSE:
        *ret_type = TV_EDM_BOOLEAN;
        return TV_OK;
    case TV_JSON_NUMBER:
        *ret_type = tv_parse_int32(member->text, &small) ? TV_EDM_INT32 : TV_EDM_DOUBLE;
        return TV_OK;
    case TV_JSON_NULL:
    case TV_JSON_NESTED:
        break;
    }
    return TV_ERR_INVALID_INPUT;
}

static tv_err read_property(tv_arena *arena, const tv_json_member *member,
                            const tv_json_member *type, tv_property *property,
                            tv_error_info *reterr_info)
{
    tv_err err = tv_check_property_name(member->name);

    if (err)
        return err;

    property->name = member->name;
    if (type == NULL) {
        err = infer_type(member, &property->type);
        if (err)
            return err;
    } else if (!tv_edm_parse(type->text, &property->type)) {
        return TV_ERR_INVALID_INPUT;
    }
    return read_typed(arena, member, property, reterr_info);
}

/* A key of another type than a string is kept as its text, with a mark. */
static void read_key(const tv_json_member *member, const tv_json_member *type, tv_slice *ret_key,
                     bool *has_odd_key)
{
    if (member->kind == TV_JSON_NULL)
        return;
    if (member->kind != TV_JSON_STRING || (type && !tv_slice_eq(type->text, TV_LIT("Edm.String"))))
        *has_odd_key = true;

    *ret_key = member->kind == TV_JSON_STRING ? member->text : TV_LIT("/");
}

tv_err tv_entity_body_read(tv_arena *arena, tv_slice json, tv_entity_body *ret_body,
                           tv_error_info *reterr_info)
{
    tv_entity_body body = {0};
    member_set values, types;
    tv_err err;

    size_t members = count_members(json);

    member_set_init(&values, arena, members);
    member_set_init(&types, arena, members);
    err = split_members(arena, json, &values, &types);
    if (err)
        return err;

    body.properties.list = tv_arena_alloc(arena, values.count * sizeof(tv_property));
    for (size_t i = 0; i < values.count; i++) {
        const tv_json_member *member = &values.list[i];
        const tv_json_member *type = member_set_find(&types, member->name);

        if (tv_slice_eq(member->name, TV_LIT("Timestamp")))
            continue;
        if (tv_slice_eq(member->name, TV_LIT("PartitionKey"))) {
            read_key(member, type, &body.partition_key, &body.has_odd_key);
        } else if (tv_slice_eq(member->name, TV_LIT("RowKey"))) {
            read_key(member, type, &body.row_key, &body.has_odd_key);
        } else if (member->kind != TV_JSON_NULL) {
            if (body.properties.count == TV_ENTITY_PROPERTIES_MAX)
                return TV_ERR_TOO_MANY_PROPERTIES;
            err = read_property(arena, member, type, &body.properties.list[body.properties.count],
                                reterr_info);
            body.properties.count++;
        }
        if (err)
            return err;
    }
    *ret_body = body;
    return TV_OK;
}
