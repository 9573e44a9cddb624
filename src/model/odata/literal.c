/* Reading and writing literals. */
#include "model/odata/literal.h"

#include <math.h>

#include "base/assert.h"
#include "base/datetime.h"
#include "base/hex.h"
#include "base/number.h"

static tv_err unrecognized(tv_arena *arena, tv_slice filter, const tv_token *token,
                           tv_edm_type type, tv_error_info *reterr_info)
{
    tv_slice text = {filter.data + token->start, token->end - token->start};

    reterr_info->text = tv_arena_printf(
        arena, "Unrecognized '%.*s' literal '%.*s' at '%zu' in '%.*s'.", TV_FMT(tv_edm_name(type)),
        TV_FMT(text), tv_lexer_position(filter, token->previous_end), TV_FMT(filter));
    return TV_ERR_INVALID_INPUT;
}

/* An unsuffixed integer is an Int32 or an error, never an Int64. */
static bool parse_number(tv_slice text, tv_property *literal)
{
    char last = text.data[text.len - 1];
    bool is_real = memchr(text.data, '.', text.len) || memchr(text.data, 'e', text.len) ||
                   memchr(text.data, 'E', text.len);

    if (last == 'L' || last == 'l') {
        literal->type = TV_EDM_INT64;
        return !is_real && tv_parse_int64(tv_slice_take(text, text.len - 1), &literal->int64);
    }
    if (last == 'd' || last == 'D' || last == 'f' || last == 'F' || last == 'm' || last == 'M') {
        is_real = true;
        text.len--;
    }
    if (is_real) {
        literal->type = TV_EDM_DOUBLE;
        return tv_parse_double(text, &literal->real);
    }
    literal->type = TV_EDM_INT32;
    return tv_parse_int32(text, &literal->int32);
}

static bool parse_hex(tv_arena *arena, tv_slice text, tv_slice *ret_bytes)
{
    char *bytes = tv_arena_bytes(arena, text.len / 2);

    if (text.len % 2)
        return false;
    for (size_t i = 0; i < text.len; i += 2) {
        int high = tv_hex_value(text.data[i]), low = tv_hex_value(text.data[i + 1]);

        if (high < 0 || low < 0)
            return false;
        bytes[i / 2] = (char)(high << 4 | low);
    }
    *ret_bytes = (tv_slice){bytes, text.len / 2};
    return true;
}

/* datetime'…', guid'…', X'…', binary'…'.  `type` is set whenever the prefix is known. */
static bool parse_typed(tv_arena *arena, const tv_token *token, tv_property *literal)
{
    if (tv_slice_eq(token->prefix, TV_LIT("datetime"))) {
        literal->type = TV_EDM_DATETIME;
        return tv_datetime_parse(token->text, &literal->ticks);
    }
    if (tv_slice_eq(token->prefix, TV_LIT("guid"))) {
        literal->type = TV_EDM_GUID;
        return tv_guid_parse(token->text, &literal->guid);
    }
    if (tv_slice_eq_nocase(token->prefix, TV_LIT("x")) ||
        tv_slice_eq(token->prefix, TV_LIT("binary"))) {
        literal->type = TV_EDM_BINARY;
        return parse_hex(arena, token->text, &literal->bytes);
    }
    return false;
}

/* Booleans in any case, as in bodies: Python writes True. */
static bool parse_word(tv_slice word, tv_property *literal)
{
    bool is_true = tv_slice_eq_nocase(word, TV_LIT("true"));

    if (is_true || tv_slice_eq_nocase(word, TV_LIT("false"))) {
        literal->type = TV_EDM_BOOLEAN;
        literal->boolean = is_true;
        return true;
    }

    bool is_nan = tv_slice_eq(word, TV_LIT("NaN"));

    if (is_nan || tv_slice_eq(word, TV_LIT("INF"))) {
        literal->type = TV_EDM_DOUBLE;
        literal->real = is_nan ? NAN : INFINITY;
        return true;
    }
    return false;
}

