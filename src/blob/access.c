/* The table of needs. */
#include "blob/access.h"

#include "base/assert.h"

enum {
    ACCOUNT_ONLY = TV_SAS_ACCOUNT,
    IN_CONTAINER = TV_SAS_ACCOUNT | TV_SAS_CONTAINER,
    ON_BLOB = TV_SAS_ACCOUNT | TV_SAS_CONTAINER | TV_SAS_BLOB,
};

/* Who may break a lease is who may write, or who may delete what it protects. */
static const struct {
    unsigned sas;
    tv_resource_type type;
    unsigned all_of, any_of;
} needs[TV_BLOB_OP_COUNT] = {
    [TV_BLOB_OP_GET_SERVICE_PROPERTIES] = {ACCOUNT_ONLY, TV_TYPE_SERVICE, TV_MAY_READ, 0},
    [TV_BLOB_OP_SET_SERVICE_PROPERTIES] = {ACCOUNT_ONLY, TV_TYPE_SERVICE, TV_MAY_WRITE, 0},
    [TV_BLOB_OP_GET_SERVICE_STATS] = {ACCOUNT_ONLY, TV_TYPE_SERVICE, TV_MAY_READ, 0},
    [TV_BLOB_OP_LIST_CONTAINERS] = {ACCOUNT_ONLY, TV_TYPE_SERVICE, TV_MAY_LIST, 0},
    /* Any SAS at all; its type is that of the path. */
    [TV_BLOB_OP_GET_ACCOUNT_INFO] = {ON_BLOB, TV_TYPE_SERVICE, 0, 0},

    [TV_BLOB_OP_CREATE_CONTAINER] = {ACCOUNT_ONLY, TV_TYPE_CONTAINER, 0,
                                     TV_MAY_CREATE | TV_MAY_WRITE},
    [TV_BLOB_OP_GET_CONTAINER_PROPERTIES] = {ACCOUNT_ONLY, TV_TYPE_CONTAINER, TV_MAY_READ, 0},
    [TV_BLOB_OP_GET_CONTAINER_METADATA] = {ACCOUNT_ONLY, TV_TYPE_CONTAINER, TV_MAY_READ, 0},
    [TV_BLOB_OP_SET_CONTAINER_METADATA] = {ACCOUNT_ONLY, TV_TYPE_CONTAINER, TV_MAY_WRITE, 0},
    [TV_BLOB_OP_DELETE_CONTAINER] = {ACCOUNT_ONLY, TV_TYPE_CONTAINER, TV_MAY_DELETE, 0},
    [TV_BLOB_OP_ACQUIRE_CONTAINER_LEASE] = {ACCOUNT_ONLY, TV_TYPE_CONTAINER, TV_MAY_WRITE, 0},
    [TV_BLOB_OP_RENEW_CONTAINER_LEASE] = {ACCOUNT_ONLY, TV_TYPE_CONTAINER, TV_MAY_WRITE, 0},
    [TV_BLOB_OP_CHANGE_CONTAINER_LEASE] = {ACCOUNT_ONLY, TV_TYPE_CONTAINER, TV_MAY_WRITE, 0},
    [TV_BLOB_OP_RELEASE_CONTAINER_LEASE] = {ACCOUNT_ONLY, TV_TYPE_CONTAINER, TV_MAY_WRITE, 0},
    [TV_BLOB_OP_BREAK_CONTAINER_LEASE] = {ACCOUNT_ONLY, TV_TYPE_CONTAINER, 0,
                                          TV_MAY_WRITE | TV_MAY_DELETE},
    [TV_BLOB_OP_LIST_BLOBS] = {IN_CONTAINER, TV_TYPE_CONTAINER, TV_MAY_LIST, 0},

    /* Who may only create gets no further than to a blob that is new: see routes.c. */
    [TV_BLOB_OP_PUT_BLOB] = {ON_BLOB, TV_TYPE_OBJECT, 0, TV_MAY_CREATE | TV_MAY_WRITE},
    [TV_BLOB_OP_PUT_BLOCK] = {ON_BLOB, TV_TYPE_OBJECT, 0, TV_MAY_CREATE | TV_MAY_WRITE},
    [TV_BLOB_OP_PUT_BLOCK_LIST] = {ON_BLOB, TV_TYPE_OBJECT, 0, TV_MAY_CREATE | TV_MAY_WRITE},
    [TV_BLOB_OP_COPY_BLOB] = {ON_BLOB, TV_TYPE_OBJECT, 0, TV_MAY_CREATE | TV_MAY_WRITE},
    [TV_BLOB_OP_COPY_BLOB_FROM_URL] = {ON_BLOB, TV_TYPE_OBJECT, 0, TV_MAY_CREATE | TV_MAY_WRITE},
    [TV_BLOB_OP_SNAPSHOT_BLOB] = {ON_BLOB, TV_TYPE_OBJECT, 0, TV_MAY_CREATE | TV_MAY_WRITE},
    [TV_BLOB_OP_APPEND_BLOCK] = {ON_BLOB, TV_TYPE_OBJECT, 0, TV_MAY_ADD | TV_MAY_WRITE},
    [TV_BLOB_OP_ABORT_COPY_BLOB] = {ON_BLOB, TV_TYPE_OBJECT, TV_MAY_WRITE, 0},
    [TV_BLOB_OP_SET_BLOB_PROPERTIES] = {ON_BLOB, TV_TYPE_OBJECT, TV_MAY_WRITE, 0},
    [TV_BLOB_OP_SET_BLOB_METADATA] = {ON_BLOB, TV_TYPE_OBJECT, TV_MAY_WRITE, 0},
    [TV_BLOB_OP_ACQUIRE_BLOB_LEASE] = {ON_BLOB, TV_TYPE_OBJECT, TV_MAY_WRITE, 0},
    [TV_BLOB_OP_RENEW_BLOB_LEASE] = {ON_BLOB, TV_TYPE_OBJECT, TV_MAY_WRITE, 0},
    [TV_BLOB_OP_CHANGE_BLOB_LEASE] = {ON_BLOB, TV_TYPE_OBJECT, TV_MAY_WRITE, 0},
    [TV_BLOB_OP_RELEASE_BLOB_LEASE] = {ON_BLOB, TV_TYPE_OBJECT, TV_MAY_WRITE, 0},
    [TV_BLOB_OP_BREAK_BLOB_LEASE] = {ON_BLOB, TV_TYPE_OBJECT, 0, TV_MAY_WRITE | TV_MAY_DELETE},
    [TV_BLOB_OP_DELETE_BLOB] = {ON_BLOB, TV_TYPE_OBJECT, TV_MAY_DELETE, 0},
    [TV_BLOB_OP_GET_BLOB] = {ON_BLOB, TV_TYPE_OBJECT, TV_MAY_READ, 0},
    [TV_BLOB_OP_GET_BLOB_PROPERTIES] = {ON_BLOB, TV_TYPE_OBJECT, TV_MAY_READ, 0},
    [TV_BLOB_OP_GET_BLOB_METADATA] = {ON_BLOB, TV_TYPE_OBJECT, TV_MAY_READ, 0},
    [TV_BLOB_OP_GET_BLOCK_LIST] = {ON_BLOB, TV_TYPE_OBJECT, TV_MAY_READ, 0},
    /* Access policies are for keys alone, and what is not listed is for nobody's SAS. */
};

