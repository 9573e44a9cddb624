/* Operations: made, filled in by a service, freed. */
#include "client/op/op.h"

#include "base/assert.h"
#include "client/entity/entity.h"
#include "client/op/loop.h"
#include "client/op/state.h"
#include "client/why.h"

/* One piece of memory, since each request needs both. */
typedef struct whole_op {
    tavola_op op;
    tvc_op_state state;
} whole_op;

tavola_op *tvc_op_new(tavola_client *client, tv_service_kind service, tavola_call *call)
{
    whole_op *whole = tvc_alloc(sizeof *whole);

    if (whole == NULL)
        return NULL;

    tavola_op *op = &whole->op;

    memset(op, 0, offsetof(tavola_op, own_call));
    memset((char *)op + offsetof(tavola_op, own_call) + sizeof op->own_call, 0,
           sizeof *whole - offsetof(tavola_op, own_call) - sizeof op->own_call);
    op->client = tvc_client_ref(client);
    op->service = service;
    op->state = &whole->state;
    if (call) {
        tvc_call_reset(call);
        op->own_call.etag_long = op->own_call.wanted_request_id = NULL;
    } else {
        tvc_call_init(&op->own_call);
    }
    op->call = call ? call : &op->own_call;
    return op;
}

void tvc_op_add_header(tavola_op *op, tv_slice name, tv_slice value)
{
    tvc_text_add_header(&op->request.headers, name, value);
}

bool tvc_is_etag(const char *text)
{
    enum { ETAG_BYTES_MAX = 1024 }; /* services have less than 100 */
    size_t len = strnlen(text, ETAG_BYTES_MAX + 1);

    return len > 0 && len <= ETAG_BYTES_MAX && tv_slice_is_printable((tv_slice){text, len});
}

tavola_err tvc_op_result(const tavola_op *op)
{
    if (op->state->err)
        tvc_keep_error(op->state->err, op->call->code, op->call->message);
    return op->state->err;
}

void tvc_op_release(tavola_op *op)
{
    tvc_op_let_go(op);
    if (op->release)
        op->release(op);
    tavola_entity_free(op->entity);
    tvc_page_free(op->page);
    tvc_release(op->response_token);
    tvc_text_done(&op->request.path);
    tvc_text_done(&op->request.query);
    tvc_text_done(&op->request.headers);
    tvc_text_done(&op->request.body);
    tvc_text_done(&op->settle.path);
    tvc_text_done(&op->settle.entity);
    tvc_text_done(&op->state->head);
    tvc_call_done(&op->own_call);

    tavola_client *client = op->client;

    tvc_release(op);
    tvc_client_unref(client);
}
