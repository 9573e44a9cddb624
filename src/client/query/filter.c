/*
 * Building filters: comparisons, and what joins them.
 *
 * Chains of one operator are kept flat, "(a) and (b) and (c)", so that a loop that adds a hundred
 * comparisons neither nests a hundred deep nor copies its text each time.
 */
#include "client/query/filter.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/utf8.h"
#include "client/key/after.h"
#include "client/why.h"

/* --- the whole filter --- */

static tavola_filter failed_filters[] = {
    {.error = TAVOLA_ERR_NO_MEMORY, .is_shared = true},
    {.error = TAVOLA_ERR_INVALID, .is_shared = true},
    {.error = TAVOLA_ERR_TOO_LARGE, .is_shared = true},
};

enum { FAILED_COUNT = sizeof failed_filters / sizeof *failed_filters };

tavola_filter *tvc_filter_failed(tavola_err err)
{
    int i = 0;

    while (i < FAILED_COUNT && failed_filters[i].error != err)
        i++;
    tv_assert(i < FAILED_COUNT);
    return &failed_filters[i];
}

tavola_filter *tvc_filter_refused(tavola_err err, const char *format, ...)
{
    char line[300];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    (void)tvc_refuse(err, "%s", line);

    tavola_filter *filter = tvc_alloc(sizeof *filter);
    char *why = tvc_dup_text(line);

    if (filter == NULL || why == NULL) {
        tvc_release(filter);
        tvc_release(why);
        return tvc_filter_failed(err);
    }
    *filter = (tavola_filter){.error = err, .why = why};
    return filter;
}

tavola_filter *tvc_filter_of(tvc_text *text, tvc_joint joint, unsigned depth)
{
    tavola_err err = TAVOLA_OK;
    tavola_filter *filter = NULL;

    if (text->has_failed)
        err = TAVOLA_ERR_NO_MEMORY;
    else if (text->buf.len > TVC_FILTER_BYTES_MAX || depth > TVC_FILTER_DEPTH_MAX)
        err = TAVOLA_ERR_TOO_LARGE;
    else
        filter = tvc_alloc(sizeof *filter);

    if (filter == NULL) {
        tvc_text_done(text);
        return tvc_filter_failed(err ? err : TAVOLA_ERR_NO_MEMORY);
    }
    *filter = (tavola_filter){.joint = joint, .depth = depth, .text = *text};
    return filter;
}

tv_slice tvc_filter_slice(const tavola_filter *filter)
{
    return filter->error ? TV_NONE : tvc_text_slice(&filter->text);
}

tavola_filter *tvc_filter_copy(const tavola_filter *filter)
{
    tvc_text text = {0};

    if (filter->error)
        return filter->why ? tvc_filter_refused(filter->error, "%s", filter->why)
                           : tvc_filter_failed(filter->error);

    tvc_text_add(&text, tvc_filter_slice(filter));
    return tvc_filter_of(&text, filter->joint, filter->depth);
}

void tavola_filter_free(tavola_filter *filter)
{
    if (filter == NULL || filter->is_shared)
        return;

    tvc_release(filter->why);
    tvc_text_done(&filter->text);
    tvc_release(filter);
}

tavola_err tavola_filter_error(const tavola_filter *filter)
{
    return filter ? filter->error : TAVOLA_ERR_NO_MEMORY;
}

const char *tavola_filter_error_text(const tavola_filter *filter)
{
    if (filter == NULL)
        return "there is no filter: it is NULL, as it is when memory is short";
    if (filter->error == TAVOLA_OK)
        return "";
    if (filter->why)
        return filter->why;
    return filter->error == TAVOLA_ERR_TOO_LARGE
               ? "the filter is longer, or nested deeper, than can "
                 "be sent"
               : "there was no memory for the filter";
}

