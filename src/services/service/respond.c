/* The responses that services have in common. */
#include "base/assert.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/xml.h"
#include "services/service/call.h"
#include "services/service/cors.h"
#include "services/service/throttle.h"

static const tv_slice server_names[] = {
    [TV_SERVICE_TABLE] = {"Tavola-Table/" TV_VERSION, sizeof "Tavola-Table/" TV_VERSION - 1},
    [TV_SERVICE_QUEUE] = {"Tavola-Queue/" TV_VERSION, sizeof "Tavola-Queue/" TV_VERSION - 1},
    [TV_SERVICE_BLOB] = {"Tavola-Blob/" TV_VERSION, sizeof "Tavola-Blob/" TV_VERSION - 1},
};

static tv_slice request_id(const tv_call *call)
{
    return (tv_slice){call->request_id, sizeof call->request_id};
}

void tv_call_start(tv_call *call, int status)
{
    enum { CLIENT_REQUEST_ID_MAX = 1024 };
    tv_request *req = call->req;
    tv_slice client_id = tv_request_header(req, TV_LIT("x-ms-client-request-id"));
    tv_slice version = tv_request_header(req, TV_LIT("x-ms-version"));

    tv_response_start(req, status);
    tv_response_header(req, TV_LIT("Server"), server_names[call->service->spec->kind]);
    tv_response_header(req, TV_LIT("x-ms-request-id"), request_id(call));
    if (client_id.len && client_id.len <= CLIENT_REQUEST_ID_MAX && tv_slice_is_printable(client_id))
        tv_response_header(req, TV_LIT("x-ms-client-request-id"), client_id);
    if (version.len && tv_version_is_valid(version))
        tv_response_header(req, TV_LIT("x-ms-version"), version);
    if (call->is_throttled)
        tv_call_add_throttle(call);
}

void tv_call_add_date(tv_call *call, tv_slice name, int64_t ticks)
{
    char text[TV_DATETIME_TEXT_MAX];

    tv_response_header(call->req, name, (tv_slice){text, tv_http_date_format(text, ticks)});
}

/* What pages of other sites may see of a response depends on the rest of it. */
static void add_cors(tv_call *call)
{
    if (tv_call_kind(call) != TV_OP_PREFLIGHT)
        tv_cors_add_headers(call->service->catalog, call->service->spec->kind, call->req);
}

static void complete(tv_call *call)
{
    tv_assert(!call->is_away);
    add_cors(call);
    if (call->service->spec->note)
        call->service->spec->note(call);
    call->answered_ns = tv_call_time(call);
}

void tv_call_finish(tv_call *call)
{
    complete(call);
    tv_response_send(call->req);
}

void tv_call_finish_from(tv_call *call, uint64_t length, const tv_body_source *source)
{
    complete(call);
    tv_response_send_from(call->req, length, source);
}

void tv_call_respond_empty(tv_call *call, int status)
{
    tv_call_start(call, status);
    tv_call_finish(call);
}

/* Bodies begin with a byte order mark, as the service's do. */
static void add_declaration(tv_buf *out)
{
    tv_buf_add_lit(out, "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?>");
}

void tv_call_start_xml(tv_call *call, int status)
{
    tv_call_start(call, status);
    tv_response_header(call->req, TV_LIT("Content-Type"), TV_LIT("application/xml"));
    add_declaration(&call->req->out);
}

/* --- errors --- */

/* "text\nRequestId:…\nTime:…", the last two always there; times have seven digits. */
static void add_message(tv_buf *out, tv_call *call, tv_err err)
{
    char time[TV_DATETIME_TEXT_MAX];
    size_t len = tv_datetime_format7(time, tv_clock_ticks());
    tv_slice text = call->info.text.data ? call->info.text : tv_err_text(err);

    tv_xml_add_element(out, "Message",
                       tv_arena_printf(&call->req->arena, "%.*s\nRequestId:%.*s\nTime:%.*s",
                                       TV_FMT(text), TV_FMT(request_id(call)), (int)len, time));
}

