/* What a server would do for a query. */
#include "client/table/table.h"

/* The answer as it came.  Without a plan in its head it is a page of another service. */
static tavola_err take_json(tavola_op *op, tvc_response *response)
{
    if (op->call->plan[0] == '\0') {
        tvc_call_set_error(op->call, "", "this service does not explain queries");
        return TAVOLA_ERR_UNSUPPORTED;
    }
    op->user_data = response->body;
    response->body = NULL;
    return TAVOLA_OK;
}

static void release_json(tavola_op *op)
{
    tvc_release(op->user_data);
}

tavola_err tavola_explain(tavola_table *table, const tavola_query *query, tavola_call *call,
                          char **ret_json)
{
    tavola_op *op = NULL;
    tavola_err err;

    if (ret_json == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no place for the explanation");
    err = tvc_page_op(table, query, NULL, tvc_query_limit(query), NULL, call, &op);
    if (err)
        return err;

    tvc_op_add_header(op, TV_LIT("x-tavola-explain"), TV_LIT("true"));
    op->finish = take_json;
    op->release = release_json;
    err = tvc_op_run(op);
    if (err == TAVOLA_OK) {
        *ret_json = op->user_data;
        op->user_data = NULL;
    }
    tavola_op_free(op);
    return err;
}
