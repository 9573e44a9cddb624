/* See json_find.h: the reader of base/, with values instead of an arena. */
#include "json_find.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"

static tool_json json_of(tv_slice text)
{
    return (tool_json){text.data, text.len};
}

static tv_slice slice_of(tool_json value)
{
    return (tv_slice){value.at, value.size};
}

tool_json tool_json_of(const char *text)
{
    tool_json all = {0};
    tv_json_member value;
    tv_arena arena;

    tv_arena_init(&arena);
    if (tv_json_value(&arena, tv_slice_of(text), &value))
        all = json_of(value.raw);
    tv_arena_done(&arena);
    return all;
}

bool tool_json_each(tool_json list, tool_json_walk *walk)
{
    tv_json_reader reader;
    tv_json_member member;
    bool is_there = false;
    tv_arena arena;

    if (!list.at)
        return false;
    tv_arena_init(&arena);
    (*list.at == '[' ? tv_json_reader_init_list : tv_json_reader_init)(&reader, &arena,
                                                                       slice_of(list));
    reader.started = walk->next != NULL;
    if (walk->next)
        reader.at = walk->next;
    is_there = tv_json_next(&reader, &member);
    walk->next = reader.at;
    if (is_there) {
        bool is_in_text = member.name.data > list.at && member.name.data < list.at + list.size;

        walk->name = is_in_text ? json_of(member.name) : (tool_json){0};
        walk->value = json_of(member.raw);
    }
    tv_arena_done(&arena);
    return is_there;
}

size_t tool_json_count(tool_json list)
{
    tool_json_walk walk = {0};
    size_t count = 0;

    while (tool_json_each(list, &walk))
        count++;
    return count;
}

tool_json tool_json_get(tool_json object, const char *path)
{
    while (object.at && *path) {
        tv_slice name = {path, strcspn(path, ".")};
        tool_json_walk walk = {0};
        tool_json found = {0};

        while (!found.at && *object.at == '{' && tool_json_each(object, &walk))
            if (tv_slice_eq(slice_of(walk.name), name))
                found = walk.value;
        object = found;
        path += name.len + (path[name.len] == '.');
    }
    return object;
}

void tool_json_text(tool_json value, tool_text *ret_text)
{
    tv_json_member member;
    tv_arena arena;

    tool_text_puts(ret_text, "");
    tv_arena_init(&arena);
    if (tv_json_value(&arena, slice_of(value), &member))
        tool_text_add(ret_text, member.text.data, member.text.len);
    tv_arena_done(&arena);
}

bool tool_json_is(tool_json value, const char *text)
{
    tool_text found = {0};
    bool is;

    tool_json_text(value, &found);
    is = value.at && *value.at == '"' && strcmp(found.at, text) == 0;
    tool_text_done(&found);
    return is;
}

double tool_json_number(tool_json value)
{
    return value.at ? strtod(value.at, NULL) : 0;
}

int64_t tool_json_int(tool_json object, const char *path)
{
    tool_json value = tool_json_get(object, path);

    return value.at ? strtoll(value.at, NULL, 10) : 0;
}

bool tool_json_whole(tool_json value, uint64_t *ret_number)
{
    return value.at && tv_parse_uint64(slice_of(value), ret_number);
}
