/*
 * One request on its way through the queue service.  Lives in the request's
 * arena; private to this folder.
 */
#ifndef TV_QUEUE_CALL_H
#define TV_QUEUE_CALL_H

#include "queue/op.h"
#include "queue/service.h"
#include "queue/store/queue.h"

typedef struct tv_queue_call {
    tv_call call; /* first */
    tv_queue_op_kind kind;
    tv_queue_resource resource;

    /* What the operation at hand needs. */
    union {
        tv_queue_put put;
        tv_queue_get get;
        tv_queue_update update;
        tv_queue_delete delete_op;
    };
    int64_t count; /* of messages */
    void *listing; /* of the list at hand, its own */
} tv_queue_call;

/** Of a container in the catalogue of queues. */
static inline tv_queue *tv_queue_of(const tv_container *container)
{
    return container->own;
}

/** Whether the identity may do this operation, on the endpoint that was called (access.c). */
tv_err tv_queue_check_access(const tv_queue_call *call) TV_WARN_UNUSED;

/* The operations.  TV_OK means answered, or will be. */

/* queues.c */
tv_err tv_queue_list(tv_queue_call *call) TV_WARN_UNUSED;
tv_err tv_queue_create(tv_queue_call *call) TV_WARN_UNUSED;
tv_err tv_queue_drop(tv_queue_call *call) TV_WARN_UNUSED;
tv_err tv_queue_get_metadata(tv_queue_call *call) TV_WARN_UNUSED;
tv_err tv_queue_set_metadata(tv_queue_call *call) TV_WARN_UNUSED;
tv_err tv_queue_get_acl(tv_queue_call *call) TV_WARN_UNUSED;
tv_err tv_queue_set_acl(tv_queue_call *call) TV_WARN_UNUSED;

/* messages.c */
tv_err tv_queue_put_message(tv_queue_call *call) TV_WARN_UNUSED;
tv_err tv_queue_get_messages(tv_queue_call *call) TV_WARN_UNUSED;
tv_err tv_queue_peek_messages(tv_queue_call *call) TV_WARN_UNUSED;
tv_err tv_queue_update_message(tv_queue_call *call) TV_WARN_UNUSED;
tv_err tv_queue_delete_message(tv_queue_call *call) TV_WARN_UNUSED;
tv_err tv_queue_clear_messages(tv_queue_call *call) TV_WARN_UNUSED;

#endif
