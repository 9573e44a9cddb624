/*
 * Append blobs.  Each append names the position at which it is to be, and is made there or not at
 * all: repeating it does no harm, and what became of one without an answer stands at that position.
 */
#include "client/blob/blob.h"

/* An append blob is there, as was wanted: that it was made by us is all that can be assumed. */
static tavola_err settle_create(tavola_op *op, tavola_err err, tavola_container *container,
                                const char *name)
{
    bool is_exhausted = tvc_op_is_open(op, err);
    tvc_blob_seen *seen = NULL;
    tavola_call call;

    tvc_blob_settle_call(&call, op, is_exhausted);
    err = tvc_blob_look(container, name, &call, &seen);
    if (!err && seen->info.is_append && (!is_exhausted || seen->info.size == 0) &&
        tvc_call_set_etag(op->call, tv_slice_of(seen->info.etag)))
        err = tvc_op_confirm(op);
    else
        err = tvc_op_stay_unknown(op, "no answer came, and the blob does not tell whether it was "
                                      "made");
    tavola_blob_info_free(seen ? &seen->info : NULL);
    tvc_call_done(&call);
    return err;
}

static tavola_err run_create(tavola_op *op, tavola_container *container, const char *name,
                             const tavola_blob_options *options)
{
    tavola_err err = tvc_op_run(op);

    if (err == TAVOLA_ERR_ETAG && options->if_absent)
        err = TAVOLA_ERR_EXISTS;
    if (tvc_op_is_open(op, err) ||
        (op->was_unknown && (err == TAVOLA_ERR_EXISTS || err == TAVOLA_ERR_ETAG)))
        err = settle_create(op, err, container, name);
    return err;
}

tavola_err tavola_blob_create_append(tavola_container *container, const char *name,
                                     const tavola_blob_options *options, tavola_call *call)
{
    tavola_blob_options complete;
    tavola_err err = tvc_blob_check(container, name, call);

    if (!err)
        err = tvc_blob_options_read(options, call, &complete);
    if (err)
        return err;

    tavola_op *op = tvc_blob_ask(container, name, call, "PUT", NULL);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    tvc_op_add_header(op, TV_LIT("x-ms-blob-type"), TV_LIT("AppendBlob"));
    tvc_blob_options_add(op, &complete);
    err = run_create(op, container, name, &complete);
    tavola_op_free(op);
    return err;
}

/* ---- appending ------------------------------------------------------------------------------ */

static tavola_err settle_append(tavola_op *op, tavola_err err, tavola_container *container,
                                const char *name, uint64_t offset, tv_slice bytes)
{
    bool is_exhausted = tvc_op_is_open(op, err);
    void *data = NULL;
    size_t len = 0;
    tavola_call call;

    tvc_blob_settle_call(&call, op, is_exhausted);
    err = tavola_blob_get_range(container, name, offset, bytes.len, &call, &data, &len);
    if (err || len == 0) {
        err = tvc_op_stay_unknown(op, "no answer came; the bytes may have been appended");
    } else if (tv_slice_eq((tv_slice){data, len}, bytes)) {
        /* Made, with an etag or without. */
        (void)tvc_call_set_etag(op->call, call.etag ? tv_slice_of(call.etag) : TV_NONE);
        err = tvc_op_confirm(op);
    } else {
        err = tvc_call_refuse(op->call, TAVOLA_ERR_ETAG, "others appended there first");
    }
    tavola_free(data);
    tvc_call_done(&call);
    return err;
}

static tavola_err check_append(tavola_container *container, const char *name, const void *data,
                               size_t size, tavola_call *call)
{
    tavola_err err = tvc_blob_check(container, name, call);

    if (!err && (data == NULL || size == 0))
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is nothing to append");
    if (!err && size > TVC_BLOB_APPEND_MAX)
        err = tvc_call_refuse(call, TAVOLA_ERR_TOO_LARGE, "4 MiB at most can be appended at once");
    return err;
}

tavola_err tavola_blob_append_at(tavola_container *container, const char *name, uint64_t offset,
                                 const void *data, size_t size, tavola_call *call)
{
    tavola_err err = check_append(container, name, data, size, call);

    if (!err && offset > INT64_MAX)
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID, "no blob is that long");
    if (err)
        return err;

    tv_slice bytes = {data, size};
    unsigned char md5[TV_MD5_BYTES];
    tavola_op *op = tvc_blob_ask(container, name, call, "PUT", "appendblock");

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    tv_md5_of(bytes, md5);
    tvc_blob_add_md5(op, TV_LIT("Content-MD5"), md5);
    tvc_blob_add_header_number(op, TV_LIT("x-ms-blob-condition-appendpos"), offset);
    tvc_blob_send(op, &bytes);
    err = tvc_op_run(op);
    if (tvc_op_is_open(op, err) || (op->was_unknown && err == TAVOLA_ERR_ETAG))
        err = settle_append(op, err, container, name, offset, bytes);
    tavola_op_free(op);
    return err;
}

tavola_err tavola_blob_append(tavola_container *container, const char *name, const void *data,
                              size_t size, tavola_call *call, uint64_t *ret_offset)
{
    enum { ROUNDS_MAX = 100 }; /* in each of which another client has appended something */
    tavola_err err = check_append(container, name, data, size, call);

    for (int round = 0; !err && round < ROUNDS_MAX; round++) {
        tvc_blob_seen *seen = NULL;

        err = tvc_blob_look(container, name, call, &seen);
        if (err)
            break;

        uint64_t offset = seen->info.size;

        tavola_blob_info_free(&seen->info);
        err = tavola_blob_append_at(container, name, offset, data, size, call);
        if (!err && ret_offset)
            *ret_offset = offset;
        if (err != TAVOLA_ERR_ETAG)
            return err;
        err = TAVOLA_OK;
    }
    return err ? err : tvc_call_refuse(call, TAVOLA_ERR_BUSY, "too many others append");
}
