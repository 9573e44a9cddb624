/* Block blobs from memory, and deleting blobs. */
#include "client/blob/blob.h"

tavola_err tvc_blob_put_single(tavola_container *container, const char *name, tv_slice bytes,
                               const tavola_blob_options *options, tavola_call *call)
{
    tvc_blob_wanted wanted = {.size = bytes.len, .options = *options};
    tavola_op *op = tvc_blob_ask(container, name, call, "PUT", NULL);

    tv_md5_of(bytes, wanted.md5);
    if (op) {
        tvc_op_add_header(op, TV_LIT("x-ms-blob-type"), TV_LIT("BlockBlob"));
        tvc_blob_add_md5(op, TV_LIT("Content-MD5"), wanted.md5);
        tvc_blob_options_add(op, options);
        tvc_blob_send(op, &bytes);
    }
    return tvc_blob_run_put(op, container, name, &wanted);
}

/* The caller's memory, as a source. */
static bool take_bytes(void *user, void *to, size_t size, size_t *ret_len)
{
    tv_slice *rest = user;

    *ret_len = rest->len < size ? rest->len : size;
    if (*ret_len)
        memcpy(to, rest->data, *ret_len);
    *rest = tv_slice_skip(*rest, *ret_len);
    return true;
}

tavola_err tavola_blob_put(tavola_container *container, const char *name, const void *data,
                           size_t size, const tavola_blob_options *options, tavola_call *call)
{
    tavola_blob_options complete;
    tv_slice bytes = {data, size};
    tavola_err err = tvc_blob_check(container, name, call);

    if (!err && data == NULL && size)
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID, "data is needed");
    if (!err)
        err = tvc_blob_options_read(options, call, &complete);
    if (err)
        return err;

    if (size <= TVC_BLOB_SINGLE_MAX)
        return tvc_blob_put_single(container, name, bytes, &complete, call);
    return tvc_blob_put_blocks(container, name, take_bytes, &bytes, &complete, call);
}

/* Gone is what was wanted.  What is there may be what another has put since. */
static tavola_err settle_delete(tavola_op *op, tavola_err err, tavola_container *container,
                                const char *name)
{
    tvc_blob_seen *seen = NULL;
    tavola_call call;

    tvc_blob_settle_call(&call, op, tvc_op_is_open(op, err));
    err = tvc_blob_look(container, name, &call, &seen);
    err = err == TAVOLA_ERR_NOT_FOUND
              ? tvc_op_confirm(op)
              : tvc_op_stay_unknown(op, "no answer came; the blob may have been deleted");
    tavola_blob_info_free(seen ? &seen->info : NULL);
    tvc_call_done(&call);
    return err;
}

tavola_err tavola_blob_delete(tavola_container *container, const char *name, const char *if_match,
                              tavola_call *call)
{
    tavola_err err = tvc_blob_check(container, name, call);

    if (!err)
        err = tvc_blob_check_etag(call, if_match);
    if (err)
        return err;

    tavola_op *op = tvc_blob_ask(container, name, call, "DELETE", NULL);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tvc_op_add_header(op, TV_LIT("x-ms-delete-snapshots"), TV_LIT("include"));
    if (if_match)
        tvc_op_add_header(op, TV_LIT("If-Match"), tv_slice_of(if_match));
    err = tvc_op_run(op);
    if (err == TAVOLA_ERR_NOT_FOUND && op->was_unknown)
        err = tvc_op_confirm(op);
    else if (tvc_op_is_open(op, err) || (err == TAVOLA_ERR_ETAG && op->was_unknown))
        err = settle_delete(op, err, container, name);
    tavola_op_free(op);
    return err;
}

tavola_err tavola_blob_delete_if_present(tavola_container *container, const char *name,
                                         tavola_call *call)
{
    tavola_call own, *used = tvc_call_of(call, &own);
    tavola_err err = tavola_blob_delete(container, name, NULL, used);
    bool is_absent = tvc_is_absent(err, used);

    tvc_call_done(&own);
    return is_absent ? TAVOLA_OK : err;
}
