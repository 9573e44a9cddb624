/*
 * What became of a write of a blob that got no answer.  A blob that has our size and our MD5 is
 * what we wanted, whoever wrote it.  One that has not may have had it for a while: whether our
 * write was made before another's is not to be known.
 */
#include "client/blob/blob.h"

void tvc_blob_settle_call(tavola_call *ret_call, const tavola_op *op, bool is_exhausted)
{
    enum { TIMEOUT_MS_MAX = 10 * 1000 }; /* of what comes on top of the caller's time */
    uint32_t timeout = op->call->total_timeout_ms;

    tvc_call_init(ret_call);
    ret_call->total_timeout_ms = timeout && timeout < TIMEOUT_MS_MAX ? timeout : TIMEOUT_MS_MAX;
    ret_call->primary_only = 1; /* the secondary may not have it yet */
    ret_call->retry_max = is_exhausted ? 0 : op->call->retry_max;
    tvc_call_end_at(ret_call, tvc_call_end_ns(op->call));
}

/* Whether the service refused the write for what an earlier attempt may have done itself. */
static bool is_of_state(tavola_err err)
{
    return err == TAVOLA_ERR_ETAG || err == TAVOLA_ERR_EXISTS || err == TAVOLA_ERR_NOT_FOUND ||
           err == TAVOLA_ERR_CONFLICT;
}

/* Services differ in what they call a blob that is there, and blocks are lost to another's write.
 */
static tavola_err name_refusal(const tavola_op *op, tavola_err err, const tvc_blob_wanted *wanted)
{
    if (err == TAVOLA_ERR_ETAG && wanted->options.if_absent)
        return TAVOLA_ERR_EXISTS;
    if (err == TAVOLA_ERR_INVALID && strcmp(op->call->code, "InvalidBlockList") == 0)
        return TAVOLA_ERR_CONFLICT;
    return err;
}

static bool is_wanted(const tvc_blob_seen *seen, const tvc_blob_wanted *wanted)
{
    const char *old = wanted->options.if_match;

    return seen->info.size == wanted->size && seen->has_md5 &&
           memcmp(seen->md5, wanted->md5, TV_MD5_BYTES) == 0 &&
           (old == NULL || strcmp(old, seen->info.etag) != 0);
}

static tavola_err settle(tavola_op *op, bool is_exhausted, tavola_container *container,
                         const char *name, const tvc_blob_wanted *wanted)
{
    tvc_blob_seen *seen = NULL;
    tavola_call call;
    tavola_err err;

    tvc_blob_settle_call(&call, op, is_exhausted);
    err = tvc_blob_look(container, name, &call, &seen);
    if (!err && is_wanted(seen, wanted) &&
        tvc_call_set_etag(op->call, tv_slice_of(seen->info.etag)))
        err = tvc_op_confirm(op);
    else
        err = tvc_op_stay_unknown(op, "no answer came, and the blob does not tell whether it was "
                                      "written");
    tavola_blob_info_free(seen ? &seen->info : NULL);
    tvc_call_done(&call);
    return err;
}

tavola_err tvc_blob_run_put(tavola_op *op, tavola_container *container, const char *name,
                            const tvc_blob_wanted *wanted)
{
    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = name_refusal(op, tvc_op_run(op), wanted);

    if (tvc_op_is_open(op, err))
        err = settle(op, true, container, name, wanted);
    else if (op->was_unknown && is_of_state(err))
        err = settle(op, false, container, name, wanted);
    tavola_op_free(op);
    return err;
}
