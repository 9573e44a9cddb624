/*
 * The way of a request through the queue service:
 *
 *     on_headers   answer a preflight; else find the account and the queue's name, check the
 *                  signature, find out which operation it is and whether it is allowed
 *     on_request   read the body, find the queue, then
 *                    a peek or a list      a job for a worker, answered when it comes back
 *                    anything that changes an update function for the pipeline, likewise
 *     on_done      count it, log it, let go of the queue
 */
#include "engine/key.h"
#include "queue/call.h"
#include "service/cors.h"

/* A message may have 64 KiB as XML; there is room for its wrapping, and for other documents. */
enum {
    MESSAGE_BODY_BYTES_MAX = 64 * 1024 + 512,
    BODY_BYTES_MAX = 128 * 1024,
};

static tv_queue_call *call_new(void *ctx, tv_request *req)
{
    tv_queue_service *service = ctx;
    tv_queue_call *q = tv_arena_zalloc(&req->arena, sizeof *q);

    tv_call_init(&q->call, &service->base, req);
    return q;
}

static void set_kind(tv_queue_call *q, tv_queue_op_kind kind)
{
    q->kind = kind;
    q->call.op = kind;
}

/* Which parameter it is that chooses no operation here: what is answered names it. */
static tv_err name_bad_parameter(tv_queue_call *q)
{
    tv_call *call = &q->call;
    tv_slice name = TV_LIT("comp"), value;
    tv_err err = tv_call_parameter(call, name, &value);

    if (err == TV_OK && q->resource.is_messages && value.len == 0) {
        name = TV_LIT("peekonly");
        err = tv_call_parameter(call, name, &value);
    }
    return err ? err : tv_call_bad_parameter(call, name, value.data ? value : TV_LIT(""), "");
}

static tv_err check_head(tv_queue_call *q)
{
    tv_call *call = &q->call;
    tv_request *req = call->req;
    tv_queue_op_kind kind;
    tv_err err;

    err = tv_call_open(call);
    if (err)
        return err;

    err = tv_queue_resource_parse(&req->arena, call->endpoint.rest, &q->resource);
    if (err)
        return err;

    err = tv_call_authenticate(call, q->resource.queue, TV_NONE);
    if (err)
        return err;

    err = tv_queue_op_parse(&req->arena, req, &q->resource, &kind);
    if (err)
        return err == TV_ERR_INVALID_QUERY_PARAMETER ? name_bad_parameter(q) : err;

    set_kind(q, kind);
    err = tv_queue_check_access(q);
    if (err)
        return err == TV_ERR_NOT_ON_PRIMARY ? name_bad_parameter(q) : err;

    /* To get messages is to hide them from others. */
    if (tv_cors_is_read(req->method) && kind != TV_QUEUE_OP_GET)
        return TV_OK;
    return tv_cors_check_page(call->service->catalog, call->service->kind, call->identity, req,
                              &call->info);
}

static bool on_headers(void *ctx, tv_request *req)
{
    tv_queue_call *q = call_new(ctx, req);
    tv_err err;

    if (req->method == TV_METHOD_OPTIONS && (req->is_tls || !q->call.service->is_https_only)) {
        set_kind(q, TV_QUEUE_OP_PREFLIGHT);
        tv_call_answer_preflight(&q->call);
        return false;
    }
    err = check_head(q);
    if (err) {
        tv_call_respond_error(&q->call, err);
        return false;
    }
    req->body_bytes_max = q->resource.is_messages ? MESSAGE_BODY_BYTES_MAX : BODY_BYTES_MAX;
    return true;
}

