/* Headers of blobs. */
#include "services/blob/ops/headers.h"

#include "base/base64.h"
#include "base/datetime.h"
#include "base/utf8.h"
#include "services/service/metadata.h"

/* More than any client sends, and little enough to be sent back in one head. */
enum { CONTENT_HEADER_BYTES_MAX = 4 * 1024 };

/* Lists show it in their XML, so it must be text, or no client could read them. */
static bool is_text(tv_slice value)
{
    if (value.len > CONTENT_HEADER_BYTES_MAX || !tv_utf8_is_valid(value))
        return false;

    while (value.len) {
        uint32_t c = tv_utf8_next(&value);

        if (c == 0xfffe || c == 0xffff)
            return false;
    }
    return true;
}

/* `plain` is the name that HTTP has for it; empty where that one is ignored. */
static tv_err pick(tv_blob_call *call, tv_slice name, tv_slice plain, tv_slice *ret_value)
{
    tv_slice value = tv_request_header(call->base.req, name);

    if (value.data == NULL && plain.len) {
        name = plain;
        value = tv_request_header(call->base.req, plain);
    }
    if (!is_text(value))
        return tv_call_bad_header(&call->base, name, TV_NONE);

    *ret_value = value.data ? value : TV_LIT("");
    return TV_OK;
}

tv_err tv_blob_headers_read(tv_blob_call *call, bool is_put, tv_blob_headers *ret_headers)
{
    tv_arena *arena = &call->base.req->arena;
    tv_slice md5 = tv_request_header(call->base.req, TV_LIT("x-ms-blob-content-md5"));
    tv_blob_headers headers = {.md5 = TV_LIT("")};
    const struct {
        tv_slice name, plain;
        tv_slice *value;
    } picks[] = {
        {TV_LIT("x-ms-blob-content-type"), TV_LIT("Content-Type"), &headers.type},
        {TV_LIT("x-ms-blob-content-encoding"), TV_LIT("Content-Encoding"), &headers.encoding},
        {TV_LIT("x-ms-blob-content-language"), TV_LIT("Content-Language"), &headers.language},
        {TV_LIT("x-ms-blob-content-disposition"), TV_NONE, &headers.disposition},
        {TV_LIT("x-ms-blob-cache-control"), TV_LIT("Cache-Control"), &headers.cache_control},
    };

    for (size_t i = 0; i < sizeof picks / sizeof *picks; i++) {
        tv_err err = pick(call, picks[i].name, is_put ? picks[i].plain : TV_NONE, picks[i].value);

        if (err)
            return err;
    }
    if (md5.len) {
        char *decoded = tv_arena_bytes(arena, tv_base64_decoded_max(md5.len) + 1);
        size_t len;

        if (!tv_base64_decode(decoded, md5, &len) || len > TV_BLOB_MD5_BYTES_MAX ||
            (is_put && len != TV_MD5_BYTES))
            return TV_ERR_MD5_INVALID;
        headers.md5 = (tv_slice){decoded, len};
    }
    *ret_headers = headers;
    return TV_OK;
}

void tv_blob_headers_set_type(tv_blob_headers *headers)
{
    if (headers->type.len == 0)
        headers->type = TV_LIT("application/octet-stream");
}

/* --- answers --- */

void tv_blob_add_number(tv_blob_call *call, tv_slice name, uint64_t number)
{
    tv_request *req = call->base.req;

    tv_response_header(req, name, tv_arena_printf(&req->arena, "%llu", (unsigned long long)number));
}

void tv_blob_add_ticks(tv_blob_call *call, tv_slice name, int64_t ticks)
{
    char text[TV_DATETIME_TEXT_MAX];

    tv_response_header(call->base.req, name, (tv_slice){text, tv_datetime_format7(text, ticks)});
}

