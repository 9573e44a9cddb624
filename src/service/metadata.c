/* Metadata, from headers and to headers. */
#include "service/metadata.h"

#include "base/xml.h"

static const tv_slice header_prefix = {"x-ms-meta-", 10};

/* --- lines --- */

/* The next "name:value" off the front. */
static bool next_pair(tv_slice *rest, tv_slice *ret_name, tv_slice *ret_value)
{
    tv_slice line;

    if (rest->len == 0 || !tv_slice_next(rest, '\n', &line) || line.len == 0)
        return false;

    size_t colon = tv_slice_find(line, ':');

    *ret_name = tv_slice_take(line, colon);
    *ret_value = colon < line.len ? tv_slice_skip(line, colon + 1) : TV_NONE;
    return true;
}

/* The value of a name in any case; data is NULL when there is none. */
static tv_slice find_value(tv_slice metadata, tv_slice wanted)
{
    tv_slice name, value;

    while (next_pair(&metadata, &name, &value)) {
        if (tv_slice_eq_nocase(name, wanted))
            return value;
    }
    return TV_NONE;
}

static size_t count_pairs(tv_slice metadata)
{
    tv_slice name, value;
    size_t count = 0;

    while (next_pair(&metadata, &name, &value))
        count++;
    return count;
}

bool tv_metadata_eq(tv_slice a, tv_slice b)
{
    tv_slice rest = a, name, value;

    if (count_pairs(a) != count_pairs(b))
        return false;

    while (next_pair(&rest, &name, &value)) {
        tv_slice other = find_value(b, name);

        if (other.data == NULL || !tv_slice_eq(value, other))
            return false;
    }
    return true;
}

/* --- reading --- */

static bool is_identifier(tv_slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!is_letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return name.len > 0;
}

static tv_err check_pair(tv_slice so_far, tv_slice name, tv_slice value)
{
    if (name.len == 0)
        return TV_ERR_EMPTY_METADATA_KEY;
    if (!is_identifier(name) || !tv_slice_is_printable(value) || find_value(so_far, name).data)
        return TV_ERR_INVALID_METADATA;
    return TV_OK;
}

tv_err tv_metadata_read(tv_request *req, tv_slice *ret_metadata)
{
    tv_buf lines = TV_BUF_EMPTY;
    size_t bytes = 0;
    tv_err err = TV_OK;

    for (size_t i = 0; i < req->header_count && err == TV_OK; i++) {
        const tv_header *header = &req->headers[i];

        if (header->name.len < header_prefix.len ||
            !tv_slice_eq_nocase(tv_slice_take(header->name, header_prefix.len), header_prefix))
            continue;

        tv_slice name = tv_slice_skip(header->name, header_prefix.len);

        err = check_pair(tv_buf_slice(&lines), name, header->value);
        bytes += name.len + header->value.len;
        if (err == TV_OK && bytes > TV_METADATA_BYTES_MAX)
            err = TV_ERR_METADATA_TOO_LARGE;
        tv_buf_add(&lines, name);
        tv_buf_add_char(&lines, ':');
        tv_buf_add(&lines, header->value);
        tv_buf_add_char(&lines, '\n');
    }
    if (err == TV_OK)
        *ret_metadata = tv_arena_dup(&req->arena, tv_buf_slice(&lines));
    tv_buf_done(&lines);
    return err;
}

/* --- writing --- */

void tv_metadata_add_headers(tv_request *req, tv_slice metadata)
{
    tv_slice name, value;

    while (next_pair(&metadata, &name, &value))
        tv_response_header(
            req, tv_arena_printf(&req->arena, "%.*s%.*s", TV_FMT(header_prefix), TV_FMT(name)),
            value);
}

void tv_metadata_add_xml(tv_buf *buf, tv_slice metadata)
{
    tv_slice name, value;

    if (metadata.len == 0) {
        tv_buf_add_lit(buf, "<Metadata />");
        return;
    }
    tv_buf_add_lit(buf, "<Metadata>");
    while (next_pair(&metadata, &name, &value)) {
        tv_buf_printf(buf, "<%.*s>", TV_FMT(name));
        tv_xml_add_text(buf, value);
        tv_buf_printf(buf, "</%.*s>", TV_FMT(name));
    }
    tv_buf_add_lit(buf, "</Metadata>");
}
