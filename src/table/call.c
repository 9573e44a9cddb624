/* Handing calls over, their memory, and finding their table. */
#include "table/call.h"

void tv_table_call_submit(tv_table_call *call, void (*deliver)(tv_mail *mail))
{
    tv_loop *loop = call->req->loop;

    call->write.mail.deliver = deliver;
    call->write.reply_to = tv_loop_mailbox(loop);
    tv_outbox_add(call->service->outboxes[tv_loop_index(loop)], &call->write);
}

tv_err tv_table_call_run_job(tv_table_call *call, tv_workers *workers, void (*run)(tv_job *job),
                             void (*deliver)(tv_mail *mail))
{
    call->job.mail.deliver = deliver;
    call->job.run = run;
    call->job.reply_to = tv_loop_mailbox(call->req->loop);
    return tv_workers_submit(workers, &call->job) ? TV_OK : TV_ERR_OVERLOADED;
}

tv_err tv_table_call_run_task(tv_table_call *call, bool (*run)(tv_task *task, tv_turn *turn),
                              void (*deliver)(tv_mail *mail))
{
    call->task = (tv_task){
        .mail.deliver = deliver,
        .run = run,
        .reply_to = tv_loop_mailbox(call->req->loop),
        .account = tv_identity_turns(call->identity),
        .is_gone = &call->req->is_gone,
    };
    return tv_turns_submit(call->service->scanners, &call->task) ? TV_OK : TV_ERR_OVERLOADED;
}

static bool merge_in_turn(tv_task *task, tv_turn *turn)
{
    tv_table_call *call = TV_TABLE_CALL_OF(task, task);

    call->job_result =
        tv_change_set_merge_ahead(&call->changes, call->service->engine, &call->write);
    return true;
}

/* The write ends as if it had been run with this result. */
static void finish_changes(tv_table_call *call, tv_err err)
{
    call->write.result = err;
    call->changes_deliver(&call->write.mail);
}

static void on_merged(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, task.mail);

    if (call->job_result)
        finish_changes(call, call->job_result);
    else
        tv_table_call_submit(call, call->changes_deliver);
}

static void on_changes_run(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, write.mail);

    if (call->write.result != TV_ERR_WOULD_BLOCK) {
        call->changes_deliver(mail);
        return;
    }

    tv_err err = tv_table_call_run_task(call, merge_in_turn, on_merged);

    if (err)
        finish_changes(call, err);
}

void tv_table_call_submit_changes(tv_table_call *call, void (*deliver)(tv_mail *mail))
{
    call->changes.refuses_much = true;
    call->changes_deliver = deliver;
    tv_table_call_submit(call, on_changes_run);
}

/*
 * Strings are used where they stand in the body unless something in them is
 * escaped; with the encoded rows that is up to twice the body, and the answer once
 * more.  What small bodies take fits what every request has.
 */
tv_err tv_table_call_reserve(tv_table_call *call)
{
    enum { SMALL_BYTES = 4 * 1024 };
    tv_request *req = call->req;
    size_t len = req->body.len;
    tv_err err;

    if (len <= SMALL_BYTES)
        return TV_OK;

    err = tv_arena_reserve(&req->arena, 2 * len);
    return err ? err : tv_charge_reserve(&req->charge, len);
}

/* The answer to one insert without its entity has no body. */
tv_err tv_table_call_reserve_reply(tv_table_call *call)
{
    enum { SMALL_BYTES = 4 * 1024, ENTITY_BYTES = 1024 };
    const tv_change_set *set = &call->changes;
    bool is_batch = call->op.kind == TV_TABLE_OP_BATCH;
    size_t bytes = is_batch ? tv_table_batch_reply_max(set) : 0;

    for (size_t i = 0; i < set->count; i++) {
        const tv_entity_change *change = &set->changes[i];
        bool has_content = change->op->kind == TV_TABLE_OP_INSERT_ENTITY &&
                           change->op->prefer != TV_PREFER_NO_CONTENT;

        if (has_content)
            bytes += ENTITY_BYTES + change->sent.len + change->sent.len / 4;
    }
    if (!is_batch && bytes <= SMALL_BYTES)
        return TV_OK;
    return tv_buf_try_reserve(&call->req->out, bytes);
}

tv_err tv_table_call_find_table(tv_table_call *call, tv_slice name)
{
    call->table =
        tv_catalog_find(call->service->catalog, tv_identity_account(call->identity), name);
    return call->table ? TV_OK : TV_ERR_TABLE_NOT_FOUND;
}
