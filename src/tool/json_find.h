/*
 * Find values in JSON that a tavolad has sent, by name.  Nothing is copied: a value is a part of
 * the text.  Text that is not JSON has no values.
 */
#ifndef TOOL_JSON_FIND_H
#define TOOL_JSON_FIND_H
#include "text.h"

typedef struct tool_json {
    const char *at; /* NULL: there is none */
    size_t size;
} tool_json;

/* All of a text. */
tool_json tool_json_of(const char *text);
/* A member of an object, and of what is in it: "cure.proposal.rowKey". */
tool_json tool_json_get(tool_json object, const char *path);
/* Go through an array, or the members of an object: *next is {0} at first.  False at the end. */
bool tool_json_each(tool_json list, tool_json *next, tool_json *ret_name, tool_json *ret_value);
/* A string without its quotes and escapes; anything else as it stands.  Appends. */
void tool_json_text(tool_json value, tool_text *ret_text);
double tool_json_number(tool_json value);

#endif
