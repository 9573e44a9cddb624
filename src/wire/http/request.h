/*
 * One HTTP request and its response, as a service sees them.  A request lives
 * on the network thread of its connection.  It may wait there for another
 * thread (a commit, a read); until that work comes back the other thread owns
 * the request's arena and the connection parses nothing further, which keeps
 * pipelined answers in order.  If the client goes away meanwhile the request
 * stays alive until the service has answered it, and the answer is dropped;
 * `is_gone` tells work that takes long that it may stop.
 */
#ifndef TV_WIRE_HTTP_REQUEST_H
#define TV_WIRE_HTTP_REQUEST_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/header.h"
#include "base/method.h"
#include "base/parameters.h"
#include "wire/net/loop.h"


typedef struct tv_request tv_request;

/*
 * Where the body of a request goes when it is too long for memory.  on_headers
 * sets req->sink; then no body is kept, and pieces come here as they arrive.
 */
typedef struct tv_body_sink {
    /**
     * A piece of the body, never empty, valid during this call.  Take all of it.
     * Return true for more; false when no more can be taken for now: then nothing
     * is read from the client until tv_request_resume (also before on_request, if
     * this was the last piece), no deadline runs, and the request belongs to the
     * service as it does after on_request: it stays alive if the client goes.
     * Instead of either the service may answer early, inside this call (then
     * `req` may be gone; return false) or while it holds the request; the rest of
     * the body is then skipped or the connection closed.  Pieces can be as short
     * as a byte: gather before pausing.
     */
    bool (*take)(tv_request *req, tv_slice piece);
} tv_body_sink;

/*
 * Where the body of a response comes from when it is too long for memory.
 */
typedef struct tv_body_source {
    /**
     * The connection can take more.  Answer, now or later, with
     * tv_response_piece or tv_response_abort; until then the request belongs to
     * the service, and no deadline runs.  Not called again before the last piece
     * has gone to the kernel.
     */
    void (*pull)(tv_request *req);
} tv_body_source;

struct tv_request {
    tv_arena arena;   /* lives until the response has been sent */
    tv_charge charge; /* what arena, body, head and out hold; see tv_request_charge_to */
    tv_loop *loop;
    tv_method method;
    tv_slice method_text;
    tv_slice path; /* still percent-encoded, exactly as on the wire; begins with '/' */
    tv_parameters query;
    tv_slice host; /* of an absolute target, else the Host header; may carry a port */
    const tv_header *headers;
    size_t header_count;
    const uint32_t *header_keys; /* of their names, for lookups; NULL when they were not made */
    uint64_t header_set;         /* a bit for each of them, by its last six bits */
    tv_slice body;               /* complete when on_request is called; empty with a sink */
    uint64_t body_bytes_max;     /* on_headers may change it; default in the listener's limits */
    uint64_t body_length;        /* what has come of the body so far, kept or not */
    const tv_body_sink *sink;    /* set in on_headers, or NULL: see above */
    bool is_held;                /* tv_request_hold was called, and nothing since */
    bool is_tls;
    bool is_peer_loopback;
    char peer[64];    /* "127.0.0.1:50123", "[::1]:50123" */
    int64_t start_ns; /* monotonic, when the first byte of the request was seen */
    void *user;       /* the service's own state of this request */
    void **of_conn;   /* what a service keeps of the connection: NULL, or malloc'ed; freed with it */

    /**
     * The client has closed its connection or, which looks the same from here
     * until something is sent, ended its side of it and still reads: so code that
     * cuts work short still answers, with something correct.  Any thread may
     * look; only ever becomes true.
     */
    atomic_bool is_gone;

    /* Of the response. */
    tv_slice fixed_head; /* whole header lines that every response to it carries; set before one
                            is started, and lives as long as the request */
    int status;          /* 0 until tv_response_start */
    tv_buf head;         /* header lines so far */
    tv_buf out;          /* body */
    bool close_after;    /* set it to close the connection after the response */
    uint64_t out_length; /* of the body from a source: the pieces that the kernel has whole */
};

/**
 * From now on the request, and what it holds, is charged to `share`, that of the
 * account it was authenticated for.  Until then it is a stranger's.
 */
static inline void tv_request_charge_to(tv_request *req, tv_share *share)
{
    tv_charge_move(&req->charge, share);
}

/** False when no header has a name with this key.  Most that are looked for are not there. */
static inline bool tv_request_may_have(const tv_request *req, uint32_t key)
{
    return req->header_keys == NULL || (req->header_set >> (key & 63) & 1);
}

/** See tv_request_header; `key` is that of the name. */
tv_slice tv_request_header_by_key(const tv_request *req, tv_slice name, uint32_t key);

