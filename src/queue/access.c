/* What each operation needs. */
#include "queue/call.h"

/*
 * Account SAS: resource type and permissions; service SAS of a queue: the same
 * permissions.  Access policies are for keys alone, and what is not listed is for
 * nobody's SAS.
 */
static const struct {
    unsigned sas;
    tv_resource_type type;
    unsigned all_of, any_of;
} needs[TV_QUEUE_OP_COUNT] = {
    [TV_QUEUE_OP_LIST] = {TV_SAS_ACCOUNT, TV_TYPE_SERVICE, TV_MAY_LIST, 0},
    [TV_QUEUE_OP_GET_PROPERTIES] = {TV_SAS_ACCOUNT, TV_TYPE_SERVICE, TV_MAY_READ, 0},
    [TV_QUEUE_OP_SET_PROPERTIES] = {TV_SAS_ACCOUNT, TV_TYPE_SERVICE, TV_MAY_WRITE, 0},
    [TV_QUEUE_OP_GET_STATS] = {TV_SAS_ACCOUNT, TV_TYPE_SERVICE, TV_MAY_READ, 0},
    [TV_QUEUE_OP_CREATE] = {TV_SAS_ACCOUNT, TV_TYPE_CONTAINER, 0, TV_MAY_CREATE | TV_MAY_WRITE},
    [TV_QUEUE_OP_DELETE] = {TV_SAS_ACCOUNT, TV_TYPE_CONTAINER, TV_MAY_DELETE, 0},
    [TV_QUEUE_OP_GET_METADATA] = {TV_SAS_ACCOUNT | TV_SAS_CONTAINER, TV_TYPE_CONTAINER, TV_MAY_READ,
                                  0},
    [TV_QUEUE_OP_SET_METADATA] = {TV_SAS_ACCOUNT, TV_TYPE_CONTAINER, TV_MAY_WRITE, 0},
    [TV_QUEUE_OP_PUT] = {TV_SAS_ACCOUNT | TV_SAS_CONTAINER, TV_TYPE_OBJECT, TV_MAY_ADD, 0},
    [TV_QUEUE_OP_GET] = {TV_SAS_ACCOUNT | TV_SAS_CONTAINER, TV_TYPE_OBJECT, TV_MAY_PROCESS, 0},
    [TV_QUEUE_OP_PEEK] = {TV_SAS_ACCOUNT | TV_SAS_CONTAINER, TV_TYPE_OBJECT, TV_MAY_READ, 0},
    [TV_QUEUE_OP_UPDATE] = {TV_SAS_ACCOUNT | TV_SAS_CONTAINER, TV_TYPE_OBJECT, TV_MAY_UPDATE, 0},
    [TV_QUEUE_OP_DELETE_MESSAGE] = {TV_SAS_ACCOUNT | TV_SAS_CONTAINER, TV_TYPE_OBJECT,
                                    TV_MAY_PROCESS, 0},
    [TV_QUEUE_OP_CLEAR] = {TV_SAS_ACCOUNT, TV_TYPE_OBJECT, TV_MAY_DELETE, 0},
};

/* The secondary is read-only, and only it has stats. */
static tv_err check_endpoint(tv_queue_op_kind kind, bool is_secondary)
{
    switch (kind) {
    case TV_QUEUE_OP_LIST:
    case TV_QUEUE_OP_GET_METADATA:
    case TV_QUEUE_OP_GET_ACL:
    case TV_QUEUE_OP_PEEK:
    case TV_QUEUE_OP_GET_PROPERTIES:
        return TV_OK;
    case TV_QUEUE_OP_GET_STATS:
        return is_secondary ? TV_OK : TV_ERR_NOT_ON_PRIMARY;
    default:
        return is_secondary ? TV_ERR_SECONDARY_IS_READ_ONLY : TV_OK;
    }
}

tv_err tv_queue_check_access(const tv_queue_call *call)
{
    tv_need need = {
        .sas = needs[call->kind].sas,
        .type = needs[call->kind].type,
        .all_of = needs[call->kind].all_of,
        .any_of = needs[call->kind].any_of,
        .container = call->resource.queue,
    };
    tv_err err = check_endpoint(call->kind, call->call.endpoint.is_secondary);

    return err ? err : tv_identity_allows(call->call.identity, &need);
}
