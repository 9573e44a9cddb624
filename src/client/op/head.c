/* The head of a request: its line and headers, signed or with a token. */
#include "base/clock.h"
#include "base/datetime.h"
#include "client/account/sign.h"
#include "client/op/state.h"

enum { HEAD_BYTES = 1024, AUTHORIZATION_BYTES = 512 }; /* usual; of all but the account's name */

/* A date costs more than all other headers, and is the same for a second. */
static tv_slice http_date_now(void)
{
    static _Thread_local struct {
        int64_t second;
        size_t len;
        char text[TV_DATETIME_TEXT_MAX];
    } last;
    int64_t ticks = tv_clock_ticks();

    if (last.len == 0 || last.second != ticks / TV_TICKS_PER_SECOND) {
        last.second = ticks / TV_TICKS_PER_SECOND;
        last.len = tv_http_date_format(last.text, ticks);
    }
    return (tv_slice){last.text, last.len};
}

static bool has_body(const tvc_head *head)
{
    return head->body_len > 0 || head->method[0] == 'P' || head->method[0] == 'M';
}

static void add_request_line(tvc_text *text, const tavola_op *op, const tvc_endpoint *endpoint,
                             const tvc_head *head)
{
    const tvc_credentials *credentials = &op->client->credentials;
    bool has_sas = !credentials->has_key && credentials->sas;

    tvc_text_add(text, tv_slice_of(head->method));
    tvc_text_add_char(text, ' ');
    if (tvc_endpoint_is_proxied(endpoint)) {
        tvc_text_add_lit(text, "http://");
        tvc_text_add(text, tvc_endpoint_host(endpoint));
    }
    tvc_text_add(text, tvc_endpoint_path(endpoint));
    tvc_text_add(text, head->path);
    if (head->query.len || has_sas)
        tvc_text_add_char(text, '?');
    tvc_text_add(text, head->query);
    if (head->query.len && has_sas)
        tvc_text_add_char(text, '&');
    if (has_sas)
        tvc_text_add(text, tv_slice_of(credentials->sas));
    tvc_text_add_lit(text, " HTTP/1.1\r\n");
}

static void add_header(tvc_text *text, tv_slice name_and_colon, tv_slice value)
{
    tvc_text_add(text, name_and_colon);
    tvc_text_add(text, value);
    tvc_text_add_lit(text, "\r\n");
}

static void add_headers(tvc_text *text, const tavola_op *op, const tvc_endpoint *endpoint,
                        const tvc_head *head, tv_slice date)
{
    add_header(text, TV_LIT("Host: "), tvc_endpoint_host(endpoint));
    add_header(text, TV_LIT("User-Agent: "), tv_slice_of(op->client->user_agent));
    add_header(text, TV_LIT("x-ms-date: "), date);
    add_header(text, TV_LIT("x-ms-client-request-id: "), tv_slice_of(op->call->client_request_id));
    if (op->call->source[0])
        add_header(text, TV_LIT("x-tavola-source: "), tv_slice_of(op->call->source));
    if (op->service == TV_SERVICE_TABLE)
        tvc_text_add_lit(text, "x-ms-version: 2019-02-02\r\n"
                               "DataServiceVersion: 3.0;NetFx\r\n"
                               "MaxDataServiceVersion: 3.0;NetFx\r\n");
    else
        tvc_text_add_lit(text, "x-ms-version: 2019-12-12\r\n");
    if (has_body(head)) {
        tvc_text_add_lit(text, "Content-Length: ");
        tvc_text_add_int64(text, (int64_t)head->body_len);
        tvc_text_add_lit(text, "\r\n");
    }
    tvc_text_add(text, head->headers);
}

static void add_signature(tvc_text *text, const tavola_op *op, const tvc_endpoint *endpoint,
                          const tvc_head *head, tv_slice date, size_t headers_at)
{
    const tvc_credentials *credentials = &op->client->credentials;
    tv_slice base = tvc_endpoint_path(endpoint);
    size_t path_at = strlen(head->method) + 1;

    /*
     * What is signed lies in the same text, which therefore must not move meanwhile: there must be
     * room for the text to sign, which holds each part of the head once, and for the signature.
     */
    if (!tvc_text_room(text,
                       text->buf.len + 2 * strlen(credentials->account) + AUTHORIZATION_BYTES))
        return;

    tv_slice written = tvc_text_slice(text);

    if (tvc_endpoint_is_proxied(endpoint))
        path_at += sizeof "http://" - 1 + tvc_endpoint_host(endpoint).len;

    tvc_to_sign to_sign = {
        .service = op->service,
        .method = tv_slice_of(head->method),
        .path = {written.data + path_at, base.len + head->path.len},
        .query = head->query,
        .date = date,
        .headers = tv_slice_skip(written, headers_at),
        .body_len = head->body_len,
    };

    tvc_text_add_lit(text, "Authorization: ");
    tvc_sign(text, credentials, &to_sign);
    tvc_text_add_lit(text, "\r\n");
}

void tvc_head_write(tvc_text *text, const tavola_op *op, const tvc_endpoint *endpoint,
                    const tvc_head *head)
{
    tv_slice date = http_date_now();

    tvc_text_reset(text);
    (void)tvc_text_room(text, 2 * (HEAD_BYTES + head->path.len + head->headers.len));
    add_request_line(text, op, endpoint, head);

    size_t headers_at = text->buf.len;

    add_headers(text, op, endpoint, head, date);
    if (op->client->credentials.has_key)
        add_signature(text, op, endpoint, head, date, headers_at);
    if (op->state->bearer)
        add_header(text, TV_LIT("Authorization: Bearer "),
                   tv_slice_of(tvc_bearer_text(op->state->bearer)));
    tvc_text_add_lit(text, "\r\n");
}
