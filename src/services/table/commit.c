/* Committing changes, and the memory that a write takes. */
#include "services/table/call.h"

/*
 * Strings are used where they are in the body unless something in them is
 * escaped; with the encoded rows that is up to twice the body, and the answer
 * once more.  What small bodies take fits what every request has.
 */
tv_err tv_table_reserve_body(tv_call *call)
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
static tv_err reserve_reply(tv_call *call)
{
    enum { SMALL_BYTES = 4 * 1024, ENTITY_BYTES = 1024 };
    const tv_table_change_set *set = &tv_table_call_of(call)->outcome.changes;
    bool is_batch = tv_table_call_of(call)->command.kind == TV_TABLE_OP_BATCH;
    size_t bytes = is_batch ? tv_table_batch_reply_max(set) : 0;

    for (size_t i = 0; i < set->count; i++) {
        const tv_entity_change *change = &set->changes[i];
        bool has_content = change->command->kind == TV_TABLE_OP_INSERT_ENTITY &&
                           change->command->prefer != TV_TABLE_PREFER_NO_CONTENT;

        if (has_content)
            bytes += ENTITY_BYTES + change->sent.len + change->sent.len / 4;
    }
    if (!is_batch && bytes <= SMALL_BYTES)
        return TV_OK;
    return tv_buf_try_reserve(&call->req->out, bytes);
}

/* --- merges of much that is stored: made ahead on a scanner's thread --- */

static bool merge_in_turn(tv_call *call, tv_turn *turn)
{
    (void)turn;
    call->result = tv_table_change_set_merge_ahead(&tv_table_call_of(call)->outcome.changes,
                                                   call->service->engine, &call->write);
    return true;
}

static tv_err on_merged(tv_call *call, tv_err err)
{
    tv_call_then *then = tv_table_call_of(call)->commit_then;

    if (err)
        return then(call, err);

    tv_call_write(call, then);
    return TV_OK;
}

static tv_err on_run(tv_call *call, tv_err err)
{
    if (err == TV_ERR_WOULD_BLOCK) {
        err = tv_call_take_turns(call, merge_in_turn, on_merged);
        if (err == TV_OK)
            return TV_OK;
    }
    return tv_table_call_of(call)->commit_then(call, err);
}

tv_err tv_table_commit(tv_call *call, tv_call_then *then)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_err err;

    err = reserve_reply(call);
    if (err)
        return err;

    err = tv_table_admit_write(call);
    if (err)
        return err;

    tv_table_change_set_prepare(&t->outcome.changes, &call->write);
    t->outcome.changes.refuses_much = true;
    t->commit_then = then;
    tv_call_write(call, on_run);
    return TV_OK;
}
