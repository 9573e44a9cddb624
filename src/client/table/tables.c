/* Whole tables: make, delete, look for, list. */
#include "base/utf8.h"
#include "client/names.h"
#include "client/table/table.h"

/* Of one table in the list of tables. */
static void add_table_path(tvc_text *path, const tavola_table *table)
{
    tvc_text_add_lit(path, "/Tables('");
    tvc_text_add(path, tv_slice_of(table->name));
    tvc_text_add_lit(path, "')");
}

static tavola_op *create_op(const tavola_table *table, tavola_call *call)
{
    tavola_op *op = tvc_table_op(table, "POST", call);

    if (op == NULL)
        return NULL;
    tvc_text_add_lit(&op->request.path, "/Tables");
    tvc_op_add_header(op, TV_LIT("Content-Type"), TV_LIT("application/json"));
    tvc_op_add_header(op, TV_LIT("Prefer"), TV_LIT("return-no-content"));
    tvc_text_add_lit(&op->request.body, "{\"TableName\":");
    tvc_text_add_json(&op->request.body, tv_slice_of(table->name));
    tvc_text_add_lit(&op->request.body, "}");
    op->settle.kind = TVC_SETTLE_CREATE;
    add_table_path(&op->settle.path, table);
    return op;
}

tavola_err tavola_table_create(tavola_table *table, tavola_call *call)
{
    tavola_err err = tvc_table_check(table, call);

    return err ? err : tvc_run_and_free(create_op(table, call));
}

tavola_err tavola_table_create_if_absent(tavola_table *table, tavola_call *call)
{
    tavola_err err = tavola_table_create(table, call);

    return err == TAVOLA_ERR_EXISTS ? TAVOLA_OK : err;
}

static tavola_op *delete_op(const tavola_table *table, tavola_call *call)
{
    tavola_op *op = tvc_table_op(table, "DELETE", call);

    if (op == NULL)
        return NULL;
    add_table_path(&op->request.path, table);
    op->settle.kind = TVC_SETTLE_DELETE;
    add_table_path(&op->settle.path, table);
    return op;
}

tavola_err tavola_table_delete(tavola_table *table, tavola_call *call)
{
    tavola_err err = tvc_table_check(table, call);

    return err ? err : tvc_run_and_free(delete_op(table, call));
}

tavola_err tavola_table_delete_if_present(tavola_table *table, tavola_call *call)
{
    tavola_err err = tavola_table_delete(table, call);

    return err == TAVOLA_ERR_NOT_FOUND ? TAVOLA_OK : err;
}

/*
 * Asked by a query for one key: unlike the list of tables that knows names in any case, and is
 * allowed to whoever may read the table by a signature for it alone.
 */
tavola_err tavola_table_exists(tavola_table *table, tavola_call *call, bool *ret_exists)
{
    tavola_err err = tvc_table_check(table, call);

    if (err)
        return err;
    if (ret_exists == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no place for the answer");

    tavola_op *op = tvc_table_read_op(table, call);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    tvc_text_add_lit(&op->request.path, "/");
    tvc_text_add(&op->request.path, tv_slice_of(table->name));
    tvc_text_add_lit(&op->request.path, "()");
    tvc_text_add_lit(&op->request.query, "$select=PartitionKey&$top=1");
    err = tvc_run_and_free(op);
    if (err && err != TAVOLA_ERR_NOT_FOUND)
        return err;
    *ret_exists = err == TAVOLA_OK;
    return TAVOLA_OK;
}

/* A list that is being put together from pages of names. */
typedef struct list {
    tavola_names *names;
    tv_slice prefix;
    tvc_text next; /* NextTableName, percent-encoded; empty: no more */
    tvc_circle circle;
    tvc_location location; /* a continuation is good for the one that gave it alone */
} list;

static tavola_err add_names(list *into, const tavola_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        tavola_value name;

        if (!tavola_entity_get(&page->entities[i], "TableName", &name) ||
            name.type != TAVOLA_STRING)
            return TAVOLA_ERR_PROTOCOL;

        tv_slice text = {name.as.ptr, name.size};
        bool is_wanted = text.len >= into->prefix.len &&
                         tv_slice_eq_nocase(tv_slice_take(text, into->prefix.len), into->prefix);

        if (is_wanted && !tvc_names_add(into->names, text))
            return TAVOLA_ERR_NO_MEMORY;
    }
    return TAVOLA_OK;
}

static tavola_err take_continuation(list *into, tavola_op *op, tv_slice next)
{
    tvc_text_reset(&into->next);
    tvc_text_add_encoded(&into->next, next);
    if (into->next.has_failed)
        return TAVOLA_ERR_NO_MEMORY;
    into->location = op->was_secondary ? TVC_AT_SECONDARY : TVC_AT_PRIMARY;
    if (next.len && tvc_circle_closes(&into->circle, next)) {
        tvc_call_set_error(op->call, "", TVC_LEADS_BACK);
        return TAVOLA_ERR_PROTOCOL;
    }
    return TAVOLA_OK;
}

static tavola_err read_names(tavola_op *op, tvc_response *response)
{
    list *into = op->user_data;
    tv_slice next = tvc_response_header(response, TV_LIT("x-ms-continuation-NextTableName"));
    tavola_page *page = NULL;
    char *json = response->body;

    response->body = NULL;
    if (json == NULL)
        return TAVOLA_ERR_PROTOCOL;

    tavola_err err = tvc_page_read(json, response->body_len, &page);

    if (err)
        return err;
    err = add_names(into, page);
    tavola_page_free(page);
    return err ? err : take_continuation(into, op, next);
}

static tavola_err list_page(tavola_client *client, list *into, tavola_call *call)
{
    const tavola_table any = {.client = client};
    tavola_op *op = tvc_table_read_op(&any, call);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    tvc_text_add_lit(&op->request.path, "/Tables");
    if (tvc_text_slice(&into->next).len) {
        tvc_text_add_lit(&op->request.query, "NextTableName=");
        tvc_text_add(&op->request.query, tvc_text_slice(&into->next));
    }
    op->user_data = into;
    op->location = into->location;
    op->finish = read_names;
    return tvc_run_and_free(op);
}

/*
 * The prefix is compared here, not by a filter: names of tables are the same in any case, and
 * services do not agree on whether their filters know that.
 */
tavola_err tavola_table_list(tavola_client *client, const char *prefix, tavola_call *call,
                             tavola_names **ret_names)
{
    if (client == NULL || ret_names == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "there is no client, or no place for the names: it is NULL");
    if (prefix && !tv_utf8_is_valid(tv_slice_of(prefix)))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "the prefix is not text in UTF-8");

    list into = {.names = tvc_names_new(), .prefix = tv_slice_of(prefix ? prefix : "")};
    tavola_err err = into.names ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;

    while (err == TAVOLA_OK) {
        err = list_page(client, &into, call);
        if (tvc_text_slice(&into.next).len == 0)
            break;
    }
    tvc_text_done(&into.next);
    tvc_circle_done(&into.circle);
    if (err) {
        tavola_names_free(into.names);
        return err;
    }
    *ret_names = into.names;
    return TAVOLA_OK;
}
