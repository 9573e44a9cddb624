#include "values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"

static const struct {
    const char *name, *edm, *form;
} types[] = {
    [TAVOLA_STRING] = {"string", "Edm.String", "text"},
    [TAVOLA_BINARY] = {"binary", "Edm.Binary", "base64, or @file"},
    [TAVOLA_BOOLEAN] = {"boolean", "Edm.Boolean", "true or false"},
    [TAVOLA_INT32] = {"int32", "Edm.Int32", "a whole number from -2147483648 to 2147483647"},
    [TAVOLA_INT64] = {"int64", "Edm.Int64", "a whole number of 64 bits"},
    [TAVOLA_DOUBLE] = {"double", "Edm.Double", "a number, NaN, Infinity or -Infinity"},
    [TAVOLA_DATETIME] = {"datetime", "Edm.DateTime", "a time like 2026-01-02T03:04:05Z"},
    [TAVOLA_GUID] = {"guid", "Edm.Guid", "a GUID like c9da6455-213d-42c9-9a79-3e9149a57833"},
};
#define TYPE_COUNT (sizeof types / sizeof types[0])
#define TYPE_NAMES "string, int32, int64, double, boolean, datetime, guid, binary"

const char *tool_type_name(tavola_type type)
{
    return (size_t)type < TYPE_COUNT && types[type].name ? types[type].name : "none";
}

const char *tool_edm_name(tavola_type type)
{
    return (size_t)type < TYPE_COUNT && types[type].edm ? types[type].edm : "";
}

const char *tool_type_form(tavola_type type)
{
    return (size_t)type < TYPE_COUNT && types[type].form ? types[type].form : "";
}

tavola_type tool_type_find(const char *name, size_t size)
{
    if (size > 4 && strncasecmp(name, "Edm.", 4) == 0) {
        name += 4;
        size -= 4;
    }
    for (size_t i = TAVOLA_STRING; i < TYPE_COUNT; i++)
        if (strlen(types[i].name) == size && strncasecmp(types[i].name, name, size) == 0)
            return (tavola_type)i;
    return size == 4 && strncasecmp(name, "bool", 4) == 0 ? TAVOLA_BOOLEAN : TAVOLA_NONE;
}

static bool read_double(const char *text, double *ret_number)
{
    bool is_infinite = strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0;

    if (strcmp(text, "NaN") == 0)
        *ret_number = (double)NAN;
    else if (is_infinite)
        *ret_number = text[0] == '-' ? -(double)INFINITY : (double)INFINITY;
    else
        return tv_parse_double(tv_slice_of(text), ret_number);
    return true;
}

bool tool_value_read(tavola_type type, const char *text, size_t size, tool_text *bytes,
                     tavola_value *ret_value)
{
    bool is_text = type == TAVOLA_STRING || type == TAVOLA_BINARY, is_good = false;
    tavola_value value = {.type = type};

    if (!is_text && strlen(text) != size)
        return false;
    switch (type) {
    case TAVOLA_STRING:
        tool_text_add(bytes, text, size);
        is_good = true;
        break;
    case TAVOLA_BINARY:
        is_good = tool_text_unbase64(bytes, text, size);
        break;
    case TAVOLA_BOOLEAN:
        value.as.boolean = strcmp(text, "true") == 0;
        is_good = value.as.boolean || strcmp(text, "false") == 0;
        break;
    case TAVOLA_INT32:
        is_good = tv_parse_int32(tv_slice_of(text), &value.as.int32);
        break;
    case TAVOLA_INT64:
        is_good = tv_parse_int64(tv_slice_of(text), &value.as.int64);
        break;
    case TAVOLA_DOUBLE:
        is_good = read_double(text, &value.as.real);
        break;
    case TAVOLA_DATETIME:
        is_good = tavola_ticks_parse(text, &value.as.ticks);
        break;
    case TAVOLA_GUID:
        is_good = tavola_guid_parse(text, &value.as.guid);
        break;
    default:
        break;
    }
    if (!is_good)
        return false;
    if (is_text) {
        value.as.ptr = bytes->at;
        value.size = bytes->size;
    }
    *ret_value = value;
    return true;
}

/* As the service writes it: a fraction only if there is one, without zeros at its end. */
static size_t format_time(char *to, tavola_ticks ticks)
{
    size_t size;

    tavola_ticks_format(ticks, to);
    size = strlen(to);
    if (size == 0)
        return 0;
    size--; /* the Z */
    if (memchr(to, '.', size))
        while (to[size - 1] == '0')
            size--;
    size -= to[size - 1] == '.';
    to[size++] = 'Z';
    return size;
}

