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
#include "base/json.h"
#include "base/log.h"
#include "base/uri.h"
#include "engine/key.h"
#include "table/access.h"
#include "table/call.h"
#include "table/cors.h"
#include "table/names.h"
#include "table/table_list.h"

enum { BODY_BYTES_MAX = 4 * 1024 * 1024 };

/* Pages of clients that do not read them; more queries are refused until some are gone. */
enum { UNSENT_PAGE_BYTES_MAX = 512 * 1024 * 1024 };

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

    if (!tv_uri_query_parameter(&req->arena, req->query, TV_LIT("comp"), &comp))
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

    return tv_authenticate(&call->service->auth, &credentials, tv_clock_ticks(), &req->arena,
                           &call->identity);
}

/* Every dated version is welcome; the service's own list grows several times a year. */
static tv_err check_version(const tv_request *req)
{
    static const char form[] = "dddd-dd-dd";
    tv_slice version = tv_request_header(req, TV_LIT("x-ms-version"));

    if (version.data == NULL)
        return TV_OK;
    if (version.len != sizeof form - 1)
        return TV_ERR_INVALID_HEADER;
    for (size_t i = 0; i < version.len; i++) {
        bool is_digit = version.data[i] >= '0' && version.data[i] <= '9';

        if (form[i] == 'd' ? !is_digit : version.data[i] != form[i])
            return TV_ERR_INVALID_HEADER;
    }
    return TV_OK;
}

/* A body that nobody announced is none; the service would rather be told than guess. */
static tv_err check_length(const tv_request *req, tv_table_op_kind kind)
{
    bool has_length = tv_request_header(req, TV_LIT("content-length")).data ||
                      tv_request_header(req, TV_LIT("transfer-encoding")).data;

    return tv_table_op_has_body(kind) && !has_length ? TV_ERR_LENGTH_REQUIRED : TV_OK;
}

static tv_err check_head(tv_table_call *call)
{
    tv_request *req = call->req;
    tv_endpoint endpoint;
    tv_err err;

    err = tv_endpoint_parse(&req->arena, req->is_tls, req->host, req->path, &endpoint);
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
        return err;

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

    err = check_length(req, call->op.kind);
    if (err)
        return err;

    if (call->op.kind == TV_TABLE_OP_QUERY_ENTITIES || call->op.kind == TV_TABLE_OP_QUERY_TABLES)
        return tv_query_parse(&req->arena, req, &call->op, &call->query, &call->info);
    return TV_OK;
}

static bool on_headers(void *ctx, tv_request *req)
{
    tv_table_call *call = call_new(ctx, req);
    bool is_too_open = call->service->is_https_only && !req->is_tls;
    tv_err err;

    if (req->method == TV_METHOD_OPTIONS && !is_too_open)
        return tv_cors_preflight(call); /* browsers cannot sign it */

    err = is_too_open ? TV_ERR_HTTPS_REQUIRED : check_head(call);
    if (err) {
        tv_table_respond_error(call, err);
        return false;
    }
    req->body_bytes_max = BODY_BYTES_MAX;
    return true;
}

/* --- tables --- */

/* {"TableName":"orders"} */
static tv_err read_table_name(tv_table_call *call, tv_slice *ret_name)
{
    tv_json_reader reader;
    tv_json_member member;
    tv_slice name = TV_NONE;
    bool has_name = false;

    tv_json_reader_init(&reader, &call->req->arena, call->req->body);
    while (tv_json_next(&reader, &member)) {
        if (!tv_slice_eq(member.name, TV_LIT("TableName")))
            continue;
        if (has_name)
            return TV_ERR_DUPLICATE_PROPERTIES;
        if (member.kind != TV_JSON_STRING && member.kind != TV_JSON_NULL)
            return TV_ERR_INVALID_INPUT;
        has_name = true;
        name = member.kind == TV_JSON_STRING ? member.text : TV_NONE; /* null is no value */
    }
    if (reader.failed)
        return TV_ERR_INVALID_INPUT;
    if (name.data == NULL)
        return TV_ERR_PROPERTIES_NEED_VALUE;

    *ret_name = name;
    return tv_check_table_name(name);
}

static void on_table_created(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, write.mail);

    if (call->write.result) {
        tv_table_respond_error(call, call->write.result);
        return;
    }
    tv_table_respond_table_created(call);
}

