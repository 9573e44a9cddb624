/*
 * ETags and the conditions made of them.  An ETag is the entity's timestamp:
 *
 *     W/"datetime'2026-01-02T03%3A04%3A05.1234567Z'"
 */
#ifndef TV_SERVICES_TABLE_ETAG_H
#define TV_SERVICES_TABLE_ETAG_H

#include <stdint.h>

#include "base/err.h"

enum { TV_TABLE_ETAG_TEXT_MAX = 64 };

/** Returns the length; not terminated. */
size_t tv_table_etag_format(char to[TV_TABLE_ETAG_TEXT_MAX], int64_t ticks);

typedef enum tv_table_condition_kind {
    TV_TABLE_CONDITION_NONE,  /* no If-Match */
    TV_TABLE_CONDITION_ANY,   /* "*": the entity exists */
    TV_TABLE_CONDITION_EXACT, /* it exists and has this timestamp */
    TV_TABLE_CONDITION_NEVER, /* a well-formed ETag that cannot be one of ours */
} tv_table_condition_kind;

typedef struct tv_table_condition {
    tv_table_condition_kind kind;
    int64_t ticks;
} tv_table_condition;

/**
 * Read an If-Match header; TV_NONE gives TV_TABLE_CONDITION_NONE.  Only weak ETags
 * are valid: TV_ERR_ETAG_INVALID for anything else.  ETags are compared by the
 * instant they name, so that ".7140000Z" equals ".714Z".
 */
tv_err tv_table_condition_parse(tv_slice if_match,
                                tv_table_condition *ret_condition) TV_WARN_UNUSED;

/** Whether an existing entity meets a condition. */
bool tv_table_condition_holds(const tv_table_condition *condition, int64_t ticks);

#endif
