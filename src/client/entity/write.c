/* Entities to JSON: what is sent, and what people see. */
#include <math.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/guid.h"
#include "base/json.h"
#include "base/number.h"
#include "client/entity/entity.h"
#include "client/entity/json_scan.h"
#include "client/why.h"

/* How strings are written. */
typedef enum text_form {
    WIRE,  /* UTF-8 as it is: the shortest */
    ASCII, /* as the service writes it, everything beyond ASCII escaped */
} text_form;

/* Room is reserved once, for the most that an entity can take. */
enum {
    ESCAPE_FACTOR = 6,   /* bytes for one byte of text */
    MEMBER_BYTES = 80,   /* around a property: quotes, colon, comma, annotation, a short value */
    HEAD_BYTES = 256,    /* names of keys, etag and Timestamp, and a time */
    COUNTED_BYTES = 256, /* text from this size on is looked at before room is taken for it */
};

static size_t text_room(tv_slice text, text_form form)
{
    size_t escapes = 0;

    if (form == ASCII || text.len < COUNTED_BYTES)
        return ESCAPE_FACTOR * text.len;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];

        escapes += (size_t)(c < 0x20) | (size_t)(c == '"') | (size_t)(c == '\\');
    }
    return text.len + escapes * (ESCAPE_FACTOR - 1);
}

static tv_slice bytes_of(const tavola_value *value)
{
    return (tv_slice){value->as.ptr, value->size};
}

static size_t entity_room(const tavola_entity *entity, text_form form)
{
    size_t room = HEAD_BYTES + text_room(tv_slice_of(entity->partition_key), form) +
                  text_room(tv_slice_of(entity->row_key), form);

    if (entity->etag)
        room += ESCAPE_FACTOR * strlen(entity->etag);
    for (uint32_t i = 0; i < entity->count; i++) {
        const tvc_property *property = &entity->properties[i];

        room += MEMBER_BYTES + 2 * ESCAPE_FACTOR * (size_t)property->name_len;
        if (property->value.type == TAVOLA_STRING)
            room += text_room(bytes_of(&property->value), form);
        else if (property->value.type == TAVOLA_BINARY)
            room += tv_base64_encoded_len(property->value.size);
    }
    return room;
}

/* --- strings --- */

/* How many bytes can go as they are. */
static size_t plain_len(tv_slice text)
{
    size_t len = 0;

#ifdef __SSE2__
    const __m128i control = _mm_set1_epi8(0x1f), quote = _mm_set1_epi8('"'),
                  backslash = _mm_set1_epi8('\\');

    for (; text.len - len >= 16; len += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text.data + len));
        __m128i is_control = _mm_cmpeq_epi8(_mm_max_epu8(bytes, control), control);
        __m128i special = _mm_or_si128(is_control, _mm_or_si128(_mm_cmpeq_epi8(bytes, quote),
                                                                _mm_cmpeq_epi8(bytes, backslash)));
        unsigned mask = (unsigned)_mm_movemask_epi8(special);

        if (mask)
            return len + (size_t)__builtin_ctz(mask);
    }
#endif
    while (len < text.len && (unsigned char)text.data[len] >= 0x20 && text.data[len] != '"' &&
           text.data[len] != '\\')
        len++;
    return len;
}