static tv_err create_table(tv_table_call *call)
{
    tv_err err = read_table_name(call, &call->create.name);

    if (err)
        return err;

    call->create.catalog = call->service->catalog;
    call->create.account = tv_identity_account(call->identity);
    call->create.arena = &call->req->arena;
    tv_catalog_prepare_create(&call->create, &call->write);
    tv_table_call_submit(call, on_table_created);
    return TV_OK;
}

static void on_table_deleted(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, write.mail);

    if (call->write.result) {
        tv_table_respond_error(call, call->write.result);
        return;
    }
    tv_table_respond_no_content(call);
}

/* A missing table is ResourceNotFound here, TableNotFound everywhere else. */
static tv_err delete_table(tv_table_call *call)
{
    if (tv_table_call_find_table(call, call->op.resource.table))
        return TV_ERR_NOT_FOUND;

    call->delete_table = (tv_catalog_delete){
        .catalog = call->service->catalog, .table = call->table, .arena = &call->req->arena};
    tv_catalog_prepare_delete(&call->delete_table, &call->write);
    tv_table_call_submit(call, on_table_deleted);
    return TV_OK;
}

static tv_err get_table(tv_table_call *call)
{
    if (tv_table_call_find_table(call, call->op.resource.table))
        return TV_ERR_NOT_FOUND;

    tv_table_respond_table(call);
    return TV_OK;
}

/* --- pages --- */

static void count_plan(tv_table *table, tv_plan_kind kind)
{
    atomic_fetch_add_explicit(&table->plan_counts[kind], 1, memory_order_relaxed);
}

/* Bytes that wait to be sent count until the request is done. */
static void count_page(tv_table_call *call)
{
    call->page_bytes = call->req->out.len;
    atomic_fetch_add(&call->service->page_bytes, call->page_bytes);
}

static void run_query(tv_job *job)
{
    tv_table_call *call = TV_TABLE_CALL_OF(job, job);
    tv_request *req = call->req;
    tv_table_service *service = call->service;
    tv_scan *scan = &call->scan;

    /* Looked at here and not when the job was queued: only as many pages as there are workers
     * can then go beyond the limit. */
    if (atomic_load(&service->page_bytes) >= UNSENT_PAGE_BYTES_MAX) {
        call->job_result = TV_ERR_OVERLOADED;
        return;
    }
    if (call->op.kind == TV_TABLE_OP_QUERY_TABLES)
        call->job_result =
            tv_table_list(service->engine, &call->op, &call->query, service->query_time_max_ns,
                          &req->arena, &req->out, &scan->page, &scan->next);
    else if (tv_scan_is_point(scan))
        call->job_result = tv_scan_run_point(scan, service->engine, TV_READ_ANY);
    else
        call->job_result = tv_scan_run(scan, service->engine);
    count_page(call);
}

static void on_query_done(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, job.mail);

    if (call->job_result)
        tv_table_respond_error(call, call->job_result);
    else
        tv_table_respond_page(call);
}

static tv_err query_tables(tv_table_call *call)
{
    call->scan.plan = (tv_plan){.kind = TV_PLAN_TABLE, .count = 1};
    return tv_table_call_run_job(call, call->service->scanners, run_query, on_query_done);
}

/* A filter that comes to one point read is answered like one: at once, if it is in memory. */
static tv_err query_point(tv_table_call *call)
{
    tv_err err = tv_scan_run_point(&call->scan, call->service->engine, TV_READ_CACHED);

    if (err == TV_ERR_WOULD_BLOCK)
        return tv_table_call_run_job(call, call->service->readers, run_query, on_query_done);
    if (err)
        return err;

    tv_table_respond_page(call);
    return TV_OK;
}

static tv_err query_entities(tv_table_call *call)
{
    tv_err err = tv_table_call_find_table(call, call->op.resource.table);

    if (err)
        return err;

    call->scan = (tv_scan){
        .table = call->table,
        .op = &call->op,
        .query = &call->query,
        .time_max_ns = call->service->query_time_max_ns,
        .arena = &call->req->arena,
        .out = &call->req->out,
    };
    tv_scan_plan(&call->scan);
    tv_access_clip(call->identity, &call->req->arena, call->table->prefix, &call->scan.plan);
    if (call->query.is_explained) {
        tv_table_respond_plan(call);
        return TV_OK;
    }

    count_plan(call->table, call->scan.plan.kind);
    if (tv_scan_is_point(&call->scan))
        return query_point(call);
    return tv_table_call_run_job(call, call->service->scanners, run_query, on_query_done);
}