static tv_err dispatch(tv_queue_call *q)
{
    tv_assert(q->call.identity != NULL);
    switch (q->kind) {
    case TV_QUEUE_OP_LIST:
        return tv_queue_list(q);
    case TV_QUEUE_OP_CREATE:
        return tv_queue_create(q);
    case TV_QUEUE_OP_DELETE:
        return tv_queue_drop(q);
    case TV_QUEUE_OP_GET_METADATA:
        return tv_queue_get_metadata(q);
    case TV_QUEUE_OP_SET_METADATA:
        return tv_queue_set_metadata(q);
    case TV_QUEUE_OP_GET_ACL:
        return tv_queue_get_acl(q);
    case TV_QUEUE_OP_SET_ACL:
        return tv_queue_set_acl(q);
    case TV_QUEUE_OP_PUT:
        return tv_queue_put_message(q);
    case TV_QUEUE_OP_GET:
        return tv_queue_get_messages(q);
    case TV_QUEUE_OP_PEEK:
        return tv_queue_peek_messages(q);
    case TV_QUEUE_OP_UPDATE:
        return tv_queue_update_message(q);
    case TV_QUEUE_OP_DELETE_MESSAGE:
        return tv_queue_delete_message(q);
    case TV_QUEUE_OP_CLEAR:
        return tv_queue_clear_messages(q);
    case TV_QUEUE_OP_GET_PROPERTIES:
        return tv_call_get_properties(&q->call);
    case TV_QUEUE_OP_SET_PROPERTIES:
        return tv_call_set_properties(&q->call);
    case TV_QUEUE_OP_GET_STATS:
        return tv_call_get_stats(&q->call);
    case TV_QUEUE_OP_PREFLIGHT:
    case TV_QUEUE_OP_UNKNOWN:
    case TV_QUEUE_OP_COUNT:
        break;
    }
    return TV_ERR_NOT_IMPLEMENTED;
}

/* Whoever sends too much is told how much is right. */
static void respond_error(tv_queue_call *q, tv_err err)
{
    if (err == TV_ERR_BODY_TOO_LARGE && q->resource.is_messages)
        q->call.info.details = tv_arena_printf(&q->call.req->arena, "<MaxLimit>%d</MaxLimit>",
                                               TV_MESSAGE_TEXT_BYTES_MAX);
    tv_call_respond_error(&q->call, err);
}

static void on_request(void *ctx, tv_request *req)
{
    tv_queue_call *q = req->user;
    tv_err err;

    (void)ctx;
    err = dispatch(q);
    if (err)
        respond_error(q, err);
}

static void on_refused(void *ctx, tv_request *req, tv_err err)
{
    respond_error(req->user ? req->user : call_new(ctx, req), err);
}

static void on_done(void *ctx, tv_request *req)
{
    (void)ctx;
    if (req->user)
        tv_call_done(req->user);
}

/* --- the catalogue --- */

static void queue_init(void *ctx, tv_container *container)
{
    tv_queue_init(tv_queue_of(container), ctx, container->prefix, &container->is_dropped);
}

static void queue_done(tv_container *container)
{
    tv_queue_done(tv_queue_of(container));
}

tv_catalog_kind tv_queue_catalog(tv_engine *engine)
{
    return (tv_catalog_kind){
        .service = TV_SERVICE_QUEUE,
        .space = TV_SPACE_QUEUES,
        .exists = TV_ERR_QUEUE_EXISTS,
        .not_found = TV_ERR_QUEUE_NOT_FOUND,
        .rows = tv_key_queue,
        .own_bytes = sizeof(tv_queue),
        .own_init = queue_init,
        .own_done = queue_done,
        .ctx = engine,
    };
}

/* --- the service --- */

tv_http_handler tv_queue_service_handler(tv_queue_service *service)
{
    tv_service_start(&service->base, tv_queue_op_name, TV_QUEUE_OP_COUNT);
    return (tv_http_handler){
        .name = "queue",
        .ctx = service,
        .on_headers = on_headers,
        .on_request = on_request,
        .on_refused = on_refused,
        .on_done = on_done,
    };
}

void tv_queue_service_write_metrics(void *ctx, tv_buf *out)
{
    tv_queue_service *service = ctx;

    tv_buf_printf(out,
                  "# HELP tavola_queues Queues of all accounts.\n# TYPE tavola_queues gauge\n"
                  "tavola_queues %zu\n",
                  tv_catalog_count(service->base.catalog));
}
