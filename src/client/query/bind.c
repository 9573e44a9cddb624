/*
 * Filters from text: as it is, or with values bound to its question marks.
 *
 * The text is the programmer's, the values are anybody's: whatever a value holds, it stays one
 * literal.  The text's strings and parentheses must match, so that it stays one operand when it is
 * joined with others.
 */
#include "base/utf8.h"
#include "client/query/filter.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_all_blank(tv_slice text)
{
    while (text.len && is_blank(text.data[0]))
        text = tv_slice_skip(text, 1);
    return text.len == 0;
}

/* Whether a text can be a filter as far as we look; *ret_depth is that of its parentheses. */
static tavola_err check(const char *odata, unsigned *ret_depth)
{
    if (odata == NULL)
        return TAVOLA_ERR_INVALID;

    tv_slice text = tv_slice_of(odata);

    if (text.len > TVC_FILTER_BYTES_MAX)
        return TAVOLA_ERR_TOO_LARGE;
    if (is_all_blank(text) || !tv_utf8_is_valid(text) || !tvc_filter_is_balanced(text, ret_depth))
        return TAVOLA_ERR_INVALID;
    return TAVOLA_OK;
}

tavola_filter *tavola_filter_raw(const char *odata)
{
    unsigned depth = 0;
    tvc_text text = {0};
    tavola_err err = check(odata, &depth);

    if (err)
        return tvc_filter_failed(err);

    tvc_text_add(&text, tv_slice_of(odata));
    return tvc_filter_of(&text, TVC_JOINT_NONE, depth);
}

/* Whether a literal can stand between these two characters; 0 is an end of the text. */
static bool is_apart(char before, char after)
{
    return (before == 0 || is_blank(before) || before == '(' || before == ',') &&
           (after == 0 || is_blank(after) || after == ')' || after == ',');
}

/* Write the text with its marks replaced. */
static tavola_err write_bound(tvc_text *to, tv_slice text, const tavola_value *values, size_t count)
{
    tv_slice rest = text;
    size_t used = 0;
    tvc_piece piece;

    while (tvc_piece_next(&rest, &piece)) {
        tavola_err err = TAVOLA_OK;

        if (piece.kind == TVC_PIECE_MARK) {
            char before = piece.text.data > text.data ? piece.text.data[-1] : 0;

            if (used == count || !is_apart(before, rest.len ? rest.data[0] : 0))
                return TAVOLA_ERR_INVALID;
            err = tvc_literal_write(to, &values[used++]);
        } else {
            tvc_text_add(to, piece.text);
        }
        if (err)
            return err;
        if (to->buf.len > TVC_FILTER_BYTES_MAX)
            return TAVOLA_ERR_TOO_LARGE;
    }
    return used == count ? TAVOLA_OK : TAVOLA_ERR_INVALID;
}

tavola_filter *tavola_filter_bind(const char *text, const tavola_value *values, size_t count)
{
    unsigned depth = 0;
    tvc_text bound = {0};
    tavola_err err = check(text, &depth);

    if (err == TAVOLA_OK && values == NULL && count > 0)
        err = TAVOLA_ERR_INVALID;
    if (err == TAVOLA_OK)
        err = write_bound(&bound, tv_slice_of(text), values, count);
    if (err && !bound.has_failed) {
        tvc_text_done(&bound);
        return tvc_filter_failed(err);
    }
    return tvc_filter_of(&bound, TVC_JOINT_NONE, depth);
}
