/*
 * What a hostile server can answer to a query.
 *
 *  - The input as an entity: it is read as a second reader reads it, made of the JSON reader of
 *    base/ and two passes; both refuse the rest.  Objects with a name twice are only read.
 *  - Twice on a page, it gives the same entity twice.
 *  - What was read can be written, read again as the same, and is written again as the same bytes.
 *  - What the application would be given for its line of JSON, it can also build with setters.
 *  - The input as a page: every byte that it hands out can be looked at.
 */
#include "fuzz.h"

#include <math.h>

#include "base/assert.h"
#include "base/base64.h"
#include "base/datetime.h"
#include "base/guid.h"
#include "base/json.h"
#include "base/number.h"
#include "base/utf8.h"
#include "client/entity/entity.h"
#include "model/odata/edm.h"

enum { MEMBERS_MAX = 512 };

/* --- the second reader --- */

typedef struct entity_model {
    tv_json_member values[MEMBERS_MAX], types[MEMBERS_MAX];
    size_t value_count, type_count;
    tv_json_member partition_key, row_key, etag, timestamp;
    bool is_refused;
    bool is_odd; /* a name twice, or more members than are kept: not compared */
} entity_model;

static bool has_nul(tv_slice text)
{
    return tv_slice_find(text, '\0') < text.len;
}

static void keep(entity_model *model, tv_json_member *list, size_t *count,
                 const tv_json_member *member)
{
    if (*count == MEMBERS_MAX) {
        model->is_odd = true;
        return;
    }
    for (size_t i = 0; i < *count; i++)
        model->is_odd |= tv_slice_eq(list[i].name, member->name);
    list[(*count)++] = *member;
}

/* A member that must be text without NUL, or null. */
static void keep_text(entity_model *model, tv_json_member *place, const tv_json_member *member)
{
    model->is_odd |= place->name.data != NULL;
    model->is_refused |= member->kind != TV_JSON_NULL && member->kind != TV_JSON_STRING;
    model->is_refused |= member->kind == TV_JSON_STRING && has_nul(member->text);
    *place = *member;
}

static void keep_member(entity_model *model, tv_json_member *member)
{
    static const tv_slice suffix = {"@odata.type", 11};
    tv_slice name = member->name;
    tv_edm_type type;

    model->is_refused |= has_nul(name);
    if (name.len >= suffix.len && tv_slice_eq(tv_slice_skip(name, name.len - suffix.len), suffix)) {
        member->name.len -= suffix.len;
        model->is_refused |= member->kind != TV_JSON_STRING || !tv_edm_parse(member->text, &type);
        keep(model, model->types, &model->type_count, member);
    } else if (tv_slice_eq(name, TV_LIT("PartitionKey"))) {
        keep_text(model, &model->partition_key, member);
    } else if (tv_slice_eq(name, TV_LIT("RowKey"))) {
        keep_text(model, &model->row_key, member);
    } else if (tv_slice_eq(name, TV_LIT("Timestamp"))) {
        keep_text(model, &model->timestamp, member);
    } else if (tv_slice_eq(name, TV_LIT("odata.etag"))) {
        keep_text(model, &model->etag, member);
    } else if (!tv_slice_starts_with(name, TV_LIT("odata.")) &&
               tv_slice_find(name, '@') == name.len) {
        model->is_refused |= member->kind == TV_JSON_NESTED;
        keep(model, model->values, &model->value_count, member);
    }
}

static entity_model *read_model(tv_arena *arena, tv_slice json)
{
    entity_model *model = tv_arena_zalloc(arena, sizeof *model);
    tv_json_reader reader;
    tv_json_member member;
    int64_t ticks;

    tv_json_reader_init(&reader, arena, json);
    while (tv_json_next(&reader, &member))
        keep_member(model, &member);
    model->is_refused |= reader.failed;
    model->is_refused |= model->timestamp.kind == TV_JSON_STRING &&
                         !tv_datetime_parse(model->timestamp.text, &ticks);
    return model;
}

