/* Hubs and their pools of exchanges. */
#include "wire/http/exchange.h"

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

tv_exchange *tv_exchange_new(tv_hub *hub, tv_conn *conn, tv_budget *budget)
{
    tv_exchange *exchange = hub->free;
    tv_request *req;

    if (exchange) {
        hub->free = exchange->next;
        hub->free_count--;
    } else {
        exchange = tv_calloc(1, sizeof *exchange);
        tv_arena_init(&exchange->req.arena);
    }
    exchange->conn = conn;
    exchange->hub = hub;
    req = &exchange->req;
    req->loop = hub->loop;
    tv_charge_init(&req->charge, budget ? tv_budget_strangers(budget) : NULL);
    req->arena.charge = req->head.charge = req->out.charge = exchange->body.charge = &req->charge;
    return exchange;
}

/* Empty a buffer; its memory stays unless one large request has inflated it. */
static void empty(tv_buf *buf)
{
    if (buf->size > KEPT_BYTES_MAX)
        tv_buf_done(buf);
    else
        tv_buf_reset(buf);
}

/* Whatever came of the request, all it had is given back here. */
static void give_back(tv_charge *charge)
{
    tv_assert(charge->used == 0);
    tv_charge_done(charge);
}

void tv_exchange_free(tv_exchange *exchange)
{
    tv_hub *hub = exchange->hub;

    tv_arena_reset(&exchange->req.arena);
    empty(&exchange->req.head);
    empty(&exchange->req.out);
    empty(&exchange->body);
    give_back(&exchange->req.charge);
    if (hub->free_count == FREE_MAX) {
        release(exchange);
        return;
    }
    *exchange = (tv_exchange){
        .req.arena = exchange->req.arena,
        .req.head = exchange->req.head,
        .req.out = exchange->req.out,
        .body = exchange->body,
        .next = hub->free,
    };
    hub->free = exchange;
    hub->free_count++;
}
