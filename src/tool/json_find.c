/* See json_find.h. */
#include "json_find.h"

#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n", *at) && *at)
        at++;
    return at;
}

/* Behind the string that begins here; NULL: it does not end. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : NULL;
}

/* Behind the value that begins here; NULL: it does not end. */
static const char *skip_value(const char *at, const char *end)
{
    int open = 0;

    do {
        if (at >= end)
            return NULL;
        if (*at == '"') {
            at = skip_string(at, end);
            if (!at)
                return NULL;
        } else if (*at == '{' || *at == '[') {
            open++;
            at++;
        } else if (*at == '}' || *at == ']') {
            open--;
            at++;
        } else {
            at++;
            while (open == 0 && at < end && !strchr(",}] \t\r\n", *at))
                at++;
        }
    } while (open > 0);
    return at;
}

tool_json tool_json_of(const char *text)
{
    const char *end = text + strlen(text), *at = skip_blanks(text, end);

    return (tool_json){at, (size_t)(end - at)};
}

bool tool_json_each(tool_json list, tool_json *next, tool_json *ret_name, tool_json *ret_value)
{
    const char *end = list.at + list.size, *at, *after;
    bool is_object = list.at && *list.at == '{';

    *ret_name = (tool_json){0};
    if (!list.at || list.size < 2 || (*list.at != '{' && *list.at != '['))
        return false;
    at = skip_blanks(next->at ? next->at : list.at + 1, end);
    if (next->at && at < end && *at == ',')
        at = skip_blanks(at + 1, end);
    if (at >= end || *at == '}' || *at == ']')
        return false;
    if (is_object) {
        after = *at == '"' ? skip_string(at, end) : NULL;
        if (!after)
            return false;
        *ret_name = (tool_json){at, (size_t)(after - at)};
        at = skip_blanks(after, end);
        if (at >= end || *at != ':')
            return false;
        at = skip_blanks(at + 1, end);
    }
    after = at < end ? skip_value(at, end) : NULL;
    if (!after)
        return false;
    *ret_value = (tool_json){at, (size_t)(after - at)};
    *next = (tool_json){after, 1};
    return true;
}

static tool_json get_member(tool_json object, const char *name, size_t size)
{
    tool_json next = {0}, found, value;

    while (tool_json_each(object, &next, &found, &value)) {
        if (found.at && found.size == size + 2 && memcmp(found.at + 1, name, size) == 0)
            return value;
    }
    return (tool_json){0};
}

tool_json tool_json_get(tool_json object, const char *path)
{
    while (object.at) {
        size_t size = strcspn(path, ".");

        object = get_member(object, path, size);
        if (!path[size])
            break;
        path += size + 1;
    }
    return object;
}

static void add_code(tool_text *text, unsigned code)
{
    char bytes[4];
    size_t size = 0;

    if (code < 0x80) {
        bytes[size++] = (char)code;
    } else if (code < 0x800) {
        bytes[size++] = (char)(0xC0 | code >> 6);
    } else if (code < 0x10000) {
        bytes[size++] = (char)(0xE0 | code >> 12);
        bytes[size++] = (char)(0x80 | (code >> 6 & 0x3F));
    } else {
        bytes[size++] = (char)(0xF0 | code >> 18);
        bytes[size++] = (char)(0x80 | (code >> 12 & 0x3F));
        bytes[size++] = (char)(0x80 | (code >> 6 & 0x3F));
    }
    if (code >= 0x80)
        bytes[size++] = (char)(0x80 | (code & 0x3F));
    tool_text_add(text, bytes, size);
}

/* Four digits behind \u; false when there are none. */
static bool read_code(const char *at, const char *end, unsigned *ret_code)
{
    char digits[5] = {0};

    if (end - at < 4)
        return false;
    memcpy(digits, at, 4);
    *ret_code = (unsigned)strtoul(digits, NULL, 16);
    return strspn(digits, "0123456789abcdefABCDEF") == 4;
}

static const char *add_escape(tool_text *text, const char *at, const char *end)
{
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    const char *letter = strchr(letters, *at);
    unsigned code, low;

    if (*at == 'u' && read_code(at + 1, end, &code)) {
        at += 4;
        if (code >= 0xD800 && code < 0xDC00 && end - at > 6 && at[1] == '\\' && at[2] == 'u' &&
            read_code(at + 3, end, &low) && low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            at += 6;
        }
        add_code(text, code);
    } else {
        tool_text_add(text, letter && *at ? &meant[letter - letters] : at, 1);
    }
    return at;
}

void tool_json_text(tool_json value, tool_text *ret_text)
{
    const char *end = value.at + value.size;

    tool_text_puts(ret_text, "");
    if (!value.at)
        return;
    if (*value.at != '"') {
        tool_text_add(ret_text, value.at, value.size);
        return;
    }
    for (const char *at = value.at + 1; at + 1 < end; at++) {
        if (*at == '\\' && at + 2 < end)
            at = add_escape(ret_text, at + 1, end - 1);
        else
            tool_text_add(ret_text, at, 1);
    }
}

double tool_json_number(tool_json value)
{
    return value.at ? strtod(value.at, NULL) : 0;
}
