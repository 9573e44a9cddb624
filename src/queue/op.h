/*
 * One operation of the queue service: what a request asks for.
 */
#ifndef TV_QUEUE_OP_H
#define TV_QUEUE_OP_H

#include "http/request.h"
#include "service/endpoint.h"

/* kind, name in metrics and logs (that of Storage Analytics) */
#define TV_QUEUE_OP_MAP(X)                                                                         \
    X(UNKNOWN, "Unknown")                                                                          \
    X(LIST, "ListQueues")                                                                          \
    X(CREATE, "CreateQueue")                                                                       \
    X(DELETE, "DeleteQueue")                                                                       \
    X(GET_METADATA, "GetQueueMetadata")                                                            \
    X(SET_METADATA, "SetQueueMetadata")                                                            \
    X(GET_ACL, "GetQueueAcl")                                                                      \
    X(SET_ACL, "SetQueueAcl")                                                                      \
    X(PUT, "PutMessage")                                                                           \
    X(GET, "GetMessages")                                                                          \
    X(PEEK, "PeekMessages")                                                                        \
    X(UPDATE, "UpdateMessage")                                                                     \
    X(DELETE_MESSAGE, "DeleteMessage")                                                             \
    X(CLEAR, "ClearMessages")                                                                      \
    X(GET_PROPERTIES, "GetQueueServiceProperties")                                                 \
    X(SET_PROPERTIES, "SetQueueServiceProperties")                                                 \
    X(GET_STATS, "GetQueueServiceStats")                                                           \
    X(PREFLIGHT, "QueuePreflightRequest")

typedef enum tv_queue_op_kind {
#define X(kind, name) TV_QUEUE_OP_##kind,
    TV_QUEUE_OP_MAP(X)
#undef X
        TV_QUEUE_OP_COUNT
} tv_queue_op_kind;

/** "PutMessage" … */
const char *tv_queue_op_name(int kind);

/** What the path behind the account names. */
typedef struct tv_queue_resource {
    tv_slice queue;   /* decoded; empty for the service itself */
    bool is_messages; /* /queue/messages… */
    tv_slice message; /* decoded id; empty for all of them */
} tv_queue_resource;

/** TV_ERR_URL_UNPARSABLE for a bad escape, TV_ERR_INVALID_URI for a path that names nothing. */
tv_err tv_queue_resource_parse(tv_arena *arena, tv_slice rest,
                               tv_queue_resource *ret_resource) TV_WARN_UNUSED;

/**
 * Which operation it is.  TV_ERR_UNSUPPORTED_VERB for a method that the resource
 * does not have, TV_ERR_INVALID_QUERY_PARAMETER for a comp that nothing has; as
 * tv_check_container_name for a name that no queue can have.
 */
tv_err tv_queue_op_parse(tv_arena *arena, const tv_request *req, const tv_queue_resource *resource,
                         tv_queue_op_kind *ret_kind) TV_WARN_UNUSED;

#endif
