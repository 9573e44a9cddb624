/*
 * Find values in JSON that a tavolad has sent, or that stands in a file, by name.  Nothing is
 * copied: a value is a part of the text.  Text that is not JSON has no values.
 */
#ifndef TOOL_JSON_FIND_H
#define TOOL_JSON_FIND_H
#include "text.h"

typedef struct tool_json {
    const char *at; /* NULL: there is none */
    size_t size;
} tool_json;

/* A walk through an array, or the members of an object; {0} at first. */
typedef struct tool_json_walk {
    const char *next;
    tool_json name; /* without its quotes; NULL in an array, and where it has escapes */
    tool_json value;
} tool_json_walk;

/* All of a text. */
tool_json tool_json_of(const char *text);
/* A member of an object, and of what is in it: "cure.proposal.rowKey". */
tool_json tool_json_get(tool_json object, const char *path);
/* The next step; false at the end. */
bool tool_json_each(tool_json list, tool_json_walk *walk);
size_t tool_json_count(tool_json list);
/* A string without its quotes and escapes; anything else as it stands.  Appends. */
void tool_json_text(tool_json value, tool_text *ret_text);
/* Whether it is a string, and this one. */
bool tool_json_is(tool_json value, const char *text);
/* 0 when it is not a number. */
double tool_json_number(tool_json value);
int64_t tool_json_int(tool_json object, const char *path);
/* A whole number from 0 on, as it stands; false when it is something else. */
bool tool_json_whole(tool_json value, uint64_t *ret_number);

#endif
