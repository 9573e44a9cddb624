/* Entity group transactions: from a parsed batch to one change set, or one read. */
#include "base/thread.h"
#include "services/table/access.h"
#include "services/table/call.h"
#include "services/table/units.h"

static tv_err on_batch_written(tv_call *call, tv_err err)
{
    size_t failed = tv_table_call_of(call)->outcome.changes.failed;

    return err ? tv_table_respond_batch_error(call, err, failed) : tv_table_respond_batch(call);
}

/* The rows that the parts put, or what they delete. */
static tv_err make_changes(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);
    const tv_table_batch *batch = &t->batch;
    tv_err err;

    tv_table_change_set_init(&t->outcome.changes, &call->req->arena, call->container, batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        err = tv_table_change_set_add(&t->outcome.changes, &batch->commands[i]);
        if (err)
            return err;
        tv_thread_step(TV_STEP_LARGE);
    }
    return TV_OK;
}

/* Each part needs its own permission and keys. */
static tv_err check_batch_access(tv_call *call)
{
    tv_table_batch *batch = &tv_table_call_of(call)->batch;

    for (size_t i = 0; i < batch->count; i++) {
        const tv_table_command *command = &batch->commands[i];
        tv_err err = tv_table_access_check(call->identity, command);

        if (err == TV_OK)
            err = tv_table_access_check_key(call->identity, command->resource.partition_key,
                                            command->resource.row_key);
        if (err) {
            batch->failed = i;
            return err;
        }
    }
    return TV_OK;
}

/*
 * All that comes before the engine is used: from the body to the rows.  An error of
 * one part (batch.is_part_error) is answered within the answer of the batch.
 */
static tv_err prepare(tv_call *call)
{
    tv_table_batch *batch = &tv_table_call_of(call)->batch;
    tv_err err =
        tv_table_batch_parse(&call->req->arena, call->req, &call->endpoint, batch, &call->info);

    if (err)
        return err;
    if (call->endpoint.is_secondary && !batch->is_query)
        return TV_ERR_SECONDARY_IS_READ_ONLY;
    if (batch->count == 0)
        return TV_OK;

    batch->is_part_error = true;
    err = check_batch_access(call);
    if (err == TV_OK)
        err = tv_call_find_container(call, batch->commands[0].resource.table);
    if (err || batch->is_query)
        return err;
    return make_changes(call);
}

/* Answer a batch that is not valid, or go on with one that is. */
static tv_err run_prepared(tv_call *call, tv_err err)
{
    const tv_table_batch *batch = &tv_table_call_of(call)->batch;

    if (err == TV_OK && batch->count == 0)
        return tv_table_respond_batch(call);
    if (err == TV_OK)
        err =
            batch->is_query ? tv_table_read_entity(call) : tv_table_commit(call, on_batch_written);
    return err && batch->is_part_error ? tv_table_respond_batch_error(call, err, batch->failed)
                                       : err;
}

static bool prepare_in_turn(tv_call *call, tv_turn *turn)
{
    (void)turn;
    call->result = prepare(call);
    return true;
}

tv_err tv_table_run_batch(tv_call *call)
{
    /* A megabyte takes several milliseconds, which all clients of a network thread would wait. */
    enum { PREPARED_HERE_BYTES_MAX = 128 * 1024 };
    tv_err err = tv_table_reserve_body(call);

    if (err)
        return err;
    if (call->req->body.len > PREPARED_HERE_BYTES_MAX)
        return tv_call_take_turns(call, prepare_in_turn, run_prepared);

    return run_prepared(call, prepare(call));
}
