/* Point reads. */
#include "client/entity/own.h"
#include "client/table/table.h"

static bool is_key(const char *got, const char *asked, bool may_be_absent)
{
    return got == tvc_no_key ? may_be_absent : strcmp(got, asked) == 0;
}

/* A service that answers with another entity must not be believed, encrypted or not. */
static tavola_err check_keys(const tavola_entity *entity, const tvc_reading *reading,
                             tavola_call *call)
{
    /* Keys that nobody has selected need not be there; decryption asks for them. */
    bool may_be_absent = reading->is_selection && reading->crypto == NULL;

    if (is_key(entity->partition_key, reading->partition_key, may_be_absent) &&
        is_key(entity->row_key, reading->row_key, may_be_absent))
        return TAVOLA_OK;
    tvc_call_set_error(call, "", "The answer is not the entity that was asked for.");
    return TAVOLA_ERR_PROTOCOL;
}

static tavola_err read_entity(tavola_op *op, tvc_response *response)
{
    const tvc_reading *reading = op->user_data;
    tavola_entity *entity = NULL;
    char *json = response->body;

    response->body = NULL;
    if (json == NULL)
        return TAVOLA_ERR_PROTOCOL;

    tavola_err err = tvc_entity_read(json, response->body_len, &entity);

    if (err == TAVOLA_OK)
        err = check_keys(entity, reading, op->call);
    if (err == TAVOLA_OK && reading->crypto) {
        err = tvc_crypto_decrypt(reading->crypto, tvc_place_of(op->client, reading->table), entity);
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
                      const char *const *names, tavola_crypto *crypto, tavola_call *call,
                      tavola_op **ret_op)
{
    tavola_err err = tvc_table_check_keys(table, partition_key, row_key, call);

    if (err)
        return err;

    tavola_op *op = tvc_table_read_op(table, call);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    op->finish = read_entity;
    err = tvc_reading_hang(op, table, crypto, partition_key, row_key);
    tvc_add_entity_path(&op->request.path, table, partition_key, row_key);
    if (err == TAVOLA_OK && names) {
        ((tvc_reading *)op->user_data)->is_selection = true;
        err = add_select(&op->request.query, names, crypto, call);
    }
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
    tavola_err err =
        tvc_get_op(table, partition_key, row_key, names, tvc_table_crypto(table, call), call, &op);

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
