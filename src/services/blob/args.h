/*
 * What the head of a request says in addition to its operation, parsed and
 * checked to the extent possible without the store.
 */
#ifndef TV_SERVICES_BLOB_ARGS_H
#define TV_SERVICES_BLOB_ARGS_H

#include "services/blob/store/blob.h"
#include "services/blob/store/condition.h"
#include "services/service/call.h"

typedef struct tv_blob_args {
    tv_slice restype;       /* the parameter; data is NULL without one */
    int64_t snapshot;       /* in ticks; 0 for the blob itself */
    tv_slice version;       /* "2019-12-12"; empty when the client does not give one */
    tv_blob_type type;      /* of Put Blob */
    tv_lease_request lease; /* of lease operations */
    tv_blob_conditions conditions;
    tv_blob_conditions source_conditions; /* x-ms-source-if-*, of copies; without a lease */
    bool is_create_only; /* a SAS that may create but not replace: conditions.must_be_new is set,
                            and TV_ERR_BLOB_EXISTS means TV_ERR_PERMISSION_MISMATCH */
} tv_blob_args;

/** Whether the request has at least this version ("2019-12-12"); one without a
 * version has the newest.
 */
bool tv_blob_is_since(const tv_blob_args *args, tv_slice version);

/** Whether answers about containers mention encryption scopes, and immutable storage. */
static inline bool tv_blob_has_scopes(const tv_blob_args *args)
{
    return tv_blob_is_since(args, TV_LIT("2019-07-07"));
}

static inline bool tv_blob_has_immutable_storage(const tv_blob_args *args)
{
    return tv_blob_is_since(args, TV_LIT("2020-10-02"));
}

/** The encryption scope of every container: that of the account. */
#define TV_BLOB_ACCOUNT_SCOPE TV_LIT("$account-encryption-key")

/**
 * What the heads of all operations have in common: snapshot, version, conditions,
 * and headers that change what a request means and that this server does not
 * honour (TV_ERR_NOT_IMPLEMENTED).  The row is known: see tv_service_spec.read_head.
 */
tv_err tv_blob_read_args(tv_call *call) TV_WARN_UNUSED;

/** How long the body may be: what the row says, and for data what the version allows at once. */
uint64_t tv_blob_body_bytes_max(tv_call *call);

/** x-ms-source-if-*, without a lease.  TV_ERR_INVALID_HEADER. */
tv_err tv_blob_read_source_conditions(tv_call *call,
                                      tv_blob_conditions *ret_conditions) TV_WARN_UNUSED;

/** x-ms-lease-action and what belongs to it.  TV_ERR_MISSING_HEADER, TV_ERR_INVALID_HEADER. */
tv_err tv_blob_read_lease(tv_call *call, tv_lease_request *ret_request) TV_WARN_UNUSED;

/** TV_ERR_NOT_IMPLEMENTED with a text that names what is not supported. */
tv_err tv_blob_not_supported(tv_call *call, const char *what);

/** TV_ERR_MISSING_HEADER with a body that names the header. */
tv_err tv_blob_missing_header(tv_call *call, tv_slice name);

#endif
