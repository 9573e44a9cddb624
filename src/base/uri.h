/*
 * Percent-encoding.  In a path '+' is a plus sign; in a query it is a blank.
 */
#ifndef TV_BASE_URI_H
#define TV_BASE_URI_H

#include "base/arena.h"
#include "base/buf.h"

/**
 * False for a '%' that two hexadecimal digits do not follow, and when the result
 * is not valid UTF-8.  A text that stands for itself is returned as it is, any other
 * in the arena.
 */
bool tv_uri_decode_path(tv_arena *arena, tv_slice text, tv_slice *ret_decoded);
bool tv_uri_decode_query(tv_arena *arena, tv_slice text, tv_slice *ret_decoded);

/**
 * Append an entity key as the service writes it into URLs: single quotes
 * doubled and left as they are, unreserved characters as they are, every other
 * byte as %XX in upper case.
 */
void tv_uri_add_key(tv_buf *buf, tv_slice key);

/**
 * Where the signature of a SAS begins, "sig=" in any case, its characters percent-encoded or not,
 * once or more often; text.len where there is none.  For what shows texts to others than the client.
 */
size_t tv_uri_find_signature(tv_slice text);

#endif
