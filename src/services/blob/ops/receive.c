/*
 * A body on its way in: its length and digests are checked, then it goes into memory or, through a
 * sink, into an extent, and when it is whole the operation goes on with it.
 */
#include "services/blob/transfer.h"

#include "base/number.h"
#include "services/blob/ops/copy_source.h"
#include "services/blob/ops/headers.h"

/* --- before the body --- */

/* The length is known before: the service accepts no body without it. */
static tv_err read_length(tv_blob_call *call, bool is_part, uint64_t *ret_length)
{
    static const tv_slice header = {"Content-Length", 14};
    tv_call *base = &call->base;
    tv_slice text = tv_request_header(base->req, header);

    if (text.data == NULL)
        return TV_ERR_LENGTH_REQUIRED;
    if (!tv_parse_uint64(text, ret_length))
        return tv_call_bad_header(base, header, text);
    if (*ret_length > base->req->body_bytes_max)
        return TV_ERR_BODY_TOO_LARGE;
    /* A block has data, a new append blob has none. */
    if (is_part ? *ret_length == 0 : call->args.type == TV_BLOB_APPEND && *ret_length > 0)
        return tv_call_bad_header(base, header, text);
    return TV_OK;
}

/*
 * Put Blob keeps the MD5 and returns it with the CRC.  Blocks return the MD5 if
 * the client has sent one, else the CRC, and from 2026-10-06 on the CRC in any
 * case.  Versions before 2019-02-02 do not have it.
 */
static tv_err read_claims(tv_blob_call *call, bool is_part)
{
    tv_call *base = &call->base;
    tv_blob_transfer *transfer = &call->transfer;
    bool is_blob = !is_part;
    tv_slice header = TV_NONE;
    tv_err err = tv_digest_claims_read(base->req, is_blob && call->args.type == TV_BLOB_BLOCK,
                                       &transfer->claims, &header);

    if (err == TV_ERR_INVALID_HEADER)
        return tv_call_bad_header(base, header, tv_request_header(base->req, header));
    if (err)
        return err;

    const tv_digests *claimed = &transfer->claims.digests;
    bool is_old = !tv_blob_is_since(&call->args, TV_LIT("2019-02-02"));
    bool has_both = is_blob ? !is_old : tv_blob_is_since(&call->args, TV_LIT("2026-10-06"));

    transfer->digests.has_md5 = is_blob || claimed->has_md5 || is_old;
    transfer->digests.has_crc64 = claimed->has_crc64 || !transfer->digests.has_md5 || has_both;
    return TV_OK;
}

static bool take(tv_request *req, tv_slice piece)
{
    tv_blob_call *call = req->user;

    return tv_blob_upload_take(call->transfer.upload, piece);
}

static const tv_body_sink sink = {take};

static void fail(tv_request *req, tv_err err)
{
    tv_blob_call *call = req->user;

    tv_call_respond_error(&call->base, err);
}

tv_err tv_blob_begin_upload(tv_blob_call *call, bool is_part,
                            tv_err (*read_head)(tv_blob_call *call))
{
    tv_request *req = call->base.req;
    tv_blob_transfer *transfer = &call->transfer;
    uint64_t length;
    tv_err err;

    req->body_bytes_max = tv_blob_body_bytes_max(&call->base);
    err = read_length(call, is_part, &length);
    if (err)
        return err;

    err = read_claims(call, is_part);
    if (err)
        return err;

    err = read_head(call);
    if (err)
        return err;

    /* What fits into a row is kept by the connection, as bodies of other operations are. */
    if (length > TV_BLOB_CHUNK_BYTES_MAX) {
        transfer->upload =
            tv_blob_upload_new(&tv_blob_service_of(call)->io, req, &transfer->digests, fail);
        req->sink = &sink;
    }
    return TV_OK;
}

/* --- after it --- */

static void on_received(tv_request *req, tv_err err, const tv_blob_upload_result *result)
{
    tv_blob_call *call = req->user;
    tv_blob_transfer *transfer = &call->transfer;

    if (!err) {
        transfer->data = (tv_blob_data){.extent = result->extent, .length = result->length};
        transfer->digests = result->digests;
        transfer->made = &transfer->data.extent;
        transfer->made_count = 1;
        err = tv_digest_claims_check(&transfer->claims, &transfer->digests, &req->arena,
                                     &call->base.info);
    }
    if (!err)
        err = transfer->next(call);
    if (err) {
        tv_blob_discard(call);
        tv_call_respond_error(&call->base, err);
    }
}

tv_err tv_blob_receive(tv_blob_call *call, tv_err (*next)(tv_blob_call *call))
{
    tv_blob_transfer *transfer = &call->transfer;
    tv_slice body = call->base.req->body;
    tv_err err;

    if (transfer->upload) {
        transfer->next = next;
        tv_blob_upload_finish(transfer->upload, on_received);
        return TV_OK;
    }
    transfer->data = (tv_blob_data){.bytes = body, .length = body.len};
    tv_digests_of(&transfer->digests, body);
    err = tv_digest_claims_check(&transfer->claims, &transfer->digests, &call->base.req->arena,
                                 &call->base.info);
    return err ? err : next(call);
}
