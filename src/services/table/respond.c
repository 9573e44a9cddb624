/* The responses of the table service. */
#include "base/log.h"
#include "base/uri.h"
#include "services/table/call.h"
#include "services/table/explain.h"

static tv_slice request_id(const tv_call *call)
{
    return (tv_slice){call->request_id, sizeof call->request_id};
}

static const tv_table_command *command_of(tv_call *call)
{
    return &tv_table_call_of(call)->command;
}

/* The headers that OData operations have in addition. */
static void start_odata(tv_call *call, int status)
{
    tv_call_start(call, status);
    tv_response_header(call->req, TV_LIT("Cache-Control"), TV_LIT("no-cache"));
    tv_response_header(call->req, TV_LIT("X-Content-Type-Options"), TV_LIT("nosniff"));
}

static void content_type(tv_call *call, tv_table_metadata_level level)
{
    tv_response_header(call->req, TV_LIT("Content-Type"), tv_table_metadata_content_type(level));
}

static void preference_applied(tv_call *call)
{
    if (command_of(call)->prefer == TV_TABLE_PREFER_NO_CONTENT)
        tv_response_header(call->req, TV_LIT("Preference-Applied"), TV_LIT("return-no-content"));
    else if (command_of(call)->prefer == TV_TABLE_PREFER_CONTENT)
        tv_response_header(call->req, TV_LIT("Preference-Applied"), TV_LIT("return-content"));
}

