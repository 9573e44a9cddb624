/* From a call to a record. */
#include "server/analytics/record.h"

#include "base/assert.h"
#include "base/clock.h"

tv_analytics_switches tv_analytics_switches_of(const tv_service_settings *settings)
{
    const tv_logging_settings *logging = &settings->logging;
    const tv_metrics_settings *hour = &settings->hour_metrics, *minute = &settings->minute_metrics;

    return (tv_analytics_switches){
        .has_log = logging->reads || logging->writes || logging->deletes,
        .has_log_2 = logging->is_version_2,
        .has_hours = hour->is_enabled,
        .has_minutes = minute->is_enabled,
        .has_hour_apis = hour->is_enabled && hour->includes_apis,
        .has_minute_apis = minute->is_enabled && minute->includes_apis,
    };
}

/* --- what it is --- */

/*
 * By what the client has sent, not by whether it was good.  Keys are in a header, and a header
 * goes before a signature in the URL; a session of Explorer stands for the key.
 */
static tv_analytics_auth auth_of(tv_call *call)
{
    const tv_parameters *query = &call->req->query;

    if (call->is_owner || tv_request_header(call->req, TV_LIT("authorization")).data)
        return TV_ANALYTICS_KEY;
    for (size_t i = 0; i < query->count; i++) {
        if (tv_slice_eq(query->items[i].name, TV_LIT("sig")))
            return TV_ANALYTICS_SAS;
    }
    return TV_ANALYTICS_ANONYMOUS;
}

/* Whoever was refused at the door has asked for something all the same. */
static void find_row(tv_call *call)
{
    if (tv_call_kind(call) == TV_OP_UNKNOWN && tv_call_choose(call))
        call->op = &call->service->spec->ops[TV_OP_UNKNOWN];
}

static bool is_logged(const tv_analytics_record *record, const tv_logging_settings *logging)
{
    tv_analytics_class kind = tv_analytics_class_of(record->op_name);
    bool is_on = kind == TV_ANALYTICS_READ    ? logging->reads
                 : kind == TV_ANALYTICS_WRITE ? logging->writes
                                              : logging->deletes;

    return is_on && tv_analytics_is_logged(record->result, record->auth, record->status);
}

/* --- sizes --- */

/* As the head would be sent with one blank where one is needed; so it is by almost all clients. */
static uint64_t request_head_bytes(const tv_request *req)
{
    static const tv_slice version = {" HTTP/1.1\r\n", 11};
    uint64_t bytes = req->method_text.len + 1 + req->path.len + version.len + 2;

    if (req->query.text.data)
        bytes += 1 + req->query.text.len;
    for (size_t i = 0; i < req->header_count; i++)
        bytes += req->headers[i].name.len + 2 + req->headers[i].value.len + 2;
    return bytes;
}

/* A short body lies behind its head. */
static tv_slice response_head(const tv_request *req)
{
    tv_slice head = tv_buf_slice(&req->head);
    const char *end = head.len ? memmem(head.data, head.len, "\r\n\r\n", 4) : NULL;

    return end ? tv_slice_take(head, (size_t)(end - head.data) + 4) : head;
}

static uint64_t response_body_bytes(const tv_request *req)
{
    if (req->method == TV_METHOD_HEAD || req->status == 0 || req->status == 204 ||
        req->status == 304)
        return 0;
    return req->out_length ? req->out_length : req->out.len;
}

/* --- texts --- */

/* The value of a header of the response; TV_NONE when it has none. */
static tv_slice response_header(tv_slice head, tv_slice name)
{
    tv_slice line;

    while (tv_slice_next(&head, '\n', &line)) {
        size_t colon = tv_slice_find(line, ':');

        if (colon == name.len && tv_slice_eq_nocase(tv_slice_take(line, colon), name)) {
            tv_slice value = tv_slice_trim(tv_slice_skip(line, colon + 1));

            if (value.len && value.data[value.len - 1] == '\r')
                value.len--;
            return value;
        }
    }
    return TV_NONE;
}

/* No more than `bytes_max`, and no part of a character or of its encoding. */
static tv_slice cut(tv_slice text, size_t bytes_max)
{
    size_t len = bytes_max;

    if (text.len <= bytes_max)
        return text;
    while (len && ((unsigned char)text.data[len] & 0xc0) == 0x80)
        len--;
    for (size_t i = 1; i <= 2 && i <= len; i++) {
        if (text.data[len - i] == '%')
            return tv_slice_take(text, len - i);
    }
    return tv_slice_take(text, len);
}

static void cut_all(tv_slice texts[TV_ANALYTICS_TEXTS])
{
    for (int i = 0; i < TV_ANALYTICS_TEXTS; i++) {
        bool is_path = i == TV_ANALYTICS_PATH || i == TV_ANALYTICS_REST;

        texts[i] =
            cut(texts[i], is_path ? TV_ANALYTICS_PATH_BYTES_MAX : TV_ANALYTICS_TEXT_BYTES_MAX);
    }
}

