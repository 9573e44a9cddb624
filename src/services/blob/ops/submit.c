/*
 * A change on its way to the store and back: planned by a scanner if it is long, run by the
 * committer, and then its garbage is removed, or what was made for it discarded.
 */
#include "services/blob/call.h"
#include "services/blob/ops/copy_source.h"
#include "services/blob/store/row.h"

/* Plans that were out of date when their change ran, before it is given up. */
enum { PLANS_MAX = 16 };

/* Of a change that was not submitted, or has left nothing: see tv_write.undo. */
void tv_blob_discard(tv_blob_call *call)
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
        tv_blob_gc_add(tv_blob_service_of(call)->gc, call->base.container, call->partition);
}

static tv_err on_changed(tv_call *base, tv_err err);

/* Not with extents that another node may take for garbage: see tv_extents_may_commit. */
static tv_err submit(tv_blob_call *call)
{
    const tv_blob_transfer *transfer = &call->transfer;

    if (!tv_extents_may_commit(tv_blob_service_of(call)->io.extents, transfer->made,
                               transfer->made_count))
        return TV_ERR_REQUEST_TIMEOUT;

    tv_call_write(&call->base, on_changed);
    return TV_OK;
}

/* Roughly what the plan of a long change takes; all of it is charged when it is taken. */
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
    return err ? err : submit(tv_blob_call_of(base));
}

/* The first plan is out of date because others write to the blob all the time. */
static tv_err plan_again(tv_blob_call *call)
{
    if (call->transfer.plan == NULL || call->transfer.plan_count++ == PLANS_MAX)
        return TV_ERR_UNPLANNED;

    return tv_call_take_turns(&call->base, work_on_plan, on_planned);
}

static void undo(tv_write *write)
{
    tv_blob_discard(TV_CALL_OF(tv_blob_call, write, base.write));
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

/* Every change begins with the head and the ledger. */
static void set_reads(tv_blob_call *call)
{
    tv_arena *arena = &call->base.req->arena;
    tv_slice *reads;

    if (call->base.service->engine->ops->get_many == NULL)
        return;

    reads = tv_arena_alloc(arena, 2 * sizeof *reads);
    reads[0] = tv_blob_key_head(arena, call->partition, 0);
    reads[1] = tv_blob_key_ledger(arena, call->partition);
    call->base.write.reads = reads;
    call->base.write.read_count = 2;
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
    set_reads(call);
    return submit(call);
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
