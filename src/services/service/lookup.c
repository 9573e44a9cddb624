/*
 * Calls on a node whose catalogue is not the only one: names that other nodes have
 * created or dropped (catalog.h, "many nodes").
 *
 * A call goes by the catalogue in memory.  When it fails, and it may be because that is
 * behind, the name is looked up in the store on a worker, and the call begins again from
 * its head: what it answers then was true while it was under way.  A name that a look has not
 * found is not looked up again; one that it has found and that is gone by then is.
 *
 * A request whose body has gone to a sink cannot begin again; so its container is looked up
 * before the body is read, as it is for requests that are answered from the catalogue itself.
 *
 * Whoever is told that a container is gone, or that there is a new one, can rely on it: no other
 * node still writes to the old one (catalog/drops.c).
 *
 * On a local engine none of this happens.
 */
#include "base/assert.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "services/service/flow.h"

enum { LOOKS_MAX = 100 }; /* each but the last has found a container that was dropped since */

/* Come back to the loop with call->result. */
static void on_worked(tv_mail *mail)
{
    tv_call *call = TV_CALL_OF(tv_call, mail, job.mail);

    tv_assert(call->is_away);
    call->is_away = false;
    call->after(call, call->result);
}

/* All that it waits for ends in the time that a request may wait. */
static void work(tv_job *job)
{
    tv_call *call = TV_CALL_OF(tv_call, job, job);
    int64_t before = tv_deadline_set(call->left_ns + tv_write_wait_max_ns);

    call->result = call->look(call);
    (void)tv_deadline_set(before);
}

static void hand_over(tv_call *call, tv_err (*look)(tv_call *call),
                      void (*after)(tv_call *call, tv_err err))
{
    tv_assert(!call->is_away);
    call->look = look;
    call->after = after;
    call->left_ns = tv_clock_mono_ns();
    call->job = (tv_job){
        .mail.deliver = on_worked, .run = work, .reply_to = tv_loop_mailbox(call->req->loop)};
    call->is_away = tv_workers_submit(call->service->readers, &call->job);
    if (!call->is_away)
        tv_call_respond_error(call, TV_ERR_OVERLOADED);
}

/* --- looking a name up --- */

static tv_err look_up(tv_call *call)
{
    return tv_catalog_look_up(call->service->catalog, call->missed_account, call->missed);
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
    call->looks++;
    if (!call->is_running)
        tv_request_hold(call->req);
    hand_over(call, look_up, on_looked_up);
}

/* Whether there is another node, and a worker can be asked. */
static bool is_shared(const tv_call *call)
{
    return tv_catalog_is_shared(call->service->catalog) && call->req->loop;
}

/* Whether it can begin again. */
static bool may_look(const tv_call *call)
{
    return is_shared(call) && !(call->is_running && call->req->sink);
}

/* Whether the container that it has found may be gone. */
static bool has_lost(const tv_call *call, tv_err err)
{
    const tv_container *container = call->container;

    return container && (atomic_load(&container->is_dropped) || err == container->kind->not_found ||
                         call->is_drop);
}

bool tv_call_looks_again(tv_call *call, tv_err err)
{
    bool is_missed = call->missed.len > 0;

    if (!may_look(call) || call->looks >= (is_missed ? 1 : LOOKS_MAX) ||
        (!is_missed && !has_lost(call, err)))
        return false;

    if (!is_missed) {
        call->missed_account = tv_arena_dup(&call->req->arena, call->container->account);
        call->missed = tv_arena_dup(&call->req->arena, call->container->name);
    }
    begin_look(call);
    return true;
}

static tv_err finish_drop(tv_call *call)
{
    return tv_catalog_finish_drop(call->service->catalog, call->container->account,
                                  call->container->name);
}

static void on_drop_finished(tv_call *call, tv_err err)
{
    tv_call_respond_error(call, err ? err : call->failure);
}

void tv_call_fail(tv_call *call, tv_err err)
{
    if (tv_call_looks_again(call, err))
        return;
    if (!is_shared(call) || call->missed.len || !has_lost(call, err)) {
        tv_call_respond_error(call, err);
        return;
    }
    call->failure = err;
    hand_over(call, finish_drop, on_drop_finished);
}

bool tv_call_looks_first(tv_call *call)
{
    if (call->looks || !may_look(call) ||
        !((call->op->flags & TV_OP_TELLS_CATALOG) || call->req->sink))
        return false;

    call->missed_account = tv_identity_account(call->identity);
    call->missed = call->target.container; /* none for the service's settings */
    begin_look(call);
    return true;
}

/* --- creating a container --- */

static void submit_create(tv_call *call);

static tv_err end_predecessor(tv_call *call)
{
    return tv_catalog_finish_drop(call->create.catalog, call->create.account, call->create.name);
}

static void on_predecessor_ended(tv_call *call, tv_err err)
{
    if (err)
        tv_call_respond_error(call, err);
    else
        submit_create(call);
}

/* Again and again only when others drop it again and again. */
static tv_err on_created(tv_call *call, tv_err err)
{
    if (err == TV_ERR_WOULD_BLOCK) {
        hand_over(call, end_predecessor, on_predecessor_ended);
        return TV_OK;
    }
    call->then = call->catalog_then;
    return call->then(call, err);
}

static void submit_create(tv_call *call)
{
    tv_catalog_prepare_create(&call->create, &call->write);
    tv_call_write(call, on_created);
}

void tv_call_create_container(tv_call *call, tv_call_then *then)
{
    call->catalog_then = then;
    submit_create(call);
}

/* --- deleting a container --- */

static tv_err fence(tv_call *call)
{
    return tv_catalog_fence(call->service->catalog, call->container);
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
    call->then = call->catalog_then;
    if (err || !tv_catalog_is_shared(call->service->catalog))
        return call->then(call, err);

    hand_over(call, fence, on_fenced);
    return TV_OK;
}

void tv_call_drop_container(tv_call *call, tv_call_then *then)
{
    call->catalog_then = then;
    tv_catalog_prepare_delete(&call->delete_op, &call->write);
    tv_call_write(call, on_dropped);
}