static void find_texts(const tv_call *call, tv_slice head, tv_slice texts[TV_ANALYTICS_TEXTS])
{
    static const struct {
        tv_analytics_text text;
        tv_slice header;
    } headers[] = {
#define HEADER(text, name)                                                                         \
    {                                                                                              \
        TV_ANALYTICS_##text,                                                                       \
        {                                                                                          \
            name, sizeof name - 1                                                                  \
        }                                                                                          \
    }
        HEADER(VERSION, "x-ms-version"),
        HEADER(CONTENT_LENGTH, "content-length"),
        HEADER(CONTENT_MD5, "content-md5"),
        HEADER(IF_MODIFIED_SINCE, "if-modified-since"),
        HEADER(IF_UNMODIFIED_SINCE, "if-unmodified-since"),
        HEADER(IF_MATCH, "if-match"),
        HEADER(IF_NONE_MATCH, "if-none-match"),
        HEADER(USER_AGENT, "user-agent"),
        HEADER(REFERRER, "referer"),
        HEADER(CLIENT_REQUEST_ID, "x-ms-client-request-id"),
#undef HEADER
    };
    const tv_request *req = call->req;

    texts[TV_ANALYTICS_HOST] = req->host;
    texts[TV_ANALYTICS_PATH] = req->path;
    texts[TV_ANALYTICS_QUERY] = req->query.text;
    texts[TV_ANALYTICS_REST] = call->endpoint.rest;
    texts[TV_ANALYTICS_CONTAINER] = call->target.container;
    texts[TV_ANALYTICS_PEER] = tv_slice_of(req->peer);
    texts[TV_ANALYTICS_RESPONSE_MD5] = response_header(head, TV_LIT("Content-MD5"));
    texts[TV_ANALYTICS_RESPONSE_ETAG] = response_header(head, TV_LIT("ETag"));
    texts[TV_ANALYTICS_RESPONSE_LAST_MODIFIED] = response_header(head, TV_LIT("Last-Modified"));
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        texts[headers[i].text] = tv_request_header(req, headers[i].header);
    cut_all(texts);
}

static tv_slice take_copy(char **to, tv_slice text)
{
    tv_slice copy = {*to, text.len};

    *to = tv_slice_put(*to, text);
    return text.data ? copy : TV_NONE;
}

/* The record as it is with its texts behind it. */
static tv_analytics_record *with_texts(const tv_analytics_record *record,
                                       const tv_slice texts[TV_ANALYTICS_TEXTS])
{
    size_t bytes = sizeof *record + record->account.len;

    for (int i = 0; i < TV_ANALYTICS_TEXTS; i++)
        bytes += texts[i].len;

    tv_analytics_record *copy = tv_malloc(bytes);
    char *to = (char *)(copy + 1);

    *copy = *record;
    copy->bytes = bytes;
    copy->account = take_copy(&to, record->account);
    for (int i = 0; i < TV_ANALYTICS_TEXTS; i++)
        copy->texts[i] = take_copy(&to, texts[i]);
    tv_assert(to == (char *)copy + bytes);
    return copy;
}

/* --- all of it --- */

static int64_t server_ns(const tv_call *call, int64_t end_ns)
{
    int64_t begun = call->begun_ns ? call->begun_ns : call->req->start_ns;
    int64_t answered = call->answered_ns ? call->answered_ns : end_ns;

    return answered > begun ? answered - begun : 0;
}

tv_analytics_record *tv_analytics_record_new(tv_call *call, const tv_service_settings *settings,
                                             int64_t end_ns)
{
    const tv_request *req = call->req;
    int64_t total_ns = end_ns - req->start_ns, now = tv_clock_ticks();
    tv_slice head = response_head(req), texts[TV_ANALYTICS_TEXTS] = {{0}};

    find_row(call);

    tv_analytics_record record = {
        .service = call->service->spec->kind,
        .op = tv_call_kind(call),
        .op_name = tv_slice_of(call->op->name),
        .switches = tv_analytics_switches_of(settings),
        .is_secondary = call->endpoint.is_secondary,
        .is_tls = req->is_tls,
        .auth = auth_of(call),
        .status = req->status,
        .error = req->status >= 300 ? call->error : TV_OK,
        .start_ticks = now - total_ns / 100,
        .end_ticks = now,
        .total_us = total_ns / 1000,
        .server_us = server_ns(call, end_ns) / 1000,
        .request_head_bytes = request_head_bytes(req),
        .request_body_bytes = req->body_length,
        .response_head_bytes = head.len,
        .response_body_bytes = response_body_bytes(req),
        .account = call->endpoint.account,
    };

    memcpy(record.request_id, call->request_id, sizeof record.request_id);
    record.result = tv_analytics_result_of(record.status, record.error);
    record.is_logged = is_logged(&record, &settings->logging);
    if (!record.is_logged && !record.switches.has_hours && !record.switches.has_minutes)
        return NULL;
    if (record.is_logged)
        find_texts(call, head, texts);
    return with_texts(&record, texts);
}