static void add_escape(tv_buf *buf, char c)
{
    static const char letters[128] = {['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                      ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};
    static const char digits[] = "0123456789abcdef";
    char letter = letters[(unsigned char)c];

    tv_buf_add_char(buf, '\\');
    if (letter)
        tv_buf_add_char(buf, letter);
    else
        tv_buf_add(buf, (tv_slice){(char[]){'u', '0', '0', digits[c >> 4], digits[c & 15]}, 5});
}

static void add_string(tv_buf *buf, tv_slice text, text_form form)
{
    if (form == ASCII) {
        tv_json_add_string(buf, text);
        return;
    }

    tv_buf_add_char(buf, '"');
    for (;;) {
        size_t len = plain_len(text);

        tv_buf_add(buf, tv_slice_take(text, len));
        if (len == text.len)
            break;
        add_escape(buf, text.data[len]);
        text = tv_slice_skip(text, len + 1);
    }
    tv_buf_add_char(buf, '"');
}

/* --- values --- */

/* The service forgets the sign of a zero; what we write keeps it. */
static void add_double(tv_buf *buf, double value)
{
    bool is_quoted = !isfinite(value);

    if (is_quoted)
        tv_buf_add_char(buf, '"');
    if (value == 0 && signbit(value))
        tv_buf_add_char(buf, '-');
    buf->len += tv_format_double(tv_buf_reserve(buf, TV_DOUBLE_TEXT_MAX), value);
    if (is_quoted)
        tv_buf_add_char(buf, '"');
}

static void add_datetime(tv_buf *buf, tavola_ticks ticks)
{
    tv_buf_add_char(buf, '"');
    buf->len += tv_datetime_format(tv_buf_reserve(buf, TV_DATETIME_TEXT_MAX), ticks);
    tv_buf_add_char(buf, '"');
}

static void add_int64(tv_buf *buf, int64_t number)
{
    buf->len += tv_format_int64(tv_buf_reserve(buf, TV_INT64_TEXT_MAX), number);
}

static void add_guid(tv_buf *buf, const tavola_guid *value)
{
    tv_guid guid;

    memcpy(guid.bytes, value->bytes, sizeof guid.bytes);
    tv_guid_format(tv_buf_reserve(buf, TV_GUID_TEXT_LEN), &guid);
    buf->len += TV_GUID_TEXT_LEN;
}

static void add_base64(tv_buf *buf, tv_slice bytes)
{
    size_t len = tv_base64_encoded_len(bytes.len);

    tv_base64_encode(tv_buf_reserve(buf, len), bytes);
    buf->len += len;
}

static void add_value(tv_buf *buf, const tavola_value *value, text_form form)
{
    bool is_quoted =
        value->type == TAVOLA_INT64 || value->type == TAVOLA_GUID || value->type == TAVOLA_BINARY;

    if (is_quoted)
        tv_buf_add_char(buf, '"');
    switch (value->type) {
    case TAVOLA_STRING:
        add_string(buf, bytes_of(value), form);
        break;
    case TAVOLA_BINARY:
        add_base64(buf, bytes_of(value));
        break;
    case TAVOLA_BOOLEAN:
        tv_buf_add(buf, value->as.boolean ? TV_LIT("true") : TV_LIT("false"));
        break;
    case TAVOLA_INT32:
        add_int64(buf, value->as.int32);
        break;
    case TAVOLA_INT64:
        add_int64(buf, value->as.int64);
        break;
    case TAVOLA_DOUBLE:
        add_double(buf, value->as.real);
        break;
    case TAVOLA_DATETIME:
        add_datetime(buf, value->as.ticks);
        break;
    case TAVOLA_GUID:
        add_guid(buf, &value->as.guid);
        break;
    case TAVOLA_NONE:
        tv_assert(!"a property without a type");
    }
    if (is_quoted)
        tv_buf_add_char(buf, '"');
}

/*
 * What goes in place of the quote that ends a property's name, before the name comes once more.
 * Doubles are annotated when they are sent, because other services than ours take 5.0 for an Int32;
 * people see only what the service would write.
 */
static tv_slice annotation_of(const tavola_value *value, text_form form)
{
    switch (value->type) {
    case TAVOLA_INT64:
        return TV_LIT("@odata.type\":\"Edm.Int64\",");
    case TAVOLA_DATETIME:
        return TV_LIT("@odata.type\":\"Edm.DateTime\",");
    case TAVOLA_GUID:
        return TV_LIT("@odata.type\":\"Edm.Guid\",");
    case TAVOLA_BINARY:
        return TV_LIT("@odata.type\":\"Edm.Binary\",");
    case TAVOLA_DOUBLE:
        if (form == WIRE || !isfinite(value->as.real))
            return TV_LIT("@odata.type\":\"Edm.Double\",");
        return TV_NONE;
    case TAVOLA_NONE:
    case TAVOLA_STRING:
    case TAVOLA_BOOLEAN:
    case TAVOLA_INT32:
        break;
    }
    return TV_NONE;
}

static void add_property(tv_buf *buf, const tvc_property *property, text_form form)
{
    tv_slice name = {property->name, property->name_len};
    tv_slice annotation = annotation_of(&property->value, form);

    tv_buf_add_char(buf, ',');
    if (annotation.len) {
        add_string(buf, name, form);
        buf->len--;
        tv_buf_add(buf, annotation);
    }
    add_string(buf, name, form);
    tv_buf_add_char(buf, ':');
    add_value(buf, &property->value, form);
}

static void add_keys(tv_buf *buf, const tavola_entity *entity, text_form form)
{
    tv_buf_add_lit(buf, "\"PartitionKey\":");
    add_string(buf, tv_slice_of(entity->partition_key), form);
    tv_buf_add_lit(buf, ",\"RowKey\":");
    add_string(buf, tv_slice_of(entity->row_key), form);
}

void tvc_entity_write(tvc_text *text, const tavola_entity *entity)
{
    tv_buf *buf = &text->buf;

    if (!tvc_text_room(text, entity_room(entity, WIRE)))
        return;

    tv_buf_add_char(buf, '{');
    add_keys(buf, entity, WIRE);
    for (uint32_t i = 0; i < entity->count; i++)
        add_property(buf, &entity->properties[i], WIRE);
    tv_buf_add_char(buf, '}');
}

char *tavola_entity_json(const tavola_entity *entity)
{
    tvc_text text = {0};
    tv_buf *buf = &text.buf;

    if (entity == NULL || entity->error) {
        (void)tvc_refuse(entity ? entity->error : TAVOLA_ERR_INVALID, "%s",
                         entity ? tavola_entity_error_text(entity) : "there is no entity");
        return NULL;
    }
    if (!tvc_text_room(&text, entity_room(entity, ASCII)))
        return NULL;

    tv_buf_add_char(buf, '{');
    if (entity->etag) {
        tv_buf_add_lit(buf, "\"odata.etag\":");
        add_string(buf, tv_slice_of(entity->etag), ASCII);
        tv_buf_add_char(buf, ',');
    }
    add_keys(buf, entity, ASCII);
    if (entity->timestamp) {
        tv_buf_add_lit(buf, ",\"Timestamp\":");
        add_datetime(buf, entity->timestamp);
    }
    for (uint32_t i = 0; i < entity->count; i++)
        add_property(buf, &entity->properties[i], ASCII);
    tv_buf_add_char(buf, '}');
    return tvc_text_take(&text);
}
