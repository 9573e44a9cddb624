/*
 * The way of a request through the Blob service:
 *
 *     on_headers   answer a preflight; else find the account, check the signature, parse the
 *                  operation, find the container, and let a body that is streamed begin
 *     on_request   hand it to the operation, which answers now, or when a job or a write is back
 *     on_done      count it, log it, let go of what it holds
 */
#include "blob/access.h"
#include "blob/call.h"
#include "engine/key.h"
#include "service/cors.h"

static tv_blob_call *call_new(tv_blob_service *service, tv_request *req)
{
    tv_blob_call *call = tv_arena_zalloc(&req->arena, sizeof *call);

    tv_call_init(&call->base, &service->base, req);
    return call;
}

/* --- before the body --- */

/* Who shows nothing goes on as nobody; what the container lets everybody do is seen later. */
static tv_err authenticate(tv_blob_call *call)
{
    tv_err err = tv_call_authenticate(&call->base, call->op.container, call->op.blob);

    return err == TV_ERR_NO_AUTHENTICATION ? tv_call_authenticate_anonymous(&call->base) : err;
}

/*
 * Nobody learns from the answer whether a container exists: to the anonymous all
 * that is not public looks the same.
 */
static bool is_public(tv_blob_call *call)
{
    tv_call *base = &call->base;
    tv_container *container;
    tv_container_facts facts;
    bool is_open = false;

    if (!tv_identity_is_anonymous(base->identity) || !tv_blob_may_be_public(call->op.kind))
        return false;

    container = tv_catalog_find(base->service->catalog, tv_identity_account(base->identity),
                                call->op.container);
    if (container == NULL)
        return false;

    tv_arena *arena = &base->req->arena;

    if (tv_container_facts_decode(arena, tv_catalog_facts(base->service->catalog, container, arena),
                                  &facts) == TV_OK)
        is_open = tv_blob_is_public(call->op.kind, facts.access);
    tv_container_unref(container);
    return is_open;
}

/* What is wrong with a request would tell the anonymous that there is such an account. */
static tv_err hide_from_anonymous(tv_blob_call *call, tv_err err)
{
    return !tv_identity_is_anonymous(call->base.identity) || is_public(call)
               ? err
               : TV_ERR_NO_AUTHENTICATION;
}

/* A SAS that may create blobs may not replace any. */
static tv_err check_access(tv_blob_call *call)
{
    tv_need need = tv_blob_need(&call->op, is_public(call));
    tv_err err = tv_identity_allows(call->base.identity, &need);

    if (err || (need.any_of & TV_MAY_CREATE) == 0 || call->op.blob.len == 0)
        return err;
    if (call->op.kind == TV_BLOB_OP_SNAPSHOT_BLOB)
        return TV_OK;

    need.any_of = TV_MAY_WRITE;
    if (tv_identity_allows(call->base.identity, &need)) {
        call->op.is_create_only = true;
        call->op.conditions.must_be_new = true;
    }
    return TV_OK;
}

static tv_err check_page(tv_blob_call *call)
{
    tv_call *base = &call->base;

    if (tv_cors_is_read(base->req->method))
        return TV_OK;
    return tv_cors_check_page(base->service->catalog, base->service->kind, base->identity,
                              base->req, &base->info);
}

/* A body that nobody announced is none; the service would rather be told than guess. */
static tv_err check_length(const tv_blob_call *call)
{
    const tv_request *req = call->base.req;
    bool has_length = tv_request_header(req, TV_LIT("content-length")).data ||
                      tv_request_header(req, TV_LIT("transfer-encoding")).data;

    return req->method == TV_METHOD_PUT && !has_length ? TV_ERR_LENGTH_REQUIRED : TV_OK;
}

/* Whatever is done in a container needs it, but for its creation. */
static tv_err find_container(tv_blob_call *call)
{
    tv_err err;

    if (call->op.container.len == 0 || call->op.kind == TV_BLOB_OP_CREATE_CONTAINER ||
        call->op.kind == TV_BLOB_OP_GET_ACCOUNT_INFO)
        return TV_OK;

    err = tv_call_find_container(&call->base, call->op.container);
    if (err || call->op.blob.len == 0)
        return err;

    return tv_key_blob(&call->base.req->arena, call->base.container->prefix, call->op.blob,
                       &call->partition);
}

