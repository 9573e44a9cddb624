/* All pages of a query, the next one read ahead. */
#include "client/table/table.h"

tavola_err tvc_pages_init(tvc_pages *pages, const tavola_table *table, const tavola_query *query,
                          bool is_keys_only, tavola_call *call)
{
    *pages = (tvc_pages){.call = call, .limit_left = tvc_query_limit(query)};

    tavola_err err = tvc_table_check(table, call);

    if (err == TAVOLA_OK)
        err = tvc_table_check_query(query, call);
    if (err)
        return err;

    pages->table = tvc_table_copy(table);
    pages->crypto = is_keys_only ? NULL : tvc_table_crypto(table, call);
    if (is_keys_only)
        pages->query = tvc_query_keys_only(query);
    else if (query)
        pages->query = tvc_query_copy(query);
    if (pages->table && (pages->query || (query == NULL && !is_keys_only)))
        return TAVOLA_OK;
    tvc_pages_done(pages);
    return TAVOLA_ERR_NO_MEMORY;
}

/* The operation of the page at `token`.  It reads into the memory of the one before the current. */
static tavola_err make_op(tvc_pages *pages, const char *token, tavola_call *call,
                          tavola_op **ret_op)
{
    tavola_err err = tvc_page_op(pages->table, pages->query, token, pages->limit_left,
                                 pages->crypto, call, ret_op);

    if (err)
        return err;
    (*ret_op)->page = pages->spare;
    pages->spare = NULL;
    return TAVOLA_OK;
}

/* Ask for the page at `token` on this thread. */
static tavola_err fetch(tvc_pages *pages, const char *token, tavola_page **ret_page)
{
    tavola_op *op = NULL;
    tavola_err err = make_op(pages, token, pages->call, &op);

    if (err)
        return err;
    err = tvc_op_run(op);
    if (err == TAVOLA_OK)
        *ret_page = tavola_op_take_page(op);
    tavola_op_free(op);
    return err;
}

/* Send for the page at `token`.  What fails here is tried again when it is needed. */
static void send_ahead(tvc_pages *pages, const char *token)
{
    tavola_op *op = NULL;

    if (make_op(pages, token, NULL, &op) != TAVOLA_OK)
        return;
    tvc_call_copy_options(op->call, pages->call);
    if (tvc_op_start(op, NULL, NULL) == TAVOLA_OK)
        pages->ahead = op;
    else
        tavola_op_free(op);
}

static tavola_err take_ahead(tvc_pages *pages, tavola_page **ret_page)
{
    tavola_op *op = pages->ahead;
    tavola_err err = tvc_op_await(op, pages->call);

    pages->ahead = NULL;
    if (err == TAVOLA_OK)
        *ret_page = tavola_op_take_page(op);
    tvc_call_take_outcome(pages->call, op->call);
    tavola_op_free(op);
    return err;
}

/* Take a page over as the current one. */
static tavola_err accept_page(tvc_pages *pages, tavola_page *page)
{
    pages->page = page;
    pages->count = page->count < pages->limit_left ? page->count : (size_t)pages->limit_left;
    if (page->token && tvc_circle_closes(&pages->circle, tv_slice_of(page->token))) {
        tvc_call_set_error(pages->call, "", TVC_LEADS_BACK);
        return TAVOLA_ERR_PROTOCOL;
    }
    if (pages->limit_left != UINT64_MAX)
        pages->limit_left -= pages->count;
    if (page->token && pages->limit_left > 0)
        send_ahead(pages, page->token);
    return TAVOLA_OK;
}

static tavola_err advance(tvc_pages *pages)
{
    char *token = NULL;
    tavola_page *page = NULL;
    tavola_err err;

    if (pages->page) {
        token = pages->page->token;
        pages->page->token = NULL;
        tavola_page_free(pages->spare);
        tvc_page_clear(pages->page);
        pages->spare = pages->page;
        pages->page = NULL;
        if (token == NULL)
            return TAVOLA_END;
    }
    if (pages->limit_left == 0)
        err = TAVOLA_END;
    else if (pages->ahead)
        err = take_ahead(pages, &page);
    else
        err = fetch(pages, token, &page);
    if (err == TAVOLA_OK)
        err = accept_page(pages, page);
    tvc_release(token);
    return err;
}

void tvc_pages_send_first(tvc_pages *pages)
{
    if (pages->page == NULL && pages->ahead == NULL && pages->err == TAVOLA_OK)
        send_ahead(pages, NULL);
}

tavola_err tvc_pages_next(tvc_pages *pages, const tavola_page **ret_page)
{
    if (pages->err == TAVOLA_OK)
        pages->err = advance(pages);
    if (pages->err == TAVOLA_OK)
        *ret_page = pages->page;
    return pages->err;
}

void tvc_pages_done(tvc_pages *pages)
{
    if (pages->ahead) {
        tavola_op_cancel(pages->ahead);
        tavola_op_free(pages->ahead);
    }
    tavola_page_free(pages->page);
    tavola_page_free(pages->spare);
    tvc_circle_done(&pages->circle);
    tavola_query_free(pages->query);
    tavola_table_close(pages->table);
    *pages = (tvc_pages){0};
}
