/* The JSON writer for entities. */
#include "services/table/entity_write.h"

#include <math.h>

#include "base/assert.h"
#include "base/base64.h"
#include "base/datetime.h"
#include "base/json.h"
#include "base/number.h"
#include "base/uri.h"
#include "services/table/etag.h"

tv_slice tv_table_metadata_content_type(tv_table_metadata_level level)
{
    switch (level) {
    case TV_TABLE_METADATA_NONE:
        return TV_LIT("application/json;odata=nometadata;streaming=true;charset=utf-8");
    case TV_TABLE_METADATA_FULL:
        return TV_LIT("application/json;odata=fullmetadata;streaming=true;charset=utf-8");
    case TV_TABLE_METADATA_MINIMAL:
        break;
    }
    return TV_LIT("application/json;odata=minimalmetadata;streaming=true;charset=utf-8");
}

void tv_entity_add_link(tv_buf *buf, tv_slice table, tv_slice partition_key, tv_slice row_key)
{
    tv_buf_add(buf, table);
    tv_buf_add_lit(buf, "(PartitionKey='");
    tv_uri_add_key(buf, partition_key);
    tv_buf_add_lit(buf, "',RowKey='");
    tv_uri_add_key(buf, row_key);
    tv_buf_add_lit(buf, "')");
}

static void add_datetime(tv_buf *buf, int64_t ticks)
{
    buf->len += tv_datetime_format(tv_buf_reserve(buf, TV_DATETIME_TEXT_MAX), ticks);
}

/* "odata.etag":"W/\"datetime'...'\"", */
static void add_etag(tv_buf *buf, int64_t ticks)
{
    char etag[TV_TABLE_ETAG_TEXT_MAX];
    size_t len = tv_table_etag_format(etag, ticks);

    tv_buf_add_lit(buf, "\"odata.etag\":");
    tv_json_add_string(buf, (tv_slice){etag, len});
    tv_buf_add_char(buf, ',');
}

void tv_entity_add_metadata_url(tv_buf *buf, const tv_entity_view *view, tv_slice suffix)
{
    tv_buf_add_lit(buf, "\"odata.metadata\":\"");
    tv_buf_add(buf, view->base_url);
    tv_buf_add_lit(buf, "/$metadata#");
    tv_buf_add(buf, view->table);
    tv_buf_add(buf, suffix);
    if (view->select.count) {
        tv_buf_add_lit(buf, "&$select=");
        tv_buf_add(buf, view->select.url_text);
    }
    tv_buf_add_lit(buf, "\",");
}

static void add_metadata(tv_buf *buf, const tv_entity_view *view, tv_slice partition_key,
                         tv_slice row_key, int64_t ticks, bool is_alone)
{
    if (is_alone)
        tv_entity_add_metadata_url(buf, view, TV_LIT("/@Element"));
    if (view->level == TV_TABLE_METADATA_FULL) {
        tv_buf_add_lit(buf, "\"odata.type\":\"");
        tv_buf_add(buf, view->account);
        tv_buf_add_char(buf, '.');
        tv_buf_add(buf, view->table);
        tv_buf_add_lit(buf, "\",\"odata.id\":\"");
        tv_buf_add(buf, view->base_url);
        tv_buf_add_char(buf, '/');
        tv_entity_add_link(buf, view->table, partition_key, row_key);
        tv_buf_add_lit(buf, "\",");
    }
    add_etag(buf, ticks);
    if (view->level == TV_TABLE_METADATA_FULL) {
        tv_buf_add_lit(buf, "\"odata.editLink\":\"");
        tv_entity_add_link(buf, view->table, partition_key, row_key);
        tv_buf_add_lit(buf, "\",");
    }
}