tv_need tv_blob_need(const tv_blob_op *op, bool is_public)
{
    tv_assert(op->kind < TV_BLOB_OP_COUNT);

    tv_need need = {
        .sas = needs[op->kind].sas,
        .type = needs[op->kind].type,
        .all_of = needs[op->kind].all_of,
        .any_of = needs[op->kind].any_of,
        .container = op->container,
        .blob = op->blob,
        .snapshot = op->snapshot_text,
        .is_public = is_public,
    };

    if (op->kind == TV_BLOB_OP_GET_ACCOUNT_INFO && op->blob.len)
        need.type = TV_TYPE_OBJECT;
    else if (op->kind == TV_BLOB_OP_GET_ACCOUNT_INFO && op->container.len)
        need.type = TV_TYPE_CONTAINER;
    return need;
}

bool tv_blob_is_public(tv_blob_op_kind kind, tv_public_access access)
{
    switch (kind) {
    case TV_BLOB_OP_GET_BLOB:
    case TV_BLOB_OP_GET_BLOB_PROPERTIES:
    case TV_BLOB_OP_GET_BLOB_METADATA:
    case TV_BLOB_OP_GET_BLOCK_LIST:
        return access == TV_PUBLIC_BLOB || access == TV_PUBLIC_CONTAINER;
    case TV_BLOB_OP_LIST_BLOBS:
    case TV_BLOB_OP_GET_CONTAINER_PROPERTIES:
    case TV_BLOB_OP_GET_CONTAINER_METADATA:
        return access == TV_PUBLIC_CONTAINER;
    default:
        return false;
    }
}

bool tv_blob_may_be_public(tv_blob_op_kind kind)
{
    return tv_blob_is_public(kind, TV_PUBLIC_CONTAINER);
}

tv_err tv_blob_check_endpoint(const tv_blob_op *op, const tv_endpoint *endpoint)
{
    switch (op->kind) {
    case TV_BLOB_OP_GET_SERVICE_PROPERTIES:
    case TV_BLOB_OP_GET_ACCOUNT_INFO:
    case TV_BLOB_OP_LIST_CONTAINERS:
    case TV_BLOB_OP_GET_CONTAINER_PROPERTIES:
    case TV_BLOB_OP_GET_CONTAINER_METADATA:
    case TV_BLOB_OP_GET_CONTAINER_ACL:
    case TV_BLOB_OP_LIST_BLOBS:
    case TV_BLOB_OP_GET_BLOB:
    case TV_BLOB_OP_GET_BLOB_PROPERTIES:
    case TV_BLOB_OP_GET_BLOB_METADATA:
    case TV_BLOB_OP_GET_BLOCK_LIST:
        return TV_OK;
    case TV_BLOB_OP_GET_SERVICE_STATS:
        return endpoint->is_secondary ? TV_OK : TV_ERR_NOT_ON_PRIMARY;
    default:
        return endpoint->is_secondary ? TV_ERR_SECONDARY_IS_READ_ONLY : TV_OK;
    }
}
