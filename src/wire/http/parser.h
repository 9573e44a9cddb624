/*
 * The head of a request: request line and headers, HTTP/1.0 and HTTP/1.1.
 *
 * Reading it takes two steps.  The scan finds where the head ends while bytes
 * come in, and remembers how far it has looked, so that a client which sends
 * byte by byte costs no more than others.  The parse then takes the whole head
 * apart in one pass.
 *
 * What two programs could read differently is refused, never repaired: that is
 * how requests are smuggled.  Neither step knows sockets, so both are fuzzed.
 */
#ifndef TV_WIRE_HTTP_PARSER_H
#define TV_WIRE_HTTP_PARSER_H

#include <stdint.h>

#include "wire/http/request.h"

/** How far the search for the end of a head has come; all zeros at first. */
typedef struct tv_head_scan {
    size_t start;      /* of the request line, after empty lines */
    size_t line;       /* start of the line being read */
    size_t at;         /* first byte not looked at */
    size_t line_count; /* complete lines, without the empty one at the end */
} tv_head_scan;

/**
 * Go on looking in `input`, which holds all bytes from the first on.  Sets
 * `ret_end` to the position after the head, or to 0 when more is needed; the
 * head is then input[scan->start .. end).  TV_ERR_BAD_REQUEST for a line that
 * does not end in CRLF or a first byte that cannot begin a request,
 * TV_ERR_HEADERS_TOO_LARGE above one of the limits.
 */
tv_err tv_head_scan_run(tv_head_scan *scan, tv_slice input, size_t head_bytes_max,
                        size_t header_count_max, size_t *ret_end) TV_WARN_UNUSED;

typedef struct tv_head {
    tv_method method;
    tv_slice method_text;
    tv_slice path;
    tv_slice query;
    tv_slice host;
    const tv_header *headers;
    size_t header_count;
    bool is_1_0;
    bool keep_alive;      /* the client wants the connection kept */
    bool expect_continue; /* and waits for "100 Continue" */
    bool is_chunked;
    bool has_length;
    uint64_t content_length; /* 0 without the header */
} tv_head;

/**
 * Take a complete head apart.  `text` is what the scan found, `line_count` what
 * it counted.  The slices of `ret_head` point into `text`, the headers are in
 * the arena.  TV_ERR_BAD_REQUEST, TV_ERR_HTTP_VERSION or TV_ERR_HOST_MISSING.
 */
tv_err tv_head_parse(tv_arena *arena, tv_slice text, size_t line_count,
                     tv_head *ret_head) TV_WARN_UNUSED;

/** Free of control characters other than the tab: fit to be the value of a header. */
bool tv_http_is_field_value(tv_slice text);

#endif
