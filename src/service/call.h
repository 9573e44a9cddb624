/*
 * What the queue and the blob service have in common: one request on its way
 * through a service that speaks XML, from its head to the line in the log.  (The
 * table service speaks OData and has a way of its own in table/.)
 *
 * A service's own struct begins with a tv_service, and what it keeps about a
 * request begins with a tv_call, which lives in the request's arena.
 */
#ifndef TV_SERVICE_CALL_H
#define TV_SERVICE_CALL_H

#include "auth/identity.h"
#include "base/guid.h"
#include "base/meter.h"
#include "base/turns.h"
#include "base/workers.h"
#include "catalog/catalog.h"
#include "commit/pipeline.h"
#include "http/request.h"
#include "service/endpoint.h"

/** What a service is made of.  Fill in all but the meter; the rest is zero. */
typedef struct tv_service {
    tv_service_kind kind;
    tv_engine *engine;
    tv_catalog *catalog;        /* of its queues or containers */
    tv_workers *readers;        /* for point reads that wait for the disk */
    tv_turns *scanners;         /* for lists, which take longer */
    tv_outbox *const *outboxes; /* one per loop, by its index */
    tv_auth_policy auth;
    bool is_https_only;
    bool has_access_log;
    tv_meter meter;
} tv_service;

/** Complete a service whose parts are filled in: the meter, and where policies are found. */
void tv_service_start(tv_service *service, const char *(*op_name)(int op), int op_count);

typedef struct tv_call {
    tv_service *service;
    tv_request *req;
    tv_endpoint endpoint;
    const tv_identity *identity; /* nothing runs without one */
    int op;                      /* the service's own enum: for the meter and the log */
    bool is_preflight;
    tv_error_info info;      /* of the error that ends the call */
    tv_container *container; /* counted; released when the request is done */
    char request_id[TV_GUID_TEXT_LEN];

    /* What waits for another thread. */
    tv_write write;
    tv_job job;
    tv_task task;
    tv_err job_result; /* of either */

    /* Changes to the catalogue, whichever is at hand. */
    union {
        tv_catalog_create create;
        tv_catalog_delete delete_op;
        tv_catalog_change change;
        tv_catalog_set_properties set_properties;
    };
} tv_call;

/** The struct of `type` in which a write's or a job's letter is embedded. */
#define TV_CALL_OF(type, pointer, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* --- the beginning and the end --- */

/** For a new request: an id, and req->user. */
void tv_call_init(tv_call *call, tv_service *service, tv_request *req);

/** on_headers' first step: HTTPS if it must be, the endpoint, the version's form. */
tv_err tv_call_open(tv_call *call) TV_WARN_UNUSED;

/**
 * Check who is asking and set call->identity.  The names are those of the URL,
 * decoded; `blob` is TV_NONE where there is none.  As tv_authenticate.
 */
tv_err tv_call_authenticate(tv_call *call, tv_slice container, tv_slice blob) TV_WARN_UNUSED;

/** Let in who shows nothing, after TV_ERR_NO_AUTHENTICATION.  As tv_authenticate_anonymous. */
tv_err tv_call_authenticate_anonymous(tv_call *call) TV_WARN_UNUSED;

/** Answer a preflight by the account's CORS rules. */
void tv_call_answer_preflight(tv_call *call);

/** on_done: count the request, log it, let go of the container. */
void tv_call_done(tv_call *call);

/* --- what it asks for --- */

/**
 * A query parameter, decoded; data is NULL without one, the first when repeated.
 * TV_ERR_URL_UNPARSABLE.
 */
tv_err tv_call_parameter(tv_call *call, tv_slice name, tv_slice *ret_value) TV_WARN_UNUSED;

/**
 * A number in a query parameter, `fallback` without one.
 * TV_ERR_INVALID_QUERY_PARAMETER when it is none, TV_ERR_QUERY_OUT_OF_RANGE
 * when it is not within [min, max]; the error's body names it.
 */
tv_err tv_call_number(tv_call *call, tv_slice name, int64_t min, int64_t max, int64_t fallback,
                      int64_t *ret_value) TV_WARN_UNUSED;

/** TV_ERR_INVALID_QUERY_PARAMETER with a body that names the parameter; `reason` may be NULL. */
tv_err tv_call_bad_parameter(tv_call *call, tv_slice name, tv_slice value, const char *reason);

/** TV_ERR_INVALID_HEADER with a body that names the header. */
tv_err tv_call_bad_header(tv_call *call, tv_slice name, tv_slice value);

/** Set call->container: the catalogue's own error when the account has none of that name. */
tv_err tv_call_find_container(tv_call *call, tv_slice name) TV_WARN_UNUSED;

/* --- handing it over to another thread; `deliver` brings it back --- */

/** Submit call->write, whose function and partition are set. */
void tv_call_submit(tv_call *call, void (*deliver)(tv_mail *mail));

/** TV_ERR_OVERLOADED when too many jobs wait already. */
tv_err tv_call_run_job(tv_call *call, tv_workers *workers, void (*run)(tv_job *job),
                       void (*deliver)(tv_mail *mail)) TV_WARN_UNUSED;

/**
 * Have something long run in turns with others, on the scanners' threads.
 * TV_ERR_OVERLOADED when the account has too many of them.
 */
tv_err tv_call_run_task(tv_call *call, bool (*run)(tv_task *task, tv_turn *turn),
                        void (*deliver)(tv_mail *mail)) TV_WARN_UNUSED;

/* --- the response --- */

/** Begin a response with the headers that all have. */
void tv_call_start(tv_call *call, int status);

/** Add a header with an instant as HTTP writes it. */
void tv_call_add_date(tv_call *call, tv_slice name, int64_t ticks);

/** Complete and send it, with the body in req->out.  The call is gone after it. */
void tv_call_finish(tv_call *call);

/** The same with a body from a source. */
void tv_call_finish_from(tv_call *call, uint64_t length, const tv_body_source *source);

/** Begin an error's response: head and body; more headers may be added before tv_call_finish. */
void tv_call_start_error(tv_call *call, tv_err err);

/** The whole of it.  The call is gone after it. */
void tv_call_respond_error(tv_call *call, tv_err err);

/** Begin a response whose body is XML, and write the declaration into req->out. */
void tv_call_start_xml(tv_call *call, int status);

/** A response without a body.  The call is gone after it. */
void tv_call_respond_empty(tv_call *call, int status);

/* --- operations that are the same for both: settings.c.  TV_OK: answered, or will be. --- */

/** GET and PUT of the service properties. */
tv_err tv_call_get_properties(tv_call *call) TV_WARN_UNUSED;
tv_err tv_call_set_properties(tv_call *call) TV_WARN_UNUSED;
tv_err tv_call_get_stats(tv_call *call) TV_WARN_UNUSED;

/** The policies in the body of a PUT ?comp=acl; none without a body. */
tv_err tv_call_read_policies(tv_call *call, tv_access_policies *ret_policies) TV_WARN_UNUSED;

#endif
