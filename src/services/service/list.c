/* The frame of lists. */
#include "services/service/list.h"

#include "base/assert.h"
#include "base/utf8.h"
#include "base/xml.h"

tv_err tv_list_check_text(tv_call *call, tv_slice name, tv_slice text)
{
    tv_slice rest = text;

    while (rest.len) {
        uint32_t c = tv_utf8_next(&rest);

        if (c < 0x20 || (c >= 0x7f && c <= 0x9f))
            return tv_call_bad_parameter(call, name, TV_NONE, NULL);
    }
    return TV_OK;
}

tv_err tv_list_query_read(tv_call *call, tv_list_query *ret_query)
{
    tv_list_query query = {0};
    tv_slice max;
    tv_err err;

    err = tv_call_parameter(call, TV_LIT("prefix"), &query.prefix);
    if (err == TV_OK)
        err = tv_call_parameter(call, TV_LIT("marker"), &query.marker);
    if (err == TV_OK)
        err = tv_call_parameter(call, TV_LIT("include"), &query.include);
    if (err == TV_OK)
        err = tv_call_parameter(call, TV_LIT("maxresults"), &max);
    if (err == TV_OK)
        err = tv_list_check_text(call, TV_LIT("prefix"), query.prefix);
    if (err == TV_OK)
        err = tv_list_check_text(call, TV_LIT("marker"), query.marker);
    if (err)
        return err;

    /* To ask for more than a page holds is allowed, not an error. */
    err = tv_call_number(call, TV_LIT("maxresults"), 1, INT32_MAX, TV_LIST_MAX, &query.max);
    if (err)
        return err;

    query.has_max = max.data != NULL;
    if (query.max > TV_LIST_MAX)
        query.max = TV_LIST_MAX;
    *ret_query = query;
    return TV_OK;
}

bool tv_list_includes(const tv_list_query *query, tv_slice word)
{
    tv_slice rest = query->include, item;

    while (tv_slice_next(&rest, ',', &item)) {
        if (tv_slice_eq_nocase(tv_slice_trim(item), word))
            return true;
    }
    return false;
}

/* The two characters that a name may have and XML 1.0 may not, not even as a reference. */
static bool is_fit_for_xml(tv_slice text)
{
    while (text.len) {
        uint32_t c = tv_utf8_next(&text);

        if (c == 0xfffe || c == 0xffff)
            return false;
    }
    return true;
}

/* As recorded at the service, which escapes slashes, too. */
void tv_list_add_name(tv_buf *out, const char *element, tv_slice name)
{
    if (is_fit_for_xml(name)) {
        tv_xml_add_element(out, element, name);
        return;
    }
    tv_buf_printf(out, "<%s Encoded=\"true\">", element);
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                        (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_' || c == '~';

        if (is_plain)
            tv_buf_add_char(out, (char)c);
        else
            tv_buf_printf(out, "%%%02X", c);
    }
    tv_buf_printf(out, "</%s>", element);
}

/* An attribute's text: quotes have to be escaped, too. */
static void add_attribute(tv_buf *out, const char *name, tv_slice text)
{
    tv_buf_printf(out, " %s=\"", name);
    for (tv_slice part; tv_slice_next(&text, '"', &part);) {
        tv_xml_add_text(out, part);
        if (text.data)
            tv_buf_add_lit(out, "&quot;");
    }
    tv_buf_add_char(out, '"');
}

static void add_if_given(tv_buf *out, const char *name, tv_slice text)
{
    if (text.data)
        tv_list_add_name(out, name, text);
}

void tv_list_add_opening(tv_buf *out, const tv_call *call, const tv_list_query *query,
                         tv_slice container, tv_slice delimiter)
{
    tv_slice url = call->endpoint.base_url;

    tv_buf_add_lit(out, "<EnumerationResults");
    add_attribute(out, "ServiceEndpoint", tv_arena_printf(&call->req->arena, "%.*s/", TV_FMT(url)));
    if (container.data)
        add_attribute(out, "ContainerName", container);
    tv_buf_add_char(out, '>');
    add_if_given(out, "Prefix", query->prefix);
    add_if_given(out, "Marker", query->marker);
    if (query->has_max)
        tv_buf_printf(out, "<MaxResults>%lld</MaxResults>", (long long)query->max);
    add_if_given(out, "Delimiter", delimiter);
}

void tv_list_add_closing(tv_buf *out, tv_slice marker)
{
    tv_xml_add_element(out, "NextMarker", marker);
    tv_buf_add_lit(out, "</EnumerationResults>");
}

/* --- the page as a task --- */

/*
 * Roughly the most that an entry takes, and the end of the page: a name of 1,024
 * characters, 8 KiB of headers and as much of metadata.
 */
enum { ENTRY_BYTES = 64 * 1024 };

tv_err tv_list_begin_page(tv_call *call)
{
    tv_err err = tv_charge_reserve(&call->req->charge, TV_LIST_PAGE_BYTES_MAX);

    tv_assert(call->req->out.len == 0);
    if (err == TV_OK)
        err = tv_buf_try_reserve(&call->req->out, 2 * ENTRY_BYTES);
    if (err == TV_OK)
        tv_call_start_xml(call, 200);
    return err;
}

void tv_list_hold(tv_call *call)
{
    tv_charge_trim(&call->req->charge);
}

void tv_list_end_page(tv_call *call, tv_err err)
{
    call->result = err;
    tv_buf_trim(&call->req->out);
    tv_list_hold(call);
}

/* An entry costs about as much as two plain rows. */
enum { ENTRY_WORK = 2 };

/* Roughly what a turn adds to a page; without memory for it the page ends. */
enum { TURN_BYTES = 256 * 1024 };

/* Every page has an entry, so that the next one begins further on: only a turn ends without. */
tv_list_limit tv_list_look_at_limits(tv_call *call, const tv_list_query *query, int64_t count,
                                     tv_turn *turn)
{
    tv_assert(count >= 0 && count <= query->max && query->max <= TV_LIST_MAX);
    if (count == query->max || call->req->out.len >= TV_LIST_PAGE_BYTES_MAX)
        return TV_LIST_PAGE_ENDS;
    if (count && tv_buf_try_grow(&call->req->out, 2 * ENTRY_BYTES) != TV_OK)
        return TV_LIST_PAGE_ENDS;
    if (!tv_turn_is_over(turn, ENTRY_WORK))
        return TV_LIST_NONE;
    if (!turn->must_end && tv_charge_reserve(&call->req->charge, TURN_BYTES) == TV_OK)
        return TV_LIST_TURN_ENDS;
    return count ? TV_LIST_PAGE_ENDS : TV_LIST_NONE;
}

tv_err tv_list_respond(tv_call *call, tv_err err)
{
    if (err == TV_OK)
        tv_call_finish(call);
    return err;
}
