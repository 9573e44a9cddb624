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

/* What a text that cannot be a filter fails by, as far as we look; NULL: nothing, and *ret_depth is
 * that of its parentheses. */
static tavola_filter *check(const char *odata, unsigned *ret_depth)
{
    if (odata == NULL)
        return tvc_filter_refused(TAVOLA_ERR_INVALID, "there is no text: it is NULL");

    tv_slice text = tv_slice_of(odata);

    if (text.len > TVC_FILTER_BYTES_MAX)
        return tvc_filter_failed(TAVOLA_ERR_TOO_LARGE);
    if (is_all_blank(text))
        return tvc_filter_refused(TAVOLA_ERR_INVALID, "the text of the filter is empty");
    if (!tv_utf8_is_valid(text))
        return tvc_filter_refused(TAVOLA_ERR_INVALID, "the text of the filter is not UTF-8");
    if (!tvc_filter_is_balanced(text, ret_depth))
        return tvc_filter_refused(TAVOLA_ERR_INVALID,
                                  "a quote or a parenthesis of the filter has no end");
    return NULL;
}

tavola_filter *tavola_filter_raw(const char *odata)
{
    unsigned depth = 0;
    tvc_text text = {0};
    tavola_filter *failed = check(odata, &depth);

    if (failed)
        return failed;

    tvc_text_add(&text, tv_slice_of(odata));
    return tvc_filter_of(&text, TVC_JOINT_NONE, depth);
}

/* Whether a literal can stand between these two characters; 0 is an end of the text. */
static bool is_apart(char before, char after)
{
    return (before == 0 || is_blank(before) || before == '(' || before == ',') &&
           (after == 0 || is_blank(after) || after == ')' || after == ',');
}

static tavola_filter *bind_one(tvc_text *to, const tvc_piece *mark, tv_slice text, tv_slice rest,
                               const tavola_value *value, size_t number)
{
    char before = mark->text.data > text.data ? mark->text.data[-1] : 0;

    if (!is_apart(before, rest.len ? rest.data[0] : 0))
        return tvc_filter_refused(TAVOLA_ERR_INVALID,
                                  "question mark %zu is not apart from what is beside it", number);

    tavola_err err = tvc_literal_write(to, value);

    if (err == TAVOLA_OK || to->has_failed)
        return NULL;
    return tvc_filter_refused(err, "value %zu is %s", number, tvc_literal_fault(err, value));
}

/* Write the text with its marks replaced; what it fails by, or NULL. */
static tavola_filter *write_bound(tvc_text *to, tv_slice text, const tavola_value *values,
                                  size_t count)
{
    tv_slice rest = text;
    tavola_filter *failed = NULL;
    size_t marks = 0;
    tvc_piece piece;

    while (failed == NULL && tvc_piece_next(&rest, &piece)) {
        if (piece.kind != TVC_PIECE_MARK)
            tvc_text_add(to, piece.text);
        else if (++marks <= count)
            failed = bind_one(to, &piece, text, rest, &values[marks - 1], marks);
        if (failed == NULL && to->buf.len > TVC_FILTER_BYTES_MAX)
            return tvc_filter_failed(TAVOLA_ERR_TOO_LARGE);
    }
    if (failed == NULL && marks != count)
        failed = tvc_filter_refused(TAVOLA_ERR_INVALID,
                                    "the filter has %zu question marks, and there are %zu values",
                                    marks, count);
    return failed;
}

tavola_filter *tavola_filter_bind(const char *text, const tavola_value *values, size_t count)
{
    unsigned depth = 0;
    tvc_text bound = {0};
    tavola_filter *failed = check(text, &depth);

    if (failed == NULL && values == NULL && count > 0)
        failed = tvc_filter_refused(TAVOLA_ERR_INVALID, "there are no values: they are NULL");
    if (failed == NULL)
        failed = write_bound(&bound, tv_slice_of(text), values, count);
    if (failed && !bound.has_failed) {
        tvc_text_done(&bound);
        return failed;
    }
    tavola_filter_free(failed);
    return tvc_filter_of(&bound, TVC_JOINT_NONE, depth);
}
