/*
 * From the name of a host to its addresses.  The system's resolver can block for long, so it is
 * asked by a thread that lives as long as the question; answers are kept for a while.  Any thread.
 */
#ifndef TVC_NET_RESOLVE_H
#define TVC_NET_RESOLVE_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "client/net/exchange.h"

enum {
    TVC_ADDRESSES_MAX = 8,
    TVC_ADDRESSES_KEPT_MS = 30 * 1000,
};

typedef struct tvc_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } as;
    socklen_t len;
} tvc_address;

/** In the order in which they are to be tried: the families take turns, as RFC 8305 asks for. */
typedef struct tvc_addresses {
    size_t count;
    tvc_address list[TVC_ADDRESSES_MAX];
} tvc_addresses;

typedef struct tvc_resolver tvc_resolver;

/** Someone who waits for addresses; all zeros at first. */
typedef struct tvc_resolve_waiter {
    struct tvc_resolve_waiter *previous, *next;
    tvc_waker *waker;
    bool is_waiting;
    bool was_called; /* with err, or addresses that are in the resolver */
    tavola_err err;
    const char *why;
} tvc_resolve_waiter;

typedef enum tvc_resolve {
    TVC_RESOLVED,
    TVC_RESOLVE_WAIT,   /* ask again when woken */
    TVC_RESOLVE_FAILED, /* waiter->err and why: INVALID when there is no such host */
} tvc_resolve;

/** NULL when there is no memory.  `host` is a name or an address, without brackets. */
tvc_resolver *tvc_resolver_new(const char *host, uint16_t port);

/** Nobody may wait; a thread that still asks the system ends by itself.  NULL is fine. */
void tvc_resolver_free(tvc_resolver *resolver);

/** With WAIT the waker is called when there is an answer. */
tvc_resolve tvc_resolver_ask(tvc_resolver *resolver, tvc_resolve_waiter *waiter, tvc_waker *waker,
                             tvc_addresses *ret_addresses);

/** Stop waiting; also for one who does not wait. */
void tvc_resolver_leave(tvc_resolver *resolver, tvc_resolve_waiter *waiter);

/** A connection was made to this address: it is the first in what is answered from now on. */
void tvc_resolver_prefer(tvc_resolver *resolver, const tvc_address *address);

/** No connection came to be: ask the system again next time, and prefer no address. */
void tvc_resolver_forget(tvc_resolver *resolver);

#endif
