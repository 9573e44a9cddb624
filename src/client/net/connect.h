/* How a connection comes to be: addresses, a socket, and what is spoken before HTTP. */
#ifndef TVC_NET_CONNECT_H
#define TVC_NET_CONNECT_H

#include "client/net/conn.h"
#include "client/net/race.h"
#include "client/net/resolve.h"

/** What a connection needs until it is open. */
typedef struct tvc_opening {
    int stage;
    int64_t deadline_ns; /* of all of it */
    tvc_resolve_waiter waiter;
    tvc_race race;
    tvc_text request;          /* to the proxy */
    size_t sent;               /* of it */
    tvc_response response;     /* of an HTTP proxy */
    int socks_stage;           /* with a SOCKS proxy */
    unsigned char answer[262]; /* its longest: 4 bytes, a name of 255 with its length, a port */
    size_t heard;              /* of it */
} tvc_opening;

/** Undo what the unfinished opening of a connection holds; also when there is none. */
void tvc_opening_end(tvc_conn *conn);

/**
 * Ask the proxy for a tunnel to the endpoint.  SOME: it is there.  FAILED: conn->err and why are
 * set.
 */
tvc_io tvc_tunnel_step(tvc_conn *conn);

/** The same of a SOCKS proxy. */
tvc_io tvc_socks_step(tvc_conn *conn);

/** Send the rest of what goes to the proxy.  Errors as above. */
tvc_io tvc_tunnel_send(tvc_conn *conn);

#endif
