/*
 * The operations of the blob service: what a path addresses, and the table of
 * operations (ops.def) as an enum.
 */
#ifndef TV_BLOB_OPS_H
#define TV_BLOB_OPS_H

#include "blob/service.h"

/** What a path, with restype, addresses. */
typedef enum tv_blob_where {
    TV_BLOB_AT_ACCOUNT,      /* / */
    TV_BLOB_AT_SERVICE,      /* /?restype=service */
    TV_BLOB_AT_ACCOUNT_INFO, /* ?restype=account, whatever the path */
    TV_BLOB_AT_CONTAINER,    /* /container?restype=container */
    TV_BLOB_AT_BLOB,         /* /container/blob, or /blob in $root */
} tv_blob_where;

typedef enum tv_blob_op {
#define OP(kind, ...) TV_BLOB_OP_##kind,
#include "blob/ops.def"
    TV_BLOB_OP_COUNT
} tv_blob_op;

#endif
