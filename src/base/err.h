/*
 * One enum for everything that can go wrong in the server.  All that is known about
 * an error is its row in errors.def: name, HTTP status, code on the wire, default
 * text.
 */
#ifndef TV_BASE_ERR_H
#define TV_BASE_ERR_H

#include "base/slice.h"

#define TV_WARN_UNUSED __attribute__((warn_unused_result))

typedef enum tv_err {
    TV_OK = 0,
#include "base/err_codes.h" /* TV_ERR_name for each row, in its order; made by the build */
    TV_ERR_COUNT
} tv_err;

/** The HTTP status of an error; 200 for TV_OK. */
int tv_err_status(tv_err err);

/** The code on the wire, e.g. "TableNotFound". */
tv_slice tv_err_code(tv_err err);

/** The service's text for it. */
tv_slice tv_err_text(tv_err err);

/** The name in this source, e.g. "TABLE_NOT_FOUND"; for logs and tests. */
const char *tv_err_name(tv_err err);

/**
 * What a failing function can add to its error: a text that names the value,
 * instead of the default one, elements of its own, and why a request was not
 * authenticated.  All zeros when it has nothing to add.
 */
typedef struct tv_error_info {
    tv_slice text;    /* in the request's arena */
    tv_slice details; /* likewise: XML elements for the body of an error of queues and blobs */
    tv_slice reason;  /* likewise: plain text for AuthenticationErrorDetail */
    tv_err source;    /* why the source of a copy could not be read; or TV_OK */
} tv_error_info;

#endif
