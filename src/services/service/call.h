/*
 * A call: one request on its way through a service, from its head to the line in
 * the log.  What a service keeps about a request begins with a tv_call, which
 * lives in the request's arena.  flow.c takes it through its steps; here is what operations use.
 */
#ifndef TV_SERVICES_SERVICE_CALL_H
#define TV_SERVICES_SERVICE_CALL_H

#include "base/guid.h"
#include "services/service/endpoint.h"
#include "services/service/service.h"

/**
 * What the path names, decoded: what a SAS was signed for is compared with it.
 * Empty where it names nothing.
 */
typedef struct tv_target {
    tv_slice container; /* a table, a queue, or a container of blobs */
    tv_slice blob;
    tv_slice snapshot; /* the parameter */
} tv_target;

/**
 * What comes after something that another thread has done, with its result.
 * TV_OK: answered, or will be; an error is answered by the caller.
 */
typedef tv_err tv_call_then(tv_call *call, tv_err err);

struct tv_call {
    tv_service *service;
    tv_request *req;
    tv_endpoint endpoint;
    tv_method method; /* of the request, or the one that it stands for */
    tv_slice comp;    /* the parameter; data is NULL without one */
    tv_target target;
    const tv_identity *identity; /* nothing runs without one */
    const tv_op *op;             /* the row of the service's table, the unknown one at first */
    tv_resource_type type;       /* instead of the row's, if set before it is authorized */
    tv_error_info info;          /* of the error that ends the call */
    tv_container *container;     /* counted; released when the request is done */
    char request_id[TV_GUID_TEXT_LEN];
    tv_target_account *targets; /* those of its account, NULL when there are none to keep */
    bool is_throttled;          /* it was over one: */
    tv_throttle throttle;

    /* For tv_service.record: of the monotonic clock, and 0 where nobody is told. */
    int64_t begun_ns;    /* the whole request was here, and its row's run function was called */
    int64_t answered_ns; /* the answer was complete, or its head, before it was sent */
    tv_err error;        /* that was answered, or TV_OK */

    /*
     * What waits for another thread.  While it does, no other thread may answer
     * the call or hand it over.
     */
    bool is_away;
    bool is_owner;                   /* its sender is known to be: no signature */
    bool is_running;                 /* the row's run function was called */
    uint8_t looks;                   /* how often the catalogue was brought up to date for it */
    bool is_drop;                    /* it has failed to delete its container */
    tv_slice missed_account, missed; /* what was not found in the catalogue; empty for none */
    tv_write write;                  /* its function and partition are set by its submitter */
    tv_job job;
    tv_task task;
    tv_err result;        /* of job or task */
    tv_err failure;       /* that is to be answered: lookup.c */
    int64_t left_ns;      /* when it was handed over */
    tv_engine_read fetch; /* of tv_call_fetch: the row is in its `value` */
    tv_call_then *then, *catalog_then;
    tv_err (*look)(tv_call *call);            /* lookup.c: on a worker, */
    void (*after)(tv_call *call, tv_err err); /* and then on the loop */
    tv_err (*read)(tv_call *call, tv_read_mode mode);
    bool (*work)(tv_call *call, tv_turn *turn);
    void *listing; /* of the list at hand: its own */

    /* Changes to the catalogue, whichever is at hand. */
    union {
        tv_catalog_create create;
        tv_catalog_delete delete_op;
        tv_catalog_change change;
        tv_catalog_set_settings set_settings;
    };
};

/** The struct of `type` in which a tv_call or one of its parts is embedded. */
#define TV_CALL_OF(type, pointer, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/** Turn to another row of the service's table; for tv_op.choose. */
void tv_call_turn_to(tv_call *call, int op);

/** The time for one of the fields above. */
int64_t tv_call_time(const tv_call *call);

/** Which row it is, as the service's enum. */
static inline int tv_call_kind(const tv_call *call)
{
    return (int)(call->op - call->service->spec->ops);
}

/*
 * Steps of flow.c, for code that treats something as a request although no
 * client has sent it: the source of a copy, or a test.
 */

/** Of a call that is all zeros. */
void tv_call_init(tv_call *call, tv_service *service, tv_request *req);

/** Find the row and read what its head says; call->endpoint is set, and read_path was called. */
tv_err tv_call_choose(tv_call *call) TV_WARN_UNUSED;

/** TV_ERR_SECONDARY_IS_READ_ONLY, TV_ERR_NOT_ON_PRIMARY. */
tv_err tv_call_check_endpoint(const tv_call *call) TV_WARN_UNUSED;

/** What the row needs for what the call addresses; is_public is false. */
tv_need tv_call_need(tv_call *call);

/** Set call->identity.  As tv_authenticate, and tv_authenticate_anonymous. */
tv_err tv_call_authenticate(tv_call *call) TV_WARN_UNUSED;
tv_err tv_call_authenticate_anonymous(tv_call *call) TV_WARN_UNUSED;

/* --- what it asks for --- */

/**
 * A query parameter, decoded; data is NULL without one, the first when repeated.
 * TV_ERR_URL_UNPARSABLE.
 */
tv_err tv_call_parameter(tv_call *call, tv_slice name, tv_slice *ret_value) TV_WARN_UNUSED;

