/*
 * The way of a request through the table service:
 *
 *     on_headers   answer a preflight; else find the account, check the signature, parse the
 *                  operation
 *     on_request   read the body, find the table, then
 *                    a read in memory      answered here
 *                    a read from disk      a job for a worker, answered when it comes back
 *                    a write               an update function for the pipeline, likewise
 *     on_done      count it, log it, let go of the table
 */
#include "base/clock.h"
#include "base/datetime.h"
#include "base/log.h"
#include "base/uri.h"
#include "table/access.h"
#include "table/call.h"

/* What a request says may take 4 MiB; a batch has some room beside it for its own wrapping. */
enum { BODY_BYTES_MAX = 4 * 1024 * 1024, BATCH_ROOM_BYTES = 64 * 1024 };

static tv_table_call *call_new(tv_table_service *service, tv_request *req)
{
    tv_table_call *call = tv_arena_zalloc(&req->arena, sizeof *call);
    tv_guid guid = tv_guid_new();

    call->service = service;
    call->req = req;
    tv_guid_format(call->request_id, &guid);
    req->user = call;
    return call;
}

/* --- before the body --- */

static tv_err authenticate(tv_table_call *call, const tv_endpoint *endpoint)
{
    tv_request *req = call->req;
    tv_slice comp;

    if (!tv_parameters_get(&req->query, &req->arena, TV_LIT("comp"), &comp))
        return TV_ERR_URL_UNPARSABLE;

    tv_credentials credentials = {
        .parts = {.account = endpoint->account,
                  .method = req->method_text,
                  .path = req->path,
                  .comp = comp,
                  .content_md5 = tv_request_header(req, TV_LIT("content-md5")),
                  .content_type = tv_request_header(req, TV_LIT("content-type"))},
        .authorization = tv_request_header(req, TV_LIT("authorization")),
        .x_ms_date = tv_request_header(req, TV_LIT("x-ms-date")),
        .date = tv_request_header(req, TV_LIT("date")),
        .query = req->query,
        .host = req->host,
        .peer = req->peer,
        .is_peer_loopback = req->is_peer_loopback,
        .is_tls = req->is_tls,
    };

    tv_err err = tv_authenticate(&call->service->auth, &credentials, tv_clock_ticks(), &req->arena,
                                 &call->identity, &call->info);

    if (err == TV_OK)
        tv_request_charge_to(req, tv_identity_share(call->identity));
    return err;
}

/* Every dated version is welcome; the service's own list grows several times a year. */
static tv_err check_version(const tv_request *req)
{
    tv_slice version = tv_request_header(req, TV_LIT("x-ms-version"));

    return version.data == NULL || tv_version_is_valid(version) ? TV_OK : TV_ERR_INVALID_HEADER;
}

/* A body that nobody announced is none; the service would rather be told than guess. */
static tv_err check_length(const tv_request *req, tv_table_op_kind kind)
{
    bool has_length = tv_request_header(req, TV_LIT("content-length")).data ||
                      tv_request_header(req, TV_LIT("transfer-encoding")).data;

    return tv_table_op_has_body(kind) && !has_length ? TV_ERR_LENGTH_REQUIRED : TV_OK;
}

/*
 * How many keys there are to be is a matter of the table, so the service looks for
 * that first.  Who has a SAS does not learn from it which tables there are.
 */
static tv_err explain_key_count(tv_table_call *call)
{
    static const tv_need key_alone = {.sas = 0};
    tv_slice account = tv_identity_account(call->identity);
    tv_container *table = tv_catalog_find(call->service->catalog, account, call->op.resource.table);
    bool is_missing = table == NULL;

    tv_container_unref(table);
    if (!is_missing || tv_identity_allows(call->identity, &key_alone))
        return TV_ERR_KEY_COUNT;

    call->info.text = TV_NONE;
    return TV_ERR_TABLE_NOT_FOUND;
}

static tv_err check_head(tv_table_call *call)
{
    tv_request *req = call->req;
    tv_endpoint endpoint;
    tv_err err;

    err = tv_endpoint_parse(&req->arena, TV_LIT("table"), req->is_tls, req->host, req->path,
                            &endpoint);
    if (err)
        return err;

    err = authenticate(call, &endpoint);
    if (err)
        return err;

    err = check_version(req);
    if (err)
        return err;

    err = tv_table_op_parse(&req->arena, req, &endpoint, &call->op, &call->info);
    if (err)
        return err == TV_ERR_KEY_COUNT ? explain_key_count(call) : err;

    err = tv_access_check_endpoint(&call->op);
    if (err)
        return err;

    err = tv_access_check(call->identity, &call->op);
    if (err)
        return err;

    if (call->op.resource.kind == TV_RESOURCE_ENTITY) {
        err = tv_access_check_key(call->identity, call->op.resource.partition_key,
                                  call->op.resource.row_key);
        if (err)
            return err;
    }

    if (!tv_cors_is_read(req->method)) {
        err = tv_cors_check_page(call->service->catalog, TV_SERVICE_TABLE, call->identity, req,
                                 &call->info);
        if (err)
            return err;
    }

    err = check_length(req, call->op.kind);
    if (err)
        return err;

    if (call->op.kind == TV_TABLE_OP_QUERY_ENTITIES || call->op.kind == TV_TABLE_OP_QUERY_TABLES)
        return tv_query_parse(&req->arena, req, &call->op, &call->query, &call->info);
    return TV_OK;
}

/* Browsers cannot sign it. */
static void answer_preflight(tv_table_call *call)
{
    tv_cors_grant grant;
    tv_err err;

    call->op.kind = TV_TABLE_OP_PREFLIGHT;
    err = tv_cors_preflight(call->service->catalog, TV_SERVICE_TABLE, call->req, &grant);
    if (err)
        tv_table_respond_error(call, err);
    else
        tv_table_respond_preflight(call, &grant);
}

