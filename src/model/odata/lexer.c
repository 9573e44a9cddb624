/* Cutting a filter into tokens. */
#include "model/odata/lexer.h"

#include "base/utf8.h"

size_t tv_lexer_position(tv_slice filter, size_t offset)
{
    return tv_utf8_units(tv_slice_take(filter, offset));
}

void tv_lexer_init(tv_lexer *lexer, tv_arena *arena, tv_slice filter)
{
    *lexer = (tv_lexer){arena, filter.data ? filter : TV_LIT(""), 0};
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The character `ahead` places on, or NUL after the end; a filter holds NUL only inside strings.
 */
static char peek(const tv_lexer *lexer, size_t ahead)
{
    size_t at = lexer->at + ahead;

    return at < lexer->filter.len ? lexer->filter.data[at] : '\0';
}

static tv_err fail(const tv_lexer *lexer, const char *what, size_t position,
                   tv_error_info *reterr_info)
{
    reterr_info->text =
        tv_arena_printf(lexer->arena, "%s at position %zu in '%.*s'.", what,
                        tv_lexer_position(lexer->filter, position), TV_FMT(lexer->filter));
    return TV_ERR_FILTER_SYNTAX;
}

/* A copy of `text` with one quote for every two. */
static tv_slice halve_quotes(tv_arena *arena, tv_slice text)
{
    char *copy = tv_arena_bytes(arena, text.len);
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\'')
            i++;
        copy[len++] = text.data[i];
    }
    return (tv_slice){copy, len};
}

/* From the opening quote to just after the closing one; a doubled quote is one. */
static tv_err take_quoted(tv_lexer *lexer, tv_slice *ret_text, tv_error_info *reterr_info)
{
    tv_slice rest = tv_slice_skip(lexer->filter, lexer->at + 1);
    bool has_quotes = false;
    size_t len = tv_slice_find(rest, '\'');

    while (len + 1 < rest.len && rest.data[len + 1] == '\'') {
        has_quotes = true;
        len += 2;
        len += tv_slice_find(tv_slice_skip(rest, len), '\'');
    }
    if (len >= rest.len)
        return fail(lexer, "There is an unterminated string literal", lexer->filter.len,
                    reterr_info);

    *ret_text = tv_slice_take(rest, len);
    if (has_quotes)
        *ret_text = halve_quotes(lexer->arena, *ret_text);
    lexer->at += len + 2;
    return TV_OK;
}

/* Digits, at least one. */
static bool take_digits(tv_lexer *lexer)
{
    size_t start = lexer->at;

    while (is_digit(peek(lexer, 0)))
        lexer->at++;
    return lexer->at > start;
}

/* -12, 12L, 1.5, 1E+5, 1.5d, and what else may follow a number. */
static tv_err take_number(tv_lexer *lexer, tv_error_info *reterr_info)
{
    if (peek(lexer, 0) == '-')
        lexer->at++;
    if (!take_digits(lexer))
        return fail(lexer, "A digit was expected", lexer->at, reterr_info);
    if (peek(lexer, 0) == '.') {
        lexer->at++;
        if (!take_digits(lexer))
            return fail(lexer, "A digit was expected", lexer->at, reterr_info);
    }
    if (peek(lexer, 0) == 'e' || peek(lexer, 0) == 'E') {
        lexer->at++;
        if (peek(lexer, 0) == '+' || peek(lexer, 0) == '-')
            lexer->at++;
        if (!take_digits(lexer))
            return fail(lexer, "A digit was expected", lexer->at, reterr_info);
    }
    if (is_letter(peek(lexer, 0)) && memchr("lLdDfFmM", peek(lexer, 0), 8))
        lexer->at++;
    return TV_OK;
}

/* An identifier, or the prefix of a typed literal when a quote follows at once. */
static tv_err take_name(tv_lexer *lexer, tv_token *token, tv_error_info *reterr_info)
{
    size_t start = lexer->at;

    while (is_letter(peek(lexer, 0)) || is_digit(peek(lexer, 0)))
        lexer->at++;
    token->kind = TV_TOKEN_NAME;
    token->text = (tv_slice){lexer->filter.data + start, lexer->at - start};
    if (peek(lexer, 0) != '\'')
        return TV_OK;

    token->kind = TV_TOKEN_TYPED;
    token->prefix = token->text;
    return take_quoted(lexer, &token->text, reterr_info);
}

/* One of the single-character tokens. */
static tv_err take_sign(tv_lexer *lexer, tv_token *token, tv_error_info *reterr_info)
{
    char c = peek(lexer, 0);

    switch (c) {
    case '(':
        token->kind = TV_TOKEN_OPEN;
        break;
    case ')':
        token->kind = TV_TOKEN_CLOSE;
        break;
    case ',':
        token->kind = TV_TOKEN_COMMA;
        break;
    case '/':
        token->kind = TV_TOKEN_SLASH;
        break;
    case '-':
        token->kind = TV_TOKEN_MINUS;
        break;
    default:
        reterr_info->text = tv_arena_printf(
            lexer->arena, "Syntax error: character '%c' is not valid at position %zu in '%.*s'.",
            c >= 0x20 ? c : '?', tv_lexer_position(lexer->filter, lexer->at),
            TV_FMT(lexer->filter));
        return TV_ERR_FILTER_SYNTAX;
    }
    lexer->at++;
    return TV_OK;
}

tv_err tv_lexer_next(tv_lexer *lexer, tv_token *ret_token, tv_error_info *reterr_info)
{
    tv_token token = {.previous_end = lexer->at};
    tv_err err = TV_OK;

    while (lexer->at < lexer->filter.len && is_blank(peek(lexer, 0)))
        lexer->at++;
    token.start = lexer->at;

    char c = peek(lexer, 0);

    if (lexer->at == lexer->filter.len) {
        token.kind = TV_TOKEN_END;
    } else if (c == '\'') {
        token.kind = TV_TOKEN_STRING;
        err = take_quoted(lexer, &token.text, reterr_info);
    } else if (is_digit(c) || (c == '-' && is_digit(peek(lexer, 1)))) {
        token.kind = TV_TOKEN_NUMBER;
        err = take_number(lexer, reterr_info);
    } else if (is_letter(c)) {
        err = take_name(lexer, &token, reterr_info);
    } else {
        err = take_sign(lexer, &token, reterr_info);
    }
    if (err)
        return err;

    token.end = lexer->at;
    if (token.text.data == NULL)
        token.text = (tv_slice){lexer->filter.data + token.start, token.end - token.start};
    *ret_token = token;
    return TV_OK;
}