/** Value of a header by name in any case; data is NULL when absent.  The first one when repeated.
 */
static inline tv_slice tv_request_header(const tv_request *req, tv_slice name)
{
    uint32_t key = tv_header_key(name);

    return tv_request_may_have(req, key) ? tv_request_header_by_key(req, name, key) : TV_NONE;
}

/** How many headers have this name. */
size_t tv_request_header_repeats(const tv_request *req, tv_slice name);

/*
 * A handler: what a listener calls for the requests of a service.  All calls come on the
 * network thread of the connection.  For each request either on_headers answers
 * at once, or on_request is called once and answers now or later, or the HTTP
 * layer finds the request unacceptable and calls on_refused, which answers.
 * With a sink, which is called between on_headers and either of the others, the
 * sink may be the one that answers, or the client go: then only on_done comes.
 */
typedef struct tv_http_handler {
    const char *name;
    void *ctx;

    /**
     * The head has been read, no byte of the body yet, and no 100-continue sent.
     * Authenticate here.  Return true to go on; return false after having
     * answered with tv_response_send: then the body is never read into memory
     * (the connection is closed, or a small body is skipped).  To decide later, call
     * tv_request_hold and return false: nothing more is read, and the request belongs
     * to the service, until it calls tv_request_resume, as if true had been returned,
     * or answers.
     */
    bool (*on_headers)(void *ctx, tv_request *req);

    /** The whole request is here.  Answer with tv_response_send, now or later. */
    void (*on_request)(void *ctx, tv_request *req);

    /**
     * The request breaks HTTP or a limit (TV_ERR_BAD_REQUEST, TV_ERR_BODY_TOO_LARGE,
     * ...).  Its fields may be empty.  Answer at once; the connection is closed after it.
     */
    void (*on_refused)(void *ctx, tv_request *req, tv_err err);

    /**
     * The response has gone out or been dropped; last chance to release `user` and to count.
     * Once for every request of which another call was made.  `status` is 0 when the client
     * went away before the request was complete and nothing was answered.
     */
    void (*on_done)(void *ctx, tv_request *req);
} tv_http_handler;

/*
 * The response.  Start it, add headers, send; append the body to req->out
 * before or after the start.  All but sending on whatever thread owns the request.
 * Date, Connection, Content-Length and Transfer-Encoding are the HTTP layer's.
 * HEAD, 204 and 304 send no body.  Starting again forgets what was written.
 */
void tv_response_start(tv_request *req, int status);

/** Name and value must be free of control characters; that is asserted (no header injection). */
void tv_response_header(tv_request *req, tv_slice name, tv_slice value);

/** Hand the response to the connection.  `req` may be gone when this returns.  Loop thread only. */
void tv_response_send(tv_request *req);

/**
 * Go on with a body whose sink has returned false, or with a request that was held at
 * its head; not inside the call of the sink or of on_headers.
 * The sink, on_request or on_done may be called before this returns.  Loop
 * thread only; `req` may be gone after it.
 */
void tv_request_resume(tv_request *req);

/** For on_headers: it will be decided later whether to go on, see there. */
void tv_request_hold(tv_request *req);

/**
 * Send the head and then a body of exactly `length` bytes from `source`; what
 * is in req->out is not sent.  A HEAD request and 304 send the head alone, with
 * that Content-Length, 204 sends it with 0; then, and when `length` is 0, `pull`
 * is never called and the source may be NULL.  The head waits for the first
 * piece.  `pull` may be called before this returns.  The source stays valid
 * until on_done.  Loop thread only; `req` may be gone when this returns.
 */
void tv_response_send_from(tv_request *req, uint64_t length, const tv_body_source *source);

/**
 * The next piece, never empty, never beyond `length`, and below 2 GiB (256 KiB
 * to 1 MiB are best); its bytes stay where they are until the next pull or
 * on_done.  The piece that completes the body completes the response.  Inside
 * `pull` this only notes the piece; else the next pull may come before it
 * returns.  Loop thread only; `req` may be gone when this returns.
 */
void tv_response_piece(tv_request *req, tv_slice piece);

/**
 * Whether nothing of the response has gone out although a source is asked for a
 * piece: it is the first one.  Then the service can give another response instead
 * of the piece, for instance an error: tv_response_start and so on up to
 * tv_response_send, inside `pull` or later; the source is forgotten.
 */
bool tv_response_is_unsent(const tv_request *req);

/**
 * Instead of a piece: the body cannot be completed.  The connection is closed,
 * so that the client sees it is short.  As for tv_response_piece.
 */
void tv_response_abort(tv_request *req);

#endif