/* The type of a value; false when its token cannot have the type that is said. */
static tv_edm_type type_of(const entity_model *model, const tv_json_member *value)
{
    tv_edm_type type = TV_EDM_DOUBLE;
    int32_t small;

    for (size_t i = 0; i < model->type_count; i++) {
        if (tv_slice_eq(model->types[i].name, value->name)) {
            tv_assert(tv_edm_parse(model->types[i].text, &type));
            return type;
        }
    }
    if (value->kind == TV_JSON_STRING)
        return TV_EDM_STRING;
    if (value->kind != TV_JSON_NUMBER)
        return TV_EDM_BOOLEAN;
    return tv_parse_int32(value->text, &small) ? TV_EDM_INT32 : TV_EDM_DOUBLE;
}

static bool model_double(const tv_json_member *value, double *ret_real)
{
    bool is_text = value->kind == TV_JSON_STRING;

    if (!is_text && value->kind != TV_JSON_NUMBER)
        return false;
    if (is_text && tv_slice_eq(value->text, TV_LIT("NaN")))
        *ret_real = NAN;
    else if (is_text && tv_slice_eq(value->text, TV_LIT("Infinity")))
        *ret_real = INFINITY;
    else if (is_text && tv_slice_eq(value->text, TV_LIT("-Infinity")))
        *ret_real = -INFINITY;
    else
        return tv_parse_double(value->text, ret_real);
    return true;
}

static bool model_boolean(const tv_json_member *value, bool *ret_boolean)
{
    bool is_text = value->kind == TV_JSON_STRING;
    bool is_true =
        value->kind == TV_JSON_TRUE || (is_text && tv_slice_eq_nocase(value->text, TV_LIT("true")));
    bool is_false = value->kind == TV_JSON_FALSE ||
                    (is_text && tv_slice_eq_nocase(value->text, TV_LIT("false")));

    *ret_boolean = is_true;
    return is_true || is_false;
}

static bool is_bytes(const tavola_value *value, tv_slice bytes)
{
    return value->size == bytes.len &&
           (bytes.len == 0 || memcmp(value->as.ptr, bytes.data, bytes.len) == 0) &&
           ((const char *)value->as.ptr)[value->size] == '\0';
}

/* Whether the token can be of the type; then `got`, unless it is NULL, must be that value. */
static bool check_value(tv_arena *arena, tv_edm_type type, const tv_json_member *value,
                        const tavola_value *got)
{
    bool is_text = value->kind == TV_JSON_STRING;
    bool has_digits = is_text || value->kind == TV_JSON_NUMBER;
    char *bytes;
    size_t len;
    bool boolean;
    int32_t int32;
    int64_t int64;
    double real;
    tv_guid guid;

    switch (type) {
    case TV_EDM_STRING:
        tv_assert(!got || (got->type == TAVOLA_STRING && is_bytes(got, value->text)));
        return is_text;
    case TV_EDM_BINARY:
        bytes = tv_arena_bytes(arena, tv_base64_decoded_max(value->text.len) + 1);
        if (!is_text || !tv_base64_decode(bytes, value->text, &len))
            return false;
        tv_assert(!got || (got->type == TAVOLA_BINARY && is_bytes(got, (tv_slice){bytes, len})));
        return true;
    case TV_EDM_BOOLEAN:
        if (!model_boolean(value, &boolean))
            return false;
        tv_assert(!got || (got->type == TAVOLA_BOOLEAN && got->as.boolean == boolean));
        return true;
    case TV_EDM_INT32:
        if (!has_digits || !tv_parse_int32(value->text, &int32))
            return false;
        tv_assert(!got || (got->type == TAVOLA_INT32 && got->as.int32 == int32));
        return true;
    case TV_EDM_INT64:
        if (!has_digits || !tv_parse_int64(value->text, &int64))
            return false;
        tv_assert(!got || (got->type == TAVOLA_INT64 && got->as.int64 == int64));
        return true;
    case TV_EDM_DOUBLE:
        if (!model_double(value, &real))
            return false;
        tv_assert(!got ||
                  (got->type == TAVOLA_DOUBLE && memcmp(&got->as.real, &real, sizeof real) == 0));
        return true;
    case TV_EDM_DATETIME:
        if (!is_text || !tv_datetime_parse(value->text, &int64))
            return false;
        tv_assert(!got || (got->type == TAVOLA_DATETIME && got->as.ticks == int64));
        return true;
    case TV_EDM_GUID:
        if (!is_text || !tv_guid_parse(value->text, &guid))
            return false;
        tv_assert(!got || (got->type == TAVOLA_GUID &&
                           memcmp(got->as.guid.bytes, guid.bytes, sizeof guid.bytes) == 0));
        return true;
    }
    return false;
}

