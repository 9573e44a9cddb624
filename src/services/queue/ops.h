/*
 * The operations of the queue service: what a path addresses, and the table of
 * operations (ops.def) as an enum.
 */
#ifndef TV_SERVICES_QUEUE_OPS_H
#define TV_SERVICES_QUEUE_OPS_H

#include "services/queue/service.h"
#include "services/service/call.h"

/** What a path, with restype, addresses, and the form that it has. */
#define TV_QUEUE_PATHS(AT)                                                                         \
    AT(ACCOUNT, "/")                                                                               \
    AT(SERVICE, "/?restype=service")                                                               \
    AT(QUEUE, "/queue")                                                                            \
    AT(MESSAGES, "/queue/messages")                                                                \
    AT(MESSAGE, "/queue/messages/id")

typedef enum tv_queue_where {
#define AT(where, form) TV_QUEUE_AT_##where,
    TV_QUEUE_PATHS(AT)
#undef AT
} tv_queue_where;

typedef enum tv_queue_op {
#define OP(kind, ...) TV_QUEUE_OP_##kind,
#include "services/queue/ops.def"
    TV_QUEUE_OP_COUNT
} tv_queue_op;

/** What the path after the account names. */
typedef struct tv_queue_resource {
    tv_slice queue;   /* decoded; empty for the service itself */
    bool is_messages; /* /queue/messages… */
    tv_slice message; /* decoded id; empty for all of them */
} tv_queue_resource;

/** TV_ERR_URL_UNPARSABLE for a bad escape, TV_ERR_INVALID_URI for a path that names nothing. */
tv_err tv_queue_resource_parse(tv_arena *arena, tv_slice rest,
                               tv_queue_resource *ret_resource) TV_WARN_UNUSED;

#endif
