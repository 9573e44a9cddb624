/*
 * What a service is made of: a table of operations (op.h), the few things that it
 * does in its own way (tv_service_spec), and the parts of the server that it uses.
 * The flow of a request is the same for all of them: flow.c.
 */
#ifndef TV_SERVICES_SERVICE_SERVICE_H
#define TV_SERVICES_SERVICE_SERVICE_H

#include "base/meter.h"
#include "base/turns.h"
#include "base/workers.h"
#include "model/catalog/catalog.h"
#include "model/targets/targets.h"
#include "services/service/op.h"
#include "store/commit/pipeline.h"

enum { TV_SERVICE_ASKS_MAX = 3 };

/** What a service does in its own way.  Functions may be NULL unless it says otherwise. */
typedef struct tv_service_spec {
    tv_service_kind kind;
    const tv_op *ops; /* TV_OP_UNKNOWN and TV_OP_PREFLIGHT come first */
    int op_count;
    const char *const *paths; /* their forms, by what `locate` says: for those who read the table */
    size_t call_bytes; /* of the struct, beginning with a tv_call, that it keeps per request */

    /**
     * Before anybody is authenticated: set call->target, which a SAS may have been
     * signed for, and call->comp at the latest in `locate`.  Nothing is checked yet
     * but escapes.  Not NULL.
     */
    tv_err (*read_path)(tv_call *call);

    /** Afterwards: check the names, and say what the path addresses.  Not NULL. */
    tv_err (*locate)(tv_call *call, int *ret_where);

    /**
     * The error when no row has the method or, with `has_comp` false, the comp.
     * Without it TV_ERR_UNSUPPORTED_VERB and TV_ERR_INVALID_QUERY_PARAMETER.
     */
    tv_err (*miss)(tv_call *call, bool has_comp);

    /** Once the row is known: read what the heads of many operations have in common. */
    tv_err (*read_head)(tv_call *call);

    /** Whether the owner of what is addressed lets everybody do this; without it, nobody. */
    bool (*is_public)(tv_call *call);

    /** Any check beyond what the row needs, once that is met. */
    tv_err (*authorize)(tv_call *call);

    /** call->container has been found; before the row's own `head`. */
    tv_err (*enter)(tv_call *call);

    /** Before an error is answered: add details, or answer another in its place. */
    tv_err (*explain)(tv_call *call, tv_err err);

    /** Answer an error.  Without it in XML: tv_call_respond_error_xml. */
    void (*respond_error)(tv_call *call, tv_err err);

    /**
     * Of an account with scalability targets: what the request asks for besides the account's
     * requests, up to TV_SERVICE_ASKS_MAX - 1 of them.  Returns how many.
     */
    size_t (*targets)(tv_call *call, tv_target_ask *ret_asks);

    /** Likewise, when it is done: charge what was not known before. */
    void (*charge_rest)(tv_call *call);

    /** The answer is complete and not yet sent: count what its reader may ask for next.  Once. */
    void (*note)(tv_call *call);

    /**
     * The request is done, answered or not, at `end_ns` of the monotonic clock: tell those who
     * watch requests.  Once, however often the call began again.
     */
    void (*observe)(tv_call *call, int64_t end_ns);

    /** Release what the call holds: it is done, or begins again. */
    void (*release)(tv_call *call);
} tv_service_spec;

enum { TV_OP_UNKNOWN, TV_OP_PREFLIGHT };

/**
 * The row for what a path addresses (TV_OP_NOWHERE has none), method and comp, or NULL;
 * then `ret_has_comp` tells whether it is there for another method.
 */
const tv_op *tv_service_find_op(const tv_service_spec *spec, int where, tv_method method,
                                tv_slice comp, bool *ret_has_comp);

/**
 * TV_ERR_ANALYTICS_READ_ONLY when a table, queue or container is Storage Analytics' and the
 * operation changes it in a way that is not for clients.
 */
tv_err tv_op_check_analytics(const tv_op *op, tv_service_kind service,
                             tv_slice container) TV_WARN_UNUSED;

/** A service.  Fill in all but the meter; the rest is zero. */
typedef struct tv_service {
    const tv_service_spec *spec;
    tv_engine *engine;
    tv_catalog *catalog;               /* of its tables, queues or containers */
    tv_workers *readers;               /* for point reads that wait for the disk */
    tv_turns *scanners;                /* for queries and lists, which take longer */
    tv_outbox *const *outboxes;        /* one per loop, by its index */
    const atomic_bool *refuses_writes; /* while set, they are TV_ERR_OVERLOADED; or NULL */
    tv_auth_policy auth;
    bool is_https_only;
    bool has_access_log;
    /**
     * Told of every request that is done, while some account has Storage Analytics switched on:
     * on the network thread, when all else is counted.  `call` may be changed.  Or NULL.
     */
    void (*record)(void *ctx, tv_call *call, int64_t end_ns);
    void *record_ctx;
    /** Told of every request that is done, on the network thread.  Set before one comes; or NULL.
     */
    void (*on_done)(void *ctx, const tv_call *call);
    void *on_done_ctx;
    struct tv_recent *recent; /* the requests of clients, for who looks at them; or NULL */
    tv_meter meter;
} tv_service;

/** The handler for a listener; the service, all filled in, outlives it. */
tv_http_handler tv_service_handler(tv_service *service);

/**
 * A handler of the same service for requests whose sender is known to be its owner.
 * After tv_service_handler.  Nothing but the signature and the
 * check of the page's origin is left out, which its caller has made.
 */
tv_http_handler tv_service_owner_handler(tv_service *service);

#endif
