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

static tv_err apply_batch(tv_table_call *call)
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
    tv_change_set_prepare(&call->changes, &call->write);
    tv_table_call_submit(call, on_batch_written);
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

tv_err tv_table_run_batch(tv_table_call *call)
{
    tv_err err = tv_table_call_reserve(call);

    if (err)
        return err;

    err =
        tv_batch_parse(&call->req->arena, call->req, &call->op.endpoint, &call->batch, &call->info);
    if (err && !call->batch.is_part_error)
        return err;

    if (err == TV_OK)
        err = check_batch_access(call);
    if (err == TV_OK)
        err = call->batch.is_query ? tv_table_get_entity(call) : apply_batch(call);
    if (err)
        tv_table_respond_batch_error(call, err, call->batch.failed);
    return TV_OK;
}