/* --- one entity, alone or as a batch of one --- */

static const tv_resource *read_resource(const tv_table_call *call)
{
    bool is_batch = call->op.kind == TV_TABLE_OP_BATCH;

    return is_batch ? &call->batch.ops[0].resource : &call->op.resource;
}

static tv_err entity_key(tv_table_call *call, tv_slice *ret_key)
{
    const tv_resource *resource = read_resource(call);
    tv_arena *arena = &call->req->arena;
    tv_slice partition;
    tv_err err;

    err = tv_key_partition(arena, call->table->account, call->table->id, resource->partition_key,
                           &partition);
    if (err)
        return err;

    return tv_key_row(arena, partition, resource->row_key, ret_key);
}

static tv_err read_entity(tv_table_call *call, tv_read_mode mode)
{
    tv_slice key;
    tv_err err;

    err = entity_key(call, &key);
    if (err)
        return err;

    err = tv_engine_get(call->service->engine, mode, key, &call->req->arena, &call->value);
    return err == TV_ERR_NOT_FOUND ? TV_ERR_ENTITY_NOT_FOUND : err;
}

static void finish_read(tv_table_call *call, tv_err err)
{
    bool is_batch = call->op.kind == TV_TABLE_OP_BATCH;

    if (err == TV_OK && is_batch)
        err = tv_entity_check(call->value);
    if (is_batch && err)
        tv_table_respond_batch_error(call, err, 0);
    else if (is_batch)
        tv_table_respond_batch(call);
    else if (err)
        tv_table_respond_error(call, err);
    else
        tv_table_respond_entity(call);
}

static void run_read(tv_job *job)
{
    tv_table_call *call = TV_TABLE_CALL_OF(job, job);

    call->job_result = read_entity(call, TV_READ_ANY);
}

static void on_read_done(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, job.mail);

    finish_read(call, call->job_result);
}

/* The plan of a point read is always the same, but who asks how wants no result. */
static tv_err explain_read(tv_table_call *call)
{
    tv_key_range *range = tv_arena_zalloc(&call->req->arena, sizeof *range);
    tv_err err = entity_key(call, &range->from);

    if (err)
        return err;

    char *to = tv_arena_bytes(&call->req->arena, range->from.len + 1);

    memcpy(to, range->from.data, range->from.len);
    to[range->from.len] = '\x01';
    range->to = (tv_slice){to, range->from.len + 1};
    call->scan.table = call->table;
    call->scan.plan = (tv_plan){.kind = TV_PLAN_POINT, .ranges = range, .count = 1};
    tv_table_respond_plan(call);
    return TV_OK;
}

static tv_err get_entity(tv_table_call *call)
{
    tv_err err = tv_table_call_find_table(call, read_resource(call)->table);

    if (err)
        return err;
    if (call->op.kind != TV_TABLE_OP_BATCH && tv_query_is_explained(call->req))
        return explain_read(call);

    count_plan(call->table, TV_PLAN_POINT);
    err = read_entity(call, TV_READ_CACHED);
    if (err == TV_ERR_WOULD_BLOCK)
        return tv_table_call_run_job(call, call->service->readers, run_read, on_read_done);

    finish_read(call, err);
    return TV_OK;
}

/* --- entity writes --- */

static void on_written(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, write.mail);

    if (call->write.result)
        tv_table_respond_error(call, call->write.result);
    else if (call->op.kind == TV_TABLE_OP_INSERT_ENTITY)
        tv_table_respond_inserted(call);
    else if (call->op.kind == TV_TABLE_OP_DELETE_ENTITY)
        tv_table_respond_no_content(call);
    else
        tv_table_respond_updated(call);
}

static tv_err write_entity(tv_table_call *call)
{
    tv_arena *arena = &call->req->arena;
    tv_err err;

    err = tv_table_call_find_table(call, call->op.resource.table);
    if (err)
        return err;

    err = tv_table_op_read_body(arena, call->req->body, &call->op, &call->info);
    if (err)
        return err;

    err = tv_access_check_key(call->identity, call->op.resource.partition_key,
                              call->op.resource.row_key);
    if (err)
        return err;

    tv_change_set_init(&call->changes, arena, call->table, 1);
    err = tv_change_set_add(&call->changes, &call->op);
    if (err)
        return err;

    tv_change_set_prepare(&call->changes, &call->write);
    tv_table_call_submit(call, on_written);
    return TV_OK;
}

