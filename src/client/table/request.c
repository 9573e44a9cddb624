/* What the requests of all operations on tables have in common. */
#include "client/table/table.h"

tavola_op *tvc_table_op(const tavola_table *table, const char *method, tavola_call *call)
{
    tavola_op *op = tvc_op_new(table->client, TV_SERVICE_TABLE, call);

    if (op == NULL)
        return NULL;
    op->request.method = method;
    tvc_op_add_header(op, TV_LIT("Accept"), TV_LIT("application/json;odata=minimalmetadata"));
    tvc_op_add_header(op, TV_LIT("DataServiceVersion"), TV_LIT("3.0"));
    return op;
}

tavola_op *tvc_table_read_op(const tavola_table *table, tavola_call *call)
{
    tavola_op *op = tvc_table_op(table, "GET", call);

    if (op)
        op->is_read = true;
    return op;
}

void tvc_add_entity_path(tvc_text *path, const tavola_table *table, const char *partition_key,
                         const char *row_key)
{
    tvc_text_add_lit(path, "/");
    tvc_text_add(path, tv_slice_of(table->name));
    tvc_text_add_lit(path, "(PartitionKey='");
    tvc_text_add_key(path, tv_slice_of(partition_key));
    tvc_text_add_lit(path, "',RowKey='");
    tvc_text_add_key(path, tv_slice_of(row_key));
    tvc_text_add_lit(path, "')");
}

tavola_err tvc_run_and_free(tavola_op *op)
{
    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tvc_op_run(op);

    tavola_op_free(op);
    return err;
}