static tv_err check_head(tv_blob_call *call)
{
    tv_err err;

    err = tv_call_open(&call->base);
    if (err)
        return err;

    err = tv_blob_op_read_path(&call->base, &call->op);
    if (err)
        return err;

    err = authenticate(call);
    if (err)
        return err;

    err = tv_blob_op_parse(&call->base, &call->op);
    call->base.op = (int)call->op.kind;
    if (err == TV_OK)
        err = tv_blob_check_endpoint(&call->op, &call->base.endpoint);
    if (err)
        return hide_from_anonymous(call, err);

    err = check_access(call);
    if (err)
        return err;

    err = check_page(call);
    if (err)
        return err;

    err = check_length(call);
    if (err)
        return err;

    return find_container(call);
}

static bool on_headers(void *ctx, tv_request *req)
{
    tv_blob_call *call = call_new(ctx, req);
    bool is_too_open = call->base.service->is_https_only && !req->is_tls;
    tv_err err;

    if (req->method == TV_METHOD_OPTIONS && !is_too_open) {
        call->base.op = TV_BLOB_OP_PREFLIGHT;
        tv_call_answer_preflight(&call->base);
        return false;
    }

    err = check_head(call);
    if (err == TV_OK) {
        req->body_bytes_max = call->op.body_bytes_max;
        err = call->op.has_sink ? tv_blob_begin_upload(call) : TV_OK;
    }
    if (err) {
        tv_call_respond_error(&call->base, err);
        return false;
    }
    return true;
}

/* --- the callbacks --- */

/* The same kind of account for all: general purpose, one copy. */
static tv_err get_account_info(tv_blob_call *call)
{
    tv_call_start(&call->base, 200);
    tv_response_header(call->base.req, TV_LIT("x-ms-sku-name"), TV_LIT("Standard_LRS"));
    tv_response_header(call->base.req, TV_LIT("x-ms-account-kind"), TV_LIT("StorageV2"));
    tv_response_header(call->base.req, TV_LIT("x-ms-is-hns-enabled"), TV_LIT("false"));
    tv_call_finish(&call->base);
    return TV_OK;
}

/* TV_OK: answered, or will be. */
static tv_err dispatch_container(tv_blob_call *call)
{
    switch (call->op.kind) {
    case TV_BLOB_OP_GET_SERVICE_PROPERTIES:
        return tv_call_get_properties(&call->base);
    case TV_BLOB_OP_SET_SERVICE_PROPERTIES:
        return tv_call_set_properties(&call->base);
    case TV_BLOB_OP_GET_SERVICE_STATS:
        return tv_call_get_stats(&call->base);
    case TV_BLOB_OP_GET_ACCOUNT_INFO:
        return get_account_info(call);
    case TV_BLOB_OP_LIST_CONTAINERS:
        return tv_blob_list_containers(call);
    case TV_BLOB_OP_CREATE_CONTAINER:
        return tv_blob_create_container(call);
    case TV_BLOB_OP_GET_CONTAINER_PROPERTIES:
    case TV_BLOB_OP_GET_CONTAINER_METADATA:
        return tv_blob_get_container(call);
    case TV_BLOB_OP_SET_CONTAINER_METADATA:
        return tv_blob_set_container_metadata(call);
    case TV_BLOB_OP_GET_CONTAINER_ACL:
        return tv_blob_get_container_acl(call);
    case TV_BLOB_OP_SET_CONTAINER_ACL:
        return tv_blob_set_container_acl(call);
    case TV_BLOB_OP_DELETE_CONTAINER:
        return tv_blob_delete_container(call);
    case TV_BLOB_OP_ACQUIRE_CONTAINER_LEASE:
    case TV_BLOB_OP_RENEW_CONTAINER_LEASE:
    case TV_BLOB_OP_CHANGE_CONTAINER_LEASE:
    case TV_BLOB_OP_RELEASE_CONTAINER_LEASE:
    case TV_BLOB_OP_BREAK_CONTAINER_LEASE:
        return tv_blob_lease_container(call);
    case TV_BLOB_OP_LIST_BLOBS:
        return tv_blob_list_blobs(call);
    default:
        return TV_ERR_NOT_IMPLEMENTED;
    }
}