/* Whether the second reader accepts the values; `entity`, unless it is NULL, must have them. */
static bool check_values(tv_arena *arena, const entity_model *model, const tavola_entity *entity)
{
    size_t count = 0;

    for (size_t i = 0; i < model->value_count; i++) {
        const tv_json_member *value = &model->values[i];

        if (value->kind == TV_JSON_NULL)
            continue;
        if (entity) {
            tv_assert(count < entity->count);
            tv_assert(tv_slice_eq(value->name, (tv_slice){entity->properties[count].name,
                                                          entity->properties[count].name_len}));
        }
        if (!check_value(arena, type_of(model, value), value,
                         entity ? &entity->properties[count].value : NULL))
            return false;
        count++;
    }
    tv_assert(!entity || count == entity->count);
    return true;
}

static void check_text(const tv_json_member *member, const char *got)
{
    if (member->kind == TV_JSON_STRING)
        tv_assert(tv_slice_eq(member->text, tv_slice_of(got)));
}

static void check_against_model(tv_slice input, const tavola_entity *entity)
{
    tv_arena arena;

    tv_arena_init(&arena);

    entity_model *model = read_model(&arena, input);

    if (!model->is_odd && (model->is_refused || entity == NULL)) {
        bool is_accepted = !model->is_refused && check_values(&arena, model, NULL);

        tv_assert(is_accepted == (entity != NULL));
    } else if (!model->is_odd) {
        tv_assert(check_values(&arena, model, entity));
        check_text(&model->partition_key, entity->partition_key);
        check_text(&model->row_key, entity->row_key);
        check_text(&model->etag, entity->etag);
        tv_assert((model->etag.kind == TV_JSON_STRING) == (entity->etag != NULL));
    }
    tv_arena_done(&arena);
}

/* --- what follows from reading --- */

/* A copy of just this size lets the address sanitizer see what goes past the end. */
static char *copy_of(tv_slice text)
{
    char *copy = tvc_alloc(text.len + 1);

    tv_assert(copy != NULL);
    tv_slice_put(copy, text);
    return copy;
}

static tavola_entity *read_entity(tv_slice text)
{
    tavola_entity *entity = NULL;
    tavola_err err = tvc_entity_read(copy_of(text), text.len, &entity);

    tv_assert(err == TAVOLA_OK || err == TAVOLA_ERR_PROTOCOL);
    tv_assert((err == TAVOLA_OK) == (entity != NULL));
    return entity;
}

static bool is_valid_text(const char *text)
{
    return tv_utf8_is_valid(tv_slice_of(text));
}

static void look_at(const tavola_entity *entity)
{
    tv_assert(is_valid_text(entity->partition_key) && is_valid_text(entity->row_key));
    tv_assert(entity->etag == NULL || is_valid_text(entity->etag));
    for (uint32_t i = 0; i < entity->count; i++) {
        const tvc_property *property = &entity->properties[i];
        const tavola_value *value = &property->value;

        tv_assert(strlen(property->name) == property->name_len && is_valid_text(property->name));
        tv_assert(value->type > TAVOLA_NONE && value->type <= TAVOLA_GUID);
        if (value->type == TAVOLA_STRING)
            tv_assert(tv_utf8_is_valid((tv_slice){value->as.ptr, value->size}));
        if (value->type == TAVOLA_STRING || value->type == TAVOLA_BINARY)
            tv_assert(((const char *)value->as.ptr)[value->size] == '\0');
    }
    tv_assert(tavola_entity_bytes(entity) >= 4);
}

