/*
 * Percent-encoding.  In a path '+' is a plus sign; in a query it is a blank.
 */
#ifndef TV_BASE_URI_H
#define TV_BASE_URI_H

#include "base/arena.h"
#include "base/buf.h"

/** False for a '%' that two hexadecimal digits do not follow, and when the result is not valid
 * UTF-8. */
bool tv_uri_decode_path(tv_arena *arena, tv_slice text, tv_slice *ret_decoded);
bool tv_uri_decode_query(tv_arena *arena, tv_slice text, tv_slice *ret_decoded);

/**
 * The value of a query parameter, decoded; names are decoded before they are
 * compared.  *ret_value is TV_NONE when there is none, the first when repeated.
 * False when name or value cannot be decoded.
 */
bool tv_uri_query_parameter(tv_arena *arena, tv_slice query, tv_slice name, tv_slice *ret_value);

/**
 * The same by a name in any case: for services whose signatures cover names in
 * lower case, so that one that was signed cannot be made into one that is not seen.
 */
bool tv_uri_query_parameter_nocase(tv_arena *arena, tv_slice query, tv_slice name,
                                   tv_slice *ret_value);

/**
 * Append an entity key as the service writes it into URLs: single quotes
 * doubled and left as they are, unreserved characters as they are, every other
 * byte as %XX in upper case.
 */
void tv_uri_add_key(tv_buf *buf, tv_slice key);

#endif
