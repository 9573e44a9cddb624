/* Reading and writing one entity. */
#include "engine/key.h"
#include "table/access.h"
#include "table/call.h"

/* --- reading one, alone or as a batch of one --- */

static const tv_resource *read_resource(const tv_table_call *call)
{
    bool is_batch = call->op.kind == TV_TABLE_OP_BATCH;

    return is_batch ? &call->batch.ops[0].resource : &call->op.resource;
}

static tv_err entity_key(tv_table_call *call, tv_slice *ret_key)
{
    const tv_resource *resource = read_resource(call);
    tv_arena *arena = &call->req->arena;
    tv_slice partition;
    tv_err err;

    err = tv_key_partition(arena, call->table->account, call->table->id, resource->partition_key,
                           &partition);
    if (err)
        return err;

    return tv_key_row(arena, partition, resource->row_key, ret_key);
}

static tv_err read_entity(tv_table_call *call, tv_read_mode mode)
{
    tv_slice key;
    tv_err err;

    err = entity_key(call, &key);
    if (err)
        return err;

    err = tv_engine_get(call->service->engine, mode, key, &call->req->arena, &call->value);
    return err == TV_ERR_NOT_FOUND ? TV_ERR_ENTITY_NOT_FOUND : err;
}

static void finish_read(tv_table_call *call, tv_err err)
{
    bool is_batch = call->op.kind == TV_TABLE_OP_BATCH;

    if (err == TV_OK && is_batch)
        err = tv_entity_check(call->value);
    /* The client may read it late, or never. */
    if (err == TV_OK)
        err = tv_buf_try_reserve(&call->req->out, call->value.len);
    if (is_batch && err)
        tv_table_respond_batch_error(call, err, 0);
    else if (is_batch)
        tv_table_respond_batch(call);
    else if (err)
        tv_table_respond_error(call, err);
    else
        tv_table_respond_entity(call);
}

static void run_read(tv_job *job)
{
    tv_table_call *call = TV_TABLE_CALL_OF(job, job);

    call->job_result = read_entity(call, TV_READ_ANY);
}

static void on_read_done(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, job.mail);

    finish_read(call, call->job_result);
}

/* The plan of a point read is always the same, but who asks how wants no result. */
static tv_err explain_read(tv_table_call *call)
{
    tv_key_range *range = tv_arena_zalloc(&call->req->arena, sizeof *range);
    tv_err err = entity_key(call, &range->from);

    if (err)
        return err;

    char *to = tv_arena_bytes(&call->req->arena, range->from.len + 1);

    memcpy(to, range->from.data, range->from.len);
    to[range->from.len] = '\x01';
    range->to = (tv_slice){to, range->from.len + 1};
    call->scan.table = call->table;
    call->scan.plan = (tv_plan){.kind = TV_PLAN_POINT, .ranges = range, .count = 1};
    tv_table_respond_plan(call);
    return TV_OK;
}

tv_err tv_table_get_entity(tv_table_call *call)
{
    tv_err err = tv_table_call_find_table(call, read_resource(call)->table);

    if (err)
        return err;
    if (call->op.kind != TV_TABLE_OP_BATCH && tv_query_is_explained(call->req))
        return explain_read(call);

    tv_table_count_plan(call->table, TV_PLAN_POINT);
    err = read_entity(call, TV_READ_CACHED);
    if (err == TV_ERR_WOULD_BLOCK)
        return tv_table_call_run_job(call, call->service->readers, run_read, on_read_done);

    finish_read(call, err);
    return TV_OK;
}

/* --- writing one --- */

static void on_written(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, write.mail);

    if (call->write.result)
        tv_table_respond_error(call, call->write.result);
    else if (call->op.kind == TV_TABLE_OP_INSERT_ENTITY)
        tv_table_respond_inserted(call);
    else if (call->op.kind == TV_TABLE_OP_DELETE_ENTITY)
        tv_table_respond_no_content(call);
    else
        tv_table_respond_updated(call);
}

tv_err tv_table_write_entity(tv_table_call *call)
{
    tv_arena *arena = &call->req->arena;
    tv_err err;

    err = tv_table_call_find_table(call, call->op.resource.table);
    if (err)
        return err;

    err = tv_table_call_reserve(call);
    if (err)
        return err;

    err = tv_table_op_read_body(arena, call->req->body, &call->op, &call->info);
    if (err)
        return err;

    err = tv_access_check_key(call->identity, call->op.resource.partition_key,
                              call->op.resource.row_key);
    if (err)
        return err;

    tv_change_set_init(&call->changes, arena, call->table, 1);
    err = tv_change_set_add(&call->changes, &call->op);
    if (err)
        return err;

    err = tv_table_call_reserve_reply(call);
    if (err)
        return err;

    tv_change_set_prepare(&call->changes, &call->write);
    tv_table_call_submit_changes(call, on_written);
    return TV_OK;
}
