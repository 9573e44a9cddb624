/*
 * What a client signs: the canonical text of a table request.  Knows nothing of
 * connections, so that the client library can sign with the same code.
 */
#ifndef TV_AUTH_CANONICAL_H
#define TV_AUTH_CANONICAL_H

#include "base/arena.h"

/** The parts of a request that are signed.  Absent headers are empty. */
typedef struct tv_signed_parts {
    tv_slice account; /* of the URL */
    tv_slice method;  /* "GET" */
    tv_slice path;    /* as on the wire, still encoded; in path style with the account */
    tv_slice comp;    /* value of the comp parameter, TV_NONE without one */
    tv_slice content_md5;
    tv_slice content_type;
    tv_slice date; /* x-ms-date, else Date */
} tv_signed_parts;

/** VERB, Content-MD5, Content-Type, date, resource, a line each. */
tv_slice tv_canonical_shared_key(tv_arena *arena, const tv_signed_parts *parts);

/** Date and resource, a line each. */
tv_slice tv_canonical_shared_key_lite(tv_arena *arena, const tv_signed_parts *parts);

#endif
