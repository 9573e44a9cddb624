/* The way of a request through a service, as far as it is the same for all. */
#include "service/call.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "base/log.h"
#include "base/number.h"
#include "base/uri.h"
#include "base/xml.h"

static tv_err find_policies(void *ctx, tv_slice account, tv_slice container, tv_arena *arena,
                            tv_access_policies *ret_policies)
{
    tv_service *service = ctx;

    return tv_catalog_policies(service->catalog, account, container, arena, ret_policies);
}

void tv_service_start(tv_service *service, const char *(*op_name)(int op), int op_count)
{
    tv_meter_init(&service->meter, tv_service_kind_name(service->kind).data, op_name, op_count);
    service->auth.find_policies = find_policies;
    service->auth.ctx = service;
}

void tv_call_init(tv_call *call, tv_service *service, tv_request *req)
{
    tv_guid guid = tv_guid_new();

    call->service = service;
    call->req = req;
    tv_guid_format(call->request_id, &guid);
    req->user = call;
}

/* Every dated version is welcome; the service's own list grows several times a year. */
tv_err tv_call_open(tv_call *call)
{
    tv_request *req = call->req;
    tv_slice version = tv_request_header(req, TV_LIT("x-ms-version"));

    if (call->service->is_https_only && !req->is_tls)
        return TV_ERR_HTTPS_REQUIRED;
    if (version.data && !tv_version_is_valid(version))
        return tv_call_bad_header(call, TV_LIT("x-ms-version"), version);
    return tv_endpoint_parse(&req->arena, tv_service_kind_name(call->service->kind), req->is_tls,
                             req->host, req->path, &call->endpoint);
}

static tv_credentials credentials_of(const tv_call *call, tv_slice container, tv_slice blob)
{
    const tv_request *req = call->req;

    return (tv_credentials){
        .parts = {.service = call->service->kind,
                  .account = call->endpoint.account,
                  .method = req->method_text,
                  .path = req->path,
                  .headers = req->headers,
                  .header_count = req->header_count},
        .authorization = tv_request_header(req, TV_LIT("authorization")),
        .x_ms_date = tv_request_header(req, TV_LIT("x-ms-date")),
        .date = tv_request_header(req, TV_LIT("date")),
        .query = req->query,
        .container = container,
        .blob = blob,
        .host = req->host,
        .peer = req->peer,
        .is_peer_loopback = req->is_peer_loopback,
        .is_tls = req->is_tls,
    };
}

tv_err tv_call_authenticate(tv_call *call, tv_slice container, tv_slice blob)
{
    tv_credentials credentials = credentials_of(call, container, blob);
    tv_err err = tv_authenticate(&call->service->auth, &credentials, tv_clock_ticks(),
                                 &call->req->arena, &call->identity, &call->info);

    if (err == TV_OK)
        tv_request_charge_to(call->req, tv_identity_share(call->identity));
    return err;
}

tv_err tv_call_authenticate_anonymous(tv_call *call)
{
    tv_credentials credentials = credentials_of(call, TV_NONE, TV_NONE);
    tv_err err = tv_authenticate_anonymous(&call->service->auth, &credentials, &call->req->arena,
                                           &call->identity, &call->info);

    if (err == TV_OK)
        tv_request_charge_to(call->req, tv_identity_share(call->identity));
    return err;
}

/* What the client can make as long as it likes comes last, where cutting the line hides nothing. */
static void log_access(const tv_call *call, int64_t ns)
{
    tv_request *req = call->req;
    tv_slice path = tv_log_redact(&req->arena, req->path);

    tv_log(TV_LOG_INFO, "access",
           "service=%.*s method=%.*s operation=%s status=%d us=%lld peer=%s request_id=%.*s "
           "path=\"%.*s\"",
           TV_FMT(tv_service_kind_name(call->service->kind)), TV_FMT(tv_method_text(req->method)),
           call->service->meter.op_name(call->op), req->status, (long long)(ns / 1000), req->peer,
           TV_GUID_TEXT_LEN, call->request_id, TV_FMT(path));
}

void tv_call_done(tv_call *call)
{
    tv_request *req = call->req;
    int64_t ns = tv_clock_mono_ns() - req->start_ns;

    tv_meter_add(&call->service->meter, call->op, req->status, ns, req->body_length,
                 req->out.len + req->out_length);
    if (call->service->has_access_log)
        log_access(call, ns);
    tv_container_unref(call->container);
    req->user = NULL;
}

/* --- what it asks for --- */