char *tavola_filter_text(const tavola_filter *filter)
{
    tavola_err err = tavola_filter_error(filter);

    if (err) {
        (void)tvc_refuse(err, "%s", tavola_filter_error_text(filter));
        return NULL;
    }
    return tvc_dup(tvc_filter_slice(filter));
}

/* --- comparisons --- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

/* Words of the grammar, which would not be read as a property. */
static bool is_reserved(tv_slice name)
{
    static const char *const words[] = {"and", "or",  "not",  "eq",   "ne",   "gt",  "ge",
                                        "lt",  "le",  "add",  "sub",  "mul",  "div", "mod",
                                        "NaN", "INF", "null", "true", "false"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (tv_slice_eq(name, tv_slice_of(words[i])))
            return true;
    }
    return false;
}

bool tvc_filter_name_is_valid(tv_slice name)
{
    enum { NAME_UNITS_MAX = 255 };

    if (name.len == 0 || !is_letter(name.data[0]) || !tv_utf8_is_valid(name) ||
        tv_utf8_units(name) > NAME_UNITS_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!is_letter(name.data[i]) && !(name.data[i] >= '0' && name.data[i] <= '9'))
            return false;
    }
    return !is_reserved(name);
}

/* What is wrong with a comparison that was not written. */
static tavola_filter *refuse_comparison(tavola_err err, const char *name, tavola_cmp cmp,
                                        const tavola_value *value)
{
    if (name == NULL)
        return tvc_filter_refused(err, "the name of a property is NULL");
    if (!tvc_filter_name_is_valid(tv_slice_of(name)))
        return tvc_filter_refused(err, "\"%.64s\" cannot be the name of a property in a filter",
                                  name);
    if ((unsigned)cmp > TAVOLA_LE)
        return tvc_filter_refused(err, "there is no comparison %d", (int)cmp);
    return tvc_filter_refused(err, "%.255s is compared with %s", name,
                              tvc_literal_fault(err, value));
}

static tavola_err write_comparison(tvc_text *text, const char *name, tavola_cmp cmp,
                                   const tavola_value *value)
{
    static const tv_slice operators[] = {{" eq ", 4}, {" ne ", 4}, {" gt ", 4},
                                         {" ge ", 4}, {" lt ", 4}, {" le ", 4}};

    if (name == NULL || !tvc_filter_name_is_valid(tv_slice_of(name)) ||
        (unsigned)cmp >= sizeof operators / sizeof *operators)
        return TAVOLA_ERR_INVALID;

    tvc_text_add(text, tv_slice_of(name));
    tvc_text_add(text, operators[cmp]);
    return tvc_literal_write(text, value);
}

tavola_filter *tavola_where(const char *name, tavola_cmp cmp, tavola_value value)
{
    tvc_text text = {0};
    tavola_err err = write_comparison(&text, name, cmp, &value);

    if (err == TAVOLA_OK || text.has_failed)
        return tvc_filter_of(&text, TVC_JOINT_NONE, 0);
    tvc_text_done(&text);
    return refuse_comparison(err, name, cmp, &value);
}

static tavola_value string_value(tv_slice text)
{
    return (tavola_value){.type = TAVOLA_STRING, .size = text.len, .as.ptr = text.data};
}

/* Whether a property has only strings that can be keys. */
static bool is_key_name(const char *name)
{
    return strcmp(name, "PartitionKey") == 0 || strcmp(name, "RowKey") == 0;
}

