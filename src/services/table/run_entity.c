/* Reading and writing one entity. */
#include "services/table/access.h"
#include "services/table/call.h"
#include "services/table/units.h"
#include "store/engine/key.h"

/* --- reading one, alone or as a batch of one --- */

static bool is_batch(const tv_call *call)
{
    return tv_table_call_of((tv_call *)call)->command.kind == TV_TABLE_OP_BATCH;
}

static tv_err entity_key(tv_call *call, tv_slice *ret_key)
{
    const tv_table_call *t = tv_table_call_of(call);
    const tv_table_resource *resource =
        is_batch(call) ? &t->batch.commands[0].resource : &t->command.resource;
    tv_arena *arena = &call->req->arena;
    tv_slice partition;
    tv_err err;

    err = tv_key_partition(arena, call->container->account, call->container->id,
                           resource->partition_key, &partition);
    if (err)
        return err;

    return tv_key_row(arena, partition, resource->row_key, ret_key);
}

static tv_err finish_read(tv_call *call, tv_err err)
{
    tv_slice value = call->fetch.value;

    tv_table_call_of(call)->outcome.value = value;
    if (err == TV_ERR_NOT_FOUND)
        err = TV_ERR_ENTITY_NOT_FOUND;
    /* Whatever was found or not: the rows of a dropped table are on their way out. */
    if (atomic_load(&call->container->is_dropped))
        err = TV_ERR_TABLE_NOT_FOUND;
    if (err == TV_OK && is_batch(call))
        err = tv_entity_check(value);
    /* The client may read it late, or never. */
    if (err == TV_OK)
        err = tv_buf_try_reserve(&call->req->out, value.len);
    if (is_batch(call))
        return err ? tv_table_respond_batch_error(call, err, 0) : tv_table_respond_batch(call);
    return err ? err : tv_table_respond_entity(call);
}

tv_err tv_table_read_entity(tv_call *call)
{
    tv_slice *key = &tv_table_call_of(call)->outcome.key;
    tv_err err = entity_key(call, key);

    if (err)
        return finish_read(call, err);

    err = tv_table_admit_read(call, *key);
    return err ? err : tv_call_fetch(call, *key, finish_read);
}

/*
 * The plan of a point read is always the same, but a client that asks for the
 * plan wants no result.
 */
static tv_err explain_read(tv_call *call)
{
    tv_table_scan *scan = &tv_table_call_of(call)->outcome.scan;
    tv_key_range *range = tv_arena_zalloc(&call->req->arena, sizeof *range);
    tv_err err = entity_key(call, &range->from);

    if (err)
        return err;

    char *to = tv_arena_bytes(&call->req->arena, range->from.len + 1);

    memcpy(to, range->from.data, range->from.len);
    to[range->from.len] = TV_KEY_MARK;
    range->to = (tv_slice){to, range->from.len + 1};
    scan->table = call->container;
    scan->plan = (tv_plan){.kind = TV_PLAN_POINT, .ranges = range, .count = 1};
    return tv_table_respond_plan(call);
}

tv_err tv_table_get_entity(tv_call *call)
{
    return tv_table_query_is_explained(call->req) ? explain_read(call) : tv_table_read_entity(call);
}

/* --- writing one --- */

static tv_err on_written(tv_call *call, tv_err err)
{
    if (err)
        return err;

    if (tv_table_call_of((tv_call *)call)->command.kind == TV_TABLE_OP_INSERT_ENTITY)
        tv_table_respond_inserted(call);
    else if (tv_table_call_of((tv_call *)call)->command.kind == TV_TABLE_OP_DELETE_ENTITY)
        tv_table_respond_no_content(call);
    else
        tv_table_respond_updated(call);
    return TV_OK;
}

tv_err tv_table_write_entity(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_arena *arena = &call->req->arena;
    tv_err err;

    err = tv_table_reserve_body(call);
    if (err)
        return err;

    err = tv_table_command_read_body(arena, call->req->body, &t->command, &call->info);
    if (err)
        return err;

    err = tv_table_access_check_key(call->identity, t->command.resource.partition_key,
                                    t->command.resource.row_key);
    if (err)
        return err;

    tv_table_change_set_init(&t->outcome.changes, arena, call->container, 1);
    err = tv_table_change_set_add(&t->outcome.changes, &t->command);
    if (err)
        return err;

    return tv_table_commit(call, on_written);
}
