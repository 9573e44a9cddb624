/* One entity by its keys: get, insert, put, merge, delete. */
#include "entity.h"
#include "../explained.h"
#include "../output/output.h"
#include "../query.h"
#include "../values.h"
#include "../verbs.h"

#include <stdlib.h>
#include <string.h>

static tool_exit get(tool_run *run)
{
    char **names = tool_select_of(run);
    tavola_table *table = NULL;
    tavola_entity *entity = NULL;
    tool_output *output = NULL;
    tool_exit exit = tool_table(run, run->args[0], &table);
    tavola_err err;

    if (!exit)
        exit = tool_output_open(run, false, &output);
    if (exit)
        goto out;
    err = names ? tavola_get_select(table, run->args[1], run->args[2], (const char *const *)names,
                                    run->call, &entity)
                : tavola_get(table, run->args[1], run->args[2], run->call, &entity);
    if (err)
        exit = tool_fail(run, err, NULL);
    else
        tool_output_entity(output, entity);

out:
    tool_output_close(output);
    tavola_entity_free(entity);
    tavola_table_close(table);
    tool_names_free(names);
    return exit;
}

tool_exit tool_entity_of(const tool_run *run, tavola_entity **ret_entity)
{
    tool_exit exit = TOOL_OK;

    *ret_entity = tavola_entity_new(run->args[1], run->args[2]);
    if (tavola_entity_error(*ret_entity))
        exit = tool_refuse("%s", tavola_entity_error_text(*ret_entity));
    return exit ? exit : tool_entity_set(*ret_entity, run->args + 3, run->arg_count - 3);
}

tool_exit tool_write_of(const tool_run *run, tavola_write *ret_write, const char **ret_if_match)
{
    const char *if_match = tool_value_of(run, TOOL_FLAG_IF_MATCH), *verb = run->verb->name;
    bool or_insert = tool_has(run, TOOL_FLAG_OR_INSERT);

    if (or_insert && if_match)
        return tool_refuse("--or-insert and --if-match exclude each other: give one of them");
    if (strcmp(verb, "insert") == 0)
        *ret_write = TAVOLA_INSERT;
    else if (strcmp(verb, "put") == 0)
        *ret_write = if_match ? TAVOLA_REPLACE : TAVOLA_INSERT_OR_REPLACE;
    else if (strcmp(verb, "merge") == 0)
        *ret_write = or_insert ? TAVOLA_INSERT_OR_MERGE : TAVOLA_MERGE;
    else
        *ret_write = TAVOLA_DELETE;
    *ret_if_match = if_match ? if_match : TAVOLA_ANY;
    return TOOL_OK;
}

void tool_print_written(tool_output *output, const tavola_entity *entity, const char *etag)
{
    tool_field fields[] = {
        {"PartitionKey", tavola_string(tavola_entity_partition_key(entity))},
        {"RowKey", tavola_string(tavola_entity_row_key(entity))},
        {"ETag", tool_text_value(etag)},
    };

    tool_output_record(output, fields, sizeof fields / sizeof fields[0]);
}

static tavola_err send(tavola_table *table, tavola_write how, tavola_entity *entity,
                       const char *if_match, tavola_call *call)
{
    switch (how) {
    case TAVOLA_INSERT:
        return tavola_insert(table, entity, call);
    case TAVOLA_REPLACE:
        return tavola_replace(table, entity, if_match, call);
    case TAVOLA_INSERT_OR_REPLACE:
        return tavola_insert_or_replace(table, entity, call);
    case TAVOLA_INSERT_OR_MERGE:
        return tavola_insert_or_merge(table, entity, call);
    default:
        return tavola_merge(table, entity, if_match, call);
    }
}

/* insert, put and merge: build the entity, send it, print its keys and its new etag. */
static tool_exit write(tool_run *run)
{
    const char *if_match = NULL;
    tavola_table *table = NULL;
    tavola_entity *entity = NULL;
    tool_output *output = NULL;
    tavola_write how = TAVOLA_INSERT;
    tavola_err err;
    tool_exit exit = tool_write_of(run, &how, &if_match);

    if (!exit)
        exit = tool_entity_of(run, &entity);
    if (!exit)
        exit = tool_table(run, run->args[0], &table);
    if (!exit)
        exit = tool_output_open(run, false, &output);
    if (exit)
        goto out;
    err = send(table, how, entity, if_match, run->call);
    if (err) {
        exit = tool_fail(run, err, tavola_entity_error_text(entity));
    } else {
        tool_output_is_flat(output);
        tool_print_written(output, entity, tavola_call_etag(run->call));
    }

out:
    tool_output_close(output);
    tavola_entity_free(entity);
    tavola_table_close(table);
    return exit;
}