tv_err tv_literal_parse(tv_arena *arena, tv_slice filter, const tv_token *token,
                        bool *ret_is_literal, tv_property *ret_literal, tv_error_info *reterr_info)
{
    tv_property literal = {0};
    bool is_read = true;

    *ret_is_literal = true;
    switch (token->kind) {
    case TV_TOKEN_STRING:
        literal.type = TV_EDM_STRING;
        literal.bytes = token->text;
        break;
    case TV_TOKEN_NUMBER:
        is_read = parse_number(token->text, &literal);
        break;
    case TV_TOKEN_TYPED:
        is_read = parse_typed(arena, token, &literal);
        break;
    case TV_TOKEN_NAME:
        if (tv_slice_eq(token->text, TV_LIT("null")))
            return TV_ERR_INVALID_INPUT;
        *ret_is_literal = parse_word(token->text, &literal);
        break;
    default:
        *ret_is_literal = false;
        break;
    }
    if (!is_read && literal.type == 0) {
        reterr_info->text = tv_arena_printf(arena, "Syntax error at position %zu in '%.*s'.",
                                            tv_lexer_position(filter, token->end), TV_FMT(filter));
        return TV_ERR_FILTER_SYNTAX;
    }
    if (!is_read)
        return unrecognized(arena, filter, token, literal.type, reterr_info);

    *ret_literal = literal;
    return TV_OK;
}

/* --- back to text --- */

static void print_string(tv_buf *buf, tv_slice text)
{
    tv_buf_add_char(buf, '\'');
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\'')
            tv_buf_add_char(buf, '\'');
        tv_buf_add_char(buf, text.data[i]);
    }
    tv_buf_add_char(buf, '\'');
}

static void print_double(tv_buf *buf, double value)
{
    if (isnan(value))
        tv_buf_add_lit(buf, "NaN");
    else if (isinf(value))
        tv_buf_add(buf, value > 0 ? TV_LIT("INF") : TV_LIT("-INF"));
    else
        buf->len += tv_format_double(tv_buf_reserve(buf, TV_DOUBLE_TEXT_MAX), value);
}

static void print_binary(tv_buf *buf, tv_slice bytes)
{
    tv_buf_add_lit(buf, "X'");
    for (size_t i = 0; i < bytes.len; i++)
        tv_buf_printf(buf, "%02x", (unsigned char)bytes.data[i]);
    tv_buf_add_char(buf, '\'');
}

void tv_literal_print(tv_buf *buf, const tv_property *literal)
{
    switch (literal->type) {
    case TV_EDM_STRING:
        print_string(buf, literal->bytes);
        break;
    case TV_EDM_BOOLEAN:
        tv_buf_add(buf, literal->boolean ? TV_LIT("true") : TV_LIT("false"));
        break;
    case TV_EDM_INT32:
        tv_buf_printf(buf, "%d", literal->int32);
        break;
    case TV_EDM_INT64:
        tv_buf_printf(buf, "%lldL", (long long)literal->int64);
        break;
    case TV_EDM_DOUBLE:
        print_double(buf, literal->real);
        break;
    case TV_EDM_DATETIME:
        tv_buf_add_lit(buf, "datetime'");
        buf->len += tv_datetime_format(tv_buf_reserve(buf, TV_DATETIME_TEXT_MAX), literal->ticks);
        tv_buf_add_char(buf, '\'');
        break;
    case TV_EDM_GUID:
        tv_buf_add_lit(buf, "guid'");
        tv_guid_format(tv_buf_reserve(buf, TV_GUID_TEXT_LEN), &literal->guid);
        buf->len += TV_GUID_TEXT_LEN;
        tv_buf_add_char(buf, '\'');
        break;
    case TV_EDM_BINARY:
        print_binary(buf, literal->bytes);
        break;
    }
}
