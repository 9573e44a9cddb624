/*
 * $select: which properties of an entity a response shows.
 */
#ifndef TV_SERVICES_TABLE_SELECT_H
#define TV_SERVICES_TABLE_SELECT_H

#include "base/arena.h"
#include "base/err.h"
#include "model/odata/names.h"

/** A list of names; count 0 selects everything. */
typedef struct tv_table_select {
    const tv_names *names; /* NULL for everything */
    size_t count;
    tv_slice url_text; /* the list as the client wrote it, escaped for the metadata URL */
} tv_table_select;

/** Read the parameter's decoded value; TV_NONE, an empty list and "*" select everything. */
tv_err tv_table_select_parse(tv_arena *arena, tv_slice list,
                             tv_table_select *ret_select) TV_WARN_UNUSED;

/** Whether a property is shown. */
bool tv_table_select_has(const tv_table_select *select, tv_slice name);

#endif