static bool is_same_entity(const tavola_entity *a, const tavola_entity *b)
{
    return tvc_entity_same(a, b) && strcmp(a->partition_key, b->partition_key) == 0 &&
           strcmp(a->row_key, b->row_key) == 0;
}

static bool has_names_twice(const tavola_entity *entity)
{
    for (uint32_t i = 0; i < entity->count; i++) {
        const tvc_property *property = &entity->properties[i];

        if (tvc_entity_find(entity, (tv_slice){property->name, property->name_len}) != (int)i)
            return true;
    }
    return false;
}

static void check_writing(const tavola_entity *entity)
{
    tvc_text first = {0}, second = {0};

    tvc_entity_write(&first, entity);

    tavola_entity *again = read_entity(tvc_text_slice(&first));

    tv_assert(again != NULL && is_same_entity(entity, again));
    tvc_entity_write(&second, again);
    tv_assert(tv_slice_eq(tvc_text_slice(&first), tvc_text_slice(&second)));
    tavola_entity_free(again);
    tvc_text_done(&first);
    tvc_text_done(&second);

    char *line = tavola_entity_json(entity);

    again = read_entity(tv_slice_of(line));
    tv_assert(again != NULL && is_same_entity(entity, again));
    tv_assert(entity->timestamp == again->timestamp);
    tavola_entity_free(again);
    tavola_free(line);

    tavola_entity *copy = tavola_entity_copy(entity);

    tv_assert(copy != NULL && is_same_entity(entity, copy));
    tavola_entity_free(copy);
}

static void check_line(tv_slice input)
{
    tavola_entity *entity = NULL;

    if (tavola_entity_from_json(input.data, input.len, &entity) != TAVOLA_OK)
        return;

    tavola_entity *built = tavola_entity_new(entity->partition_key, entity->row_key);

    for (uint32_t i = 0; i < entity->count; i++)
        tavola_entity_set(built, entity->properties[i].name, entity->properties[i].value);
    tv_assert(tavola_entity_error(built) == TAVOLA_OK && is_same_entity(entity, built));
    tavola_entity_free(built);
    tavola_entity_free(entity);
}

/* The input twice on a page, with the memory of another page. */
static void check_page_of(tv_slice input, const tavola_entity *entity, tavola_page *spare)
{
    tvc_text text = {0};
    tavola_page *page = NULL;

    tvc_text_add_lit(&text, "{\"odata.metadata\":\"m\",\"value\":[");
    tvc_text_add(&text, input);
    tvc_text_add_char(&text, ',');
    tvc_text_add(&text, input);
    tvc_text_add_lit(&text, "]}");

    tavola_err err = tvc_page_read_into(spare, copy_of(tvc_text_slice(&text)), text.buf.len, &page);

    tvc_text_done(&text);
    tv_assert(err == TAVOLA_OK || entity == NULL);
    for (size_t i = 0; page && i < page->count; i++) {
        look_at(&page->entities[i]);
        if (entity)
            tv_assert(has_names_twice(entity) || is_same_entity(entity, &page->entities[i]));
    }
    tv_assert(entity == NULL || page->count == 2);
    tvc_page_free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice input = size ? (tv_slice){(const char *)data, size} : TV_LIT("");
    tavola_entity *entity = read_entity(input);
    tavola_page *page = NULL;

    check_against_model(input, entity);
    if (entity) {
        look_at(entity);
        if (!has_names_twice(entity))
            check_writing(entity);
        check_line(input);
    }

    if (tvc_page_read(copy_of(input), input.len, &page) == TAVOLA_OK) {
        for (size_t i = 0; i < page->count; i++)
            look_at(&page->entities[i]);
    }
    check_page_of(input, entity, page);
    tavola_entity_free(entity);
    return 0;
}
