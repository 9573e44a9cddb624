/*
 * The operations of the blob service: what a path addresses, and the table of
 * operations (ops.def) as an enum.
 */
#ifndef TV_SERVICES_BLOB_OPS_H
#define TV_SERVICES_BLOB_OPS_H

#include "services/blob/service.h"

/**
 * What a path, with restype, addresses, and the form that it has.  Information
 * on the account may be requested with any path; a blob in $root is /blob, too.
 */
#define TV_BLOB_PATHS(AT)                                                                          \
    AT(ACCOUNT, "/")                                                                               \
    AT(SERVICE, "/?restype=service")                                                               \
    AT(ACCOUNT_INFO, "/?restype=account")                                                          \
    AT(CONTAINER, "/container?restype=container")                                                  \
    AT(BLOB, "/container/blob")

typedef enum tv_blob_where {
#define AT(where, form) TV_BLOB_AT_##where,
    TV_BLOB_PATHS(AT)
#undef AT
} tv_blob_where;

typedef enum tv_blob_op {
#define OP(kind, ...) TV_BLOB_OP_##kind,
#include "services/blob/ops.def"
    TV_BLOB_OP_COUNT
} tv_blob_op;

#endif
