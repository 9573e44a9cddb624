/*
 * Entities as lines of JSON, in the form of the service's minimal metadata: Int64, DateTime, Guid,
 * Binary and what is not a number are annotated, and a Double always has a point or an exponent.
 * Text is UTF-8 as it is.  tavola_entity_json says the same with escapes for all beyond ASCII; it
 * has the etag, too, which would be another one after an import.
 */
#include <math.h>
#include <string.h>

#include "../values.h"
#include "cell.h"
#include "writer.h"

enum { ESCAPED_MAX = 6 }; /* bytes of one escaped byte */

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\';
}

static char *put_escape(char *to, unsigned char c)
{
    static const char letters[] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', [0x1f] = 0};
    static const char digits[] = "0123456789abcdef";

    *to++ = '\\';
    if (c >= 0x20) {
        *to++ = (char)c;
    } else if (letters[c]) {
        *to++ = letters[c];
    } else {
        memcpy(to, "u00", 3);
        to[3] = digits[c >> 4];
        to[4] = digits[c & 15];
        to += 5;
    }
    return to;
}

void xfer_json_string(xfer_out *out, const char *text, size_t size)
{
    char *begin = xfer_out_room(out, size * ESCAPED_MAX + 2), *to = begin;
    size_t at = 0;

    *to++ = '"';
    while (at < size) {
        size_t from = at;

        while (at < size && is_plain((unsigned char)text[at]))
            at++;
        memcpy(to, text + from, at - from);
        to += at - from;
        if (at < size)
            to = put_escape(to, (unsigned char)text[at++]);
    }
    *to++ = '"';
    out->size += (size_t)(to - begin);
}

static void add_base64(xfer_out *out, const tavola_value *value)
{
    tool_text text = {0};

    tool_text_base64(&text, value->as.ptr, value->size);
    xfer_out_add(out, "\"", 1);
    xfer_out_add(out, text.at, text.size);
    xfer_out_add(out, "\"", 1);
    tool_text_done(&text);
}

static void add_value(xfer_out *out, const tavola_value *value, bool is_quoted)
{
    if (value->type == TAVOLA_STRING) {
        xfer_json_string(out, value->as.ptr, value->size);
    } else if (value->type == TAVOLA_BINARY) {
        add_base64(out, value);
    } else {
        char *begin = xfer_out_room(out, TOOL_VALUE_TEXT_MAX + 2), *to = begin;

        if (is_quoted)
            *to++ = '"';
        to += tool_value_format(value, to);
        if (is_quoted)
            *to++ = '"';
        out->size += (size_t)(to - begin);
    }
}

/* Whether JSON does not show the type by itself. */
static bool is_annotated(const tavola_value *value)
{
    switch (value->type) {
    case TAVOLA_INT64:
    case TAVOLA_DATETIME:
    case TAVOLA_GUID:
    case TAVOLA_BINARY:
        return true;
    case TAVOLA_DOUBLE:
        return !isfinite(value->as.real);
    default:
        return false;
    }
}

static void add_text(xfer_out *out, const char *text)
{
    xfer_out_add(out, text, strlen(text));
}

static void add_property(xfer_out *out, const char *name, const tavola_value *value)
{
    size_t size = strlen(name);
    bool is_marked = is_annotated(value);

    add_text(out, ",");
    if (is_marked) {
        xfer_json_string(out, name, size);
        out->size--; /* the quote */
        add_text(out, "@odata.type\":\"");
        add_text(out, tool_edm_name(value->type));
        add_text(out, "\",");
    }
    xfer_json_string(out, name, size);
    add_text(out, ":");
    add_value(out, value, is_marked);
}

void xfer_json_write(xfer_out *out, const tavola_entity *entity, bool with_timestamp)
{
    const char *partition_key = tavola_entity_partition_key(entity);
    const char *row_key = tavola_entity_row_key(entity), *name;
    tavola_value value = {.type = TAVOLA_DATETIME, .as.ticks = tavola_entity_timestamp(entity)};

    add_text(out, "{\"PartitionKey\":");
    xfer_json_string(out, partition_key, strlen(partition_key));
    add_text(out, ",\"RowKey\":");
    xfer_json_string(out, row_key, strlen(row_key));
    if (with_timestamp && value.as.ticks) {
        add_text(out, ",\"Timestamp\":");
        add_value(out, &value, true);
    }
    for (size_t i = 0; (name = tavola_entity_name_at(entity, i, &value)) != NULL; i++)
        add_property(out, name, &value);
    add_text(out, "}");
}