/* --- entity group transactions --- */

static void on_batch_written(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, write.mail);
    tv_err err = call->write.result;

    /* What the server could not do is the answer to the whole request, so that clients retry it. */
    if (err && tv_err_status(err) >= 500)
        tv_table_respond_error(call, err);
    else if (err)
        tv_table_respond_batch_error(call, err, call->changes.failed);
    else
        tv_table_respond_batch(call);
}

static tv_err apply_batch(tv_table_call *call)
{
    const tv_batch_request *batch = &call->batch;
    tv_err err;

    err = tv_table_call_find_table(call, batch->ops[0].resource.table);
    if (err)
        return err;

    tv_change_set_init(&call->changes, &call->req->arena, call->table, batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        err = tv_change_set_add(&call->changes, &batch->ops[i]);
        if (err)
            return err;
    }
    tv_change_set_prepare(&call->changes, &call->write);
    tv_table_call_submit(call, on_batch_written);
    return TV_OK;
}

/* Each part needs its own permission and keys. */
static tv_err check_batch_access(tv_table_call *call)
{
    tv_batch_request *batch = &call->batch;

    for (size_t i = 0; i < batch->count; i++) {
        const tv_table_op *op = &batch->ops[i];
        tv_err err = tv_access_check(call->identity, op);

        if (err == TV_OK)
            err = tv_access_check_key(call->identity, op->resource.partition_key,
                                      op->resource.row_key);
        if (err) {
            batch->failed = i;
            return err;
        }
    }
    return TV_OK;
}

static tv_err run_batch(tv_table_call *call)
{
    tv_err err =
        tv_batch_parse(&call->req->arena, call->req, &call->op.endpoint, &call->batch, &call->info);

    if (err && !call->batch.is_part_error)
        return err;

    if (err == TV_OK)
        err = check_batch_access(call);
    if (err == TV_OK)
        err = call->batch.is_query ? get_entity(call) : apply_batch(call);
    if (err)
        tv_table_respond_batch_error(call, err, call->batch.failed);
    return TV_OK;
}

/* --- the callbacks --- */

/* TV_OK: answered, or will be. */
static tv_err dispatch(tv_table_call *call)
{
    tv_assert(call->identity != NULL);
    switch (call->op.kind) {
    case TV_TABLE_OP_QUERY_TABLES:
        return query_tables(call);
    case TV_TABLE_OP_QUERY_ENTITIES:
        return query_entities(call);
    case TV_TABLE_OP_QUERY_TABLE:
        return get_table(call);
    case TV_TABLE_OP_CREATE_TABLE:
        return create_table(call);
    case TV_TABLE_OP_DELETE_TABLE:
        return delete_table(call);
    case TV_TABLE_OP_QUERY_ENTITY:
        return get_entity(call);
    case TV_TABLE_OP_INSERT_ENTITY:
    case TV_TABLE_OP_UPDATE_ENTITY:
    case TV_TABLE_OP_MERGE_ENTITY:
    case TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY:
    case TV_TABLE_OP_INSERT_OR_MERGE_ENTITY:
    case TV_TABLE_OP_DELETE_ENTITY:
        return write_entity(call);
    case TV_TABLE_OP_BATCH:
        return run_batch(call);
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
    atomic_fetch_sub(&service->page_bytes, call->page_bytes);
    tv_table_unref(call->table);
    req->user = NULL;
}

static tv_err find_policies(void *ctx, tv_slice account, tv_slice table, tv_arena *arena,
                            tv_access_policies *ret_policies)
{
    tv_table_service *service = ctx;

    return tv_catalog_policies(service->catalog, account, table, arena, ret_policies);
}

static const char *op_name(int op)
{
    return tv_table_op_name((tv_table_op_kind)op);
}

tv_service tv_table_service_callbacks(tv_table_service *service)
{
    tv_meter_init(&service->meter, "table", op_name, TV_TABLE_OP_COUNT);
    service->auth.find_policies = find_policies;
    service->auth.ctx = service;
    return (tv_service){
        .name = "table",
        .ctx = service,
        .on_headers = on_headers,
        .on_request = on_request,
        .on_refused = on_refused,
        .on_done = on_done,
    };
}
