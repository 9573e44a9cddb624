#include "resource.h"
#include "../output/output.h"
#include "../verbs.h"

#include <string.h>

/* The functions of a kind, with the type of the resource out of their signatures. */
#define WRAP(kind)                                                                                 \
    static tavola_err kind##_open(tavola_client *client, const char *name, void **ret)             \
    {                                                                                              \
        tavola_##kind *opened = NULL;                                                              \
        tavola_err err = tavola_##kind##_open(client, name, &opened);                              \
                                                                                                   \
        if (!err)                                                                                  \
            *ret = opened;                                                                         \
        return err;                                                                                \
    }                                                                                              \
    static void kind##_close(void *resource)                                                       \
    {                                                                                              \
        tavola_##kind##_close(resource);                                                           \
    }                                                                                              \
    static tavola_err kind##_create(void *resource, tavola_call *call)                             \
    {                                                                                              \
        return tavola_##kind##_create(resource, call);                                             \
    }                                                                                              \
    static tavola_err kind##_create_if_absent(void *resource, tavola_call *call)                   \
    {                                                                                              \
        return tavola_##kind##_create_if_absent(resource, call);                                   \
    }                                                                                              \
    static tavola_err kind##_delete(void *resource, tavola_call *call)                             \
    {                                                                                              \
        return tavola_##kind##_delete(resource, call);                                             \
    }                                                                                              \
    static tavola_err kind##_delete_if_present(void *resource, tavola_call *call)                  \
    {                                                                                              \
        return tavola_##kind##_delete_if_present(resource, call);                                  \
    }                                                                                              \
    static tavola_err kind##_exists(void *resource, tavola_call *call, bool *ret)                  \
    {                                                                                              \
        return tavola_##kind##_exists(resource, call, ret);                                        \
    }                                                                                              \
    static tavola_err kind##_get_policies(void *resource, tavola_call *call,                       \
                                          tavola_policies **ret)                                   \
    {                                                                                              \
        return tavola_##kind##_get_policies(resource, call, ret);                                  \
    }                                                                                              \
    static tavola_err kind##_set_policies(void *resource, const tavola_policy *policies,           \
                                          size_t count, tavola_call *call)                         \
    {                                                                                              \
        return tavola_##kind##_set_policies(resource, policies, count, call);                      \
    }                                                                                              \
    static tavola_err kind##_sas(void *resource, const tavola_sas_options *options,                \
                                 char **ret_query)                                                 \
    {                                                                                              \
        return tavola_##kind##_sas(resource, options, ret_query);                                  \
    }

WRAP(table)
WRAP(queue)
WRAP(container)

#define FUNCTIONS(kind)                                                                            \
    .open = kind##_open, .close = kind##_close, .create = kind##_create,                           \
    .create_if_absent = kind##_create_if_absent, .delete = kind##_delete,                          \
    .delete_if_present = kind##_delete_if_present, .exists = kind##_exists,                        \
    .list = tavola_##kind##_list, .get_policies = kind##_get_policies,                             \
    .set_policies = kind##_set_policies, .sas = kind##_sas

enum { TABLE, QUEUE, CONTAINER };

static const tool_kind kinds[] = {
    [TABLE] = {"table", "TableName", "3 to 63 letters and digits, a letter first",
               TAVOLA_SERVICE_TABLE, FUNCTIONS(table)},
    [QUEUE] = {"queue", "QueueName", "3 to 63 small letters, digits and single dashes",
               TAVOLA_SERVICE_QUEUE, FUNCTIONS(queue)},
    [CONTAINER] = {"container", "ContainerName", "3 to 63 small letters, digits and single dashes",
                   TAVOLA_SERVICE_BLOB, FUNCTIONS(container)},
};

const tool_kind *tool_kind_of(const tool_run *run)
{
    size_t i = 0;

    while (strncmp(kinds[i].word, run->verb->name, strlen(kinds[i].word)) != 0)
        i++;
    return &kinds[i];
}

static tool_exit open_resource(tool_run *run, const tool_kind *kind, void **ret_resource)
{
    tavola_client *client;
    tool_exit exit = tool_client(run, &client);
    tavola_err err;

    if (exit)
        return exit;
    err = kind->open(client, run->args[0], ret_resource);
    if (err == TAVOLA_ERR_INVALID)
        return tool_refuse("'%s' is not the name of a %s: %s", run->args[0], kind->word,
                           kind->rule);
    return err ? tool_fail(run, err, NULL) : TOOL_OK;
}