/* Types that JSON shows by itself carry no annotation, not even at the full level. */
static bool needs_annotation(const tv_property *property)
{
    switch (property->type) {
    case TV_EDM_STRING:
    case TV_EDM_BOOLEAN:
    case TV_EDM_INT32:
        return false;
    case TV_EDM_DOUBLE:
        return !isfinite(property->real);
    case TV_EDM_INT64:
    case TV_EDM_DATETIME:
    case TV_EDM_GUID:
    case TV_EDM_BINARY:
        return true;
    }
    return true;
}

static void add_binary(tv_buf *buf, tv_slice bytes)
{
    size_t len = tv_base64_encoded_len(bytes.len);

    tv_base64_encode(tv_buf_reserve(buf, len), bytes);
    buf->len += len;
}

static void add_double(tv_buf *buf, double value)
{
    bool is_quoted = !isfinite(value);

    if (is_quoted)
        tv_buf_add_char(buf, '"');
    buf->len += tv_format_double(tv_buf_reserve(buf, TV_DOUBLE_TEXT_MAX), value);
    if (is_quoted)
        tv_buf_add_char(buf, '"');
}

static void add_value(tv_buf *buf, const tv_property *property)
{
    bool is_quoted = property->type == TV_EDM_INT64 || property->type == TV_EDM_DATETIME ||
                     property->type == TV_EDM_GUID || property->type == TV_EDM_BINARY;

    if (is_quoted)
        tv_buf_add_char(buf, '"');
    switch (property->type) {
    case TV_EDM_STRING:
        tv_json_add_string(buf, property->bytes);
        break;
    case TV_EDM_BOOLEAN:
        tv_buf_add(buf, property->boolean ? TV_LIT("true") : TV_LIT("false"));
        break;
    case TV_EDM_INT32:
        buf->len += tv_format_int64(tv_buf_reserve(buf, TV_INT64_TEXT_MAX), property->int32);
        break;
    case TV_EDM_INT64:
        buf->len += tv_format_int64(tv_buf_reserve(buf, TV_INT64_TEXT_MAX), property->int64);
        break;
    case TV_EDM_DOUBLE:
        add_double(buf, property->real);
        break;
    case TV_EDM_DATETIME:
        add_datetime(buf, property->ticks);
        break;
    case TV_EDM_GUID:
        tv_guid_format(tv_buf_reserve(buf, TV_GUID_TEXT_LEN), &property->guid);
        buf->len += TV_GUID_TEXT_LEN;
        break;
    case TV_EDM_BINARY:
        add_binary(buf, property->bytes);
        break;
    }
    if (is_quoted)
        tv_buf_add_char(buf, '"');
}

/*
 * Room is reserved before each member, for the most that it can take: in a JSON string
 * a byte becomes up to six, in a URL three.  Some is left for what closes the object and
 * the page around it.
 */
enum { ESCAPE_FACTOR = 6, MEMBER_BYTES = 256 };

static tv_err make_room_for_head(tv_buf *buf, const tv_entity_view *view, tv_slice partition_key,
                                 tv_slice row_key)
{
    size_t urls = 3 * (view->base_url.len + view->account.len) + 5 * view->table.len;

    return tv_buf_try_grow(buf, 2 * MEMBER_BYTES + urls + view->select.url_text.len +
                                    3 * ESCAPE_FACTOR * (partition_key.len + row_key.len));
}

static tv_err make_room_for(tv_buf *buf, const tv_property *property)
{
    bool has_bytes = property->type == TV_EDM_STRING || property->type == TV_EDM_BINARY;
    size_t bytes = has_bytes ? property->bytes.len : 0;

    return tv_buf_try_grow(buf, MEMBER_BYTES + ESCAPE_FACTOR * (2 * property->name.len + bytes));
}

