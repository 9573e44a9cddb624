/*
 * One HTTP connection: the states between its accept and its close.  Private
 * to http/; everything here is on the connection's loop.
 */
#ifndef TV_WIRE_HTTP_CONN_H
#define TV_WIRE_HTTP_CONN_H

#include <stdatomic.h>

#include "wire/http/chunked.h"
#include "wire/http/exchange.h"
#include "wire/http/listener.h"
#include "wire/http/parser.h"
#include "wire/http/peers.h"
#include "wire/net/stream.h"

struct tv_listener {
    uv_tcp_t tcp;
    uv_timer_t deadlines; /* looks for connections that are past theirs */
    uint64_t looked_ms;   /* by tv_loop_now_ms */
    bool has_left_it;     /* that look came late, and has left it to the next */
    uv_timer_t grace;     /* ends the grace period of tv_listener_stop */
    int open_handle_count;
    tv_mail stop_mail;
    int grace_ms;

    tv_loop *loop;
    tv_hub *hub;
    const tv_http_handler *handler;
    const tv_http_limits *limits;
    tv_tls *tls;
    int fd, port;
    bool is_stopping;
    bool has_waiting;                        /* a connection that the limit keeps outside */
    tv_conn *conns;                          /* all of them, in no order */
    tv_conn *longest_waiting, *last_waiting; /* those that wait for their client, in order */
    tv_peers peers;
    atomic_int connection_count;
};

typedef enum tv_conn_state {
    TV_CONN_IDLE,     /* between requests; has no exchange */
    TV_CONN_HEAD,     /* some of a head has come */
    TV_CONN_ASKING,   /* inside on_headers, on_refused or the sink's take */
    TV_CONN_CONTINUE, /* writing "100 Continue" */
    TV_CONN_BODY,     /* reading the body */
    TV_CONN_HELD,     /* the service takes no more for now; not reading */
    TV_CONN_PENDING,  /* the service has the request */
    TV_CONN_WRITING,  /* the response, or a piece of it, does not fit the socket */
    TV_CONN_PULLING,  /* the source owes a piece */
    TV_CONN_YIELDING, /* between two pieces, while the loop serves others */
    TV_CONN_SKIP,     /* answered early; skipping the body */
    TV_CONN_LINGER,   /* all is said; waiting for the client to close */
    TV_CONN_CLOSED,   /* the stream is closed or closing */
} tv_conn_state;

struct tv_conn {
    tv_stream stream; /* first, so that its events lead here */
    tv_listener *listener;
    tv_conn *next, *previous; /* of the same listener */
    tv_conn *next_waiting, *previous_waiting;
    uint64_t waits_since_ms; /* by tv_loop_now_ms, while is_waiting */
    tv_peer *peer_entry;     /* NULL until the address is known */
    tv_conn_state state;
    uint64_t deadline_ms;  /* by tv_loop_now_ms; UINT64_MAX for none */
    uint64_t credit_ms;    /* of a body or response: how long it may go on without progress */
    size_t unsent_at_look; /* how progress in writing is seen */
    tv_exchange *exchange; /* the one under way */
    tv_buf in;             /* input that waits for its turn */
    size_t in_counted;     /* of its memory in the hub's input_bytes */
    tv_head_scan scan;
    tv_chunked chunked;
    uint64_t body_left; /* with a Content-Length */
    size_t skipped_bytes;
    size_t held_bytes;   /* of the body, taken by a sink that defers what follows */
    size_t turn_bytes;   /* sent from a source since the loop last turned to this connection */
    tv_mail turn_mail;   /* brings its next turn */
    bool has_body_ahead; /* body bytes of this request are still to be read */
    bool is_chunked;
    bool expects_continue;
    bool is_1_0;
    bool keep_alive;
    bool is_ended;      /* the client has finished sending */
    bool is_working;    /* inside work(), which goes on by itself */
    bool is_paused;     /* reading is off until `in` is worked off and more is wanted */
    bool is_pulling;    /* inside the source's pull */
    bool has_turn_mail; /* turn_mail is on its way */
    bool is_waiting;    /* for the client, with nothing of a service under way */
    bool is_stream_closed;
    bool is_peer_loopback;
    char peer[64];
    void *of_service; /* tv_request.of_conn */
};

