/*
 * An exchange is a request with its response and what the connection needs to
 * carry both; a service sees only the tv_request in front.  A hub is what all
 * listeners of one loop share: used exchanges with their memory, and the date.
 * Private to http/, one thread: a request that is lent to another thread must
 * not lead that to its hub or its connection.
 */
#ifndef TV_WIRE_HTTP_EXCHANGE_H
#define TV_WIRE_HTTP_EXCHANGE_H

#include "wire/http/date.h"
#include "wire/http/request.h"

typedef struct tv_conn tv_conn;
typedef struct tv_hub tv_hub;

typedef struct tv_exchange {
    tv_request req; /* first, so that a request leads to its exchange */
    tv_conn *conn;
    tv_hub *hub;
    struct tv_exchange *next; /* among the free ones */
    tv_buf body;              /* what req.body points to */
    bool is_seen;             /* a service has had it, so on_done is owed */
    size_t date_at;           /* where req.head has room for the date */
    /* Of a response that comes from a source. */
    const tv_body_source *source;
    bool is_streamed;     /* the length was given by tv_response_send_from */
    bool is_head_sent;    /* it goes out with the first piece */
    bool is_aborted;      /* there will be no more pieces */
    bool is_replaced;     /* there is another response, which the connection is yet to send */
    uint64_t source_left; /* of the body, not yet given as a piece */
    tv_slice piece;       /* given and not yet in the kernel */
} tv_exchange;

struct tv_hub {
    tv_loop *loop;
    tv_exchange *free;
    int free_count;
    int listener_count;
    size_t input_bytes; /* taken by heads that are not complete */
    tv_http_clock clock;
};

/** The hub of a loop, made for its first listener. */
tv_hub *tv_hub_ref(tv_loop *loop);

/** The last listener's call frees it. */
void tv_hub_unref(tv_hub *hub);

/**
 * An exchange with empty fields, from the pool if it has one.  What it takes beyond
 * the memory that comes with it is charged to `budget` (NULL: not counted), to the
 * strangers at first.
 */
tv_exchange *tv_exchange_new(tv_hub *hub, tv_conn *conn, tv_budget *budget);

/** Back to the pool, with as much of its memory as is worth keeping; nothing stays charged. */
void tv_exchange_free(tv_exchange *exchange);

static inline tv_exchange *tv_exchange_of(tv_request *req)
{
    return (tv_exchange *)req;
}

#endif
