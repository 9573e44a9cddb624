/*
 * Bearer tokens.  The application is asked for one by a thread that lives as long as the question;
 * a token is kept until shortly before it expires, and used while the next one is asked for.  Any
 * thread.
 */
#ifndef TVC_ACCOUNT_BEARER_H
#define TVC_ACCOUNT_BEARER_H

#include "client/client.h"
#include "client/net/exchange.h"

/** A token; counted, and wiped at the end. */
typedef struct tvc_bearer tvc_bearer;
typedef struct tvc_bearers tvc_bearers; /* those of a client */

/** Someone who waits for a token; all zeros at first. */
typedef struct tvc_bearer_waiter {
    struct tvc_bearer_waiter *previous, *next;
    tvc_waker *waker;
    bool is_waiting;
    bool was_called; /* with err, or a token that is kept */
    tavola_err err;
} tvc_bearer_waiter;

typedef enum tvc_bearer_found {
    TVC_BEARER_READY,
    TVC_BEARER_WAIT,   /* ask again when woken */
    TVC_BEARER_FAILED, /* waiter->err: NETWORK, TIMEOUT, BUSY, DENIED, NO_MEMORY */
} tvc_bearer_found;

/** By the options of a client, which outlives it.  NULL when there is no memory. */
tvc_bearers *tvc_bearers_new(const tavola_client *client);

/** Nobody waits.  A question that is under way is waited for.  NULL is fine. */
void tvc_bearers_free(tvc_bearers *bearers);

/** One reference in *ret_bearer with READY; with FAILED the reason is in ret_why. */
tvc_bearer_found tvc_bearers_ask(tvc_bearers *bearers, tvc_bearer_waiter *waiter, tvc_waker *waker,
                                 tvc_bearer **ret_bearer, char *ret_why, size_t why_size);

/** Stop waiting; also for one who does not wait. */
void tvc_bearers_leave(tvc_bearers *bearers, tvc_bearer_waiter *waiter);

/** A service has refused that token: it is not used again. */
void tvc_bearers_reject(tvc_bearers *bearers, const tvc_bearer *bearer);

/** Visible ASCII. */
const char *tvc_bearer_text(const tvc_bearer *bearer);

/** NULL is fine. */
void tvc_bearer_unref(tvc_bearer *bearer);

#endif