static void etag(tv_call *call, int64_t ticks)
{
    char text[TV_TABLE_ETAG_TEXT_MAX];

    tv_response_header(call->req, TV_LIT("ETag"),
                       (tv_slice){text, tv_table_etag_format(text, ticks)});
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

/* What fails before OData is looked at, as authentication does, is answered plainly. */
static void respond_early_error(tv_call *call, tv_err err)
{
    tv_request *req = call->req;
    bool is_xml = wants_xml(tv_request_header(req, TV_LIT("accept")));

    tv_call_start(call, tv_err_status(err));
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
    tv_call_finish(call);
}

static void respond_xml_error(tv_call *call, tv_err err)
{
    tv_request *req = call->req;

    tv_call_start(call, tv_err_status(err));
    tv_response_header(req, TV_LIT("x-ms-error-code"), tv_err_code(err));
    tv_response_header(req, TV_LIT("Content-Type"), TV_LIT("application/xml"));
    tv_table_add_error_xml(&req->out, err, &call->info, request_id(call));
    tv_call_finish(call);
}

void tv_table_respond_error(tv_call *call, tv_err err)
{
    tv_request *req = call->req;

    req->out.len = 0; /* a page may have been half written */
    if (is_authentication_error(err) || tv_call_kind(call) == TV_OP_PREFLIGHT) {
        respond_early_error(call, err);
        return;
    }
    if (command_of(call)->is_xml) {
        respond_xml_error(call, err);
        return;
    }
    start_odata(call, tv_err_status(err));
    preference_applied(call);
    content_type(call, TV_TABLE_METADATA_MINIMAL);
    if (tv_err_status(err) == 413) /* found before OData, too, but answered in its form */
        tv_response_header(req, TV_LIT("x-ms-error-code"), tv_err_code(err));
    tv_table_add_error_json(&req->out, err, &call->info, TV_LIT(""), request_id(call));
    tv_call_finish(call);
}

/* --- tables --- */

/* The URL of the table that the call is about, in the arena. */
static tv_slice table_url(tv_call *call, tv_slice name)
{
    return tv_arena_printf(&call->req->arena, "%.*s/Tables('%.*s')",
                           TV_FMT(command_of(call)->endpoint.base_url), TV_FMT(name));
}

static void add_table_json(tv_call *call, tv_slice name)
{
    tv_buf *out = &call->req->out;
    const tv_endpoint *endpoint = &command_of(call)->endpoint;

    tv_buf_add_char(out, '{');
    if (command_of(call)->level != TV_TABLE_METADATA_NONE)
        tv_buf_printf(out, "\"odata.metadata\":\"%.*s/$metadata#Tables/@Element\",",
                      TV_FMT(endpoint->base_url));
    if (command_of(call)->level == TV_TABLE_METADATA_FULL)
        tv_buf_printf(out,
                      "\"odata.type\":\"%.*s.Tables\",\"odata.id\":\"%.*s\","
                      "\"odata.editLink\":\"Tables('%.*s')\",",
                      TV_FMT(endpoint->account), TV_FMT(table_url(call, name)), TV_FMT(name));
    tv_buf_printf(out, "\"TableName\":\"%.*s\"}", TV_FMT(name));
}

void tv_table_respond_table_created(tv_call *call)
{
    bool has_content = command_of(call)->prefer != TV_TABLE_PREFER_NO_CONTENT;
    tv_slice url = table_url(call, call->create.name);

    start_odata(call, has_content ? 201 : 204);
    preference_applied(call);
    tv_response_header(call->req, TV_LIT("Location"), url);
    if (has_content) {
        content_type(call, command_of(call)->level);
        add_table_json(call, call->create.name);
    } else {
        tv_response_header(call->req, TV_LIT("DataServiceId"), url);
    }
    tv_call_finish(call);
}

void tv_table_respond_table(tv_call *call)
{
    start_odata(call, 200);
    content_type(call, command_of(call)->level);
    add_table_json(call, call->container->name);
    tv_call_finish(call);
}

void tv_table_respond_no_content(tv_call *call)
{
    start_odata(call, 204);
    tv_call_finish(call);
}

/* --- entities --- */

static tv_slice entity_url(tv_call *call)
{
    const tv_table_resource *resource = &command_of(call)->resource;
    tv_buf url = TV_BUF_EMPTY;

    tv_buf_add(&url, command_of(call)->endpoint.base_url);
    tv_buf_add_char(&url, '/');
    tv_entity_add_link(&url, resource->table, resource->partition_key, resource->row_key);
    tv_slice copy = tv_arena_dup(&call->req->arena, tv_buf_slice(&url));
    tv_buf_done(&url);
    return copy;
}

static tv_err add_entity_json(tv_call *call, tv_slice value)
{
    const tv_table_command *command = command_of(call);
    tv_entity_view view = tv_table_command_view(command);

    return tv_entity_add_json(&call->req->out, &view, command->resource.partition_key,
                              command->resource.row_key, value, true);
}

void tv_table_respond_inserted(tv_call *call)
{
    const tv_entity_change *change = &tv_table_call_of(call)->outcome.changes.changes[0];
    bool has_content = command_of(call)->prefer != TV_TABLE_PREFER_NO_CONTENT;
    tv_slice url = entity_url(call);

    /* It is done: without memory for the entity the client is told that, and no more. */
    if (has_content && add_entity_json(call, change->value)) {
        call->req->out.len = 0;
        tv_table_call_of(call)->command.prefer = TV_TABLE_PREFER_NO_CONTENT;
        has_content = false;
    }
    start_odata(call, has_content ? 201 : 204);
    preference_applied(call);
    etag(call, change->timestamp);
    tv_response_header(call->req, TV_LIT("Location"), url);
    if (has_content) {
        content_type(call, command_of(call)->level);
    } else {
        tv_response_header(call->req, TV_LIT("DataServiceId"), url);
    }
    tv_call_finish(call);
}

void tv_table_respond_updated(tv_call *call)
{
    start_odata(call, 204);
    etag(call, tv_table_call_of(call)->outcome.changes.changes[0].timestamp);
    tv_call_finish(call);
}

tv_err tv_table_respond_entity(tv_call *call)
{
    tv_slice value = tv_table_call_of(call)->outcome.value;
    int64_t timestamp;
    tv_err err = tv_entity_timestamp(value, &timestamp);

    if (err == TV_OK)
        err = add_entity_json(call, value);
    if (err)
        return err;

    start_odata(call, 200);
    content_type(call, command_of(call)->level);
    etag(call, timestamp);
    tv_response_header(call->req, TV_LIT("x-tavola-plan"),
                       TV_LIT("point; ranges=1; examined=1; returned=1"));
    tv_call_finish(call);
    return TV_OK;
}

/* "range; ranges=1; examined=12; returned=10", and "; entities=12" of a whole table */
static void plan_header(tv_call *call)
{
    const tv_table_call *t = tv_table_call_of(call);
    const tv_table_scan *scan = &t->outcome.scan;
    uint64_t entities;
    tv_slice count =
        tv_table_count_exactly(call, &entities)
            ? tv_arena_printf(&call->req->arena, "; entities=%llu", (unsigned long long)entities)
            : TV_LIT("");

    tv_response_header(call->req, TV_LIT("x-tavola-plan"),
                       tv_arena_printf(&call->req->arena,
                                       "%s; ranges=%zu; examined=%zu; returned=%zu%.*s",
                                       tv_plan_kind_name(scan->plan.kind), scan->plan.count,
                                       scan->page.examined, scan->page.returned, TV_FMT(count)));
}

tv_err tv_table_respond_plan(tv_call *call)
{
    tv_err err = tv_table_explain(&call->req->out, &tv_table_call_of(call)->outcome.scan);

    if (err)
        return err;

    start_odata(call, 200);
    tv_response_header(call->req, TV_LIT("Content-Type"), TV_LIT("application/json"));
    plan_header(call);
    tv_call_finish(call);
    return TV_OK;
}

void tv_table_respond_page(tv_call *call)
{
    const tv_table_continuation *next = &tv_table_call_of(call)->outcome.scan.next;
    tv_request *req = call->req;

    start_odata(call, 200);
    content_type(call, command_of(call)->level);
    plan_header(call);
    if (next->next_partition.data) {
        tv_response_header(req, TV_LIT("x-ms-continuation-NextPartitionKey"), next->next_partition);
        tv_response_header(req, TV_LIT("x-ms-continuation-NextRowKey"), next->next_row);
    }
    if (next->next_table.data)
        tv_response_header(req, TV_LIT("x-ms-continuation-NextTableName"), next->next_table);
    tv_call_finish(call);
}

/* --- batches --- */

/* What was done is answered in any case: without memory for the entities, without them. */
static tv_err add_bare_batch_reply(tv_call *call, tv_slice id)
{
    tv_table_batch *batch = &tv_table_call_of(call)->batch;

    call->req->out.len = 0;
    for (size_t i = 0; i < batch->count; i++)
        batch->commands[i].prefer = TV_TABLE_PREFER_NO_CONTENT;
    return tv_table_add_batch_reply(&call->req->out, call, id, TV_OK, 0);
}

static tv_err respond_multipart(tv_call *call, tv_err err, size_t failed)
{
    bool is_written = err == TV_OK && !tv_table_call_of(call)->batch.is_query;
    char id_text[TV_GUID_TEXT_LEN];
    tv_guid guid = tv_guid_new();
    tv_slice id = {id_text, sizeof id_text};

    tv_guid_format(id_text, &guid);
    err = tv_table_add_batch_reply(&call->req->out, call, id, err, failed);
    if (err && is_written) {
        err = add_bare_batch_reply(call, id);
        tv_assert(err == TV_OK);
    }
    if (err)
        return err;

    start_odata(call, 202);
    tv_response_header(call->req, TV_LIT("Content-Type"),
                       tv_arena_printf(&call->req->arena,
                                       "multipart/mixed; boundary=batchresponse_%.*s", TV_FMT(id)));
    tv_call_finish(call);
    return TV_OK;
}

tv_err tv_table_respond_batch(tv_call *call)
{
    return respond_multipart(call, TV_OK, 0);
}

/* What the server could not do is the answer to the whole request, so that clients retry it. */
tv_err tv_table_respond_batch_error(tv_call *call, tv_err err, size_t failed)
{
    int status = tv_err_status(err);

    if (tv_call_looks_again(call, err))
        return TV_OK;
    tv_table_call_of(call)->outcome.part_error = err;
    return status == 500 || status == 503 ? err : respond_multipart(call, err, failed);
}