tv_err tv_call_parameter(tv_call *call, tv_slice name, tv_slice *ret_value)
{
    tv_request *req = call->req;

    return tv_parameters_get_nocase(&req->query, &req->arena, name, ret_value)
               ? TV_OK
               : TV_ERR_URL_UNPARSABLE;
}

/* Of each text in an error's body. */
enum { DETAIL_BYTES_MAX = 4096 };

/* Elements of an error's body, in the arena; texts are cleaned, cut and escaped. */
typedef struct detail {
    const char *element;
    tv_slice text;
} detail;

static void set_details(tv_call *call, const detail *details, size_t count)
{
    tv_buf buf = TV_BUF_EMPTY;

    for (size_t i = 0; i < count; i++) {
        if (details[i].text.data)
            tv_xml_add_element(&buf, details[i].element,
                               tv_xml_clean(&call->req->arena, details[i].text, DETAIL_BYTES_MAX));
    }
    call->info.details = tv_arena_dup(&call->req->arena, tv_buf_slice(&buf));
    tv_buf_done(&buf);
}

tv_err tv_call_bad_parameter(tv_call *call, tv_slice name, tv_slice value, const char *reason)
{
    detail details[] = {{"QueryParameterName", name},
                        {"QueryParameterValue", value},
                        {"Reason", reason ? tv_slice_of(reason) : TV_NONE}};

    set_details(call, details, sizeof details / sizeof *details);
    return TV_ERR_INVALID_QUERY_PARAMETER;
}

tv_err tv_call_bad_header(tv_call *call, tv_slice name, tv_slice value)
{
    detail details[] = {{"HeaderName", name}, {"HeaderValue", value}};

    set_details(call, details, sizeof details / sizeof *details);
    return TV_ERR_INVALID_HEADER;
}

static tv_err out_of_range(tv_call *call, tv_slice name, tv_slice value, int64_t min, int64_t max)
{
    tv_arena *arena = &call->req->arena;
    detail details[] = {{"QueryParameterName", name},
                        {"QueryParameterValue", value},
                        {"MinimumAllowed", tv_arena_printf(arena, "%lld", (long long)min)},
                        {"MaximumAllowed", tv_arena_printf(arena, "%lld", (long long)max)}};

    set_details(call, details, sizeof details / sizeof *details);
    return TV_ERR_QUERY_OUT_OF_RANGE;
}

tv_err tv_call_number(tv_call *call, tv_slice name, int64_t min, int64_t max, int64_t fallback,
                      int64_t *ret_value)
{
    tv_slice text;
    int64_t value;
    tv_err err = tv_call_parameter(call, name, &text);

    if (err)
        return err;
    if (text.data == NULL) {
        *ret_value = fallback;
        return TV_OK;
    }
    if (!tv_parse_int64(text, &value))
        return tv_call_bad_parameter(call, name, text, "Failed to parse the value as a number.");
    if (value < min || value > max)
        return out_of_range(call, name, text, min, max);

    *ret_value = value;
    return TV_OK;
}

tv_err tv_call_find_container(tv_call *call, tv_slice name)
{
    tv_catalog *catalog = call->service->catalog;

    tv_assert(call->container == NULL);
    call->container = tv_catalog_find(catalog, tv_identity_account(call->identity), name);
    return call->container ? TV_OK : tv_catalog_kind_of(catalog)->not_found;
}

/* --- handing it over --- */

void tv_call_submit(tv_call *call, void (*deliver)(tv_mail *mail))
{
    tv_loop *loop = call->req->loop;

    call->write.mail.deliver = deliver;
    call->write.reply_to = tv_loop_mailbox(loop);
    tv_outbox_add(call->service->outboxes[tv_loop_index(loop)], &call->write);
}

tv_err tv_call_run_job(tv_call *call, tv_workers *workers, void (*run)(tv_job *job),
                       void (*deliver)(tv_mail *mail))
{
    call->job.mail.deliver = deliver;
    call->job.run = run;
    call->job.reply_to = tv_loop_mailbox(call->req->loop);
    return tv_workers_submit(workers, &call->job) ? TV_OK : TV_ERR_OVERLOADED;
}

tv_err tv_call_run_task(tv_call *call, bool (*run)(tv_task *task, tv_turn *turn),
                        void (*deliver)(tv_mail *mail))
{
    call->task = (tv_task){
        .mail.deliver = deliver,
        .run = run,
        .reply_to = tv_loop_mailbox(call->req->loop),
        .account = tv_identity_turns(call->identity),
        .is_gone = &call->req->is_gone,
    };
    return tv_turns_submit(call->service->scanners, &call->task) ? TV_OK : TV_ERR_OVERLOADED;
}