static tool_exit delete_one(tool_run *run, tavola_table *table)
{
    const char *partition = run->args[1], *row = run->args[2];
    const char *if_match = tool_value_of(run, TOOL_FLAG_IF_MATCH);
    tool_exit exit =
        tool_confirm(run, "Delete entity '%s' '%s' of table %s?", partition, row, run->args[0]);
    tavola_err err;

    if (exit)
        return exit;
    err = tool_has(run, TOOL_FLAG_IF_EXISTS) && !if_match
              ? tavola_delete_if_present(table, partition, row, run->call)
              : tavola_delete(table, partition, row, if_match ? if_match : TAVOLA_ANY, run->call);
    if (err == TAVOLA_ERR_NOT_FOUND && tool_has(run, TOOL_FLAG_IF_EXISTS))
        err = TAVOLA_OK;
    return err ? tool_fail(run, err, NULL) : TOOL_OK;
}

static tool_exit delete_many(tool_run *run, tavola_table *table)
{
    tavola_filter *filter = NULL;
    tavola_query *query;
    uint64_t count = 0;
    tool_exit exit = tool_filter_of(run, &filter);
    tavola_err err;

    if (exit)
        return exit;
    query = tavola_query_new(filter);
    err = tool_warn(run, table, query);
    tavola_query_free(query);
    exit = err ? tool_fail(run, err, NULL)
               : tool_confirm(run, "Delete all entities of table %s where %s?", run->args[0],
                              tool_value_of(run, TOOL_FLAG_WHERE));
    if (!exit)
        exit = tool_filter_of(run, &filter);
    if (exit)
        return exit;
    err = tavola_delete_where(table, filter, run->call, &count);
    if (err)
        return tool_fail(run, err, NULL);
    return tool_output_one(run, &(tool_field){"Deleted", tavola_int64((int64_t)count)}, 1);
}

static tool_exit delete (tool_run *run)
{
    bool is_many = tool_has(run, TOOL_FLAG_WHERE);
    tavola_table *table = NULL;
    tool_exit exit;

    if (run->arg_count != (is_many ? 1 : 3))
        return tool_refuse("it goes: tavola delete TABLE PARTITION ROW, or tavola delete TABLE "
                           "--where FILTER [VALUE]...");
    exit = tool_table(run, run->args[0], &table);
    if (!exit)
        exit = is_many ? delete_many(run, table) : delete_one(run, table);
    tavola_table_close(table);
    return exit;
}

#define KEYS_AND_PROPERTIES "TABLE PARTITION ROW [NAME:TYPE=VALUE]..."

const tool_verb tool_entity_verbs[] = {
    {"get", "TABLE PARTITION ROW", "Read one entity by its keys", 3, 3, TOOL_BIT(SELECT),
     .run = get,
     .examples = "  tavola get Employees Sales 212\n"
                 "  tavola get Employees Sales 212 --select Age -o value\n"},
    {"insert", KEYS_AND_PROPERTIES, "Add an entity; exit code 4 when there is one of these keys", 3,
     -1, 0, .run = write,
     .examples = "  tavola insert Employees Sales 212 FirstName=Jun Age:int32=47\n"
                 "  tavola insert Photos 2026 1 Pic:binary=@portrait.jpg \\\n"
                 "      Taken:datetime=2026-01-02T03:04:05Z\n"},
    {"put", KEYS_AND_PROPERTIES, "Write a whole entity in place of what is there, if anything", 3,
     -1, TOOL_BIT(IF_MATCH), .run = write,
     .examples = "  tavola put Employees Sales 212 FirstName=Jun Age:int32=48\n"},
    {"merge", KEYS_AND_PROPERTIES, "Set some properties of an entity and leave the others", 3, -1,
     TOOL_BIT(IF_MATCH) | TOOL_BIT(OR_INSERT), .run = write,
     .examples = "  tavola merge Employees Sales 212 Age:int32=48 --if-match \"$ETAG\"\n"},
    {"delete", "TABLE PARTITION ROW | TABLE --where FILTER [VALUE]...",
     "Delete an entity by its keys, or all that pass a filter", 1, 3,
     TOOL_BIT(YES) | TOOL_BIT(IF_MATCH) | TOOL_BIT(IF_EXISTS) | TOOL_BIT(WHERE), .run = delete,
     .is_plain = true,
     .examples = "  tavola delete Employees Sales 212 --yes\n"
                 "  tavola delete Logins --where \"Day lt ?\" 20260101 --yes\n"},
    {0},
};
