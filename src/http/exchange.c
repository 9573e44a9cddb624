/* Hubs and their pools of exchanges. */
#include "http/exchange.h"

#include "base/assert.h"

enum {
    FREE_MAX = 64,              /* exchanges kept */
    KEPT_BYTES_MAX = 32 * 1024, /* of each of their buffers */
};

tv_hub *tv_hub_ref(tv_loop *loop)
{
    void **shared = tv_loop_shared(loop);

    if (*shared == NULL) {
        tv_hub *hub = tv_calloc(1, sizeof *hub);

        hub->loop = loop;
        *shared = hub;
    }
    tv_hub *hub = *shared;

    hub->listener_count++;
    return hub;
}

/* Really free it. */
static void release(tv_exchange *exchange)
{
    tv_arena_done(&exchange->req.arena);
    tv_buf_done(&exchange->req.head);
    tv_buf_done(&exchange->req.out);
    tv_buf_done(&exchange->body);
    free(exchange);
}

void tv_hub_unref(tv_hub *hub)
{
    if (--hub->listener_count > 0)
        return;

    *tv_loop_shared(hub->loop) = NULL;
    while (hub->free) {
        tv_exchange *next = hub->free->next;

        release(hub->free);
        hub->free = next;
    }
    free(hub);
}

tv_exchange *tv_exchange_new(tv_hub *hub, tv_conn *conn)
{
    tv_exchange *exchange = hub->free;

    if (exchange) {
        hub->free = exchange->next;
        hub->free_count--;
    } else {
        exchange = tv_calloc(1, sizeof *exchange);
        tv_arena_init(&exchange->req.arena);
    }
    exchange->conn = conn;
    exchange->hub = hub;
    exchange->req.loop = hub->loop;
    return exchange;
}

/* Empty a buffer; its memory stays unless one large request has blown it up. */
static tv_buf emptied(tv_buf buf)
{
    if (buf.size > KEPT_BYTES_MAX)
        tv_buf_done(&buf);
    buf.len = 0;
    return buf;
}

void tv_exchange_free(tv_exchange *exchange)
{
    tv_hub *hub = exchange->hub;

    hub->body_bytes -= exchange->body.len;
    if (hub->free_count == FREE_MAX) {
        release(exchange);
        return;
    }
    tv_arena_reset(&exchange->req.arena);
    *exchange = (tv_exchange){
        .req.arena = exchange->req.arena,
        .req.head = emptied(exchange->req.head),
        .req.out = emptied(exchange->req.out),
        .body = emptied(exchange->body),
        .next = hub->free,
    };
    hub->free = exchange;
    hub->free_count++;
}
