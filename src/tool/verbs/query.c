/* Several entities: query, count, keys. */
#include "../query.h"
#include "../explained.h"
#include "../text.h"
#include "../values.h"
#include "../verbs.h"

#include <stdlib.h>
#include <string.h>

static tool_exit query(tool_run *run)
{
    tavola_filter *filter;
    char **select;
    tool_exit exit = tool_filter_of(run, &filter);

    if (exit)
        return exit;
    select = tool_select_of(run);
    exit =
        tool_query_run(run, run->args[0], filter, (const char *const *)select, tool_output_entity);
    tool_names_free(select);
    return exit;
}

/*
 * How many entities a table has, where the service knows it: a Tavola says so with the first page
 * of a query without a filter, if it is exact.  False elsewhere.
 */
static bool is_count_known(tool_run *run, tavola_table *table, uint64_t *ret_number)
{
    tavola_query *one = tavola_query_new(NULL);
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    bool is_known = false;
    tavola_err err;

    tavola_query_select(one, (const char *const[]){"PartitionKey", NULL});
    tavola_query_set_limit(one, 1);
    err = tavola_scan_open(table, one, run->call, &scan);
    if (!err)
        err = tavola_scan_next(scan, &entity);
    if (!err || err == TAVOLA_END) {
        static const char label[] = "; entities=";
        const char *plan = tavola_call_plan(run->call);
        const char *at = plan ? strstr(plan, label) : NULL;
        char *end = NULL;

        if (at) {
            *ret_number = strtoull(at + sizeof label - 1, &end, 10);
            is_known = end != at + sizeof label - 1 && *end == '\0';
        }
    }
    tavola_scan_close(scan);
    tavola_query_free(one);
    return is_known;
}

static tool_exit count(tool_run *run)
{
    tavola_table *table = NULL;
    tavola_filter *filter = NULL;
    tavola_query *what;
    uint64_t number = 0;
    tool_exit exit = tool_filter_of(run, &filter);
    tavola_err err;

    if (exit)
        return exit;
    what = tavola_query_new(filter);
    exit = tool_table(run, run->args[0], &table);
    if (!exit) {
        err = filter ? tool_warn(run, table, what) : TAVOLA_OK;
        if (!err && (filter || !is_count_known(run, table, &number)))
            err = tavola_count(table, what, run->call, &number);
        exit = err ? tool_fail(run, err, NULL)
                   : tool_output_one(run, &(tool_field){"Count", tavola_int64((int64_t)number)}, 1);
    }
    tavola_query_free(what);
    tavola_table_close(table);
    return exit;
}

static void print_keys(tool_output *output, const tavola_entity *entity)
{
    tool_field fields[] = {
        {"PartitionKey", tavola_string(tavola_entity_partition_key(entity))},
        {"RowKey", tavola_string(tavola_entity_row_key(entity))},
    };

    tool_output_record(output, fields, 2);
}

/* The first entity behind all of the partition `after`; NULL: the first of all.  END: none. */
static tavola_err next_partition(tool_run *run, tavola_table *table, const char *after,
                                 char **ret_key)
{
    tavola_query *query_one = tavola_query_new(
        after ? tavola_where("PartitionKey", TAVOLA_GT, tavola_string(after)) : NULL);
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    tavola_err err;

    tavola_query_select(query_one, (const char *const[]){"PartitionKey", NULL});
    tavola_query_set_limit(query_one, 1);
    err = tavola_scan_open(table, query_one, run->call, &scan);
    if (!err)
        err = tavola_scan_next(scan, &entity);
    if (!err)
        *ret_key = tool_copy(tavola_entity_partition_key(entity));
    tavola_scan_close(scan);
    tavola_query_free(query_one);
    return err;
}

/* From partition to partition, without reading what is in them. */
static tool_exit list_partitions(tool_run *run)
{
    int64_t limit = INT64_MAX;
    tavola_table *table = NULL;
    tool_output *output = NULL;
    char *key = NULL;
    tavola_err err = TAVOLA_OK;
    tool_exit exit = tool_number_of(run, TOOL_FLAG_LIMIT, 1, INT64_MAX, &limit);

    if (!exit)
        exit = tool_table(run, run->args[0], &table);
    if (!exit)
        exit = tool_output_open(run, true, &output);
    while (!exit && !err && limit-- > 0) {
        char *next = NULL;

        err = next_partition(run, table, key, &next);
        if (err)
            break;
        free(key);
        key = next;
        tool_output_record(output, &(tool_field){"PartitionKey", tavola_string(key)}, 1);
    }
    tool_output_close(output);
    if (err && err != TAVOLA_END)
        exit = tool_fail(run, err, NULL);
    free(key);
    tavola_table_close(table);
    return exit;
}

static tool_exit keys(tool_run *run)
{
    tavola_filter *filter = NULL;

    if (tool_has(run, TOOL_FLAG_PARTITIONS))
        return run->arg_count > 1
                   ? tool_refuse("--partitions lists all of a table: leave '%s' out", run->args[1])
                   : list_partitions(run);
    if (run->arg_count > 1)
        filter = tavola_where("PartitionKey", TAVOLA_EQ, tavola_string(run->args[1]));
    if (run->arg_count > 2)
        filter = tavola_and(filter, tavola_where_prefix("RowKey", run->args[2]));
    return tool_query_run(run, run->args[0], filter, (const char *const[]){"PartitionKey", NULL},
                          print_keys);
}

#define PAGING (TOOL_BIT(LIMIT) | TOOL_BIT(PAGE_SIZE) | TOOL_BIT(TOKEN) | TOOL_BIT(PLAN))

const tool_verb tool_query_verbs[] = {
    {"query", TOOL_TABLE_WHERE, "The entities that pass a filter, or all", 1, 1,
     TOOL_BIT(WHERE) | TOOL_BIT(SELECT) | PAGING, .run = query,
     .examples =
         "  tavola query Employees --where \"PartitionKey eq 'Sales'\" --limit 50\n"
         "  tavola query Employees --select Email \\\n"
         "      --where \"PartitionKey eq ? and Age gt ?\" Sales 30:int32 --plan\n"},
    {"count", TOOL_TABLE_WHERE,
     "How many entities pass a filter; reads all their keys, except of a whole table of a Tavola",
     1, 1, TOOL_BIT(WHERE), .run = count, .is_plain = true,
     .examples = "  tavola count Employees\n"
                 "  tavola count Employees --where \"PartitionKey eq ?\" Sales\n"},
    {"keys", "TABLE [PARTITION [ROW-PREFIX]]",
     "The keys of entities: of all, of a partition, of row keys that begin so", 1, 3,
     TOOL_BIT(PARTITIONS) | PAGING, .run = keys,
     .examples = "  tavola keys Employees --partitions\n"
                 "  tavola keys Employees Sales 2\n"},
    {0},
};
