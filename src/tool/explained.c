#include "explained.h"
#include "json_find.h"

/* Every answer of a Tavola to a query has its plan. */
static tavola_err ask_who_answers(tool_run *run, tavola_table *table)
{
    tavola_query *query =
        tavola_query_new(tavola_and(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("")),
                                    tavola_where("RowKey", TAVOLA_EQ, tavola_string(""))));
    tavola_page *page = NULL;
    tavola_err err = tavola_query_page(table, query, NULL, run->call, &page);

    tavola_page_free(page);
    tavola_query_free(query);
    if (err)
        return err;
    return tavola_call_plan(run->call) ? TAVOLA_OK : TAVOLA_ERR_UNSUPPORTED;
}

tavola_err tool_explain(tool_run *run, tavola_table *table, const tavola_query *query,
                        char **ret_json)
{
    tavola_err err = ask_who_answers(run, table);

    return err ? err : tavola_explain(table, query, run->call, ret_json);
}

static void tell_warnings(const tool_run *run, const char *json)
{
    tool_json_walk warning = {0};

    while (tool_json_each(tool_json_get(tool_json_of(json), "warnings"), &warning)) {
        tool_text text = {0};

        tool_json_text(warning.value, &text);
        tool_note("warning: %s", text.at ? text.at : "");
        tool_text_done(&text);
    }
    if (warning.next && run->where_count > 1)
        tool_note("warning: %s", TOOL_VALUES_NEED_TYPES);
}

void tool_warn_of(tool_run *run, tavola_table *table, const tavola_query *query)
{
    char *json = NULL;

    if (tavola_explain(table, query, run->call, &json) == TAVOLA_OK)
        tell_warnings(run, json);
    tavola_free(json);
}

tavola_err tool_warn(tool_run *run, tavola_table *table, const tavola_query *query)
{
    tavola_err err = ask_who_answers(run, table);

    if (err == TAVOLA_OK)
        tool_warn_of(run, table, query);
    return err == TAVOLA_ERR_UNSUPPORTED ? TAVOLA_OK : err;
}
