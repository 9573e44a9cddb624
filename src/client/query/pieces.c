/* A filter's text in pieces: what is in strings, and what is not. */
#include "client/query/filter.h"

/* Bytes of the string at the start of `text`, 0 when it has no end; a doubled quote is inside. */
static size_t quoted_len(tv_slice text)
{
    size_t at = 1;

    for (;;) {
        at += tv_slice_find(tv_slice_skip(text, at), '\'');
        if (at >= text.len)
            return 0;
        if (at + 1 >= text.len || text.data[at + 1] != '\'')
            return at + 1;
        at += 2;
    }
}

static size_t plain_len(tv_slice text)
{
    size_t len = 0;

    while (len < text.len && memchr("'()?", text.data[len], 4) == NULL)
        len++;
    return len;
}

bool tvc_piece_next(tv_slice *rest, tvc_piece *ret_piece)
{
    tvc_piece_kind kind = TVC_PIECE_PLAIN;
    size_t len = 1;

    if (rest->len == 0)
        return false;

    switch (rest->data[0]) {
    case '\'':
        len = quoted_len(*rest);
        kind = len ? TVC_PIECE_QUOTED : TVC_PIECE_BROKEN;
        len = len ? len : rest->len;
        break;
    case '(':
        kind = TVC_PIECE_OPEN;
        break;
    case ')':
        kind = TVC_PIECE_CLOSE;
        break;
    case '?':
        kind = TVC_PIECE_MARK;
        break;
    default:
        len = plain_len(*rest);
        break;
    }
    *ret_piece = (tvc_piece){kind, tv_slice_take(*rest, len)};
    *rest = tv_slice_skip(*rest, len);
    return true;
}

bool tvc_filter_is_balanced(tv_slice text, unsigned *ret_depth)
{
    unsigned depth = 0, deepest = 0;
    tvc_piece piece;

    while (tvc_piece_next(&text, &piece)) {
        if (piece.kind == TVC_PIECE_BROKEN || (piece.kind == TVC_PIECE_CLOSE && depth == 0))
            return false;
        depth += piece.kind == TVC_PIECE_OPEN;
        depth -= piece.kind == TVC_PIECE_CLOSE;
        deepest = depth > deepest ? depth : deepest;
    }
    *ret_depth = deepest;
    return depth == 0;
}