static tv_err dispatch(tv_blob_call *call)
{
    tv_assert(call->base.identity != NULL);
    switch (call->op.kind) {
    case TV_BLOB_OP_PUT_BLOB:
        return tv_blob_put(call);
    case TV_BLOB_OP_PUT_BLOCK:
        return tv_blob_put_block(call);
    case TV_BLOB_OP_PUT_BLOCK_LIST:
        return tv_blob_put_block_list(call);
    case TV_BLOB_OP_GET_BLOCK_LIST:
        return tv_blob_get_block_list(call);
    case TV_BLOB_OP_APPEND_BLOCK:
        return tv_blob_append_block(call);
    case TV_BLOB_OP_GET_BLOB:
        return tv_blob_get(call);
    case TV_BLOB_OP_GET_BLOB_PROPERTIES:
        return tv_blob_get_properties(call);
    case TV_BLOB_OP_SET_BLOB_PROPERTIES:
        return tv_blob_set_properties(call);
    case TV_BLOB_OP_GET_BLOB_METADATA:
        return tv_blob_get_metadata(call);
    case TV_BLOB_OP_SET_BLOB_METADATA:
        return tv_blob_set_metadata(call);
    case TV_BLOB_OP_SNAPSHOT_BLOB:
        return tv_blob_snapshot(call);
    case TV_BLOB_OP_DELETE_BLOB:
        return tv_blob_delete(call);
    case TV_BLOB_OP_ACQUIRE_BLOB_LEASE:
    case TV_BLOB_OP_RENEW_BLOB_LEASE:
    case TV_BLOB_OP_CHANGE_BLOB_LEASE:
    case TV_BLOB_OP_RELEASE_BLOB_LEASE:
    case TV_BLOB_OP_BREAK_BLOB_LEASE:
        return tv_blob_lease(call);
    case TV_BLOB_OP_COPY_BLOB:
    case TV_BLOB_OP_COPY_BLOB_FROM_URL:
        return tv_blob_run_copy(call);
    case TV_BLOB_OP_ABORT_COPY_BLOB:
        return tv_blob_abort_copy(call);
    default:
        return dispatch_container(call);
    }
}

static void on_request(void *ctx, tv_request *req)
{
    tv_blob_call *call = req->user;
    tv_err err;

    (void)ctx;
    err = dispatch(call);
    if (err)
        tv_call_respond_error(&call->base, err);
}

static void on_refused(void *ctx, tv_request *req, tv_err err)
{
    tv_blob_call *call = req->user ? req->user : call_new(ctx, req);

    if (err == TV_ERR_BODY_TOO_LARGE)
        call->base.info.details = tv_arena_printf(&req->arena, "<MaxLimit>%llu</MaxLimit>",
                                                  (unsigned long long)req->body_bytes_max);
    tv_call_respond_error(&call->base, err);
}

static void on_done(void *ctx, tv_request *req)
{
    tv_blob_call *call = req->user;

    (void)ctx;
    if (call == NULL)
        return;

    tv_blob_end_transfer(call);
    tv_call_done(&call->base);
}

static const char *op_name(int op)
{
    return tv_blob_op_name((tv_blob_op_kind)op);
}

tv_http_handler tv_blob_service_handler(tv_blob_service *service)
{
    tv_service_start(&service->base, op_name, TV_BLOB_OP_COUNT);
    return (tv_http_handler){
        .name = "blob",
        .ctx = service,
        .on_headers = on_headers,
        .on_request = on_request,
        .on_refused = on_refused,
        .on_done = on_done,
    };
}
