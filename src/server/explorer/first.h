/*
 * The first request of a client since the start: who has just pointed an
 * application at this server sees that it has arrived, and from what.
 *
 * Written once, by whichever network thread is first; read by any.
 */
#ifndef TV_SERVER_EXPLORER_FIRST_H
#define TV_SERVER_EXPLORER_FIRST_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/buf.h"

typedef struct tv_call tv_call;

typedef struct tv_first_request {
    atomic_int state; /* of first.c; 0: none yet */
    int64_t ticks;
    int status;
    const char *operation; /* "InsertEntity" */
    char method[8];        /* "POST" */
    char container[64];    /* the table, queue or container; empty for none */
    char agent[64];        /* the first word of User-Agent */
} tv_first_request;

/** Of one service. */
typedef struct tv_first_requests {
    tv_first_request good, bad; /* what was done, and what was refused */
} tv_first_requests;

/** See tv_service.on_done, with a tv_first_requests: nothing happens when it is not the first. */
void tv_first_requests_note(void *ctx, const tv_call *call);

/** As an object of JSON; false, and nothing added, when there was none. */
bool tv_first_request_add(const tv_first_request *first, tv_buf *out);

#endif