static bool on_headers(void *ctx, tv_request *req)
{
    tv_table_call *call = call_new(ctx, req);
    bool is_too_open = call->service->is_https_only && !req->is_tls;
    tv_err err;

    if (req->method == TV_METHOD_OPTIONS && !is_too_open) {
        answer_preflight(call);
        return false;
    }

    err = is_too_open ? TV_ERR_HTTPS_REQUIRED : check_head(call);
    if (err) {
        tv_table_respond_error(call, err);
        return false;
    }
    req->body_bytes_max = BODY_BYTES_MAX;
    if (call->op.kind == TV_TABLE_OP_BATCH)
        req->body_bytes_max += BATCH_ROOM_BYTES;
    return true;
}

/* --- the callbacks --- */

/* TV_OK: answered, or will be. */
static tv_err dispatch(tv_table_call *call)
{
    tv_assert(call->identity != NULL);
    switch (call->op.kind) {
    case TV_TABLE_OP_QUERY_TABLES:
        return tv_table_query_tables(call);
    case TV_TABLE_OP_QUERY_ENTITIES:
        return tv_table_query_entities(call);
    case TV_TABLE_OP_QUERY_TABLE:
        return tv_table_get(call);
    case TV_TABLE_OP_CREATE_TABLE:
        return tv_table_create(call);
    case TV_TABLE_OP_DELETE_TABLE:
        return tv_table_delete(call);
    case TV_TABLE_OP_QUERY_ENTITY:
        return tv_table_get_entity(call);
    case TV_TABLE_OP_INSERT_ENTITY:
    case TV_TABLE_OP_UPDATE_ENTITY:
    case TV_TABLE_OP_MERGE_ENTITY:
    case TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY:
    case TV_TABLE_OP_INSERT_OR_MERGE_ENTITY:
    case TV_TABLE_OP_DELETE_ENTITY:
        return tv_table_write_entity(call);
    case TV_TABLE_OP_BATCH:
        return tv_table_run_batch(call);
    case TV_TABLE_OP_GET_ACL:
        return tv_table_get_acl(call);
    case TV_TABLE_OP_SET_ACL:
        return tv_table_set_acl(call);
    case TV_TABLE_OP_GET_PROPERTIES:
        return tv_table_get_properties(call);
    case TV_TABLE_OP_SET_PROPERTIES:
        return tv_table_set_properties(call);
    case TV_TABLE_OP_GET_STATS:
        return tv_table_get_stats(call);
    case TV_TABLE_OP_PREFLIGHT:
    case TV_TABLE_OP_UNKNOWN:
    case TV_TABLE_OP_COUNT:
        break;
    }
    return TV_ERR_NOT_IMPLEMENTED;
}

static void on_request(void *ctx, tv_request *req)
{
    tv_table_call *call = req->user;
    tv_err err;

    (void)ctx;
    err = dispatch(call);
    if (err)
        tv_table_respond_error(call, err);
}

static void on_refused(void *ctx, tv_request *req, tv_err err)
{
    tv_table_call *call = req->user ? req->user : call_new(ctx, req);

    tv_table_respond_error(call, err);
}

/* What the client can make as long as it likes comes last, where cutting the line hides nothing. */
static void log_access(const tv_table_call *call, int64_t ns)
{
    tv_request *req = call->req;
    tv_slice path = tv_log_redact(&req->arena, req->path);

    tv_log(TV_LOG_INFO, "access",
           "service=table method=%.*s operation=%s status=%d us=%lld peer=%s request_id=%.*s "
           "path=\"%.*s\"",
           TV_FMT(tv_method_text(req->method)), tv_table_op_name(call->op.kind), req->status,
           (long long)(ns / 1000), req->peer, TV_GUID_TEXT_LEN, call->request_id, TV_FMT(path));
}

static void on_done(void *ctx, tv_request *req)
{
    tv_table_service *service = ctx;
    tv_table_call *call = req->user;
    int64_t ns = tv_clock_mono_ns() - req->start_ns;

    if (call == NULL)
        return;

    tv_meter_add(&service->meter, call->op.kind, req->status, ns, req->body.len, req->out.len);
    if (service->has_access_log)
        log_access(call, ns);
    tv_container_unref(call->table);
    req->user = NULL;
}

static tv_err find_policies(void *ctx, tv_slice account, tv_slice table, tv_arena *arena,
                            tv_access_policies *ret_policies)
{
    tv_table_service *service = ctx;

    return tv_catalog_policies(service->catalog, account, table, arena, ret_policies);
}

const tv_catalog_kind tv_table_catalog = {
    .service = TV_SERVICE_TABLE,
    .space = TV_SPACE_TABLES,
    .exists = TV_ERR_TABLE_EXISTS,
    .not_found = TV_ERR_TABLE_NOT_FOUND,
    .rows = tv_key_table,
    .own_bytes = sizeof(tv_table_counts),
};

tv_http_handler tv_table_service_handler(tv_table_service *service)
{
    tv_meter_init(&service->meter, "table", TV_TABLE_OP_COUNT);
    for (int i = 0; i < TV_TABLE_OP_COUNT; i++)
        service->meter.op_names[i] = tv_table_op_name((tv_table_op_kind)i);
    service->auth.find_policies = find_policies;
    service->auth.ctx = service;
    return (tv_http_handler){
        .name = "table",
        .ctx = service,
        .on_headers = on_headers,
        .on_request = on_request,
        .on_refused = on_refused,
        .on_done = on_done,
    };
}
