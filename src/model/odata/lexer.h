/*
 * Tokens of a $filter.  The lexer knows the forms of literals but not their
 * ranges.  Tokens know their byte offsets in the decoded filter; error texts give
 * them as the service does, in UTF-16 units.
 */
#ifndef TV_MODEL_ODATA_LEXER_H
#define TV_MODEL_ODATA_LEXER_H

#include "base/arena.h"
#include "base/err.h"

typedef enum tv_token_kind {
    TV_TOKEN_END,
    TV_TOKEN_NAME,   /* identifiers and keywords: and, or, not, eq, true, … */
    TV_TOKEN_STRING, /* 'it''s' */
    TV_TOKEN_NUMBER, /* 40, -3, 7L, 4.1, 1E5, 4.1d; text as written */
    TV_TOKEN_TYPED,  /* datetime'…', guid'…', X'…', binary'…': `prefix` and `text` */
    TV_TOKEN_OPEN,   /* ( */
    TV_TOKEN_CLOSE,  /* ) */
    TV_TOKEN_COMMA,  /* , which only function calls have */
    TV_TOKEN_MINUS,  /* a '-' that does not begin a number */
    TV_TOKEN_SLASH,  /* / of a path */
} tv_token_kind;

typedef struct tv_token {
    tv_token_kind kind;
    tv_slice text;       /* what it says; strings unquoted */
    tv_slice prefix;     /* of TV_TOKEN_TYPED */
    size_t start, end;   /* where it is */
    size_t previous_end; /* where the token before it ended */
} tv_token;

typedef struct tv_lexer {
    tv_arena *arena;
    tv_slice filter;
    size_t at;
} tv_lexer;

/** A byte offset as error texts show it. */
size_t tv_lexer_position(tv_slice filter, size_t offset);

/** `filter` is valid UTF-8 and outlives the tokens. */
void tv_lexer_init(tv_lexer *lexer, tv_arena *arena, tv_slice filter);

/** The next token.  TV_ERR_FILTER_SYNTAX with the service's text for what is not a token. */
tv_err tv_lexer_next(tv_lexer *lexer, tv_token *ret_token,
                     tv_error_info *reterr_info) TV_WARN_UNUSED;

#endif
