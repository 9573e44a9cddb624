/*
 * One operation of the Blob service: what a request asks for, parsed and checked
 * as far as that is possible without the store.
 */
#ifndef TV_BLOB_OP_H
#define TV_BLOB_OP_H

#include "blob/store/blob.h"
#include "blob/store/condition.h"
#include "service/call.h"

/* kind, name in metrics and logs (that of Storage Analytics) */
#define TV_BLOB_OP_MAP(X)                                                                          \
    X(UNKNOWN, "Unknown")                                                                          \
    X(PREFLIGHT, "BlobPreflightRequest")                                                           \
    X(GET_SERVICE_PROPERTIES, "GetBlobServiceProperties")                                          \
    X(SET_SERVICE_PROPERTIES, "SetBlobServiceProperties")                                          \
    X(GET_SERVICE_STATS, "GetBlobServiceStats")                                                    \
    X(GET_ACCOUNT_INFO, "GetAccountInformation")                                                   \
    X(LIST_CONTAINERS, "ListContainers")                                                           \
    X(CREATE_CONTAINER, "CreateContainer")                                                         \
    X(GET_CONTAINER_PROPERTIES, "GetContainerProperties")                                          \
    X(GET_CONTAINER_METADATA, "GetContainerMetadata")                                              \
    X(SET_CONTAINER_METADATA, "SetContainerMetadata")                                              \
    X(GET_CONTAINER_ACL, "GetContainerACL")                                                        \
    X(SET_CONTAINER_ACL, "SetContainerACL")                                                        \
    X(DELETE_CONTAINER, "DeleteContainer")                                                         \
    X(ACQUIRE_CONTAINER_LEASE, "AcquireContainerLease")                                            \
    X(RENEW_CONTAINER_LEASE, "RenewContainerLease")                                                \
    X(CHANGE_CONTAINER_LEASE, "ChangeContainerLease")                                              \
    X(RELEASE_CONTAINER_LEASE, "ReleaseContainerLease")                                            \
    X(BREAK_CONTAINER_LEASE, "BreakContainerLease")                                                \
    X(LIST_BLOBS, "ListBlobs")                                                                     \
    X(PUT_BLOB, "PutBlob")                                                                         \
    X(PUT_BLOCK, "PutBlock")                                                                       \
    X(PUT_BLOCK_LIST, "PutBlockList")                                                              \
    X(GET_BLOCK_LIST, "GetBlockList")                                                              \
    X(APPEND_BLOCK, "AppendBlock")                                                                 \
    X(GET_BLOB, "GetBlob")                                                                         \
    X(GET_BLOB_PROPERTIES, "GetBlobProperties")                                                    \
    X(SET_BLOB_PROPERTIES, "SetBlobProperties")                                                    \
    X(GET_BLOB_METADATA, "GetBlobMetadata")                                                        \
    X(SET_BLOB_METADATA, "SetBlobMetadata")                                                        \
    X(SNAPSHOT_BLOB, "SnapshotBlob")                                                               \
    X(DELETE_BLOB, "DeleteBlob")                                                                   \
    X(ACQUIRE_BLOB_LEASE, "AcquireBlobLease")                                                      \
    X(RENEW_BLOB_LEASE, "RenewBlobLease")                                                          \
    X(CHANGE_BLOB_LEASE, "ChangeBlobLease")                                                        \
    X(RELEASE_BLOB_LEASE, "ReleaseBlobLease")                                                      \
    X(BREAK_BLOB_LEASE, "BreakBlobLease")                                                          \
    X(COPY_BLOB, "CopyBlob")                                                                       \
    X(COPY_BLOB_FROM_URL, "CopyBlobFromURL")                                                       \
    X(ABORT_COPY_BLOB, "AbortCopyBlob")

typedef enum tv_blob_op_kind {
#define X(kind, name) TV_BLOB_OP_##kind,
    TV_BLOB_OP_MAP(X)
#undef X
        TV_BLOB_OP_COUNT
} tv_blob_op_kind;

const char *tv_blob_op_name(tv_blob_op_kind kind);

