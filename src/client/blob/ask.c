/* What the operations on blobs share. */
#include "base/number.h"
#include "base/utf8.h"
#include "client/blob/blob.h"

/* 1 to 1024 UTF-16 units without control characters. */
static bool is_name(tv_slice name)
{
    enum { UNITS_MAX = 1024, BYTES_MAX = 4 * UNITS_MAX, DELETE = 0x7f, LAST_CONTROL = 0x9f };

    if (name.len == 0 || name.len > BYTES_MAX || !tv_utf8_is_valid(name) ||
        tv_utf8_units(name) > UNITS_MAX)
        return false;

    while (name.len) {
        uint32_t c = tv_utf8_next(&name);

        if (c < ' ' || (c >= DELETE && c <= LAST_CONTROL))
            return false;
    }
    return true;
}

tavola_err tvc_blob_check(tavola_container *container, const char *name, tavola_call *call)
{
    if (container == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a container is needed");
    if (name == NULL || !is_name(tv_slice_of(name)))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "a blob's name has 1 to 1024 characters, none of them controls");
    return TAVOLA_OK;
}

tavola_op *tvc_blob_ask(tavola_container *container, const char *name, tavola_call *call,
                        const char *method, const char *comp)
{
    const tvc_resource *resource = &container->resource;
    tavola_op *op = tvc_op_new(resource->client, TV_SERVICE_BLOB, call);

    if (op == NULL)
        return NULL;

    tvc_text *path = &op->request.path;
    tv_slice rest = tv_slice_of(name), part;

    op->request.method = method;
    tvc_text_add_char(path, '/');
    tvc_text_add(path, tv_slice_of(resource->name));
    while (tv_slice_next(&rest, '/', &part)) {
        tvc_text_add_char(path, '/');
        tvc_text_add_encoded(path, part);
    }
    if (comp)
        tvc_op_add_parameter(op, "comp", tv_slice_of(comp));
    return op;
}

static bool is_header_value(const char *value)
{
    return value == NULL || (*value && tv_slice_is_printable(tv_slice_of(value)));
}

tavola_err tvc_blob_check_etag(tavola_call *call, const char *etag)
{
    if (etag && !tvc_is_etag(etag))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "if_match is not an etag");
    return TAVOLA_OK;
}

tavola_err tvc_blob_options_read(const tavola_blob_options *options, tavola_call *call,
                                 tavola_blob_options *ret_options)
{
    tavola_blob_options read = {0};

    if (options) {
        if (options->struct_size < sizeof read)
            return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                                   "struct_size is not that of a tavola_blob_options");
        read = *options;
    }
    if (!is_header_value(read.content_type))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "content_type is not one");
    if (read.if_match && read.if_absent)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "if_match and if_absent exclude each other");
    *ret_options = read;
    return tvc_blob_check_etag(call, read.if_match);
}

void tvc_blob_options_add(tavola_op *op, const tavola_blob_options *options)
{
    const char *type = options->content_type ? options->content_type : "application/octet-stream";

    tvc_op_add_header(op, TV_LIT("x-ms-blob-content-type"), tv_slice_of(type));
    if (options->if_match)
        tvc_op_add_header(op, TV_LIT("If-Match"), tv_slice_of(options->if_match));
    if (options->if_absent)
        tvc_op_add_header(op, TV_LIT("If-None-Match"), TV_LIT("*"));
}

void tvc_blob_add_header_number(tavola_op *op, tv_slice name, uint64_t number)
{
    char digits[TV_INT64_TEXT_MAX];

    tvc_op_add_header(op, name, (tv_slice){digits, tv_format_int64(digits, (int64_t)number)});
}

void tvc_blob_add_md5(tavola_op *op, tv_slice name, const unsigned char md5[TV_MD5_BYTES])
{
    tvc_text text = {0};

    tvc_text_add_base64(&text, (tv_slice){(const char *)md5, TV_MD5_BYTES});
    if (text.has_failed)
        op->request.headers.has_failed = true;
    else
        tvc_op_add_header(op, name, tvc_text_slice(&text));
    tvc_text_done(&text);
}

static bool read_bytes(void *user, uint64_t offset, void *to, size_t size, size_t *ret_len)
{
    tv_slice rest = tv_slice_skip(*(const tv_slice *)user, (size_t)offset);

    *ret_len = rest.len < size ? rest.len : size;
    if (*ret_len)
        memcpy(to, rest.data, *ret_len);
    return true;
}

void tvc_blob_send(tavola_op *op, const tv_slice *bytes)
{
    if (bytes->len == 0)
        return;
    op->request.source = (tvc_source){read_bytes, (void *)(uintptr_t)bytes};
    op->request.source_len = bytes->len;
}