/* Members end with a comma; the last one is taken back when the object closes. */
static void add_property(tv_buf *buf, tv_table_metadata_level level, const tv_property *property)
{
    if (level != TV_TABLE_METADATA_NONE && needs_annotation(property)) {
        tv_json_add_string(buf, property->name);
        buf->len--; /* the annotation goes inside the quotes */
        tv_buf_add_lit(buf, "@odata.type\":\"");
        tv_buf_add(buf, tv_edm_name(property->type));
        tv_buf_add_lit(buf, "\",");
    }
    tv_json_add_string(buf, property->name);
    tv_buf_add_char(buf, ':');
    add_value(buf, property);
    tv_buf_add_char(buf, ',');
}

static void add_system_properties(tv_buf *buf, const tv_entity_view *view, tv_slice partition_key,
                                  tv_slice row_key, int64_t ticks)
{
    if (tv_table_select_has(&view->select, TV_LIT("PartitionKey"))) {
        tv_buf_add_lit(buf, "\"PartitionKey\":");
        tv_json_add_string(buf, partition_key);
        tv_buf_add_char(buf, ',');
    }
    if (tv_table_select_has(&view->select, TV_LIT("RowKey"))) {
        tv_buf_add_lit(buf, "\"RowKey\":");
        tv_json_add_string(buf, row_key);
        tv_buf_add_char(buf, ',');
    }
    if (tv_table_select_has(&view->select, TV_LIT("Timestamp"))) {
        if (view->level == TV_TABLE_METADATA_FULL)
            tv_buf_add_lit(buf, "\"Timestamp@odata.type\":\"Edm.DateTime\",");
        tv_buf_add_lit(buf, "\"Timestamp\":\"");
        add_datetime(buf, ticks);
        tv_buf_add_lit(buf, "\",");
    }
}

static bool is_system_property(tv_slice name)
{
    return tv_slice_eq(name, TV_LIT("PartitionKey")) || tv_slice_eq(name, TV_LIT("RowKey")) ||
           tv_slice_eq(name, TV_LIT("Timestamp"));
}

/* The properties that are shown, and the selected ones that the entity does not have as null. */
static tv_err add_properties(tv_buf *buf, const tv_entity_view *view, tv_entity_cursor *cursor)
{
    const tv_table_select *select = &view->select;
    bool is_there[TV_NAMES_MAX];
    tv_property property;
    tv_err err;

    memset(is_there, 0, select->count);
    while (tv_entity_next(cursor, &property)) {
        int name = select->count ? tv_names_find(select->names, property.name) : 0;

        if (name < 0)
            continue;
        err = make_room_for(buf, &property);
        if (err)
            return err;
        add_property(buf, view->level, &property);
        is_there[name] = true;
    }
    for (size_t i = 0; i < select->count; i++) {
        if (is_there[i] || is_system_property(select->names->list[i]))
            continue;
        err = tv_buf_try_grow(buf, MEMBER_BYTES + ESCAPE_FACTOR * select->names->list[i].len);
        if (err)
            return err;
        tv_json_add_string(buf, select->names->list[i]);
        tv_buf_add_lit(buf, ":null,");
    }
    return TV_OK;
}

tv_err tv_entity_add_json(tv_buf *buf, const tv_entity_view *view, tv_slice partition_key,
                          tv_slice row_key, tv_slice value, bool is_alone)
{
    tv_entity_cursor cursor;
    tv_err err;

    tv_entity_cursor_init(&cursor, value);
    if (cursor.is_corrupt)
        return TV_ERR_CORRUPT;

    err = make_room_for_head(buf, view, partition_key, row_key);
    if (err)
        return err;

    tv_buf_add_char(buf, '{');
    if (view->level != TV_TABLE_METADATA_NONE)
        add_metadata(buf, view, partition_key, row_key, cursor.timestamp, is_alone);
    add_system_properties(buf, view, partition_key, row_key, cursor.timestamp);
    err = add_properties(buf, view, &cursor);
    if (err == TV_OK && cursor.is_corrupt)
        err = TV_ERR_CORRUPT;
    if (err)
        return err;
    if (buf->data[buf->len - 1] == ',')
        buf->len--;
    tv_buf_add_char(buf, '}');
    return TV_OK;
}
