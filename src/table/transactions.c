/* Entity group transactions: from a parsed batch to one change set, or one read. */
#include "table/access.h"
#include "table/call.h"

static void on_batch_written(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, write.mail);
    tv_err err = call->write.result;

    if (err)
        tv_table_respond_batch_error(call, err, call->changes.failed);
    else
        tv_table_respond_batch(call);
}

/* The rows that the parts put, or what they delete. */
static tv_err make_changes(tv_table_call *call)
{
    const tv_batch_request *batch = &call->batch;
    tv_err err;

    err = tv_table_call_find_table(call, batch->ops[0].resource.table);
    if (err)
        return err;

    tv_change_set_init(&call->changes, &call->req->arena, call->table, batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        err = tv_change_set_add(&call->changes, &batch->ops[i]);
        if (err)
            return err;
    }
    err = tv_table_call_reserve_reply(call);
    if (err)
        return err;

    tv_change_set_prepare(&call->changes, &call->write);
    return TV_OK;
}

/* Each part needs its own permission and keys. */
static tv_err check_batch_access(tv_table_call *call)
{
    tv_batch_request *batch = &call->batch;

    for (size_t i = 0; i < batch->count; i++) {
        const tv_table_op *op = &batch->ops[i];
        tv_err err = tv_access_check(call->identity, op);

        if (err == TV_OK)
            err = tv_access_check_key(call->identity, op->resource.partition_key,
                                      op->resource.row_key);
        if (err) {
            batch->failed = i;
            return err;
        }
    }
    return TV_OK;
}

/*
 * All that comes before the engine is asked: from the body to the rows.  An error of
 * one part (batch.is_part_error) is answered within the answer of the batch.
 */
static tv_err prepare(tv_table_call *call)
{
    tv_batch_request *batch = &call->batch;
    tv_err err = tv_batch_parse(&call->req->arena, call->req, &call->op.endpoint, batch,
                                &call->info);

    if (err)
        return err;

    batch->is_part_error = true;
    err = check_batch_access(call);
    if (err || batch->is_query)
        return err;
    return make_changes(call);
}

/* Answer a batch that is not valid, or go on with one that is. */
static void run_prepared(tv_table_call *call, tv_err err)
{
    if (err == TV_OK && !call->batch.is_query) {
        tv_table_call_submit_changes(call, on_batch_written);
        return;
    }
    if (err == TV_OK)
        err = tv_table_get_entity(call);
    if (err && call->batch.is_part_error)
        tv_table_respond_batch_error(call, err, call->batch.failed);
    else if (err)
        tv_table_respond_error(call, err);
}

static bool prepare_in_turn(tv_task *task, tv_turn *turn)
{
    tv_table_call *call = TV_TABLE_CALL_OF(task, task);

    call->job_result = prepare(call);
    return true;
}

static void on_prepared(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, task.mail);

    run_prepared(call, call->job_result);
}

tv_err tv_table_run_batch(tv_table_call *call)
{
    /* A megabyte takes several milliseconds, which all clients of a network thread would wait. */
    enum { PREPARED_HERE_BYTES_MAX = 128 * 1024 };
    tv_err err = tv_table_call_reserve(call);

    if (err)
        return err;
    if (call->req->body.len > PREPARED_HERE_BYTES_MAX)
        return tv_table_call_run_task(call, prepare_in_turn, on_prepared);

    run_prepared(call, prepare(call));
    return TV_OK;
}