/** Of a body that is skipped, to keep its connection. */
enum { TV_CONN_SKIP_BYTES_MAX = 64 * 1024 };

/** In these states the connection wants input; in the others it waits or is done. */
static inline bool tv_conn_is_receiving(const tv_conn *conn)
{
    return conn->state == TV_CONN_IDLE || conn->state == TV_CONN_HEAD ||
           conn->state == TV_CONN_BODY || conn->state == TV_CONN_SKIP;
}

/** Change the state and set its deadline again, also if it is the same state. */
void tv_conn_enter(tv_conn *conn, tv_conn_state state);

/**
 * The same for a body or response that goes on after `bytes` of it have moved:
 * they add to the time that is left what they take at the least speed, up to the
 * time without progress.  So a client that stays below that speed runs out of time.
 */
void tv_conn_go_on(tv_conn *conn, tv_conn_state state, uint64_t bytes);

/** Work through input; what must wait is kept. */
void tv_conn_work(tv_conn *conn, tv_slice input);

/** Tell the hub what memory a head that is not complete takes now. */
void tv_conn_count_input(tv_conn *conn);

/** Go on with the input that had to wait, and read more when that is wanted. */
void tv_conn_resume(tv_conn *conn);

/** Let the service say what is wrong with the request; its answer is the last one. */
void tv_conn_refuse(tv_conn *conn, tv_err err);

/** "100 Continue" has gone out. */
void tv_conn_continued(tv_conn *conn);

/** The sink takes more; without more the request is complete. */
void tv_conn_take_more(tv_exchange *exchange);

/** What the socket did not take at once has gone out. */
void tv_conn_written(tv_conn *conn);

/** The exchange is over: tell the service and put it back, if there is one. */
void tv_conn_finish_exchange(tv_conn *conn);

/** Free a connection of which nothing is left. */
void tv_conn_free_if_done(tv_conn *conn);

/** The client has gone before, and now the service is done with its request, too. */
void tv_conn_drop(tv_conn *conn);

/** End the connection after its last response. */
void tv_conn_linger(tv_conn *conn);

/** Take the connection that waits at the listener. */
void tv_conn_accept(tv_listener *listener);

/** Send the response of an exchange, or drop it when the client is gone. */
void tv_conn_respond(tv_exchange *exchange);

/** The source has put its next piece into the exchange, or an end to it. */
void tv_conn_piece(tv_exchange *exchange);

/** The deadline has passed. */
void tv_conn_expire(tv_conn *conn);

/** See whether a client that is not being read from has gone; to be called now and then. */
void tv_conn_look_for_end(tv_conn *conn);

/** Close if no request is under way; the listener stops. */
void tv_conn_close_if_idle(tv_conn *conn);

/** Close now.  A request that a service has stays until it is answered. */
void tv_conn_close(tv_conn *conn);

/** The listener's part of a connection's birth and death. */
void tv_listener_add(tv_listener *listener, tv_conn *conn);
void tv_listener_remove(tv_listener *listener, tv_conn *conn);

/** Expire the connections that are past their deadline, and close one if another needs its place.
 */
void tv_listener_look(tv_listener *listener);

/** The connection waits for its client from now on, or does so no longer. */
void tv_listener_begin_wait(tv_listener *listener, tv_conn *conn);
void tv_listener_end_wait(tv_listener *listener, tv_conn *conn);

/** Close connections in the middle of a head while all together keep too much input. */
void tv_listener_limit_input(tv_listener *listener);

/** Whether one more of this address is accepted, perhaps at the cost of another of its own. */
bool tv_listener_admit(tv_listener *listener, tv_conn *conn,
                       const struct sockaddr_storage *address);

/** Make the header_keys of a request whose headers are complete. */
void tv_request_index_headers(tv_request *req);

/** What the end of a response's head says about the connection. */
typedef enum tv_response_end {
    TV_RESPONSE_KEEP,
    TV_RESPONSE_KEEP_1_0, /* HTTP/1.0 wants to be told */
    TV_RESPONSE_CLOSE,
} tv_response_end;

/**
 * Complete req->head.  Returns the part of the body that must follow it; what a
 * source must send after it is left in the exchange's `source_left`.
 */
tv_slice tv_response_finish(tv_request *req, tv_response_end end);

#endif
