/*
 * One exchange: a request goes out over one connection and its answer comes back.  A state machine
 * that never blocks; whoever drives it (op/run.c, op/loop.c) waits in between.
 *
 * It takes a connection from the endpoint's pool, or makes one (resolve, connect, CONNECT at a
 * proxy, TLS), sends, receives, and gives the connection back if it can be used again.  It makes
 * no second attempt, with one exception: a kept connection that turns out to be closed before a
 * byte of the request was sent on it is replaced.
 */
#ifndef TVC_NET_EXCHANGE_H
#define TVC_NET_EXCHANGE_H

#include "base/header.h"
#include "client/memory.h"
#include "client/net/endpoint.h"
#include "client/text.h"

/**
 * How a thread that waits for something that is not a descriptor is woken.  wake() is called from
 * any thread, at most once for each wait, and may be called too often by mistake, never too late.
 * It is called with a lock of net/ held: it must not call back into net/, and nobody may step an
 * exchange while holding a lock that wake() takes.
 */
typedef struct tvc_waker {
    void (*wake)(struct tvc_waker *waker);
} tvc_waker;

/** What a state machine waits for. */
typedef enum tvc_wait {
    TVC_WAIT_NOTHING, /* it is done */
    TVC_WAIT_READ,    /* until its descriptor is readable, or its time */
    TVC_WAIT_WRITE,   /* until its descriptor is writable, or its time */
    TVC_WAIT_BOTH,    /* until its descriptor is one of the two, or its time */
    TVC_WAIT_WAKE,    /* until its waker is called, or its time */
} tvc_wait;

/** How far an exchange got, for whoever must know whether a write was made. */
typedef enum tvc_fate {
    TVC_NOT_SENT, /* the server cannot have seen the request */
    TVC_UNKNOWN,  /* some of it was sent, and no whole answer came */
    TVC_ANSWERED, /* there is a whole response */
} tvc_fate;

/**
 * A whole answer.  Head and headers point into `head`.  The body is memory of tvc_alloc with a NUL
 * after it, NULL if there is none; whoever takes it sets it to NULL.
 */
typedef struct tvc_response {
    int status;
    char *head;         /* memory of its own */
    tv_header *headers; /* in the order of the answer, in the memory of the head */
    size_t header_count;
    char *body;
    size_t body_len;
} tvc_response;

/**
 * The value of a header by its name in any case; TV_NONE when there is none, or when it is not
 * printable ASCII: all headers that we read are.
 */
tv_slice tvc_response_header(const tvc_response *response, tv_slice name);

void tvc_response_done(tvc_response *response);

/** Where a long body comes from: fills up to `size` bytes at `offset`; false ends the exchange. */
typedef struct tvc_source {
    bool (*read)(void *user, uint64_t offset, void *to, size_t size, size_t *ret_len);
    void *user;
} tvc_source;

/** Where a long body of a 2xx answer goes, piece by piece; false ends the exchange. */
typedef struct tvc_sink {
    bool (*write)(void *user, const void *bytes, size_t len);
    void *user;
} tvc_sink;

enum {
    TVC_HEAD_BYTES_MAX = 64 * 1024,
    TVC_BODY_BYTES_MAX = 64 * 1024 * 1024, /* of an answer that is kept in memory */
};

/** An exchange's place in the queue for a connection; private to net/. */
typedef struct tvc_pool_waiter {
    struct tvc_pool_waiter *previous, *next;
    tvc_waker *waker;
    int state;             /* of pool.h */
    struct tvc_conn *conn; /* the connection it was given, or NULL */
} tvc_pool_waiter;

/** Where an exchange is; private to net/.  The rest of its state lies with its connection. */
typedef struct tvc_exchange_state {
    int phase;
    bool is_cut; /* the request was not sent to its end: the answer came first, or the end */
    tvc_pool_waiter waiter;
    struct tvc_conn *conn;
    uint64_t sent;         /* of head and body, in one row */
    uint64_t bytes_before; /* that had gone out over the connection before this exchange */
    uint64_t staged_at;    /* where in the source the connection's outgoing buffer begins */
    size_t staged_len;
} tvc_exchange_state;

/**
 * What is asked, and how it ended.  All zeros is an exchange that has not begun.  It stays where
 * it is in memory from its first step until it is done.
 */
typedef struct tvc_exchange {
    /* Set before the first step; all of it outlives the exchange. */
    tvc_endpoint *endpoint;
    tv_slice head;       /* request line and headers with the empty line at their end */
    tv_slice body;       /* sent after it, unless there is a source */
    tvc_source source;   /* read == NULL: none */
    uint64_t source_len; /* what the source has to give */
    tvc_sink sink;       /* write == NULL: the body is kept in the response */
    bool is_head;        /* HEAD: the answer has no body */
    int64_t deadline_ns; /* of tv_clock_mono_ns: TIMEOUT after it */
    tvc_waker *waker;

    /* Valid when a step says TVC_WAIT_NOTHING. */
    tavola_err err; /* OK with TVC_ANSWERED; else NETWORK, TIMEOUT, PROTOCOL, NO_MEMORY,
                       INVALID (no such host), CANCELLED (the source or sink said no) */
    tvc_fate fate;
    const char *why;       /* one line for people when err is set: static text */
    bool is_final;         /* NETWORK: the same will happen to any other attempt */
    tvc_response response; /* with TVC_ANSWERED */

    tvc_exchange_state state;
} tvc_exchange;

/**
 * Go as far as possible.  With READ, WRITE and BOTH *ret_fd is the descriptor to wait for.  It may
 * change from step to step, and the same number may be another socket: when one is closed (which
 * takes it out of every epoll set) the next can get its number.  When the exchange is done the
 * descriptor lives on in the pool for whoever takes it next.  *ret_until_ns is the time of the
 * monotonic clock at which to step again in any case; it has come already when there is more to do
 * but others should have a turn first.  Stepping too often does no harm.
 */
tvc_wait tvc_exchange_step(tvc_exchange *exchange, int *ret_fd, int64_t *ret_until_ns);

/** Whether some of the request has been sent and no whole answer came yet: it may be made. */
bool tvc_exchange_was_sent(const tvc_exchange *exchange);

/**
 * A number that stays with the descriptor which the last step named, from exchange to exchange: 0
 * when it is new.  So a driver can leave descriptors in its epoll set and know which are there.
 */
uint64_t *tvc_exchange_watch(tvc_exchange *exchange);

/**
 * Let go of everything.  A connection in the middle of an exchange is closed.  The response must
 * have been taken or is freed here.  May be called at any time, also before the first step.
 */
void tvc_exchange_done(tvc_exchange *exchange);

#endif
