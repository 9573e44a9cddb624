/* Writes of one entity, run on the caller's thread. */
#include "client/table/table.h"

tavola_err tvc_write_run(tavola_table *table, tavola_write kind, const tavola_entity *entity,
                         const char *if_match, tavola_call *call)
{
    tvc_write write;
    tavola_err err = tvc_write_init(&write, table, kind, entity, if_match, call);

    if (err)
        return err;

    tavola_op *op = tvc_write_op(table, &write, call);

    tvc_write_done(&write);
    return tvc_run_and_free(op);
}

/* The same, and what was written leaves its etag in the entity. */
static tavola_err write_own(tavola_table *table, tavola_write kind, tavola_entity *entity,
                            const char *if_match, tavola_call *call)
{
    tvc_write write;
    tavola_err err = tvc_write_init(&write, table, kind, entity, if_match, call);

    if (err)
        return err;

    tavola_op *op = tvc_write_op(table, &write, call);

    tvc_write_done(&write);
    err = op && tvc_entity_reserve_etag(entity) ? tvc_op_run(op) : TAVOLA_ERR_NO_MEMORY;
    if (err == TAVOLA_OK)
        tvc_entity_take_etag(entity, op->call->etag);
    tavola_op_free(op);
    return err;
}

tavola_err tavola_insert(tavola_table *table, tavola_entity *entity, tavola_call *call)
{
    return write_own(table, TAVOLA_INSERT, entity, NULL, call);
}

tavola_err tavola_insert_or_replace(tavola_table *table, tavola_entity *entity, tavola_call *call)
{
    return write_own(table, TAVOLA_INSERT_OR_REPLACE, entity, NULL, call);
}

tavola_err tavola_insert_or_merge(tavola_table *table, tavola_entity *entity, tavola_call *call)
{
    return write_own(table, TAVOLA_INSERT_OR_MERGE, entity, NULL, call);
}

tavola_err tavola_replace(tavola_table *table, tavola_entity *entity, const char *if_match,
                          tavola_call *call)
{
    return write_own(table, TAVOLA_REPLACE, entity, if_match, call);
}

tavola_err tavola_merge(tavola_table *table, tavola_entity *entity, const char *if_match,
                        tavola_call *call)
{
    return write_own(table, TAVOLA_MERGE, entity, if_match, call);
}

tavola_err tavola_delete(tavola_table *table, const char *partition_key, const char *row_key,
                         const char *if_match, tavola_call *call)
{
    tavola_err err = tvc_table_check_keys(table, partition_key, row_key, call);

    if (err)
        return err;

    /* A delete needs no more of an entity than its keys. */
    const tavola_entity keys = {
        .partition_key = partition_key, .row_key = row_key, .is_view = true};

    return tvc_write_run(table, TAVOLA_DELETE, &keys, if_match, call);
}

tavola_err tavola_delete_if_present(tavola_table *table, const char *partition_key,
                                    const char *row_key, tavola_call *call)
{
    tavola_call own, *used = tvc_call_of(call, &own);
    tavola_err err = tavola_delete(table, partition_key, row_key, TAVOLA_ANY, used);
    bool is_absent = tvc_is_absent(err, used);

    tvc_call_done(&own);
    return is_absent ? TAVOLA_OK : err;
}
