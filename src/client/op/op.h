/*
 * One logical call: a request that is signed, sent, repeated when that helps, and settled when it
 * is not known whether it worked.  Services make one (tvc_op_new), fill in the request, and run it
 * (tvc_op_run) or start it (tvc_op_start).
 *
 *     tavola_op *op = tvc_op_new(client, TV_SERVICE_TABLE, call);
 *     if (op == NULL) return TAVOLA_ERR_NO_MEMORY;
 *     op->request.method = "GET";
 *     tvc_text_add(&op->request.path, ...);
 *     op->finish = read_entity;
 *     err = tvc_op_run(op);
 *     ...take op->entity...
 *     tavola_op_free(op);
 */
#ifndef TVC_OP_H
#define TVC_OP_H

#include "client/client.h"
#include "client/net/exchange.h"
#include "client/op/call.h"
#include "client/text.h"

/** What is sent.  A service fills it in once; attempts sign and send it again. */
typedef struct tvc_request {
    const char *method; /* static text */
    tvc_text path;      /* below the account and percent-encoded: "/Tables", "/queue/messages" */
    tvc_text query;     /* percent-encoded, without '?'; may be empty */
    tvc_text headers;   /* "Name: value\r\n" for each beyond those that every request has: date,
                           version, client request id, User-Agent, Host, Content-Length,
                           Authorization.  Accept, Content-Type, If-Match, Prefer and x-ms-* of the
                           operation belong here */
    tvc_text body;
    tvc_source source; /* instead of the body */
    uint64_t source_len;
    tvc_sink sink;
} tvc_request;

/** Which endpoint may answer a read: tokens bind a query to the one that issued them. */
typedef enum tvc_location { TVC_AT_EITHER, TVC_AT_PRIMARY, TVC_AT_SECONDARY } tvc_location;

/** How the outcome of a repeated write is found out (client-library section 3.4, op/settle.c). */
typedef enum tvc_settle_kind {
    TVC_SETTLE_NONE,    /* a read, or a write that may be made any number of times: put blob, set
                           ACL */
    TVC_SETTLE_INSERT,  /* 409: the entity there is what we sent and nothing else */
    TVC_SETTLE_REPLACE, /* 412: the same; and insert-or-replace, when all attempts are used up */
    TVC_SETTLE_MERGE,   /* 412: what we sent is in it; and insert-or-merge */
    TVC_SETTLE_DELETE,  /* 404: it was us */
    TVC_SETTLE_CREATE,  /* 409 "...AlreadyExists" of a table, queue, container: it was us */
    TVC_SETTLE_GUESS,   /* nothing can be read back (put message, append block): an attempt whose
                           fate is unknown ends the call with UNKNOWN_OUTCOME and is not repeated */
} tvc_settle_kind;

typedef struct tvc_settle {
    tvc_settle_kind kind;
    tvc_text path; /* INSERT, REPLACE, MERGE: of the entity to read.  DELETE, CREATE: of what to ask
                      for when all attempts ended without an answer, or empty; a DELETE of one
                      entity needs none */
    tvc_text entity; /* INSERT, REPLACE, MERGE: the JSON that was sent for it */
    bool is_batch;   /* the 409, 404 or 412 is inside a batch's answer: finish() returns EXISTS,
                        NOT_FOUND or ETAG for it.  DELETE: the batch has nothing but deletes, and
                        `path` is that of the last */
} tvc_settle;

/** A started or running operation. */
struct tavola_op {
    tavola_client *client; /* one reference */
    tv_service_kind service;
    tavola_call *call; /* the caller's, or own_call */
    tavola_call own_call;
    tvc_request request;
    tvc_settle settle;
    bool is_read;           /* may be repeated freely and asked of the secondary */
    tvc_location location;  /* of a read */
    tvc_endpoint *endpoint; /* asked in place of the client's; not ours, NULL: as `location` says */
    bool was_secondary;     /* the answer came from there: for finish() */
    bool was_unknown;       /* after the run: the fate of some attempt was not known.  For services
                               that settle by themselves what they ask with TVC_SETTLE_NONE: blobs,
                               messages */

    /*
     * Turn a whole answer with a 2xx status into a result; called once at most by each attempt, on
     * the driving thread.  It may take response->body.  NULL: nothing to read.  An error that it
     * returns ends the call, unless it is that of a batch's part, whose status it has put into
     * op->call->status: that is repeated and settled like an answer of its own.  Status, request
     * ids, ETag and plan are in op->call already.  It is not called when a write was settled by
     * reading back: then the ETag is in op->call all the same.
     */
    tavola_err (*finish)(tavola_op *op, tvc_response *response);
    /**
     * Of a started operation that is made again and again: called on the client's thread when it
     * has ended with `err`, unless the client is being closed.  It may change the request, and says
     * at which time of the monotonic clock the operation begins anew; 0: this was its end.  NULL:
     * it is made once.
     */
    int64_t (*repeat)(tavola_op *op, tavola_err err);
    int64_t begin_ns; /* not before this time of the monotonic clock; 0: at once */
    /** Free what the service hangs here; NULL: nothing.  Called by tavola_op_free. */
    void (*release)(tavola_op *op);
    void *user_data; /* of the service: finish and release use it */

    /* What finish() leaves for whoever asked. */
    tavola_entity *entity;
    tavola_page *page;
    char *response_token; /* the location-locked continuation, see query/token.h */

    /* Private to op/. */
    struct tvc_op_state *state;
    tavola_done_fn done;
    void *done_user;
};

/**
 * A new operation; `call` may be NULL, else its last outcome is forgotten here and it must outlive
 * the operation's run.  NULL when there is no memory.
 */
tavola_op *tvc_op_new(tavola_client *client, tv_service_kind service, tavola_call *call);

/** Append a header to the request.  The value has no line ends. */
void tvc_op_add_header(tavola_op *op, tv_slice name, tv_slice value);

/** Whether a caller's text can be sent as an etag: 1 to 1,024 characters of printable ASCII. */
bool tvc_is_etag(const char *text);

/** Run it on this thread until it is done.  Its result, which is also in the call. */
tavola_err tvc_op_run(tavola_op *op);

/**
 * Hand it to the client's thread.  When that fails the operation still belongs to the caller:
 * NO_MEMORY, or CANCELLED when the client is closed.  With a `done` it goes to the completion queue
 * (tavola_poll); without, tavola_op_wait is the way to learn of its end.
 */
tavola_err tvc_op_start(tavola_op *op, tavola_done_fn done, void *user);

/**
 * A started operation is to end then: one that has not begun ends at once.  Any thread.
 */
void tvc_op_end_at(tavola_op *op, int64_t end_ns);

/**
 * Wait for an operation that was started without a `done` on behalf of that call (or NULL), and
 * end it when the call is over.  Its result.
 */
tavola_err tvc_op_await(tavola_op *op, const tavola_call *call);

/**
 * Refuse before anything is sent: the call (NULL is fine) gets the code "" and one line for people.
 * Returns err, so that `return tvc_call_refuse(...)` reads well.
 */
tavola_err tvc_call_refuse(tavola_call *call, tavola_err err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