/** One that must be there: TV_ERR_MISSING_QUERY_PARAMETER with its name in the body. */
tv_err tv_call_need_parameter(tv_call *call, tv_slice name, tv_slice *ret_value) TV_WARN_UNUSED;

/**
 * A number in a query parameter, `fallback` without one.
 * TV_ERR_INVALID_QUERY_PARAMETER when it is not valid, TV_ERR_QUERY_OUT_OF_RANGE
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

/**
 * A container of any account, counted, or NULL.  Then it is looked up in the store when
 * the call ends with an error, and the call begins again if there is one: so NULL must
 * lead to an error, and to nothing before it that lasts.
 */
tv_container *tv_call_look_for(tv_call *call, tv_slice account, tv_slice name);

/* --- handing it over to another thread, and what comes then --- */

/** Have the pipeline run call->write. */
void tv_call_write(tv_call *call, tv_call_then *then);

/** Create a container, as call->create says: the catalogue's own error when there is one. */
void tv_call_create_container(tv_call *call, tv_call_then *then);

/**
 * Delete call->container, as call->delete_op says: what comes then comes when no node
 * can use it any more.  TV_ERR_NOT_FOUND when another request was faster.
 */
void tv_call_drop_container(tv_call *call, tv_call_then *then);

/**
 * Read something: here if it is in memory, else on a worker.  `read` answers
 * TV_ERR_WOULD_BLOCK in the first case if it is not.  TV_ERR_OVERLOADED when too
 * many wait already.
 */
tv_err tv_call_read(tv_call *call, tv_err (*read)(tv_call *call, tv_read_mode mode),
                    tv_call_then *then) TV_WARN_UNUSED;

/**
 * Read one row into call->fetch.value: here if it is in memory, else by the engine's own
 * grouped reads, which hold up no thread, or on a worker where it has none.  `key` lives as
 * long as the request; `then` gets the engine's error.  TV_ERR_OVERLOADED as above.
 */
tv_err tv_call_fetch(tv_call *call, tv_slice key, tv_call_then *then) TV_WARN_UNUSED;

/** The same as tv_call_read, but on one of these workers in any case. */
tv_err tv_call_read_on(tv_call *call, tv_workers *workers,
                       tv_err (*read)(tv_call *call, tv_read_mode mode),
                       tv_call_then *then) TV_WARN_UNUSED;

/**
 * Have something long run in turns with others, on the scanners' threads: `work`
 * sets call->result and returns true when it is done (see tv_task.run).
 * TV_ERR_OVERLOADED when the account has too many of them.
 */
tv_err tv_call_take_turns(tv_call *call, bool (*work)(tv_call *call, tv_turn *turn),
                          tv_call_then *then) TV_WARN_UNUSED;

/* --- the response --- */

/** Begin a response with the headers that all have. */
void tv_call_start(tv_call *call, int status);

/** Add a header with an instant as HTTP writes it. */
void tv_call_add_date(tv_call *call, tv_slice name, int64_t ticks);

/** Complete and send it, with the body in req->out.  The call is gone after it. */
void tv_call_finish(tv_call *call);

/** The same with a body from a source. */
void tv_call_finish_from(tv_call *call, uint64_t length, const tv_body_source *source);

/** Answer an error in the service's own way.  The call is gone after it. */
void tv_call_respond_error(tv_call *call, tv_err err);

/**
 * The call has failed: answer that, unless it may be because this node's catalogue is
 * behind.  Then it is brought up to date and the call begins again.
 */
void tv_call_fail(tv_call *call, tv_err err);

/** The same for a call that answers its errors itself: whether it begins again. */
bool tv_call_looks_again(tv_call *call, tv_err err);

/** Begin an error's response in XML; more headers may be added before tv_call_finish. */
void tv_call_start_error_xml(tv_call *call, tv_err err);

/** Answer a preflight by the account's CORS rules. */
void tv_call_answer_preflight(tv_call *call);

/** Begin a response whose body is XML, and write the declaration into req->out. */
void tv_call_start_xml(tv_call *call, int status);

/** A response without a body.  The call is gone after it. */
void tv_call_respond_empty(tv_call *call, int status);

/* --- operations that all services have: settings.c --- */

/** GET and PUT of the service properties. */
tv_err tv_call_get_settings(tv_call *call) TV_WARN_UNUSED;
tv_err tv_call_set_settings(tv_call *call) TV_WARN_UNUSED;
tv_err tv_call_get_stats(tv_call *call) TV_WARN_UNUSED;

/** GET and PUT of a table's or queue's access policies. */
tv_err tv_call_get_policies(tv_call *call) TV_WARN_UNUSED;
tv_err tv_call_set_policies(tv_call *call) TV_WARN_UNUSED;

/** The policies in the body of a PUT ?comp=acl; none without a body. */
tv_err tv_call_read_policies(tv_call *call, tv_access_policies *ret_policies) TV_WARN_UNUSED;

/**
 * After a change of call->container: 204, or the service's error if it has
 * been deleted meanwhile.
 */
tv_err tv_call_respond_changed(tv_call *call, tv_err err) TV_WARN_UNUSED;

#endif