size_t tool_value_format(const tavola_value *value, char ret_text[TOOL_VALUE_TEXT_MAX])
{
    switch (value->type) {
    case TAVOLA_BOOLEAN:
        return (size_t)snprintf(ret_text, TOOL_VALUE_TEXT_MAX, "%s",
                                value->as.boolean ? "true" : "false");
    case TAVOLA_INT32:
        return tv_format_int64(ret_text, value->as.int32);
    case TAVOLA_INT64:
        return tv_format_int64(ret_text, value->as.int64);
    case TAVOLA_DOUBLE:
        if (value->as.real == 0 && signbit(value->as.real)) /* which the service does not write */
            return (size_t)snprintf(ret_text, TOOL_VALUE_TEXT_MAX, "-0.0");
        return tv_format_double(ret_text, value->as.real);
    case TAVOLA_DATETIME:
        return format_time(ret_text, value->as.ticks);
    case TAVOLA_GUID:
        tavola_guid_format(value->as.guid, ret_text);
        return strlen(ret_text);
    case TAVOLA_NONE:
    case TAVOLA_STRING:
    case TAVOLA_BINARY:
        break;
    }
    return 0;
}

void tool_value_write(tool_text *text, const tavola_value *value)
{
    char short_text[TOOL_VALUE_TEXT_MAX];

    if (value->type == TAVOLA_STRING)
        tool_text_add(text, value->as.ptr, value->size);
    else if (value->type == TAVOLA_BINARY)
        tool_text_base64(text, value->as.ptr, value->size);
    else
        tool_text_add(text, short_text, tool_value_format(value, short_text));
}

/* One word of the command line, taken apart. */
typedef struct word {
    char *name;
    tavola_type type; /* NONE: none was written */
    const char *text; /* NULL: an annotation */
} word;

#define ANNOTATION "@odata.type"

/* Name "Age", type "int32" of "Age:int32" or of "Age@odata.type=Edm.Int32". */
static tool_exit read_word(const char *from, word *ret_word)
{
    size_t size = strcspn(from, "="), name_size = size;
    size_t suffix = strlen(ANNOTATION);
    const char *colon = memchr(from, ':', size), *text = from + size + 1, *type = NULL;
    size_t type_size = 0;

    *ret_word = (word){.type = TAVOLA_NONE};
    if (from[size] && size > suffix && memcmp(from + size - suffix, ANNOTATION, suffix) == 0) {
        name_size = size - suffix;
        type = text;
        type_size = strlen(type);
    } else if (from[size]) {
        ret_word->text = text;
        if (colon) {
            name_size = (size_t)(colon - from);
            type = colon + 1;
            type_size = size - name_size - 1;
        }
    }
    if (!from[size] || name_size == 0)
        return tool_refuse("'%s' is not a property: write NAME=TEXT or NAME:TYPE=VALUE", from);
    if (type) {
        ret_word->type = tool_type_find(type, type_size);
        if (ret_word->type == TAVOLA_NONE)
            return tool_refuse("'%.*s' is not a type: take one of " TYPE_NAMES, (int)type_size,
                               type);
    }
    ret_word->name = tool_copy_part(from, name_size);
    return TOOL_OK;
}

/* The type that another word gives to the property of this one. */
static tool_exit apply_annotations(word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool has_property = words[i].text != NULL;

        for (size_t k = 0; k < count && words[i].name; k++) {
            if (k == i || strcmp(words[k].name, words[i].name) != 0)
                continue;
            if (words[k].text && words[i].text)
                return tool_refuse("the property %s is given twice", words[i].name);
            if (words[i].text)
                continue;
            has_property = true;
            if (!words[k].text || (words[k].type && words[k].type != words[i].type))
                return tool_refuse("the property %s is given two types", words[i].name);
            words[k].type = words[i].type;
        }
        if (!has_property)
            return tool_refuse("%s has a type and no value: add %s=VALUE", words[i].name,
                               words[i].name);
    }
    return TOOL_OK;
}

/* The bytes of "@file" or "-"; other texts are themselves, "@@x" is "@x". */
static tool_exit read_source(const word *from, bool *had_stdin, tool_text *ret_bytes,
                             bool *ret_is_file)
{
    const char *text = from->text;
    bool is_stdin = strcmp(text, "-") == 0 || strcmp(text, "@-") == 0;
    const char *path = is_stdin ? "-" : text + 1;

    *ret_is_file = is_stdin || (text[0] == '@' && text[1] != '@');
    if (!*ret_is_file) {
        tool_text_puts(ret_bytes, text + (text[0] == '@'));
        return TOOL_OK;
    }
    if (is_stdin && *had_stdin)
        return tool_refuse("only one value can come from standard input");
    *had_stdin |= is_stdin;
    if (!*path)
        return tool_refuse("%s=@ needs the name of a file ('@@' is a text that begins with @)",
                           from->name);
    if (!tool_text_read_file(ret_bytes, path))
        return tool_refuse("cannot read %s for %s: %s", is_stdin ? "standard input" : path,
                           from->name, strerror(errno));
    return TOOL_OK;
}

