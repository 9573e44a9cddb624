/* tavola table ... */
#include "../output/output.h"
#include "../verbs.h"

static tool_exit list(tool_run *run)
{
    tavola_client *client;
    tavola_names *names = NULL;
    tool_output *output = NULL;
    tool_exit exit = tool_client(run, &client);
    tavola_err err;

    if (!exit)
        exit = tool_output_open(run, true, &output);
    if (exit)
        return exit;
    err = tavola_table_list(client, tool_value_of(run, TOOL_FLAG_PREFIX), run->call, &names);
    if (err)
        exit = tool_fail(run, err, NULL);
    for (size_t i = 0; i < tavola_names_count(names); i++)
        tool_output_record(output,
                           &(tool_field){"TableName", tavola_string(tavola_names_at(names, i))}, 1);
    tavola_names_free(names);
    tool_output_close(output);
    return exit;
}

static tool_exit create(tool_run *run)
{
    tavola_table *table = NULL;
    tool_exit exit = tool_table(run, run->args[0], &table);
    tavola_err err;

    if (exit)
        return exit;
    err = tool_has(run, TOOL_FLAG_IF_ABSENT) ? tavola_table_create_if_absent(table, run->call)
                                             : tavola_table_create(table, run->call);
    tavola_table_close(table);
    return err ? tool_fail(run, err, NULL) : TOOL_OK;
}

static tool_exit delete (tool_run *run)
{
    tavola_table *table = NULL;
    tool_exit exit = tool_table(run, run->args[0], &table);
    tavola_err err;

    if (!exit)
        exit = tool_confirm(run, "Delete table %s and all that is in it, at %s?", run->args[0],
                            tavola_client_endpoint(run->clients[0], TAVOLA_SERVICE_TABLE));
    if (!exit) {
        err = tool_has(run, TOOL_FLAG_IF_EXISTS) ? tavola_table_delete_if_present(table, run->call)
                                                 : tavola_table_delete(table, run->call);
        exit = err ? tool_fail(run, err, NULL) : TOOL_OK;
    }
    tavola_table_close(table);
    return exit;
}

static tool_exit exists(tool_run *run)
{
    tavola_table *table = NULL;
    bool does_exist = false;
    tool_exit exit = tool_table(run, run->args[0], &table);
    tavola_err err;

    if (exit)
        return exit;
    err = tavola_table_exists(table, run->call, &does_exist);
    tavola_table_close(table);
    if (err)
        return tool_fail(run, err, NULL);
    exit = tool_output_one(run, &(tool_field){"Exists", tavola_boolean(does_exist)}, 1);
    return exit ? exit : does_exist ? TOOL_OK : TOOL_NOT_FOUND;
}

const tool_verb tool_table_verbs[] = {
    {"table list", "", "The names of all tables", 0, 0, TOOL_BIT(PREFIX), .run = list},
    {"table create", "TABLE", "Create a table", 1, 1, TOOL_BIT(IF_ABSENT), .run = create},
    {"table delete", "TABLE", "Delete a table and all that is in it", 1, 1,
     TOOL_BIT(YES) | TOOL_BIT(IF_EXISTS), .run = delete},
    {"table exists", "TABLE", "Whether there is a table: true, or false with exit code 3", 1, 1, 0,
     .run = exists, .is_plain = true},
    {0},
};
