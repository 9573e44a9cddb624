/*
 * Multipart bodies and the requests embedded in them, for $batch.  Unlike the
 * parser of real requests this one is lenient: six client dialects differ in
 * line ends, header case, blank lines and lengths, and all of them are legal
 * here.  Nothing is smuggled past it, because what it yields is authorised part
 * by part.
 */
#ifndef TV_WIRE_HTTP_MULTIPART_H
#define TV_WIRE_HTTP_MULTIPART_H

#include "wire/http/request.h"

enum {
    TV_MULTIPART_BOUNDARY_MAX = 200,
    TV_MULTIPART_HEADERS_MAX = 64, /* in one part or embedded request */
};

/** The boundary parameter of a multipart/mixed content type, unquoted; false if not valid. */
bool tv_multipart_boundary(tv_slice content_type, tv_slice *ret_boundary);

typedef struct tv_multipart {
    tv_slice rest;     /* after the last delimiter line */
    tv_slice boundary; /* without the two dashes */
    bool is_started, is_closed;
} tv_multipart;

void tv_multipart_init(tv_multipart *multipart, tv_slice body, tv_slice boundary);

/**
 * The next part, headers and all.  False after the last, which the closing
 * delimiter ends; a body that ends without it has no part there.
 */
bool tv_multipart_next(tv_multipart *multipart, tv_slice *ret_part);

/**
 * Split off header lines up to an empty line; `text` becomes what follows it.
 * False for a line without a colon or too many lines.
 */
bool tv_multipart_headers(tv_arena *arena, tv_slice *text, const tv_header **ret_headers,
                          size_t *ret_count);

/** A request embedded in a part; see tv_request for its members. */
typedef struct tv_embedded_request {
    tv_method method;
    tv_slice path;
    tv_parameters query;
    tv_slice host;
    const tv_header *headers;
    size_t header_count;
    tv_slice body;
} tv_embedded_request;

/**
 * Read an embedded request: request line, headers, body.  Absolute and origin-form
 * targets; `host` is that of the request around it.  False when it is not a request.
 */
bool tv_multipart_request(tv_arena *arena, tv_slice text, tv_slice host,
                          tv_embedded_request *ret_request);

#endif
