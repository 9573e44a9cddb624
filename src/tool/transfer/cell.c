/* Values as cells. */
#include "cell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../values.h"

/* Spreadsheets write TRUE and False. */
static bool parse_boolean(const char *text, bool *ret_value)
{
    *ret_value = strcasecmp(text, "true") == 0;
    return *ret_value || strcasecmp(text, "false") == 0;
}

bool xfer_cell_parse(tavola_type type, const char *text, size_t size, tool_text *scratch,
                     tavola_value *ret_value)
{
    *ret_value = (tavola_value){.type = type};
    if (type == TAVOLA_STRING) {
        ret_value->as.ptr = text;
        ret_value->size = size;
        return true;
    }
    if (type == TAVOLA_BOOLEAN)
        return strlen(text) == size && parse_boolean(text, &ret_value->as.boolean);
    scratch->size = 0;
    return tool_value_read(type, text, size, scratch, ret_value);
}

static size_t put_text(char *to, const char *text)
{
    size_t size = strlen(text);

    memcpy(to, text, size);
    return size;
}

static size_t put_whole(char *to, int64_t number)
{
    char digits[20];
    size_t count = 0, size = 0;
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;

    do {
        digits[count++] = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (number < 0)
        to[size++] = '-';
    while (count)
        to[size++] = digits[--count];
    return size;
}

/* The service trims the zeros of a fraction. */
static size_t put_time(char *to, tavola_ticks ticks)
{
    char text[29];
    size_t size;

    tavola_ticks_format(ticks, text);
    size = strlen(text);
    if (size < 2)
        return 0;
    size--; /* the Z */
    while (text[size - 1] == '0' && memchr(text, '.', size))
        size--;
    if (text[size - 1] == '.')
        size--;
    text[size++] = 'Z';
    memcpy(to, text, size);
    return size;
}

/*
 * The text that the library has for a number: it follows the service's rules and depends on no
 * locale.  Small whole numbers, of which there are many, need no help.
 */
static size_t put_double(char *to, double real)
{
    enum { PLAIN_MAX = 1000000 };
    static const char member[] = "\"v\":";
    size_t size = 0;

    if (real == 0 && signbit(real))
        return put_text(to, "-0.0");
    if (real > -PLAIN_MAX && real < PLAIN_MAX && real == (double)(int)real) {
        size = put_whole(to, (int)real);
        return size + put_text(to + size, ".0");
    }
    if (!isfinite(real))
        return put_text(to, isnan(real) ? "NaN" : real > 0 ? "Infinity" : "-Infinity");

    tavola_entity *entity = tavola_entity_new("", "");
    char *json, *found;

    tavola_entity_set_double(entity, "v", real);
    json = tavola_entity_json(entity);
    found = json ? strstr(json, member) : NULL;
    if (found) {
        found += sizeof member - 1;
        size = strspn(found, "0123456789+-.eE");
        memcpy(to, found, size < XFER_CELL_TEXT_MAX ? size : 0);
    } else {
        size = (size_t)snprintf(to, XFER_CELL_TEXT_MAX, "%.17g", real);
    }
    tavola_free(json);
    tavola_entity_free(entity);
    return size;
}

size_t xfer_cell_format(const tavola_value *value, char ret_text[XFER_CELL_TEXT_MAX])
{
    switch (value->type) {
    case TAVOLA_BOOLEAN:
        return put_text(ret_text, value->as.boolean ? "true" : "false");
    case TAVOLA_INT32:
        return put_whole(ret_text, value->as.int32);
    case TAVOLA_INT64:
        return put_whole(ret_text, value->as.int64);
    case TAVOLA_DOUBLE:
        return put_double(ret_text, value->as.real);
    case TAVOLA_DATETIME:
        return put_time(ret_text, value->as.ticks);
    case TAVOLA_GUID:
        tavola_guid_format(value->as.guid, ret_text);
        return 36;
    case TAVOLA_NONE:
    case TAVOLA_STRING:
    case TAVOLA_BINARY:
        break;
    }
    return 0;
}
