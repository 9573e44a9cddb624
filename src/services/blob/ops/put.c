/*
 * Put Blob, Put Block, Append Block: data comes in.  What their heads say is read
 * before the data, so that no client sends a large body for nothing.
 */
#include "base/number.h"
#include "services/blob/ops/headers.h"
#include "services/service/metadata.h"

/* --- Put Blob --- */

static void respond_put(tv_blob_call *call)
{
    tv_call_start(&call->base, 201);
    tv_blob_add_etag(call, call->change.etag);
    if (call->args.type == TV_BLOB_BLOCK)
        tv_blob_add_digests(call);
    tv_blob_add_encrypted(call);
    tv_call_finish(&call->base);
}

/* The MD5 of the content is kept; what the client claimed has been found to equal it. */
static tv_err put_received(tv_blob_call *call)
{
    tv_put_blob *put = &call->put;
    const tv_blob_transfer *transfer = &call->transfer;

    put->type = call->args.type;
    put->data = &transfer->data;
    put->data_count = transfer->data.length > 0;
    if (put->type == TV_BLOB_BLOCK)
        put->headers.md5 = (tv_slice){(const char *)transfer->digests.md5, TV_MD5_BYTES};
    return tv_blob_submit(call, tv_put_blob_run, respond_put);
}

static tv_err read_put_head(tv_blob_call *call)
{
    tv_err err = tv_blob_headers_read(call, true, &call->put.headers);

    if (err)
        return err;

    tv_blob_headers_set_type(&call->put.headers);
    return tv_metadata_read(call->base.req, &call->put.metadata);
}

tv_err tv_blob_begin_put(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_err err = tv_blob_limit_to_new(base);

    if (err)
        return err;
    return tv_blob_begin_upload(call, false, read_put_head);
}

tv_err tv_blob_put(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    return tv_blob_receive(call, put_received);
}

/* --- Put Block --- */

static void respond_put_block(tv_blob_call *call)
{
    tv_call_start(&call->base, 201);
    tv_blob_add_digests(call);
    tv_blob_add_encrypted(call);
    tv_call_finish(&call->base);
}

static tv_err put_block_received(tv_blob_call *call)
{
    tv_slice block_id = call->put_block.data.block_id;

    call->put_block.data = call->transfer.data;
    call->put_block.data.block_id = block_id;
    return tv_blob_submit(call, tv_put_block_run, respond_put_block);
}

static tv_err read_put_block_head(tv_blob_call *call)
{
    tv_slice id;
    tv_err err;

    err = tv_call_parameter(&call->base, TV_LIT("blockid"), &id);
    if (err)
        return err;
    if (id.data == NULL || tv_block_id_len(id) == SIZE_MAX)
        return tv_call_bad_parameter(&call->base, TV_LIT("blockid"), id.data ? id : TV_LIT(""),
                                     "Not a valid base64 string.");

    call->put_block.data.block_id = id;
    return TV_OK;
}

tv_err tv_blob_begin_put_block(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);

    return tv_blob_begin_upload(call, true, read_put_block_head);
}

tv_err tv_blob_put_block(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    return tv_blob_receive(call, put_block_received);
}

/* --- Append Block --- */

static void respond_append(tv_blob_call *call)
{
    tv_call_start(&call->base, 201);
    tv_blob_add_etag(call, call->change.etag);
    tv_blob_add_digests(call);
    tv_blob_add_number(call, TV_LIT("x-ms-blob-append-offset"), call->append_block.offset);
    tv_blob_add_number(call, TV_LIT("x-ms-blob-committed-block-count"),
                       call->append_block.block_count);
    tv_blob_add_encrypted(call);
    tv_call_finish(&call->base);
}

static tv_err append_received(tv_blob_call *call)
{
    call->append_block.data = call->transfer.data;
    return tv_blob_submit(call, tv_append_block_run, respond_append);
}

static tv_err read_number(tv_blob_call *call, tv_slice name, bool *ret_is_given,
                          uint64_t *ret_number)
{
    tv_slice text = tv_request_header(call->base.req, name);

    *ret_is_given = text.data != NULL;
    if (text.data == NULL || tv_parse_uint64(text, ret_number))
        return TV_OK;
    return tv_call_bad_header(&call->base, name, text);
}

static tv_err read_append_head(tv_blob_call *call)
{
    tv_append_block *append = &call->append_block;
    tv_err err;

    err = read_number(call, TV_LIT("x-ms-blob-condition-appendpos"), &append->has_position,
                      &append->position);
    if (err)
        return err;

    return read_number(call, TV_LIT("x-ms-blob-condition-maxsize"), &append->has_max_size,
                       &append->max_size);
}

tv_err tv_blob_begin_append(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);

    return tv_blob_begin_upload(call, true, read_append_head);
}

tv_err tv_blob_append_block(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    return tv_blob_receive(call, append_received);
}