void tv_blob_add_digest(tv_blob_call *call, tv_slice name, tv_slice bytes)
{
    char text[(TV_BLOB_MD5_BYTES_MAX + 2) / 3 * 4];

    tv_assert(tv_base64_encoded_len(bytes.len) <= sizeof text);
    tv_base64_encode(text, bytes);
    tv_response_header(call->base.req, name, (tv_slice){text, tv_base64_encoded_len(bytes.len)});
}

void tv_blob_add_digests(tv_blob_call *call)
{
    const tv_digests *digests = &call->transfer.digests;

    if (digests->has_md5)
        tv_blob_add_digest(call, TV_LIT("Content-MD5"),
                           (tv_slice){(const char *)digests->md5, TV_MD5_BYTES});
    if (digests->has_crc64)
        tv_blob_add_digest(call, TV_LIT("x-ms-content-crc64"),
                           (tv_slice){(const char *)digests->crc64, TV_CRC64_BYTES});
}

void tv_blob_add_encrypted(tv_blob_call *call)
{
    tv_response_header(call->base.req, TV_LIT("x-ms-request-server-encrypted"), TV_LIT("true"));
}

/* A content header, unless the SAS of the request has another value for it. */
static void add_content(tv_blob_call *call, tv_slice name, tv_slice value, tv_slice override)
{
    if (override.data)
        value = override;
    if (value.len)
        tv_response_header(call->base.req, name, value);
}

static void add_contents(tv_blob_call *call)
{
    static const tv_header_overrides none;
    const tv_header_overrides *overrides = tv_identity_overrides(call->base.identity);
    const tv_blob_headers *headers = &call->transfer.head.headers;

    if (overrides == NULL)
        overrides = &none;
    add_content(call, TV_LIT("Content-Type"), headers->type, overrides->content_type);
    add_content(call, TV_LIT("Content-Encoding"), headers->encoding, overrides->content_encoding);
    add_content(call, TV_LIT("Content-Language"), headers->language, overrides->content_language);
    add_content(call, TV_LIT("Content-Disposition"), headers->disposition,
                overrides->content_disposition);
    add_content(call, TV_LIT("Cache-Control"), headers->cache_control, overrides->cache_control);
}

static void add_copy(tv_blob_call *call, const tv_blob_copy *copy)
{
    tv_request *req = call->base.req;

    if (copy->id.len == 0)
        return;

    tv_response_header(req, TV_LIT("x-ms-copy-id"), copy->id);
    tv_response_header(req, TV_LIT("x-ms-copy-source"), copy->source);
    tv_response_header(req, TV_LIT("x-ms-copy-status"), TV_LIT("success"));
    tv_response_header(req, TV_LIT("x-ms-copy-progress"),
                       tv_arena_printf(&req->arena, "%llu/%llu", (unsigned long long)copy->bytes,
                                       (unsigned long long)copy->bytes));
    tv_call_add_date(&call->base, TV_LIT("x-ms-copy-completion-time"), copy->completed);
}

void tv_blob_add_properties(tv_blob_call *call)
{
    tv_request *req = call->base.req;
    const tv_blob_head *head = &call->transfer.head;

    tv_response_header(req, TV_LIT("Accept-Ranges"), TV_LIT("bytes"));
    add_contents(call);
    tv_blob_add_etag(call, head->etag);
    tv_response_header(req, TV_LIT("x-ms-blob-type"),
                       head->type == TV_BLOB_APPEND ? TV_LIT("AppendBlob") : TV_LIT("BlockBlob"));
    tv_call_add_date(&call->base, TV_LIT("x-ms-creation-time"), head->created);
    if (head->snapshot == 0)
        tv_blob_add_lease(call, &head->lease);
    tv_response_header(req, TV_LIT("x-ms-server-encrypted"), TV_LIT("true"));
    if (head->type == TV_BLOB_APPEND)
        tv_blob_add_number(call, TV_LIT("x-ms-blob-committed-block-count"), head->piece_count);
    add_copy(call, &head->copy);
    tv_metadata_add_headers(req, head->metadata);
}
