/* Bodies on their way in, and what all changes have in common. */
#include "blob/transfer.h"

#include "base/number.h"
#include "blob/headers.h"
#include "blob/source.h"

/* Plans that were out of date when their change ran, before it is given up. */
enum { PLANS_MAX = 16 };

/* --- before the body --- */

/* The length is known before: the service takes no body without it. */
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
 * case.  Versions before 2019-02-02 do not know it.
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

void tv_blob_end_transfer(tv_blob_call *call)
{
    tv_blob_upload_end(call->transfer.upload);
    tv_blob_download_end(call->transfer.download);
    tv_blob_copying_done(call->transfer.copying);
    call->transfer.copying = NULL;
    call->transfer.upload = NULL;
    call->transfer.download = NULL;
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
        tv_blob_unmake(call);
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

/* --- changes --- */

/* Of a change that was not submitted, or has left nothing: see tv_write.undo. */
void tv_blob_unmake(tv_blob_call *call)
{
    tv_blob_transfer *transfer = &call->transfer;

    if (transfer->made_count)
        tv_extents_remove(tv_blob_service_of(call)->io.extents, transfer->made,
                          transfer->made_count);
    transfer->made_count = 0;
}

/* On the committer's thread: what the change has left without a row can go. */
static void settle(tv_write *write)
{
    tv_blob_call *call = TV_CALL_OF(tv_blob_call, write, base.write);

    if (call->change.garbage_count)
        tv_extents_remove(tv_blob_service_of(call)->io.extents, call->change.garbage,
                          call->change.garbage_count);
    if (call->change.has_discards)
        tv_blob_cleaner_add(tv_blob_service_of(call)->cleaner, call->base.container,
                            call->partition);
}

static tv_err on_changed(tv_call *base, tv_err err);

/* What the plan of a long change takes, about; all of it is charged when it is taken. */
enum { PLAN_BYTES = 1024 * 1024 };

/* In one turn: a plan's work is bounded by the blocks of a blob. */
static bool work_on_plan(tv_call *base, tv_turn *turn)
{
    tv_blob_call *call = tv_blob_call_of(base);

    (void)turn;
    base->result = tv_charge_reserve(&base->req->charge, PLAN_BYTES);
    if (base->result == TV_OK)
        base->result = call->transfer.plan(call);
    return true;
}

static tv_err on_planned(tv_call *base, tv_err err)
{
    if (err == TV_OK)
        tv_call_write(base, on_changed);
    return err;
}

/* Others write to the blob all the time, or its change could be planned at the first try. */
static tv_err plan_again(tv_blob_call *call)
{
    if (call->transfer.plan == NULL || call->transfer.plan_count++ == PLANS_MAX)
        return TV_ERR_UNPLANNED;

    return tv_call_take_turns(&call->base, work_on_plan, on_planned);
}

static void undo(tv_write *write)
{
    tv_blob_unmake(TV_CALL_OF(tv_blob_call, write, base.write));
}

static tv_err on_changed(tv_call *base, tv_err err)
{
    tv_blob_call *call = tv_blob_call_of(base);

    if (err == TV_OK && call->change.is_partial) {
        tv_call_write(base, on_changed);
        return TV_OK;
    }
    if (err == TV_OK) {
        call->transfer.respond(call);
        return TV_OK;
    }
    if (err == TV_ERR_UNPLANNED)
        return plan_again(call);
    return err == TV_ERR_BLOB_EXISTS && call->args.is_create_only ? TV_ERR_PERMISSION_MISMATCH
                                                                  : err;
}

tv_err tv_blob_submit(tv_blob_call *call, tv_update_fn *run, void (*respond)(tv_blob_call *call))
{
    tv_call *base = &call->base;

    call->change.is_dropped = &base->container->is_dropped;
    call->change.partition = call->partition;
    call->change.arena = &base->req->arena;
    call->change.conditions = call->args.conditions;
    call->transfer.respond = respond;
    base->write.partition = call->partition;
    base->write.run = run;
    base->write.ctx = &call->change;
    base->write.settle = settle;
    base->write.undo = undo;
    tv_call_write(base, on_changed);
    return TV_OK;
}
