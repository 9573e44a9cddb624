/*
 * Lists of strings as JSON arrays: what the index entities pattern keeps in properties and blobs.
 */
#ifndef TVC_PATTERNS_JSON_LIST_H
#define TVC_PATTERNS_JSON_LIST_H

#include "client/names.h"
#include "client/text.h"

/** Read ["a","b"] into a new list; an empty text is an empty list.  PROTOCOL, NO_MEMORY. */
tavola_err tvc_json_list_read(tv_slice text, tavola_names **ret_items);

/** Write it, in ASCII. */
void tvc_json_list_write(tvc_text *text, const tavola_names *items);

/** Add an item if it is not there.  False when there is no memory. */
bool tvc_json_list_add(tavola_names *items, const char *item);

/** Take an item out, if it is there. */
void tvc_json_list_remove(tavola_names *items, const char *item);

#endif