/* Zeros for a document that is XML, but not what was wanted, as recordings have it. */
static void add_xml_fault(tv_buf *out, const tv_call *call)
{
    unsigned long line = 0, position = 0;
    bool is_fault = tv_xml_find_fault(call->req->body, &line, &position);

    tv_buf_printf(out, "<LineNumber>%lu</LineNumber><LinePosition>%lu</LinePosition>", line,
                  position);
    tv_xml_add_element(out, "Reason", is_fault ? TV_LIT("Error parsing Xml content") : TV_LIT(""));
}

/* Why the source of a copy could not be read; in headers, and again in the body. */
static void add_source_headers(tv_request *req, tv_err source)
{
    tv_response_header(req, TV_LIT("x-ms-copy-source-error-code"), tv_err_code(source));
    tv_response_header(req, TV_LIT("x-ms-copy-source-status-code"),
                       tv_arena_printf(&req->arena, "%d", tv_err_status(source)));
}

static void add_source_xml(tv_buf *out, tv_err source)
{
    tv_buf_printf(out, "<CopySourceStatusCode>%d</CopySourceStatusCode>", tv_err_status(source));
    tv_xml_add_element(out, "CopySourceErrorCode", tv_err_code(source));
    tv_xml_add_element(out, "CopySourceErrorMessage", tv_err_text(source));
}

void tv_call_start_error_xml(tv_call *call, tv_err err)
{
    tv_request *req = call->req;
    int status = tv_err_status(err);

    req->out.len = 0; /* a page may have been half written */
    tv_call_start(call, status);
    tv_response_header(req, TV_LIT("x-ms-error-code"), tv_err_code(err));
    if (call->info.source)
        add_source_headers(req, call->info.source);
    if (status == 401)
        tv_response_header(req, TV_LIT("WWW-Authenticate"),
                           TV_LIT("Bearer authorization_uri=https://login.microsoftonline.com/"
                                  "common/oauth2/authorize resource_id=https://storage.azure.com"));
    if (status == 304 || req->method == TV_METHOD_HEAD)
        return;

    tv_response_header(req, TV_LIT("Content-Type"), TV_LIT("application/xml"));
    add_declaration(&req->out);
    tv_buf_add_lit(&req->out, "<Error>");
    tv_xml_add_element(&req->out, "Code", tv_err_code(err));
    add_message(&req->out, call, err);
    if (call->info.source)
        add_source_xml(&req->out, call->info.source);
    tv_buf_add(&req->out, call->info.details);
    if (err == TV_ERR_XML_DOCUMENT && call->info.details.len == 0)
        add_xml_fault(&req->out, call);
    if (call->info.reason.len)
        tv_xml_add_element(&req->out, "AuthenticationErrorDetail", call->info.reason);
    tv_buf_add_lit(&req->out, "</Error>");
}

void tv_call_respond_error(tv_call *call, tv_err err)
{
    const tv_service_spec *spec = call->service->spec;

    tv_assert(err && !call->is_away);
    if (spec->explain)
        err = spec->explain(call, err);
    tv_assert(err);
    call->error = err;
    if (spec->respond_error) {
        spec->respond_error(call, err);
        return;
    }
    tv_call_start_error_xml(call, err);
    tv_call_finish(call);
}

/* --- preflights --- */

void tv_call_answer_preflight(tv_call *call)
{
    tv_cors_grant grant;
    tv_err err;

    tv_call_turn_to(call, TV_OP_PREFLIGHT);
    err = tv_cors_preflight(call->service->catalog, call->service->spec->kind, call->req, &grant);
    if (err) {
        tv_call_respond_error(call, err);
        return;
    }
    tv_call_start(call, 200);
    tv_cors_add_grant(call->req, &grant);
    tv_call_finish(call);
}
