/* Put Block List and Get Block List. */
#include "services/blob/body/block_list_xml.h"
#include "services/blob/ops/headers.h"
#include "services/service/metadata.h"
#include "store/engine/instant.h"

enum {
    SHORT_LIST_BYTES = 64 * 1024, /* longer lists are read by a worker */
    LIST_BYTES = 8 * 1024 * 1024, /* the list of a blob with very many blocks, as rows and XML */
    CHOICE_BYTES_PER_BYTE = 3,    /* what a list that was sent takes when it has been read */
};

static void respond_put(tv_blob_call *call)
{
    tv_call_start(&call->base, 201);
    tv_blob_add_etag(call, call->change.etag);
    tv_blob_add_digests(call);
    tv_blob_add_encrypted(call);
    tv_call_finish(&call->base);
}

/* The digests are those of the list itself. */
static tv_err read_list(tv_blob_call *call)
{
    tv_blob_transfer *transfer = &call->transfer;
    tv_request *req = call->base.req;
    tv_err err;

    transfer->digests.has_md5 =
        transfer->claims.digests.has_md5 || !tv_blob_is_since(&call->args, TV_LIT("2019-02-02"));
    transfer->digests.has_crc64 = transfer->claims.digests.has_crc64 || !transfer->digests.has_md5;
    tv_digests_of(&transfer->digests, req->body);
    err = tv_digest_claims_check(&transfer->claims, &transfer->digests, &req->arena,
                                 &call->base.info);
    if (err)
        return err;

    err = tv_arena_reserve(&req->arena, CHOICE_BYTES_PER_BYTE * req->body.len);
    if (err)
        return err;

    return tv_block_list_parse(&req->arena, req->body, &call->put_block_list.choices,
                               &call->put_block_list.choice_count);
}

static tv_err plan_list(tv_blob_call *call)
{
    return tv_put_block_list_plan(call->base.service->engine, &call->put_block_list);
}

/*
 * A list of this length needs a plan anyway, and this is the thread for it.  In one
 * turn: its work is bounded by the length of the body.
 */
static bool work_on_reading(tv_call *base, tv_turn *turn)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_err err = read_list(call);

    (void)turn;
    if (err == TV_OK) {
        call->change.partition = call->partition;
        call->change.arena = &call->base.req->arena;
        err = plan_list(call);
    }
    call->base.result = err;
    return true;
}

static tv_err on_list_read(tv_call *base, tv_err err)
{
    return err ? err : tv_blob_submit(tv_blob_call_of(base), tv_put_block_list_run, respond_put);
}

tv_err tv_blob_put_block_list(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_slice header = TV_NONE;
    tv_err err;

    err = tv_blob_headers_read(call, false, &call->put_block_list.headers);
    if (err)
        return err;

    tv_blob_headers_set_type(&call->put_block_list.headers);
    err = tv_metadata_read(base->req, &call->put_block_list.metadata);
    if (err)
        return err;

    err = tv_digest_claims_read(base->req, false, &call->transfer.claims, &header);
    if (err == TV_ERR_INVALID_HEADER)
        return tv_call_bad_header(base, header, tv_request_header(base->req, header));
    if (err)
        return err;

    call->transfer.plan = plan_list;
    base->write.bytes = base->req->body.len; /* what is written is about as long */
    if (base->req->body.len > SHORT_LIST_BYTES)
        return tv_call_take_turns(base, work_on_reading, on_list_read);

    err = read_list(call);
    return err ? err : tv_blob_submit(call, tv_put_block_list_run, respond_put);
}

/* --- Get Block List --- */

static tv_err read_type(tv_blob_call *call, tv_block_list_type *ret_type)
{
    static const tv_slice name = {"blocklisttype", 13};
    tv_slice text;
    tv_err err = tv_call_parameter(&call->base, name, &text);

    if (err)
        return err;

    if (text.data == NULL || tv_slice_eq_nocase(text, TV_LIT("committed")))
        *ret_type = TV_BLOCK_LIST_COMMITTED;
    else if (tv_slice_eq_nocase(text, TV_LIT("uncommitted")))
        *ret_type = TV_BLOCK_LIST_UNCOMMITTED;
    else if (tv_slice_eq_nocase(text, TV_LIT("all")))
        *ret_type = TV_BLOCK_LIST_ALL;
    else
        return tv_call_bad_parameter(&call->base, name, text, "Use committed, uncommitted or all.");
    return TV_OK;
}

static tv_err list_blocks(tv_blob_call *call, tv_block_list_type type)
{
    tv_request *req = call->base.req;
    tv_blob_conditions lease = {.lease_id = call->args.conditions.lease_id,
                                .has_lease_id = call->args.conditions.has_lease_id};
    tv_block_lists lists;
    tv_err err;

    err = tv_blob_get_block_lists(call->base.service->engine, call->partition, call->args.snapshot,
                                  type, &req->arena, &lists);
    if (err)
        return err;

    if (lists.has_head) {
        err = tv_blob_check_read(&lists.head, &lease, tv_instant_now());
        if (err)
            return err;
    }
    tv_call_start_xml(&call->base, 200);
    if (lists.has_head) {
        tv_blob_add_etag(call, lists.head.etag);
        tv_blob_add_number(call, TV_LIT("x-ms-blob-content-length"), lists.head.length);
    }
    return tv_block_list_add(&req->out, type, &lists);
}

/* In one turn: a blob has no more than 150,000 blocks. */
static bool work_on_list(tv_call *base, tv_turn *turn)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_block_list_type type = TV_BLOCK_LIST_COMMITTED;
    tv_err err = read_type(call, &type);

    (void)turn;
    /* What is public is the blob, not its owner's uncommitted changes to it. */
    if (!err && type != TV_BLOCK_LIST_COMMITTED && tv_identity_is_anonymous(call->base.identity))
        err = TV_ERR_NO_AUTHENTICATION;
    if (!err)
        err = tv_charge_reserve(&call->base.req->charge, LIST_BYTES);
    call->base.result = err ? err : list_blocks(call, type);
    tv_buf_trim(&call->base.req->out);
    tv_charge_trim(&call->base.req->charge);
    return true;
}

static tv_err on_listed(tv_call *base, tv_err err)
{
    if (err == TV_OK)
        tv_call_finish(base);
    return err;
}

tv_err tv_blob_get_block_list(tv_call *base)
{
    return tv_call_take_turns(base, work_on_list, on_listed);
}
