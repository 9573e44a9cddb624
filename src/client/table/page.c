/* One page of a query's result. */
#include "client/table/table.h"

static tavola_err decrypt_all(const tavola_op *op, tavola_page *page)
{
    const tvc_reading *reading = op->user_data;
    tavola_err err = TAVOLA_OK;

    if (reading == NULL)
        return TAVOLA_OK;

    tvc_place place = tvc_place_of(op->client, reading->table);

    for (size_t i = 0; err == TAVOLA_OK && i < page->count; i++)
        err = tvc_crypto_decrypt(reading->crypto, place, &page->entities[i]);
    if (err)
        tvc_call_set_error(op->call, "", tvc_crypto_text(err));
    return err;
}

static tavola_err add_token(tavola_page *page, const tavola_op *op, const tvc_response *response)
{
    tv_slice partition =
        tvc_response_header(response, TV_LIT("x-ms-continuation-NextPartitionKey"));
    tv_slice row = tvc_response_header(response, TV_LIT("x-ms-continuation-NextRowKey"));

    if (partition.data == NULL)
        return TAVOLA_OK;
    page->token = tvc_token_make(op->was_secondary, partition, row);
    return page->token ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
}

/* A page that is there already is one whose memory can be used. */
static tavola_err read_page(tavola_op *op, tvc_response *response)
{
    tavola_page *page = NULL, *spare = op->page;
    char *json = response->body;

    op->page = NULL;
    response->body = NULL;

    tavola_err err = tvc_page_read_into(spare, json, response->body_len, &page);

    if (err)
        return err;
    err = add_token(page, op, response);
    if (err == TAVOLA_OK)
        err = decrypt_all(op, page);
    if (err) {
        tavola_page_free(page);
        return err;
    }
    op->page = page;
    return TAVOLA_OK;
}

static void add_continuation(tavola_op *op, const tvc_token *token)
{
    tvc_text *query = &op->request.query;

    if (tvc_text_slice(query).len)
        tvc_text_add_lit(query, "&");
    tvc_text_add_lit(query, "NextPartitionKey=");
    tvc_text_add(query, token->partition);
    if (token->row.data) {
        tvc_text_add_lit(query, "&NextRowKey=");
        tvc_text_add(query, token->row);
    }
    op->location = token->is_secondary ? TVC_AT_SECONDARY : TVC_AT_PRIMARY;
}

tavola_err tvc_page_op(const tavola_table *table, const tavola_query *query, const char *token,
                       uint64_t limit, tavola_crypto *crypto, tavola_call *call, tavola_op **ret_op)
{
    tavola_err err = tvc_table_check(table, call);
    tvc_token at;

    if (err == TAVOLA_OK)
        err = tvc_table_check_query(query, call);
    if (err)
        return err;
    if (token && !tvc_token_parse(token, &at))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "the token is not one of a page");

    tavola_op *op = tvc_table_read_op(table, call);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    op->finish = read_page;
    if (crypto && (err = tvc_reading_hang(op, table, crypto, "", "")) != TAVOLA_OK) {
        tavola_op_free(op);
        return err;
    }
    tvc_text_add_lit(&op->request.path, "/");
    tvc_text_add(&op->request.path, tv_slice_of(table->name));
    tvc_text_add_lit(&op->request.path, "()");
    tvc_query_write(&op->request.query, query, limit, crypto ? tvc_crypto_metadata_names : NULL);
    if (token)
        add_continuation(op, &at);
    *ret_op = op;
    return TAVOLA_OK;
}

tavola_err tavola_query_page(tavola_table *table, const tavola_query *query, const char *token,
                             tavola_call *call, tavola_page **ret_page)
{
    tavola_op *op = NULL;
    tavola_err err = tvc_table_check(table, call);

    if (err)
        return err;
    if (ret_page == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no place for the page");
    err = tvc_page_op(table, query, token, tvc_query_limit(query), tvc_table_crypto(table, call),
                      call, &op);
    if (err)
        return err;

    err = tvc_op_run(op);
    if (err == TAVOLA_OK) {
        *ret_page = op->page;
        op->page = NULL;
    }
    tavola_op_free(op);
    return err;
}

size_t tavola_page_count(const tavola_page *page)
{
    return page ? page->count : 0;
}

const tavola_entity *tavola_page_at(const tavola_page *page, size_t i)
{
    return i < tavola_page_count(page) ? &page->entities[i] : NULL;
}

const char *tavola_page_token(const tavola_page *page)
{
    return page ? page->token : NULL;
}

void tavola_page_free(tavola_page *page)
{
    tvc_page_free(page);
}
