/* The responses of the table service. */
#include "base/log.h"
#include "base/uri.h"
#include "table/call.h"
#include "table/explain.h"

static const tv_slice server_name = {"Tavola-Table/" TV_VERSION,
                                     sizeof "Tavola-Table/" TV_VERSION - 1};

static tv_slice request_id(const tv_table_call *call)
{
    return (tv_slice){call->request_id, sizeof call->request_id};
}

/* Headers of every response. */
static void start(tv_table_call *call, int status)
{
    enum { CLIENT_REQUEST_ID_MAX = 1024 };
    tv_request *req = call->req;
    tv_slice client_id = tv_request_header(req, TV_LIT("x-ms-client-request-id"));

    tv_response_start(req, status);
    tv_response_header(req, TV_LIT("Server"), server_name);
    tv_response_header(req, TV_LIT("x-ms-request-id"), request_id(call));
    if (client_id.len && client_id.len <= CLIENT_REQUEST_ID_MAX && tv_slice_is_printable(client_id))
        tv_response_header(req, TV_LIT("x-ms-client-request-id"), client_id);
}

/* The end of every response: what browsers of other sites may see of it depends on the rest. */
static void finish(tv_table_call *call)
{
    if (call->op.kind != TV_TABLE_OP_PREFLIGHT)
        tv_cors_add_headers(call->service->catalog, TV_SERVICE_TABLE, call->req);
    tv_response_send(call->req);
}

/* And those of OData operations: the version is the one that the client named. */
static void start_odata(tv_table_call *call, int status)
{
    tv_slice version = tv_request_header(call->req, TV_LIT("x-ms-version"));

    start(call, status);
    tv_response_header(call->req, TV_LIT("Cache-Control"), TV_LIT("no-cache"));
    tv_response_header(call->req, TV_LIT("X-Content-Type-Options"), TV_LIT("nosniff"));
    if (version.len && tv_slice_is_printable(version))
        tv_response_header(call->req, TV_LIT("x-ms-version"), version);
}

static void content_type(tv_table_call *call, tv_metadata_level level)
{
    tv_response_header(call->req, TV_LIT("Content-Type"), tv_metadata_content_type(level));
}

static void preference_applied(tv_table_call *call)
{
    if (call->op.prefer == TV_PREFER_NO_CONTENT)
        tv_response_header(call->req, TV_LIT("Preference-Applied"), TV_LIT("return-no-content"));
    else if (call->op.prefer == TV_PREFER_CONTENT)
        tv_response_header(call->req, TV_LIT("Preference-Applied"), TV_LIT("return-content"));
}

static void etag(tv_table_call *call, int64_t ticks)
{
    char text[TV_ETAG_TEXT_MAX];

    tv_response_header(call->req, TV_LIT("ETag"), (tv_slice){text, tv_etag_format(text, ticks)});
}

/* --- errors --- */

static bool is_authentication_error(tv_err err)
{
    return err == TV_ERR_AUTHENTICATION_FAILED || err == TV_ERR_NO_AUTHENTICATION ||
           err == TV_ERR_AUTHENTICATION_INFO || err == TV_ERR_BEARER_REFUSED;
}

/* Whether a client that names `accept` wants XML first. */
static bool wants_xml(tv_slice accept)
{
    tv_slice type = tv_slice_take(accept, tv_slice_find(accept, ','));

    type = tv_slice_trim(tv_slice_take(type, tv_slice_find(type, ';')));
    return tv_slice_eq_nocase(type, TV_LIT("application/xml")) ||
           tv_slice_eq_nocase(type, TV_LIT("application/atom+xml"));
}

/* What fails before the service looks at OData, as authentication does, is answered plainly. */
static void respond_early_error(tv_table_call *call, tv_err err)
{
    tv_request *req = call->req;
    bool is_xml = wants_xml(tv_request_header(req, TV_LIT("accept")));

    start(call, tv_err_status(err));
    tv_response_header(req, TV_LIT("x-ms-error-code"), tv_err_code(err));
    if (tv_err_status(err) == 401)
        tv_response_header(req, TV_LIT("WWW-Authenticate"),
                           TV_LIT("Bearer authorization_uri=https://login.microsoftonline.com/"
                                  "common/oauth2/authorize resource_id=https://storage.azure.com"));
    tv_response_header(req, TV_LIT("Content-Type"),
                       is_xml ? TV_LIT("application/xml") : TV_LIT("application/json"));
    if (is_xml)
        tv_table_add_error_xml(&req->out, err, &call->info, request_id(call));
    else
        tv_table_add_error_json(&req->out, err, &call->info, TV_LIT(""), request_id(call));
    finish(call);
}

