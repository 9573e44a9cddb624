/*
 * A listener: one address on which a service answers, with the limits and
 * deadlines of its connections.  Every network thread listens on the same
 * address (SO_REUSEPORT), and a connection stays on the thread that took it.
 */
#ifndef TV_WIRE_HTTP_LISTENER_H
#define TV_WIRE_HTTP_LISTENER_H

#include "wire/http/request.h"

typedef struct tv_tls tv_tls; /* src/wire/net/tls.h: certificate and key, shared by listeners */
typedef struct tv_listener tv_listener;

typedef struct tv_http_limits {
    size_t head_bytes_max; /* request line and headers together */
    size_t header_count_max;
    size_t body_bytes_max;  /* default for tv_request.body_bytes_max */
    int header_timeout_ms;  /* from the first byte of a request to the end of its head */
    int body_timeout_ms;    /* without progress in a body or in writing a response */
    int speed_min;          /* of both, in bytes a second: a longer run below it ends likewise */
    int linger_timeout_ms;  /* after an early answer, for all of the body that is skipped */
    int idle_timeout_ms;    /* between requests */
    int connections_max;    /* of one listener: see below */
    int per_address_max;    /* of those, from one address */
    int spare_ms;           /* after which a connection that waits for its client may make room */
    size_t input_bytes_max; /* of heads that are not complete, in all connections of a loop */
    bool spares_unread;     /* an answer that is not read may be cut off to make room, too */
    tv_budget *budget;      /* for what all requests hold together; NULL: not counted */
} tv_http_limits;

/*
 * When a connection comes and there are connections_max already, the one is
 * closed that has waited longest for its client, between requests or in a head;
 * when none has waited for spare_ms, the new one stays outside until one closes
 * or has.  In the same way one address gives up its own for a new one, which is
 * closed when all the others are at work.
 */

/**
 * 128 KiB of head, 256 headers, 4 MiB + 64 KiB of body, 20 s, 30 s, 1 KiB a
 * second, 5 s, 120 s, 10,000 connections, all of which may be of one address,
 * 1 s to spare, 32 MiB of input, no budget.
 */
extern const tv_http_limits tv_http_limits_default;

/**
 * Listen on `loop` (before tv_loop_start).  `host` is an IP address, `port` may
 * be 0.  On failure returns NULL and writes one line that says why, e.g.
 * "cannot listen on 127.0.0.1:10002: address already in use", to `reterr_text`.
 * `handler`, `limits` and `tls` (NULL for plain HTTP) outlive the listener.
 */
tv_listener *tv_listener_new(tv_loop *loop, const char *host, int port,
                             const tv_http_handler *handler, const tv_http_limits *limits,
                             tv_tls *tls, char *reterr_text, size_t reterr_size);

/** The port it listens on. */
int tv_listener_port(const tv_listener *listener);

/** Connections open now. */
int tv_listener_connections(const tv_listener *listener);

/**
 * Stop accepting, close idle connections, let requests under way finish (their
 * responses say Connection: close), and close what is left after `grace_ms`.
 * The listener frees itself when its last connection is gone.  Any thread, once;
 * a listener must be stopped before its loop is freed, even if that never ran.
 */
void tv_listener_stop(tv_listener *listener, int grace_ms);

#endif
