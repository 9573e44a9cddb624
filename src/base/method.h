/*
 * The methods of HTTP, and what a token is: words that the services need without a
 * connection, too (CORS rules, parts of a batch).
 */
#ifndef TV_BASE_METHOD_H
#define TV_BASE_METHOD_H

#include <stdbool.h>

#include "base/slice.h"

typedef enum tv_method {
    TV_METHOD_GET,
    TV_METHOD_HEAD,
    TV_METHOD_POST,
    TV_METHOD_PUT,
    TV_METHOD_PATCH,
    TV_METHOD_MERGE,
    TV_METHOD_DELETE,
    TV_METHOD_OPTIONS,
    TV_METHOD_OTHER, /* a valid token that no service knows */
} tv_method;

/** The enum for a method's text (case-sensitive), TV_METHOD_OTHER for any other. */
tv_method tv_method_parse(tv_slice text);
tv_slice tv_method_text(tv_method method);

/** The characters that make up methods and header names. */
extern const bool tv_token_chars[256];

/** One or more of them. */
bool tv_is_token(tv_slice text);

#endif
