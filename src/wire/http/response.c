/*
 * The text of a response.  It grows in req->head in the order of the wire, so
 * that nothing is copied when it is sent: status line and room for the Date when
 * it is started, then the service's headers, last what is known only at the end.
 *
 * The owner of the request may start a response and add to it, on any thread;
 * so neither touches the loop.  The date is the loop's, and comes in at the end.
 */
#include "wire/http/conn.h"
#include "wire/http/parser.h"

/* Bodies up to this size travel in one piece with their head: one record of TLS. */
enum { JOIN_BYTES_MAX = 8 * 1024 };

/* The phrases of RFC 9110.  A status without one is sent with an empty phrase. */
static const char *const phrases[600] = {
    [200] = "OK",
    [201] = "Created",
    [202] = "Accepted",
    [204] = "No Content",
    [206] = "Partial Content",
    [301] = "Moved Permanently",
    [302] = "Found",
    [304] = "Not Modified",
    [307] = "Temporary Redirect",
    [308] = "Permanent Redirect",
    [400] = "Bad Request",
    [401] = "Unauthorized",
    [403] = "Forbidden",
    [404] = "Not Found",
    [405] = "Method Not Allowed",
    [406] = "Not Acceptable",
    [408] = "Request Timeout",
    [409] = "Conflict",
    [411] = "Length Required",
    [412] = "Precondition Failed",
    [413] = "Content Too Large",
    [414] = "URI Too Long",
    [415] = "Unsupported Media Type",
    [416] = "Range Not Satisfiable",
    [429] = "Too Many Requests",
    [431] = "Request Header Fields Too Large",
    [500] = "Internal Server Error",
    [501] = "Not Implemented",
    [503] = "Service Unavailable",
    [504] = "Gateway Timeout",
    [505] = "HTTP Version Not Supported",
};

/* Decimal, without printf, which costs more than the rest of a head. */
static void add_number(tv_buf *buf, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    tv_buf_add(buf, (tv_slice){digits + at, sizeof digits - at});
}

void tv_response_start(tv_request *req, int status)
{
    tv_buf *head = &req->head;

    tv_assert(status >= 200 && status <= 599);
    req->status = status;
    head->len = 0;
    tv_buf_add_lit(head, "HTTP/1.1 ");
    add_number(head, (uint64_t)status);
    tv_buf_add_char(head, ' ');
    tv_buf_add(head, tv_slice_of(phrases[status] ? phrases[status] : ""));
    tv_buf_add_lit(head, "\r\nDate: ");
    tv_exchange_of(req)->date_at = head->len;
    tv_buf_reserve(head, TV_HTTP_DATE_LEN);
    head->len += TV_HTTP_DATE_LEN;
    tv_buf_add_lit(head, "\r\n");
    tv_buf_add(head, req->fixed_head);
}

void tv_response_header(tv_request *req, tv_slice name, tv_slice value)
{
    tv_buf *head = &req->head;

    tv_assert(req->status);
    tv_assert(name.len && tv_http_is_field_value(name) && tv_http_is_field_value(value));
    tv_buf_reserve(head, name.len + value.len + 4);
    tv_buf_add(head, name);
    tv_buf_add_lit(head, ": ");
    tv_buf_add(head, value);
    tv_buf_add_lit(head, "\r\n");
}

tv_slice tv_response_finish(tv_request *req, tv_response_end end)
{
    tv_exchange *exchange = tv_exchange_of(req);
    bool is_bodiless = req->method == TV_METHOD_HEAD || req->status == 204 || req->status == 304;
    uint64_t length = exchange->is_streamed ? exchange->source_left : req->out.len;

    tv_slice date = tv_http_clock_text(&exchange->hub->clock);

    memcpy(req->head.data + exchange->date_at, date.data, date.len);

    /* The Azure services send "Content-Length: 0" with a 204, though RFC 9110, 8.6 forbids it. */
    if (req->status != 304 || exchange->is_streamed) {
        tv_buf_add_lit(&req->head, "Content-Length: ");
        add_number(&req->head, req->status == 204 ? 0 : length);
        tv_buf_add_lit(&req->head, "\r\n");
    }
    if (end == TV_RESPONSE_CLOSE)
        tv_buf_add_lit(&req->head, "Connection: close\r\n");
    else if (end == TV_RESPONSE_KEEP_1_0)
        tv_buf_add_lit(&req->head, "Connection: keep-alive\r\n");
    tv_buf_add_lit(&req->head, "\r\n");

    if (is_bodiless)
        exchange->source_left = 0;
    if (is_bodiless || exchange->is_streamed)
        return TV_NONE;

    tv_slice body = tv_buf_slice(&req->out);

    if (body.len > JOIN_BYTES_MAX)
        return body;
    tv_buf_add(&req->head, body);
    return TV_NONE;
}

void tv_response_send(tv_request *req)
{
    tv_assert(req->status);
    tv_conn_respond(tv_exchange_of(req));
}

void tv_response_send_from(tv_request *req, uint64_t length, const tv_body_source *source)
{
    tv_exchange *exchange = tv_exchange_of(req);

    exchange->source = source;
    exchange->source_left = length;
    exchange->is_streamed = true;
    tv_response_send(req);
}

void tv_response_piece(tv_request *req, tv_slice piece)
{
    tv_exchange *exchange = tv_exchange_of(req);

    tv_assert(exchange->piece.len == 0 && !exchange->is_aborted);
    tv_assert(piece.len > 0 && piece.len <= exchange->source_left);
    exchange->piece = piece;
    exchange->source_left -= piece.len;
    tv_conn_piece(exchange);
}

bool tv_response_is_unsent(const tv_request *req)
{
    const tv_exchange *exchange = (const tv_exchange *)req;

    return !exchange->is_head_sent && exchange->piece.len == 0 && !exchange->is_aborted;
}

void tv_response_abort(tv_request *req)
{
    tv_exchange *exchange = tv_exchange_of(req);

    tv_assert(exchange->piece.len == 0 && !exchange->is_aborted);
    exchange->is_aborted = true;
    tv_conn_piece(exchange);
}