typedef struct tv_blob_op {
    tv_blob_op_kind kind;
    tv_slice restype, comp;   /* parameters; data is NULL without them */
    tv_slice container, blob; /* decoded; empty where the operation is on none */
    tv_slice snapshot_text;   /* the parameter, for what a SAS says of it; empty without one */
    int64_t snapshot;         /* the same as ticks; 0 for the blob itself */
    tv_slice version;         /* "2019-12-12"; empty when the client does not say */
    tv_blob_type type;        /* of Put Blob */
    tv_lease_request lease;   /* of lease operations */
    tv_blob_conditions conditions;
    tv_blob_conditions source_conditions; /* x-ms-source-if-*, of copies; without a lease */
    uint64_t body_bytes_max;
    bool has_sink;       /* its body is streamed: Put Blob, Put Block, Append Block */
    bool is_create_only; /* a SAS that may create but not replace: set by routes.c with
                            conditions.must_be_new; TV_ERR_BLOB_EXISTS then means
                            TV_ERR_PERMISSION_MISMATCH */
} tv_blob_op;

/**
 * The first step, before anybody is authenticated: restype, comp, snapshot and
 * the names in the path, decoded but not checked; that of the blob is the one it
 * means (tv_blob_name_of), also for what a SAS was signed for.  A path of one segment is a
 * blob in $root unless restype says otherwise.  TV_ERR_URL_UNPARSABLE.
 */
tv_err tv_blob_op_read_path(tv_call *call, tv_blob_op *op) TV_WARN_UNUSED;

/**
 * The second: which operation it is, and all of its head that is the same for
 * many: names, snapshot, version, conditions, lease.  `op` has been through the
 * first.  What could be parsed before an error stays in `op`.  What the service
 * has and this server has not is TV_ERR_NOT_IMPLEMENTED (TV_ERR_PAGE_BLOB) with
 * a text that says so.
 */
tv_err tv_blob_op_parse(tv_call *call, tv_blob_op *op) TV_WARN_UNUSED;

/** Whether the request speaks at least this version ("2019-12-12"); who says none speaks the last.
 */
bool tv_blob_op_is_since(const tv_blob_op *op, tv_slice version);

/** Whether answers about containers speak of encryption scopes, and of immutable storage. */
static inline bool tv_blob_op_has_scopes(const tv_blob_op *op)
{
    return tv_blob_op_is_since(op, TV_LIT("2019-07-07"));
}

static inline bool tv_blob_op_has_immutable_storage(const tv_blob_op *op)
{
    return tv_blob_op_is_since(op, TV_LIT("2020-10-02"));
}

/** The encryption scope of every container: that of the account. */
#define TV_BLOB_ACCOUNT_SCOPE TV_LIT("$account-encryption-key")

/* op_head.c: parts of the second step. */

/** If-* and x-ms-lease-id.  TV_ERR_INVALID_HEADER. */
tv_err tv_blob_read_conditions(tv_call *call, tv_blob_conditions *ret_conditions) TV_WARN_UNUSED;

/** x-ms-source-if-*, without a lease.  TV_ERR_INVALID_HEADER. */
tv_err tv_blob_read_source_conditions(tv_call *call,
                                      tv_blob_conditions *ret_conditions) TV_WARN_UNUSED;

/** x-ms-lease-action and what belongs to it.  TV_ERR_MISSING_HEADER, TV_ERR_INVALID_HEADER. */
tv_err tv_blob_read_lease(tv_call *call, tv_lease_request *ret_request) TV_WARN_UNUSED;

/** Headers that change what a request means and that this server does not honour:
 * TV_ERR_NOT_IMPLEMENTED. */
tv_err tv_blob_check_headers(tv_call *call) TV_WARN_UNUSED;

/** TV_ERR_NOT_IMPLEMENTED with a text that names what is not supported. */
tv_err tv_blob_not_supported(tv_call *call, const char *what);

/** TV_ERR_MISSING_HEADER with a body that names the header. */
tv_err tv_blob_missing_header(tv_call *call, tv_slice name);

#endif
