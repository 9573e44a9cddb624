/*
 * Continuation tokens: "1!16!cGthZGNhMmUwZA--" is the base 64 of a text with
 * '-' for '=', '_' for '/' and '*' for '+', and its length in front.
 */
#ifndef TV_SERVICES_TABLE_TOKEN_H
#define TV_SERVICES_TABLE_TOKEN_H

#include "base/arena.h"
#include "base/err.h"

tv_slice tv_table_token_format(tv_arena *arena, tv_slice text);

/** TV_ERR_INVALID_INPUT when it is not one of ours or not valid UTF-8. */
tv_err tv_table_token_parse(tv_arena *arena, tv_slice token, tv_slice *ret_text) TV_WARN_UNUSED;

/** Of the keys that a token names, as the client sends them back; not 0.  Not to be stored. */
uint64_t tv_table_token_hash(tv_slice partition_key, tv_slice row_key);

#endif
