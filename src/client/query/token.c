/*
 * Continuation tokens, as the application sees them.  One may have been stored anywhere and come
 * back changed, and goes into a URL: it is taken only in the form in which we make it.
 */
#include "base/hex.h"
#include "client/query/query.h"

enum { TOKEN_BYTES_MAX = 16 * 1024 };

static bool is_unreserved(char c)
{
    char lower = tv_ascii_lower(c);

    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

/* Whether a text is just what tvc_text_add_encoded writes, letters of digits in either case. */
static bool is_encoded(tv_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (is_unreserved(text.data[i]))
            continue;
        if (text.data[i] != '%' || text.len - i < 3 || tv_hex_value(text.data[i + 1]) < 0 ||
            tv_hex_value(text.data[i + 2]) < 0)
            return false;
        i += 2;
    }
    return true;
}

bool tvc_token_parse(const char *text, tvc_token *ret_token)
{
    tvc_token token = {.row = TV_NONE};
    tv_slice rest;

    if (text == NULL)
        return false;
    rest = tv_slice_of(text);
    if (rest.len > TOKEN_BYTES_MAX)
        return false;

    token.is_secondary = tv_slice_starts_with(rest, TV_LIT("v1;s;"));
    if (!token.is_secondary && !tv_slice_starts_with(rest, TV_LIT("v1;p;")))
        return false;

    rest = tv_slice_skip(rest, 5);

    size_t end = tv_slice_find(rest, ';');

    token.partition = tv_slice_take(rest, end);
    if (end < rest.len)
        token.row = tv_slice_skip(rest, end + 1);
    if (token.partition.len == 0 || !is_encoded(token.partition) || !is_encoded(token.row))
        return false;

    *ret_token = token;
    return true;
}

char *tvc_token_make(bool is_secondary, tv_slice next_partition, tv_slice next_row)
{
    tvc_text text = {0};

    tvc_text_add(&text, is_secondary ? TV_LIT("v1;s;") : TV_LIT("v1;p;"));
    tvc_text_add_encoded(&text, next_partition);
    if (next_row.data) {
        tvc_text_add_char(&text, ';');
        tvc_text_add_encoded(&text, next_row);
    }
    return tvc_text_take(&text);
}
