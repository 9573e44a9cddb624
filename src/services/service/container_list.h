/*
 * Lists of queues and of containers, which are the same but for their entries.
 */
#ifndef TV_SERVICES_SERVICE_CONTAINER_LIST_H
#define TV_SERVICES_SERVICE_CONTAINER_LIST_H

#include "services/service/list.h"

/** What a service lists, and how. */
typedef struct tv_container_list {
    const char *element; /* that the entries are in: "Queues" */
    bool is_not_cached;  /* the answer says so */
    /**
     * Append an entry to call->req->out; `attributes` are the attributes that the
     * catalogue keeps with it.
     */
    tv_err (*add)(tv_call *call, const tv_list_query *query, tv_slice name, tv_slice attributes);
} tv_container_list;

/** List those of the account that a request asks for: an operation's whole work. */
tv_err tv_list_containers(tv_call *call, const tv_container_list *what) TV_WARN_UNUSED;

#endif