static tool_exit set_one(tavola_entity *entity, const word *from, bool *had_stdin)
{
    tavola_type type = from->type ? from->type : TAVOLA_STRING;
    bool is_text = type == TAVOLA_STRING || type == TAVOLA_BINARY, is_file;
    tool_text source = {0}, bytes = {0};
    tavola_value value;
    tool_exit exit = read_source(from, had_stdin, &source, &is_file);

    if (!exit && (strcmp(from->name, "PartitionKey") == 0 || strcmp(from->name, "RowKey") == 0))
        exit = tool_refuse("%s is a key: keys stand before the properties, without a name",
                           from->name);
    if (exit)
        goto out;
    /* A number in a file ends with a newline. */
    while (is_file && !is_text && source.size && strchr("\r\n", source.at[source.size - 1]))
        source.at[--source.size] = '\0';
    if (is_file && type == TAVOLA_BINARY)
        value = tavola_binary(source.at, source.size);
    else if (!tool_value_read(type, source.at, source.size, &bytes, &value)) {
        exit = tool_refuse("%s: '%.60s' is not of type %s: give %s", from->name, source.at,
                           tool_type_name(type), tool_type_form(type));
        goto out;
    }
    tavola_entity_set(entity, from->name, value);
    if (tavola_entity_error(entity))
        exit = tool_refuse("%s", tavola_entity_error_text(entity));

out:
    tool_text_done(&source);
    tool_text_done(&bytes);
    return exit;
}

tool_exit tool_entity_set(tavola_entity *entity, const char *const *texts, size_t count)
{
    word *words = tool_alloc((count + 1) * sizeof *words);
    bool had_stdin = false;
    tool_exit exit = TOOL_OK;

    for (size_t i = 0; i < count && !exit; i++)
        exit = read_word(texts[i], &words[i]);
    if (!exit)
        exit = apply_annotations(words, count);
    for (size_t i = 0; i < count && !exit; i++)
        if (words[i].text)
            exit = set_one(entity, &words[i], &had_stdin);
    for (size_t i = 0; i < count; i++)
        free(words[i].name);
    free(words);
    return exit;
}

/* Words that people write for types of ours: "30:int" must not become the text "30:int". */
static bool is_nearly_a_type(const char *name)
{
    static const char *const words[] = {"int",  "integer", "long",   "i32",  "i64",  "float",
                                        "real", "number",  "date",   "time", "uuid", "str",
                                        "text", "bytes",   "base64", "blob", "short"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(words[i], name) == 0)
            return true;
    return false;
}

static tool_exit read_bound(const char *text, tool_text *bytes, tavola_value *ret_value)
{
    const char *colon = strrchr(text, ':');
    tavola_type type = colon ? tool_type_find(colon + 1, strlen(colon + 1)) : TAVOLA_NONE;
    char *alone;
    tool_exit exit = TOOL_OK;

    if (colon && type == TAVOLA_NONE && is_nearly_a_type(colon + 1))
        return tool_refuse("'%s' is not a type: take one of " TYPE_NAMES
                           " (%s:string for that very text)",
                           colon + 1, text);
    alone = type ? tool_copy_part(text, (size_t)(colon - text)) : tool_copy(text);
    if (!tool_value_read(type ? type : TAVOLA_STRING, alone, strlen(alone), bytes, ret_value))
        exit = tool_refuse("'%.60s' is not of type %s: give %s", alone, tool_type_name(type),
                           tool_type_form(type));
    free(alone);
    return exit;
}

static tool_exit refuse_filter(const char *filter, size_t values)
{
    size_t quotes = 0;

    if (!filter[strspn(filter, " ")])
        return tool_refuse("the filter is empty: without --where it is all entities");
    for (const char *at = filter; *at; at++)
        quotes += *at == '\'';
    if (quotes % 2) /* one in a text is doubled */
        return tool_refuse("a text of the filter has no quote at its end: %s", filter);
    return tool_refuse(
        "the filter cannot be used with %zu value%s: %s  (it goes --where \"PartitionKey eq ? "
        "and Age gt ?\" Sales 30:int32, a value for each ?)",
        values, values == 1 ? "" : "s", filter);
}

tool_exit tool_filter_of(const tool_run *run, tavola_filter **ret_filter)
{
    const char *const *words = run->where;
    size_t count = run->where_count;
    tavola_value *values;
    tool_text *bytes;
    tool_exit exit = TOOL_OK;

    *ret_filter = NULL;
    if (count == 0)
        return TOOL_OK;
    values = tool_alloc(count * sizeof *values);
    bytes = tool_alloc(count * sizeof *bytes);
    for (size_t i = 1; i < count && !exit; i++)
        exit = read_bound(words[i], &bytes[i], &values[i - 1]);
    if (!exit) {
        *ret_filter = tavola_filter_bind(words[0], values, count - 1);
        if (tavola_filter_error(*ret_filter)) {
            tavola_filter_free(*ret_filter);
            *ret_filter = NULL;
            exit = refuse_filter(words[0], count - 1);
        }
    }
    for (size_t i = 0; i < count; i++)
        tool_text_done(&bytes[i]);
    free(values);
    free(bytes);
    return exit;
}
