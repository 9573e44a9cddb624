/* The same operations, started: the client's thread drives them. */
#include "client/table/batch.h"
#include "client/table/table.h"

static tavola_err refuse_place(tavola_call *call)
{
    return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no place for the operation");
}

/*
 * The client's thread writes the outcome, so the operation has a call of its own; that of the
 * caller gives its options, and hears of what is refused at once.
 */
static tavola_err start(tavola_op *op, tavola_done_fn done, void *user, const tavola_call *call,
                        tavola_op **ret_op)
{
    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    if (call) {
        op->call = &op->own_call;
        tvc_call_init(op->call);
        tvc_call_copy_options(op->call, call);
    }

    tavola_err err = tvc_op_start(op, done, user);

    if (err) {
        tavola_op_free(op);
        return err;
    }
    *ret_op = op;
    return TAVOLA_OK;
}

tavola_err tavola_start_get(tavola_table *table, const char *partition_key, const char *row_key,
                            tavola_done_fn done, void *user, tavola_call *call, tavola_op **ret_op)
{
    tavola_op *op = NULL;

    if (ret_op == NULL)
        return refuse_place(call);

    tavola_err err =
        tvc_get_op(table, partition_key, row_key, NULL, tvc_table_crypto(table, call), call, &op);

    return err ? err : start(op, done, user, call, ret_op);
}

tavola_err tavola_start_write(tavola_table *table, tavola_write write, const tavola_entity *entity,
                              const char *if_match, tavola_done_fn done, void *user,
                              tavola_call *call, tavola_op **ret_op)
{
    tvc_write checked;

    if (ret_op == NULL)
        return refuse_place(call);

    tavola_err err = tvc_write_init(&checked, table, write, entity, if_match, call);

    if (err)
        return err;

    tavola_op *op = tvc_write_op(table, &checked, call);

    tvc_write_done(&checked);
    return start(op, done, user, call, ret_op);
}

tavola_err tavola_start_batch(tavola_batch *batch, tavola_done_fn done, void *user,
                              tavola_call *call, tavola_op **ret_op)
{
    tavola_op *op = NULL;

    if (ret_op == NULL)
        return refuse_place(call);

    tavola_err err = tvc_batch_begin(batch, call, &op);

    return err ? err : start(op, done, user, call, ret_op);
}

tavola_err tavola_start_page(tavola_table *table, const tavola_query *query, const char *token,
                             tavola_done_fn done, void *user, tavola_call *call, tavola_op **ret_op)
{
    tavola_op *op = NULL;
    tavola_err err = tvc_table_check(table, call);

    if (err)
        return err;
    if (ret_op == NULL)
        return refuse_place(call);

    err = tvc_page_op(table, query, token, tvc_query_limit(query), tvc_table_crypto(table, call),
                      call, &op);

    return err ? err : start(op, done, user, call, ret_op);
}
