/*
 * The text of a response.  It grows in req->head in the order of the wire, so
 * that nothing is copied when it is sent: status line and Date when it is
 * started, then the service's headers, last what only the end can tell.
 */
#include "http/conn.h"
#include "http/parser.h"

/* Bodies up to this size travel in one piece with their head: one record of TLS. */
enum { JOIN_BYTES_MAX = 8 * 1024 };

/* The phrases of RFC 9110. */
static tv_slice reason_phrase(int status)
{
    switch (status) {
    case 200:
        return TV_LIT("OK");
    case 201:
        return TV_LIT("Created");
    case 202:
        return TV_LIT("Accepted");
    case 204:
        return TV_LIT("No Content");
    case 206:
        return TV_LIT("Partial Content");
    case 301:
        return TV_LIT("Moved Permanently");
    case 302:
        return TV_LIT("Found");
    case 304:
        return TV_LIT("Not Modified");
    case 307:
        return TV_LIT("Temporary Redirect");
    case 308:
        return TV_LIT("Permanent Redirect");
    case 400:
        return TV_LIT("Bad Request");
    case 401:
        return TV_LIT("Unauthorized");
    case 403:
        return TV_LIT("Forbidden");
    case 404:
        return TV_LIT("Not Found");
    case 405:
        return TV_LIT("Method Not Allowed");
    case 406:
        return TV_LIT("Not Acceptable");
    case 408:
        return TV_LIT("Request Timeout");
    case 409:
        return TV_LIT("Conflict");
    case 411:
        return TV_LIT("Length Required");
    case 412:
        return TV_LIT("Precondition Failed");
    case 413:
        return TV_LIT("Content Too Large");
    case 414:
        return TV_LIT("URI Too Long");
    case 415:
        return TV_LIT("Unsupported Media Type");
    case 416:
        return TV_LIT("Range Not Satisfiable");
    case 429:
        return TV_LIT("Too Many Requests");
    case 431:
        return TV_LIT("Request Header Fields Too Large");
    case 500:
        return TV_LIT("Internal Server Error");
    case 501:
        return TV_LIT("Not Implemented");
    case 503:
        return TV_LIT("Service Unavailable");
    case 504:
        return TV_LIT("Gateway Timeout");
    case 505:
        return TV_LIT("HTTP Version Not Supported");
    default:
        return TV_LIT("Status");
    }
}

/* Decimal, without printf, which costs more than the rest of a head. */
static void add_number(tv_buf *buf, size_t number)
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
    add_number(head, (size_t)status);
    tv_buf_add_char(head, ' ');
    tv_buf_add(head, reason_phrase(status));
    tv_buf_add_lit(head, "\r\nDate: ");
    tv_buf_add(head, tv_http_clock_text(&tv_exchange_of(req)->hub->clock));
    tv_buf_add_lit(head, "\r\n");
}

void tv_response_header(tv_request *req, tv_slice name, tv_slice value)
{
    tv_buf *head = &req->head;

    tv_assert(req->status);
    tv_assert(tv_http_is_token(name) && tv_http_is_field_value(value));
    tv_buf_reserve(head, name.len + value.len + 4);
    tv_buf_add(head, name);
    tv_buf_add_lit(head, ": ");
    tv_buf_add(head, value);
    tv_buf_add_lit(head, "\r\n");
}

tv_slice tv_response_finish(tv_request *req, tv_response_end end)
{
    bool is_bodiless = req->method == TV_METHOD_HEAD || req->status == 204 || req->status == 304;

    /* The Azure services send "Content-Length: 0" with a 204, though RFC 9110, 8.6 forbids it. */
    if (req->status != 304) {
        tv_buf_add_lit(&req->head, "Content-Length: ");
        add_number(&req->head, req->status == 204 ? 0 : req->out.len);
        tv_buf_add_lit(&req->head, "\r\n");
    }
    if (end == TV_RESPONSE_CLOSE)
        tv_buf_add_lit(&req->head, "Connection: close\r\n");
    else if (end == TV_RESPONSE_KEEP_1_0)
        tv_buf_add_lit(&req->head, "Connection: keep-alive\r\n");
    tv_buf_add_lit(&req->head, "\r\n");

    if (is_bodiless)
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