static void respond_xml_error(tv_table_call *call, tv_err err)
{
    tv_request *req = call->req;
    tv_slice version = tv_request_header(req, TV_LIT("x-ms-version"));

    start(call, tv_err_status(err));
    tv_response_header(req, TV_LIT("x-ms-error-code"), tv_err_code(err));
    if (version.len && tv_slice_is_printable(version))
        tv_response_header(req, TV_LIT("x-ms-version"), version);
    tv_response_header(req, TV_LIT("Content-Type"), TV_LIT("application/xml"));
    tv_table_add_error_xml(&req->out, err, &call->info, request_id(call));
    finish(call);
}

void tv_table_respond_error(tv_table_call *call, tv_err err)
{
    tv_request *req = call->req;

    req->out.len = 0; /* a page may have been half written */
    if (is_authentication_error(err) || call->op.kind == TV_TABLE_OP_PREFLIGHT) {
        respond_early_error(call, err);
        return;
    }
    if (call->op.is_xml) {
        respond_xml_error(call, err);
        return;
    }
    start_odata(call, tv_err_status(err));
    preference_applied(call);
    content_type(call, TV_METADATA_MINIMAL);
    tv_table_add_error_json(&req->out, err, &call->info, TV_LIT(""), request_id(call));
    finish(call);
}

/* --- acl, properties, stats --- */

/* Bodies begin with a byte order mark, as the service's do. */
void tv_table_respond_xml(tv_table_call *call, int status)
{
    static const tv_slice opening = {"\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?>", 41};
    tv_request *req = call->req;
    tv_slice version = tv_request_header(req, TV_LIT("x-ms-version"));

    start(call, status);
    if (version.len && tv_slice_is_printable(version))
        tv_response_header(req, TV_LIT("x-ms-version"), version);
    if (req->out.len) {
        tv_response_header(req, TV_LIT("Content-Type"), TV_LIT("application/xml"));
        tv_buf_reserve(&req->out, opening.len);
        memmove(req->out.data + opening.len, req->out.data, req->out.len);
        memcpy(req->out.data, opening.data, opening.len);
        req->out.len += opening.len;
    }
    finish(call);
}

void tv_table_respond_preflight(tv_table_call *call, const tv_cors_grant *grant)
{
    start(call, 200);
    tv_cors_add_grant(call->req, grant);
    finish(call);
}

/* --- tables --- */

/* The URL of the table that the call is about, in the arena. */
static tv_slice table_url(tv_table_call *call, tv_slice name)
{
    return tv_arena_printf(&call->req->arena, "%.*s/Tables('%.*s')",
                           TV_FMT(call->op.endpoint.base_url), TV_FMT(name));
}

static void add_table_json(tv_table_call *call, tv_slice name)
{
    tv_buf *out = &call->req->out;
    const tv_endpoint *endpoint = &call->op.endpoint;

    tv_buf_add_char(out, '{');
    if (call->op.level != TV_METADATA_NONE)
        tv_buf_printf(out, "\"odata.metadata\":\"%.*s/$metadata#Tables/@Element\",",
                      TV_FMT(endpoint->base_url));
    if (call->op.level == TV_METADATA_FULL)
        tv_buf_printf(out,
                      "\"odata.type\":\"%.*s.Tables\",\"odata.id\":\"%.*s\","
                      "\"odata.editLink\":\"Tables('%.*s')\",",
                      TV_FMT(endpoint->account), TV_FMT(table_url(call, name)), TV_FMT(name));
    tv_buf_printf(out, "\"TableName\":\"%.*s\"}", TV_FMT(name));
}

void tv_table_respond_table_created(tv_table_call *call)
{
    bool has_content = call->op.prefer != TV_PREFER_NO_CONTENT;
    tv_slice url = table_url(call, call->create.name);

    start_odata(call, has_content ? 201 : 204);
    preference_applied(call);
    tv_response_header(call->req, TV_LIT("Location"), url);
    if (has_content) {
        content_type(call, call->op.level);
        add_table_json(call, call->create.name);
    } else {
        tv_response_header(call->req, TV_LIT("DataServiceId"), url);
    }
    finish(call);
}

void tv_table_respond_table(tv_table_call *call)
{
    start_odata(call, 200);
    content_type(call, call->op.level);
    add_table_json(call, call->table->name);
    finish(call);
}

void tv_table_respond_no_content(tv_table_call *call)
{
    start_odata(call, 204);
    finish(call);
}

/* --- entities --- */

static tv_slice entity_url(tv_table_call *call)
{
    const tv_resource *resource = &call->op.resource;
    tv_buf url = TV_BUF_EMPTY;

    tv_buf_add(&url, call->op.endpoint.base_url);
    tv_buf_add_char(&url, '/');
    tv_entity_add_link(&url, resource->table, resource->partition_key, resource->row_key);
    tv_slice copy = tv_arena_dup(&call->req->arena, tv_buf_slice(&url));
    tv_buf_done(&url);
    return copy;
}

static tv_err add_entity_json(tv_table_call *call, tv_slice value)
{
    const tv_table_op *op = &call->op;
    tv_entity_view view = tv_table_op_view(op);

    return tv_entity_add_json(&call->req->out, &view, op->resource.partition_key,
                              op->resource.row_key, value, true);
}