tavola_filter *tavola_where_prefix(const char *name, const char *prefix)
{
    tvc_text text = {0}, after = {0};
    bool has_after;

    if (name == NULL || prefix == NULL || !tv_utf8_is_valid(tv_slice_of(prefix)))
        return tvc_filter_refused(TAVOLA_ERR_INVALID,
                                  "the name or the prefix is NULL, or the prefix is not UTF-8");

    has_after = tvc_add_after(&after, tv_slice_of(prefix), is_key_name(name));
    if (after.has_failed) {
        tvc_text_done(&after);
        return tvc_filter_failed(TAVOLA_ERR_NO_MEMORY);
    }

    tavola_value from = string_value(tv_slice_of(prefix));
    tavola_value to = string_value(tvc_text_slice(&after));

    if (has_after)
        tvc_text_add_char(&text, '(');

    tavola_err err = write_comparison(&text, name, TAVOLA_GE, &from);

    if (err == TAVOLA_OK && has_after) {
        tvc_text_add_lit(&text, ") and (");
        err = write_comparison(&text, name, TAVOLA_LT, &to);
        tvc_text_add_char(&text, ')');
    }
    tvc_text_done(&after);
    if (err == TAVOLA_OK || text.has_failed)
        return tvc_filter_of(&text, has_after ? TVC_JOINT_AND : TVC_JOINT_NONE, has_after);
    tvc_text_done(&text);
    return refuse_comparison(err, name, TAVOLA_GE, &from);
}

/* --- joining --- */

/* Put what is in `text` between "before" and ")". */
static void wrap(tvc_text *text, tv_slice before)
{
    if (!tvc_text_room(text, before.len + 1))
        return;

    memmove(text->buf.data + before.len, text->buf.data, text->buf.len);
    memcpy(text->buf.data, before.data, before.len);
    text->buf.len += before.len;
    tvc_text_add_char(text, ')');
}

/* What an operation makes of its filter: still that, or its error. */
static tavola_filter *check_limits(tavola_filter *filter)
{
    tavola_err err = TAVOLA_OK;

    if (filter->text.has_failed)
        err = TAVOLA_ERR_NO_MEMORY;
    else if (filter->text.buf.len > TVC_FILTER_BYTES_MAX || filter->depth > TVC_FILTER_DEPTH_MAX)
        err = TAVOLA_ERR_TOO_LARGE;
    if (err == TAVOLA_OK)
        return filter;

    tavola_filter_free(filter);
    return tvc_filter_failed(err);
}

static tavola_filter *join(tavola_filter *a, tavola_filter *b, tvc_joint joint, tv_slice word)
{
    if (a == NULL || b == NULL || a->error || b->error || a == b) {
        tavola_filter *failed = a && a->error ? a : b && b->error ? b : NULL;

        if (a != failed)
            tavola_filter_free(a);
        if (b != failed && b != a)
            tavola_filter_free(b);
        return failed ? failed
                      : tvc_filter_refused(TAVOLA_ERR_INVALID,
                                           "two filters are joined of which one is NULL, or both "
                                           "are the same");
    }

    bool is_flat = b->joint == joint;

    if (a->joint != joint) {
        wrap(&a->text, TV_LIT("("));
        a->depth++;
        a->joint = joint;
    }
    tvc_text_add(&a->text, word);
    if (!is_flat)
        tvc_text_add_char(&a->text, '(');
    tvc_text_add(&a->text, tvc_filter_slice(b));
    if (!is_flat)
        tvc_text_add_char(&a->text, ')');

    unsigned b_depth = b->depth + !is_flat;

    a->depth = b_depth > a->depth ? b_depth : a->depth;
    tavola_filter_free(b);
    return check_limits(a);
}

tavola_filter *tavola_and(tavola_filter *a, tavola_filter *b)
{
    return join(a, b, TVC_JOINT_AND, TV_LIT(" and "));
}

tavola_filter *tavola_or(tavola_filter *a, tavola_filter *b)
{
    return join(a, b, TVC_JOINT_OR, TV_LIT(" or "));
}

tavola_filter *tavola_not(tavola_filter *a)
{
    if (a == NULL)
        return tvc_filter_refused(TAVOLA_ERR_INVALID, "there is no filter to negate: it is NULL");
    if (a->error)
        return a;

    wrap(&a->text, TV_LIT("not ("));
    a->joint = TVC_JOINT_NONE;
    a->depth++;
    return check_limits(a);
}
