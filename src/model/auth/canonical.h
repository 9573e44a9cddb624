/*
 * What a client signs: the canonical text of a request.  Knows nothing of
 * connections, so that the client library can sign with the same code.
 *
 * Tables sign little: a few headers and the resource.  Queues and blobs sign
 * every header that matters and every parameter of the query; that text is
 * made in two steps, because clients disagree about some of its rules and the
 * server tries each reading of them.
 */
#ifndef TV_MODEL_AUTH_CANONICAL_H
#define TV_MODEL_AUTH_CANONICAL_H

#include "base/arena.h"
#include "base/header.h"
#include "base/parameters.h"
#include "base/service_kind.h"

/** The parts of a request that are signed.  Absent headers are empty. */
typedef struct tv_signed_parts {
    tv_service_kind service;
    tv_slice account; /* of the URL */
    tv_slice method;  /* "GET" */
    tv_slice path;    /* as on the wire, still encoded; in path style with the account */
    /* For tables. */
    tv_slice comp; /* value of the comp parameter, TV_NONE without one */
    tv_slice content_md5;
    tv_slice content_type;
    tv_slice date; /* x-ms-date, else Date */
    /* For queues and blobs. */
    const tv_header *headers; /* all of the request */
    size_t header_count;
    tv_parameters query;
} tv_signed_parts;

/** For a table: VERB, Content-MD5, Content-Type, date, resource, a line each. */
tv_slice tv_canonical_shared_key(tv_arena *arena, const tv_signed_parts *parts);

/** For a table: date and resource, a line each. */
tv_slice tv_canonical_shared_key_lite(tv_arena *arena, const tv_signed_parts *parts);

enum {
    TV_CANONICAL_STANDARD_COUNT = 11, /* headers that have a line of their own */
    TV_CANONICAL_READINGS = 6,
};

typedef struct tv_signed_pair {
    tv_slice name; /* in lower case */
    tv_slice value;
    size_t place; /* among all of them, as sent */
} tv_signed_pair;

/** The signed parts of a request to a queue or blob, sorted. */
typedef struct tv_canonical {
    const tv_signed_parts *parts;
    tv_slice standard[TV_CANONICAL_STANDARD_COUNT]; /* Content-Encoding to Range */
    tv_signed_pair *headers;                        /* x-ms-*, in the order of the last text */
    size_t header_count;
    tv_signed_pair *parameters; /* by name, then by value */
    size_t parameter_count;
    size_t len_max; /* of either text */
} tv_canonical;

/**
 * Sort the parts of a request to a queue or blob; they must outlive the
 * result.  False when the query cannot be decoded or has a parameter that
 * would look like two in the text: then nobody can have signed it.
 */
bool tv_canonical_read(tv_arena *arena, const tv_signed_parts *parts, tv_canonical *ret_canonical);

/**
 * The text of SharedKey, or SharedKeyLite, in one of the readings from 0 to
 * TV_CANONICAL_READINGS - 1.  They are the same for all but odd headers.
 */
tv_slice tv_canonical_text(tv_arena *arena, tv_canonical *canonical, bool is_lite,
                           unsigned reading);

#endif
