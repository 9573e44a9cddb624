/*
 * What tables, queues and containers have in common: a name on a client that can be made,
 * deleted, asked for and listed, and has stored access policies.
 */
#ifndef TVC_RESOURCE_H
#define TVC_RESOURCE_H

#include "client/op/op.h"

typedef struct tvc_resource {
    tavola_client *client; /* one reference, if it was opened */
    tv_service_kind service;
    char *name;
} tvc_resource;

/** Of a queue or container.  INVALID for a NULL client and for what is not such a name. */
tavola_err tvc_resource_open(tvc_resource *resource, tavola_client *client, tv_service_kind service,
                             const char *name);
void tvc_resource_close(tvc_resource *resource);

/**
 * A request to it: method, "/name" and its query, with comp if that is not NULL.  NULL when there
 * is no memory.
 */
tavola_op *tvc_resource_ask(const tvc_resource *resource, tavola_call *call, const char *method,
                            const char *comp);

/** Run a read, or a write that may be made twice, and free it; NULL: NO_MEMORY. */
tavola_err tvc_resource_run(tavola_op *op);

/** Append "&name=value" with the value percent-encoded. */
void tvc_op_add_parameter(tavola_op *op, const char *name, tv_slice value);

/**
 * Whether a write may have been made although `err` says that it failed: no answer came to its last
 * attempt.
 */
bool tvc_op_is_open(const tavola_op *op, tavola_err err);

/** Note in the call that the write was made, as was found out.  Always OK. */
tavola_err tvc_op_confirm(tavola_op *op);

/** Note in the call that it is not known whether the write was made.  Always UNKNOWN_OUTCOME. */
tavola_err tvc_op_stay_unknown(tavola_op *op, const char *why);

/** EXISTS when there is one, by a client that is not this one. */
tavola_err tvc_resource_create(const tvc_resource *resource, tavola_call *call);
tavola_err tvc_resource_delete(const tvc_resource *resource, tavola_call *call);
tavola_err tvc_resource_exists(const tvc_resource *resource, tavola_call *call, bool *ret_exists);

/** All names of a service with that prefix, or NULL for all.  A NULL client is INVALID. */
tavola_err tvc_resource_list(tavola_client *client, tv_service_kind service, const char *prefix,
                             tavola_call *call, tavola_names **ret_names);

tavola_err tvc_resource_set_policies(const tvc_resource *resource, const tavola_policy *policies,
                                     size_t count, tavola_call *call);
tavola_err tvc_resource_get_policies(const tvc_resource *resource, tavola_call *call,
                                     tavola_policies **ret_policies);

#endif
