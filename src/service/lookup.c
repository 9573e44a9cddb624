/*
 * Calls on a node whose catalogue is not the only one: names that other nodes have
 * created or dropped (catalog.h, "many nodes").
 *
 * A call goes by the catalogue in memory.  When it fails, and it may be because that is
 * behind, the name is looked up in the store on a worker, and the call begins again from
 * its head, once: what it answers then was true while it was under way.  A request whose
 * body has gone to a sink cannot begin again; so its container is looked up before the
 * body is read, as it is for requests that are answered from the catalogue itself.
 *
 * On a local engine none of this happens.
 */
#include "base/assert.h"
#include "service/flow.h"

/* Come back to the loop with call->result. */
static void on_worked(tv_mail *mail)
{
    tv_call *call = TV_CALL_OF(tv_call, mail, job.mail);

    tv_assert(call->is_away);
    call->is_away = false;
    call->after(call, call->result);
}

static void hand_over(tv_call *call, void (*run)(tv_job *job),
                      void (*after)(tv_call *call, tv_err err))
{
    tv_assert(!call->is_away);
    call->after = after;
    call->job = (tv_job){
        .mail.deliver = on_worked, .run = run, .reply_to = tv_loop_mailbox(call->req->loop)};
    call->is_away = tv_workers_submit(call->service->readers, &call->job);
    if (!call->is_away)
        tv_call_respond_error(call, TV_ERR_OVERLOADED);
}

/* --- looking a name up --- */

static void look_up(tv_job *job)
{
    tv_call *call = TV_CALL_OF(tv_call, job, job);

    call->result = tv_catalog_look_up(call->service->catalog, call->missed_account, call->missed);
}

static void on_looked_up(tv_call *call, tv_err err)
{
    if (err)
        tv_call_respond_error(call, err);
    else
        tv_call_begin_again(call);
}

/* The call has been answered, or will begin again, when this returns. */
static void begin_look(tv_call *call)
{
    call->is_looked_up = true;
    if (!call->is_running)
        tv_request_hold(call->req);
    hand_over(call, look_up, on_looked_up);
}

/* Whether it can begin again, and nothing has been looked up for it yet. */
static bool may_look(const tv_call *call)
{
    return tv_catalog_is_shared(call->service->catalog) && !call->is_looked_up && call->req->loop &&
           !(call->is_running && call->req->sink);
}

bool tv_call_looks_again(tv_call *call, tv_err err)
{
    const tv_container *container = call->container;
    bool is_gone = container && (atomic_load(&container->is_dropped) ||
                                 err == container->kind->not_found || call->is_drop);

    if (!may_look(call) || (call->missed.len == 0 && !is_gone))
        return false;

    if (call->missed.len == 0) {
        call->missed_account = tv_arena_dup(&call->req->arena, container->account);
        call->missed = tv_arena_dup(&call->req->arena, container->name);
    }
    begin_look(call);
    return true;
}

void tv_call_fail(tv_call *call, tv_err err)
{
    if (!tv_call_looks_again(call, err))
        tv_call_respond_error(call, err);
}

bool tv_call_looks_first(tv_call *call)
{
    if (!may_look(call) || !((call->op->flags & TV_OP_TELLS_CATALOG) || call->req->sink))
        return false;

    call->missed_account = tv_identity_account(call->identity);
    call->missed = call->target.container; /* none for the service's settings */
    begin_look(call);
    return true;
}

/* --- deleting a container --- */

static void fence(tv_job *job)
{
    tv_call *call = TV_CALL_OF(tv_call, job, job);

    call->result = tv_catalog_fence(call->service->catalog, call->container);
}

static void on_fenced(tv_call *call, tv_err err)
{
    err = call->then(call, err);
    if (err)
        tv_call_respond_error(call, err);
}

static tv_err on_dropped(tv_call *call, tv_err err)
{
    call->is_drop = err == TV_ERR_NOT_FOUND; /* or there is another one of that name by now */
    if (err && tv_call_looks_again(call, err))
        return TV_OK;
    call->then = call->drop_then;
    if (err || !tv_catalog_is_shared(call->service->catalog))
        return call->then(call, err);

    hand_over(call, fence, on_fenced);
    return TV_OK;
}

void tv_call_drop_container(tv_call *call, tv_call_then *then)
{
    call->drop_then = then;
    tv_catalog_prepare_delete(&call->delete_op, &call->write);
    tv_call_write(call, on_dropped);
}
