/*
 * One request on its way through the queue service.  Lives in the request's
 * arena; private to this folder.
 */
#ifndef TV_SERVICES_QUEUE_CALL_H
#define TV_SERVICES_QUEUE_CALL_H

#include "services/queue/ops.h"
#include "services/queue/service.h"

typedef struct tv_queue_call {
    tv_call base; /* first */
    tv_queue_resource resource;

    /* What the operation at hand needs. */
    union {
        tv_queue_put put;
        tv_queue_get get;
        tv_queue_update update;
        tv_queue_delete delete_op;
    };
    int64_t count; /* of messages */
} tv_queue_call;

static inline tv_queue_call *tv_queue_call_of(tv_call *call)
{
    return TV_CALL_OF(tv_queue_call, call, base);
}

/* The operations: see tv_op.run. */

/* queues.c */
tv_err tv_queue_list(tv_call *call) TV_WARN_UNUSED;
tv_err tv_queue_create(tv_call *call) TV_WARN_UNUSED;
tv_err tv_queue_drop(tv_call *call) TV_WARN_UNUSED;
tv_err tv_queue_get_metadata(tv_call *call) TV_WARN_UNUSED;
tv_err tv_queue_set_metadata(tv_call *call) TV_WARN_UNUSED;

/* messages.c */
tv_err tv_queue_put_message(tv_call *call) TV_WARN_UNUSED;
tv_err tv_queue_get_messages(tv_call *call) TV_WARN_UNUSED;
tv_err tv_queue_peek_messages(tv_call *call) TV_WARN_UNUSED;
tv_err tv_queue_update_message(tv_call *call) TV_WARN_UNUSED;
tv_err tv_queue_delete_message(tv_call *call) TV_WARN_UNUSED;
tv_err tv_queue_clear_messages(tv_call *call) TV_WARN_UNUSED;

#endif
