/* Several entities: query, count. */
#include "../query.h"
#include "../values.h"
#include "../verbs.h"

static tool_exit query(tool_run *run)
{
    tavola_filter *filter;
    char **select;
    tool_exit exit = tool_filter_of(run->args + 1, run->arg_count - 1, &filter);

    if (exit)
        return exit;
    select = tool_select_of(run);
    exit = tool_query_run(run, run->args[0], filter, (const char *const *)select);
    tool_names_free(select);
    return exit;
}

static tool_exit count(tool_run *run)
{
    tavola_table *table = NULL;
    tavola_filter *filter = NULL;
    tavola_query *what;
    uint64_t number = 0;
    tool_exit exit = tool_filter_of(run->args + 1, run->arg_count - 1, &filter);
    tavola_err err;

    if (exit)
        return exit;
    what = tavola_query_new(filter);
    exit = tool_table(run, run->args[0], &table);
    if (!exit) {
        err = tavola_count(table, what, run->call, &number);
        exit = err ? tool_fail(run, err, NULL)
                   : tool_output_one(run, &(tool_field){"Count", tavola_int64((int64_t)number)}, 1);
    }
    tavola_query_free(what);
    tavola_table_close(table);
    return exit;
}

#define PAGING (TOOL_BIT(LIMIT) | TOOL_BIT(PAGE_SIZE) | TOOL_BIT(TOKEN) | TOOL_BIT(PLAN))

const tool_verb tool_query_verbs[] = {
    {"query", "TABLE [FILTER [VALUE]...]", "The entities that pass a filter, or all", 1, -1,
     TOOL_BIT(SELECT) | PAGING, .run = query},
    {"count", "TABLE [FILTER [VALUE]...]", "How many entities pass a filter; reads all their keys",
     1, -1, 0, .run = count, .is_plain = true},
    {0},
};
