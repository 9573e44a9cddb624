/* Delete what a filter finds. */
#include "client/table/bulk.h"

/* What the deletes leave. */
typedef struct deletes {
    uint64_t absent; /* somebody else was faster */
    tavola_err err;  /* the first of another kind */
} deletes;

static void note_failure(void *user, const tavola_entity *entity, tavola_err err, const char *code)
{
    deletes *outcome = user;

    if (err == TAVOLA_ERR_NOT_FOUND && strcmp(code, "TableNotFound") != 0)
        outcome->absent++;
    else if (outcome->err == TAVOLA_OK)
        outcome->err = err;
}

static tavola_err delete_page(tavola_bulk *bulk, const tavola_page *page)
{
    tavola_err err = TAVOLA_OK;

    for (size_t i = 0; err == TAVOLA_OK && i < page->count; i++)
        err = tavola_bulk_add(bulk, TAVOLA_DELETE, &page->entities[i], TAVOLA_ANY);
    return err;
}

static tavola_err delete_all(tavola_table *table, const tavola_query *query, tavola_call *call,
                             uint64_t *ret_count)
{
    const tavola_page *page = NULL;
    tavola_bulk *bulk = NULL;
    deletes outcome = {0};
    uint64_t written = 0, failed = 0;
    tvc_pages pages;
    tavola_err err = tvc_pages_init(&pages, table, query, true, call);

    if (err)
        return err;
    err = tvc_bulk_open(table, 0, note_failure, &outcome, call, &bulk);
    while (err == TAVOLA_OK && outcome.err == TAVOLA_OK) {
        err = tvc_pages_next(&pages, &page);
        if (err == TAVOLA_OK)
            err = delete_page(bulk, page);
    }

    tavola_err closing = tavola_bulk_close(bulk, &written, &failed);

    tvc_pages_done(&pages);
    if (err == TAVOLA_OK || err == TAVOLA_END)
        err = outcome.err ? outcome.err : closing;
    if (err == TAVOLA_OK && ret_count)
        *ret_count = written;
    return err;
}

tavola_err tavola_delete_where(tavola_table *table, tavola_filter *filter, tavola_call *call,
                               uint64_t *ret_count)
{
    tavola_err err = tvc_table_check(table, call);

    if (err == TAVOLA_OK && tavola_filter_error(filter))
        err = tvc_call_refuse(call, tavola_filter_error(filter), "%s",
                              tavola_filter_error_text(filter));
    if (err) {
        tavola_filter_free(filter);
        return err;
    }

    tavola_query *query = tavola_query_new(filter);

    if (query == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_NO_MEMORY, "there is no memory");
    err = delete_all(table, query, call, ret_count);
    tavola_query_free(query);
    return err;
}
