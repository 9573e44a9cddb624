/* Point reads. */
#include "client/table/table.h"

/* Hangs at an operation: what its answer is decrypted with. */
static tavola_err read_entity(tavola_op *op, tvc_response *response)
{
    tavola_crypto *crypto = op->user_data;
    tavola_entity *entity = NULL;
    char *json = response->body;

    response->body = NULL;
    if (json == NULL)
        return TAVOLA_ERR_PROTOCOL;

    tavola_err err = tvc_entity_read(json, response->body_len, &entity);

    if (err == TAVOLA_OK && crypto) {
        err = tvc_crypto_decrypt(crypto, entity);
        if (err)
            tvc_call_set_error(op->call, "", tvc_crypto_text(err));
    }
    if (err == TAVOLA_OK && entity->etag == NULL && op->call->etag) {
        tavola_entity_set_etag(entity, op->call->etag);
        err = tavola_entity_error(entity);
    }
    if (err) {
        tavola_entity_free(entity);
        return err;
    }
    tavola_entity_free(op->entity);
    op->entity = entity;
    return TAVOLA_OK;
}

/* Append the $select of some names. */
static tavola_err add_select(tvc_text *text, const char *const *names, tavola_crypto *crypto,
                             tavola_call *call)
{
    tavola_query *query = tavola_query_new(NULL);

    if (query == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    tavola_query_select(query, names);

    tavola_err err = tvc_table_check_query(query, call);

    if (err == TAVOLA_OK)
        tvc_query_write(text, query, UINT64_MAX, crypto ? tvc_crypto_metadata_names : NULL);
    tavola_query_free(query);
    return err;
}

tavola_err tvc_get_op(const tavola_table *table, const char *partition_key, const char *row_key,
                      const char *const *names, tavola_call *call, tavola_op **ret_op)
{
    tavola_err err = tvc_table_check_keys(table, partition_key, row_key, call);

    if (err)
        return err;

    tavola_op *op = tvc_table_read_op(table, call);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    op->user_data = tvc_table_crypto(table, call);
    op->finish = read_entity;
    tvc_add_entity_path(&op->request.path, table, partition_key, row_key);
    if (names)
        err = add_select(&op->request.query, names, op->user_data, call);
    if (err) {
        tavola_op_free(op);
        return err;
    }
    *ret_op = op;
    return TAVOLA_OK;
}

static tavola_err get(tavola_table *table, const char *partition_key, const char *row_key,
                      const char *const *names, tavola_call *call, tavola_entity **ret_entity)
{
    if (ret_entity == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no place for the entity");

    tavola_op *op = NULL;
    tavola_err err = tvc_get_op(table, partition_key, row_key, names, call, &op);

    if (err)
        return err;

    err = tvc_op_run(op);
    if (err == TAVOLA_OK) {
        *ret_entity = op->entity;
        op->entity = NULL;
    }
    tavola_op_free(op);
    return err;
}

tavola_err tavola_get(tavola_table *table, const char *partition_key, const char *row_key,
                      tavola_call *call, tavola_entity **ret_entity)
{
    return get(table, partition_key, row_key, NULL, call, ret_entity);
}

tavola_err tavola_get_select(tavola_table *table, const char *partition_key, const char *row_key,
                             const char *const *names, tavola_call *call,
                             tavola_entity **ret_entity)
{
    if (names == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there are no names to select");
    return get(table, partition_key, row_key, names, call, ret_entity);
}