tool_exit tool_resource(tool_run *run, void **ret_resource)
{
    return open_resource(run, tool_kind_of(run), ret_resource);
}

tool_exit tool_queue(tool_run *run, tavola_queue **ret_queue)
{
    void *queue = NULL;
    tool_exit exit = open_resource(run, &kinds[QUEUE], &queue);

    *ret_queue = queue;
    return exit;
}

tool_exit tool_container(tool_run *run, tavola_container **ret_container)
{
    void *container = NULL;
    tool_exit exit = open_resource(run, &kinds[CONTAINER], &container);

    *ret_container = container;
    return exit;
}

tool_exit tool_print_exists(const tool_run *run, tavola_err err, bool does_exist)
{
    tool_exit exit;

    if (err)
        return tool_fail(run, err, NULL);
    exit = tool_output_one(run, &(tool_field){"Exists", tavola_boolean(does_exist)}, 1);
    return exit ? exit : does_exist ? TOOL_OK : TOOL_NOT_FOUND;
}

tool_exit tool_resource_list(tool_run *run)
{
    const tool_kind *kind = tool_kind_of(run);
    tavola_client *client;
    tavola_names *names = NULL;
    tool_output *output = NULL;
    tool_exit exit = tool_client(run, &client);
    tavola_err err;

    if (exit)
        return exit;
    err = kind->list(client, tool_value_of(run, TOOL_FLAG_PREFIX), run->call, &names);
    if (err)
        return tool_fail(run, err, NULL);
    exit = tool_output_open(run, true, &output);
    for (size_t i = 0; !exit && i < tavola_names_count(names); i++)
        tool_output_record(
            output, &(tool_field){kind->column, tavola_string(tavola_names_at(names, i))}, 1);
    tavola_names_free(names);
    tool_output_close(output);
    return exit;
}

tool_exit tool_resource_create(tool_run *run)
{
    const tool_kind *kind = tool_kind_of(run);
    void *resource = NULL;
    tool_exit exit = tool_resource(run, &resource);
    tavola_err err;

    if (exit)
        return exit;
    err = tool_has(run, TOOL_FLAG_IF_ABSENT) ? kind->create_if_absent(resource, run->call)
                                             : kind->create(resource, run->call);
    kind->close(resource);
    return err ? tool_fail(run, err, NULL) : TOOL_OK;
}

tool_exit tool_resource_delete(tool_run *run)
{
    const tool_kind *kind = tool_kind_of(run);
    void *resource = NULL;
    tool_exit exit = tool_resource(run, &resource);
    tavola_err err;

    if (exit)
        return exit;
    exit = tool_confirm(run, "Delete %s %s and all that is in it, at %s?", kind->word, run->args[0],
                        tavola_client_endpoint(run->clients[0], kind->service));
    if (!exit) {
        err = tool_has(run, TOOL_FLAG_IF_EXISTS) ? kind->delete_if_present(resource, run->call)
                                                 : kind->delete (resource, run->call);
        exit = err ? tool_fail(run, err, NULL) : TOOL_OK;
    }
    kind->close(resource);
    return exit;
}

tool_exit tool_resource_exists(tool_run *run)
{
    const tool_kind *kind = tool_kind_of(run);
    void *resource = NULL;
    bool does_exist = false;
    tool_exit exit = tool_resource(run, &resource);
    tavola_err err;

    if (exit)
        return exit;
    err = kind->exists(resource, run->call, &does_exist);
    kind->close(resource);
    return tool_print_exists(run, err, does_exist);
}

const tool_verb tool_table_verbs[] = {
    TOOL_RESOURCE_ROWS("table", "TABLE", "Employees",
                       TOOL_BIT(START_PK) | TOOL_BIT(START_RK) | TOOL_BIT(END_PK) |
                           TOOL_BIT(END_RK)),
    {"table stats", "[" TOOL_TABLE_WHERE "]",
     "What is in a table (reads all of it, or asks --admin), or how far the second region is", 0,
     1, TOOL_BIT(WHERE) | TOOL_BIT(PROPERTIES) | TOOL_BIT(ADMIN) | TOOL_BIT(TOKEN_FILE) | TOOL_BIT(DATA),
     .run = tool_table_stats,
     .examples =
         "  tavola table stats Employees\n"
         "  tavola table stats Employees --data /var/lib/tavola\n"
         "  tavola table stats Employees --where \"PartitionKey eq ?\" Sales --properties\n"},
    {0},
};
