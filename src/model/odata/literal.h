/* Literals of a filter: from tokens to typed values, and back to text. */
#ifndef TV_MODEL_ODATA_LITERAL_H
#define TV_MODEL_ODATA_LITERAL_H

#include "base/buf.h"
#include "model/odata/edm.h"
#include "model/odata/lexer.h"

/**
 * Whether a token is a literal, and its value.  false in `ret_is_literal` for
 * identifiers.  TV_ERR_INVALID_INPUT with the service's text for a literal that
 * cannot be read ("Unrecognized 'Edm.Int32' literal …") and for null.
 */
tv_err tv_literal_parse(tv_arena *arena, tv_slice filter, const tv_token *token,
                        bool *ret_is_literal, tv_property *ret_literal,
                        tv_error_info *reterr_info) TV_WARN_UNUSED;

/** Write a literal as it would appear in a filter. */
void tv_literal_print(tv_buf *buf, const tv_property *literal);

#endif