void tv_table_respond_inserted(tv_table_call *call)
{
    const tv_entity_change *change = &call->changes.changes[0];
    bool has_content = call->op.prefer != TV_PREFER_NO_CONTENT;
    tv_slice url = entity_url(call);

    /* It is done: without memory for the entity the client hears that, and no more. */
    if (has_content && add_entity_json(call, change->value)) {
        call->req->out.len = 0;
        call->op.prefer = TV_PREFER_NO_CONTENT;
        has_content = false;
    }
    start_odata(call, has_content ? 201 : 204);
    preference_applied(call);
    etag(call, change->timestamp);
    tv_response_header(call->req, TV_LIT("Location"), url);
    if (has_content) {
        content_type(call, call->op.level);
    } else {
        tv_response_header(call->req, TV_LIT("DataServiceId"), url);
    }
    finish(call);
}

void tv_table_respond_updated(tv_table_call *call)
{
    start_odata(call, 204);
    etag(call, call->changes.changes[0].timestamp);
    finish(call);
}

void tv_table_respond_entity(tv_table_call *call)
{
    int64_t timestamp;
    tv_err err = tv_entity_timestamp(call->value, &timestamp);

    if (err == TV_OK)
        err = add_entity_json(call, call->value);
    if (err) {
        tv_table_respond_error(call, err);
        return;
    }
    start_odata(call, 200);
    content_type(call, call->op.level);
    etag(call, timestamp);
    tv_response_header(call->req, TV_LIT("x-tavola-plan"),
                       TV_LIT("point; ranges=1; examined=1; returned=1"));
    finish(call);
}

/* "range; ranges=1; examined=12; returned=10" */
static void plan_header(tv_table_call *call)
{
    const tv_scan *scan = &call->scan;

    tv_response_header(call->req, TV_LIT("x-tavola-plan"),
                       tv_arena_printf(&call->req->arena,
                                       "%s; ranges=%zu; examined=%zu; returned=%zu",
                                       tv_plan_kind_name(scan->plan.kind), scan->plan.count,
                                       scan->page.examined, scan->page.returned));
}

void tv_table_respond_plan(tv_table_call *call)
{
    tv_err err = tv_explain_add(&call->req->out, &call->scan);

    if (err) {
        tv_table_respond_error(call, err);
        return;
    }
    start_odata(call, 200);
    tv_response_header(call->req, TV_LIT("Content-Type"), TV_LIT("application/json"));
    plan_header(call);
    finish(call);
}

void tv_table_respond_page(tv_table_call *call)
{
    tv_request *req = call->req;

    start_odata(call, 200);
    content_type(call, call->op.level);
    plan_header(call);
    if (call->scan.next.next_partition.data) {
        tv_response_header(req, TV_LIT("x-ms-continuation-NextPartitionKey"),
                           call->scan.next.next_partition);
        tv_response_header(req, TV_LIT("x-ms-continuation-NextRowKey"), call->scan.next.next_row);
    }
    if (call->scan.next.next_table.data)
        tv_response_header(req, TV_LIT("x-ms-continuation-NextTableName"),
                           call->scan.next.next_table);
    finish(call);
}

/* --- batches --- */

/* What was done is answered in any case: without memory for the entities, without them. */
static tv_err add_bare_batch_reply(tv_table_call *call, tv_slice id)
{
    tv_batch_request *batch = &call->batch;

    call->req->out.len = 0;
    for (size_t i = 0; i < batch->count; i++)
        batch->ops[i].prefer = TV_PREFER_NO_CONTENT;
    return tv_table_add_batch_reply(&call->req->out, call, id, TV_OK, 0);
}

static void respond_multipart(tv_table_call *call, tv_err err, size_t failed)
{
    bool is_written = err == TV_OK && !call->batch.is_query;
    char id_text[TV_GUID_TEXT_LEN];
    tv_guid guid = tv_guid_new();
    tv_slice id = {id_text, sizeof id_text};

    tv_guid_format(id_text, &guid);
    err = tv_table_add_batch_reply(&call->req->out, call, id, err, failed);
    if (err && is_written) {
        err = add_bare_batch_reply(call, id);
        tv_assert(err == TV_OK);
    }
    if (err) {
        tv_table_respond_error(call, err);
        return;
    }
    start_odata(call, 202);
    tv_response_header(call->req, TV_LIT("Content-Type"),
                       tv_arena_printf(&call->req->arena,
                                       "multipart/mixed; boundary=batchresponse_%.*s", TV_FMT(id)));
    finish(call);
}

void tv_table_respond_batch(tv_table_call *call)
{
    respond_multipart(call, TV_OK, 0);
}

/* What the server could not do is the answer to the whole request, so that clients retry it. */
void tv_table_respond_batch_error(tv_table_call *call, tv_err err, size_t failed)
{
    int status = tv_err_status(err);

    if (status == 500 || status == 503)
        tv_table_respond_error(call, err);
    else
        respond_multipart(call, err, failed);
}
