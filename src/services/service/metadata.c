/* Metadata, from headers and to headers. */
#include "services/service/metadata.h"

#include "base/assert.h"
#include "base/xml.h"

static const tv_slice header_prefix = {"x-ms-meta-", 10};

/* The value of a name in any case; data is NULL when there is none. */
static tv_slice find_value(tv_metadata metadata, tv_slice name)
{
    for (size_t i = 0; i < metadata.count; i++) {
        if (tv_slice_eq_nocase(metadata.list[i].name, name))
            return metadata.list[i].value;
    }
    return TV_NONE;
}

bool tv_metadata_eq(tv_metadata a, tv_metadata b)
{
    for (size_t i = 0; i < a.count; i++) {
        tv_slice value = find_value(b, a.list[i].name);

        if (value.data == NULL || !tv_slice_eq(a.list[i].value, value))
            return false;
    }
    return a.count == b.count;
}

/* --- headers --- */

static bool is_metadata(const tv_header *header)
{
    return header->name.len >= header_prefix.len &&
           tv_slice_eq_nocase(tv_slice_take(header->name, header_prefix.len), header_prefix);
}

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

static tv_err check_pair(tv_metadata so_far, const tv_metadata_pair *pair)
{
    if (pair->name.len == 0)
        return TV_ERR_EMPTY_METADATA_KEY;
    if (!is_identifier(pair->name) || !tv_slice_is_printable(pair->value) ||
        find_value(so_far, pair->name).data)
        return TV_ERR_INVALID_METADATA;
    return TV_OK;
}

tv_err tv_metadata_read(tv_request *req, tv_metadata *ret_metadata)
{
    tv_metadata_pair *list = tv_arena_alloc(&req->arena, (req->header_count + 1) * sizeof *list);
    tv_metadata metadata = {list, 0};
    size_t bytes = 0;

    for (size_t i = 0; i < req->header_count; i++) {
        const tv_header *header = &req->headers[i];

        if (!is_metadata(header))
            continue;

        tv_metadata_pair pair = {tv_slice_skip(header->name, header_prefix.len), header->value};
        tv_err err = check_pair(metadata, &pair);

        if (err)
            return err;
        bytes += pair.name.len + pair.value.len;
        if (bytes > TV_METADATA_BYTES_MAX)
            return TV_ERR_METADATA_TOO_LARGE;
        if (pair.value.data == NULL)
            pair.value = TV_LIT("");
        list[metadata.count++] = pair;
    }
    *ret_metadata = metadata;
    return TV_OK;
}

void tv_metadata_add_headers(tv_request *req, tv_metadata metadata)
{
    for (size_t i = 0; i < metadata.count; i++) {
        const tv_metadata_pair *pair = &metadata.list[i];

        tv_response_header(
            req,
            tv_arena_printf(&req->arena, "%.*s%.*s", TV_FMT(header_prefix), TV_FMT(pair->name)),
            pair->value);
    }
}

/* --- XML --- */

void tv_metadata_add_xml(tv_buf *buf, tv_metadata metadata)
{
    if (metadata.count == 0) {
        tv_buf_add_lit(buf, "<Metadata />");
        return;
    }
    tv_buf_add_lit(buf, "<Metadata>");
    for (size_t i = 0; i < metadata.count; i++) {
        const tv_metadata_pair *pair = &metadata.list[i];

        tv_buf_printf(buf, "<%.*s>", TV_FMT(pair->name));
        tv_xml_add_text(buf, pair->value);
        tv_buf_printf(buf, "</%.*s>", TV_FMT(pair->name));
    }
    tv_buf_add_lit(buf, "</Metadata>");
}

/* --- rows --- */

tv_slice tv_metadata_format(tv_arena *arena, tv_metadata metadata)
{
    tv_buf lines = TV_BUF_EMPTY;

    for (size_t i = 0; i < metadata.count; i++) {
        const tv_metadata_pair *pair = &metadata.list[i];

        /* Or it would be read as another pair. */
        tv_assert(is_identifier(pair->name) && tv_slice_find(pair->value, '\n') == pair->value.len);
        tv_buf_printf(&lines, "%.*s:%.*s\n", TV_FMT(pair->name), TV_FMT(pair->value));
    }

    tv_slice text = tv_arena_dup(arena, tv_buf_slice(&lines));

    tv_buf_done(&lines);
    return text;
}

tv_err tv_metadata_parse(tv_arena *arena, tv_slice text, tv_metadata *ret_metadata)
{
    size_t lines = 0;

    for (size_t i = 0; i < text.len; i++)
        lines += text.data[i] == '\n';

    tv_metadata_pair *list = tv_arena_alloc(arena, (lines + 1) * sizeof *list);

    for (size_t i = 0; i < lines; i++) {
        tv_slice line = TV_NONE;

        (void)tv_slice_next(&text, '\n', &line); /* there are so many lines */

        size_t colon = tv_slice_find(line, ':');

        if (colon == line.len)
            return TV_ERR_CORRUPT;
        list[i] = (tv_metadata_pair){tv_slice_take(line, colon), tv_slice_skip(line, colon + 1)};
    }
    if (text.len)
        return TV_ERR_CORRUPT;

    *ret_metadata = (tv_metadata){list, lines};
    return TV_OK;
}
