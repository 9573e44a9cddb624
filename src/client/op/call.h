/*
 * The options and the outcome of a call, behind tavola_call.
 */
#ifndef TVC_OP_CALL_H
#define TVC_OP_CALL_H

#include <stdatomic.h>

#include "client/memory.h"
#include "client/net/exchange.h"

enum { TVC_RETRIES_BY_CLIENT = -1 };

/** end_ns of a call that nobody has cancelled. */
#define TVC_NO_END INT64_MAX

/**
 * How often a thread that waits looks whether its call is over: whoever ends one does not have to
 * know where it is in use, and what is under way needs no descriptor for it.
 */
enum { TVC_LOOK_MS = 50 };

struct tavola_call {
    /* Options. */
    uint32_t total_timeout_ms; /* 0: the client's */
    int64_t retry_max;         /* TVC_RETRIES_BY_CLIENT, or how many */
    char *wanted_request_id;   /* or NULL: a new one for each call */
    tavola_err option_error;   /* of an option that could not be taken; the operation returns it */
    char source[129];          /* x-tavola-source, or "" */
    tavola_crypto *crypto;     /* not ours, or NULL */
    unsigned primary_only;     /* how many patterns are at work that must not read what is old */
    _Atomic int64_t end_ns;    /* of the monotonic clock, when all that uses it ends; any thread */

    /* Outcome of the last operation. */
    int status;
    char code[64];
    char message[512]; /* cut off when longer */
    const char *etag;  /* NULL: none; set by tvc_call_set_etag */
    char etag_short[64];
    char *etag_long;
    char service_request_id[64];
    const char *client_request_id; /* NULL: none; wanted_request_id, or the guid */
    char guid[40];
    char plan[128];
    uint32_t attempts;
    bool was_confirmed;
    int failed_index; /* -1: none */
};

/** All options at their defaults, no outcome. */
void tvc_call_init(tavola_call *call);
void tvc_call_done(tavola_call *call);

/** Forget the last outcome. */
void tvc_call_reset(tavola_call *call);

/** Whether it was cancelled, or its end has come. */
bool tvc_call_is_over(const tavola_call *call);

/** All that uses it ends then, TVC_NO_END: not any more.  Any thread. */
void tvc_call_end_at(tavola_call *call, int64_t end_ns);
int64_t tvc_call_end_ns(const tavola_call *call);

/** False when there is no memory.  TV_NONE: forget it. */
bool tvc_call_set_etag(tavola_call *call, tv_slice etag);

/** NULL is fine for `call` in all of these; the message is cut at the end of its first line. */
void tvc_call_set_error(tavola_call *call, const char *code, const char *message);

/**
 * Read an error answer of any service: JSON (odata.error) or XML; code and message go into the
 * call.  The tavola_err that status and code stand for.
 */
tavola_err tvc_call_read_error(tavola_call *call, const tvc_response *response);

/** The tavola_err for a status and a code; for the parts of a batch. */
tavola_err tvc_err_of(int status, tv_slice code);

/** Whether an answer says that there is no such entity or blob, in a table or container that
 * exists. */
bool tvc_is_absent(tavola_err err, const tavola_call *call);

/**
 * A call for what looks at its outcome: the caller's, or one of its own.  `own` lives on the
 * caller's stack and is done with tvc_call_done.
 */
static inline tavola_call *tvc_call_of(tavola_call *call, tavola_call *own)
{
    tvc_call_init(own);
    return call ? call : own;
}

#endif
