/*
 * From a request's JSON to properties: types by annotation or inference, every
 * limit on a single property with its own error.
 */
#ifndef TV_SERVICES_TABLE_ENTITY_READ_H
#define TV_SERVICES_TABLE_ENTITY_READ_H

#include "model/entity/entity.h"

/** What a request body says.  Slices live in the arena or in the body. */
typedef struct tv_entity_body {
    tv_slice partition_key; /* data is NULL when the body has none, or null */
    tv_slice row_key;
    bool has_odd_key;                /* one is not a string: its text, or what no key can be */
    tv_entity_properties properties; /* without nulls and system properties, in the order sent */
} tv_entity_body;

/**
 * Read an entity.  Members that begin with "odata." are metadata and ignored,
 * as is Timestamp, whatever it holds.  The keys are not checked here: what
 * counts depends on where they must come from.  Nor is the size of values:
 * see tv_entity_check_limits.
 */
tv_err tv_entity_body_read(tv_arena *arena, tv_slice json, tv_entity_body *ret_body,
                           tv_error_info *reterr_info) TV_WARN_UNUSED;

#endif
