/*
 * What a URL names: the account, and after it the tables, one table, an
 * entity set or one entity.  A path is decoded once, here; what is signed is
 * the path on the wire, and what is authorised and executed is this object.
 */
#ifndef TV_SERVICES_TABLE_RESOURCE_H
#define TV_SERVICES_TABLE_RESOURCE_H

#include "base/arena.h"
#include "base/err.h"

/** What a path addresses, and the form that it has.  All entities are /table() as well. */
#define TV_TABLE_PATHS(AT)                                                                         \
    AT(SERVICE, "/?restype=service")                                                               \
    AT(TABLES, "/Tables")                                                                          \
    AT(TABLE, "/Tables('table')")                                                                  \
    AT(ENTITIES, "/table")                                                                         \
    AT(ENTITY, "/table(PartitionKey='p',RowKey='r')")                                              \
    AT(BATCH, "/$batch")

typedef enum tv_table_where {
#define AT(where, form) TV_TABLE_AT_##where,
    TV_TABLE_PATHS(AT)
#undef AT
} tv_table_where;

typedef struct tv_table_resource {
    tv_table_where where;
    tv_slice table; /* not checked to be a legal name */
    tv_slice partition_key;
    tv_slice row_key;
} tv_table_resource;

/**
 * Decode and parse what comes after the account.  TV_ERR_KEY_COUNT when a key is
 * missing or one too many (then `ret_resource` has the table),
 * TV_ERR_URL_UNPARSABLE for a bad escape, TV_ERR_QUERY_SYNTAX for what cannot be a
 * key predicate, TV_ERR_INVALID_URI for a path that names nothing,
 * TV_ERR_MEDIA_TYPE for a batch after a table.
 */
tv_err tv_table_resource_parse(tv_arena *arena, tv_slice account, tv_slice rest,
                               tv_table_resource *ret_resource,
                               tv_error_info *reterr_info) TV_WARN_UNUSED;

#endif
