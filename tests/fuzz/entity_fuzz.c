/*
 * Entities: whatever a request body may hold once it has been accepted can be
 * stored, read back, written as JSON and accepted again as the same properties.
 * The same bytes, taken for a stored row, are walked or found corrupt.
 */
#include "base/assert.h"
#include "fuzz.h"
#include "services/table/entity_read.h"
#include "services/table/entity_write.h"
#include "services/table/properties.h"

static const tv_entity_view view = {
    .level = TV_TABLE_METADATA_MINIMAL,
    .base_url = {"http://h/a", 10},
    .account = {"a", 1},
    .table = {"t", 1},
};

/* JSON as the service writes it has no -0.0. */
static void drop_sign_of_zero(const tv_entity_properties *properties)
{
    for (size_t i = 0; i < properties->count; i++) {
        if (properties->list[i].type == TV_EDM_DOUBLE && properties->list[i].real == 0)
            properties->list[i].real = 0;
    }
}

static void check_accepted(tv_arena *arena, const tv_entity_body *body)
{
    const tv_entity_properties *properties = &body->properties;
    tv_slice partition_key = body->partition_key.data ? body->partition_key : TV_LIT("");
    tv_slice row_key = body->row_key.data ? body->row_key : TV_LIT("");
    tv_slice value = tv_entity_encode(arena, properties);
    tv_buf json = TV_BUF_EMPTY;
    tv_error_info info = {0};
    tv_entity_body again;

    tv_assert(properties->count <= TV_ENTITY_PROPERTIES_MAX);
    tv_assert(tv_entity_check(value) == TV_OK);
    tv_assert(walks_to(value, properties));

    tv_assert(tv_entity_add_json(&json, &view, partition_key, row_key, value, true) == TV_OK);
    tv_assert(tv_entity_body_read(arena, tv_buf_slice(&json), &again, &info) == TV_OK);
    tv_assert(tv_slice_eq(again.partition_key, partition_key));
    tv_assert(tv_slice_eq(again.row_key, row_key));
    drop_sign_of_zero(properties);
    tv_assert(walks_to(tv_entity_encode(arena, properties), &again.properties));
    tv_buf_done(&json);
}

/* Merging an entity with itself changes nothing but the order. */
static void check_merge(tv_arena *arena, const tv_entity_properties *properties)
{
    tv_slice value = tv_entity_encode(arena, properties);
    tv_entity_properties merged;

    tv_assert(tv_entity_merge(arena, value, properties, &merged) == TV_OK);
    tv_assert(merged.count == properties->count);
    for (size_t i = 1; i < merged.count; i++)
        tv_assert(tv_slice_cmp(merged.list[i - 1].name, merged.list[i].name) < 0);
}

static void check_stored(tv_slice value)
{
    tv_entity_cursor cursor;
    tv_property property;
    size_t count = 0;

    tv_entity_cursor_init(&cursor, value);
    while (tv_entity_next(&cursor, &property)) {
        tv_assert(++count <= value.len / 2);
        tv_assert(property.type >= TV_EDM_STRING && property.type <= TV_EDM_BINARY);
        tv_assert(property.name.data + property.name.len <= value.data + value.len);
        if (property.type == TV_EDM_STRING || property.type == TV_EDM_BINARY)
            tv_assert(property.bytes.data + property.bytes.len <= value.data + value.len);
    }
    tv_assert(tv_entity_check(value) == (cursor.is_corrupt ? TV_ERR_CORRUPT : TV_OK));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice input = {(const char *)data, size};
    tv_error_info info = {0};
    tv_entity_body body;
    tv_arena arena;

    tv_arena_init(&arena);
    if (tv_entity_body_read(&arena, input, &body, &info) == TV_OK) {
        check_accepted(&arena, &body);
        check_merge(&arena, &body.properties);
    }
    check_stored(input);
    tv_arena_done(&arena);
    return 0;
}
