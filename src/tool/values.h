/*
 * Typed values of the command line.  A value has the type that is written with it, else it is a
 * String: nothing is guessed from how it looks.
 */
#ifndef TOOL_VALUES_H
#define TOOL_VALUES_H
#include "text.h"
#include "tool.h"

/* "int32" of an Int32, "Edm.Int32" with the prefix. */
const char *tool_type_name(tavola_type type);
const char *tool_edm_name(tavola_type type);
/* By "int32", "Int32" or "Edm.Int32", in any case; TAVOLA_NONE: there is no such type. */
tavola_type tool_type_find(const char *name, size_t size);
/*
 * A value of the type from its text; bytes of Strings and Binaries go to `bytes`, which must
 * outlive it.  False when the text is not one.  The text of a Binary is base64.
 */
bool tool_value_read(tavola_type type, const char *text, size_t size, tool_text *bytes,
                     tavola_value *ret_value);
/* What a text of the type looks like, for people. */
const char *tool_type_form(tavola_type type);
enum { TOOL_VALUE_TEXT_MAX = 40 }; /* of values that are neither String nor Binary */
/* The text of such a value, as the service writes it; its size, no NUL.  None has 0. */
size_t tool_value_format(const tavola_value *value, char ret_text[TOOL_VALUE_TEXT_MAX]);
/* The same of any value: 2026-01-02T03:04:05.1234567Z, base64... */
void tool_value_write(tool_text *text, const tavola_value *value);

/* Set properties from "Name=text", "Name:type=text", "Name@odata.type=Edm.Type", "Name=@file",
 * "Name=-" (standard input). */
tool_exit tool_entity_set(tavola_entity *entity, const char *const *words, size_t count);
/* The filter of --where, with its values, "30:int32" or "Sales".  Free it.  Without the flag
 * *ret_filter is NULL: everything. */
tool_exit tool_filter_of(const tool_run *run, tavola_filter **ret_filter);

#endif
