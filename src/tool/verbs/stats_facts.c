/*
 * What is in a table, by the facts that a tavolad keeps of it: without reading it.  Counts are
 * exact; of the rest it is told by how much it may be off, and how old it is.
 */
#include "../json_find.h"
#include "../output/output.h"
#include "../values.h"
#include "resource.h"
#include "server.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* "Edm.Int32" as "int32"; NULL when it is not a type. */
static const char *type_name(const char *edm, size_t size)
{
    for (int type = TAVOLA_STRING; type <= TAVOLA_GUID; type++) {
        const char *name = tool_type_name((tavola_type)type);

        if (size == strlen(name) + 4 && strncmp(edm, "Edm.", 4) == 0 &&
            strncasecmp(edm + 4, name, strlen(name)) == 0)
            return name;
    }
    return NULL;
}

static tavola_value count_of(tool_json object, const char *path)
{
    tool_json value = tool_json_get(object, path);

    return value.at && strchr("0123456789", *value.at)
               ? tavola_int64((int64_t)tool_json_number(value))
               : (tavola_value){0};
}

typedef void visit_property(void *ctx, const char *name, const char *type, double entities,
                            tool_json property);

/* Each name with each of its types, as the server has them: the most frequent first. */
static void each_property(tool_json facts, visit_property *visit, void *ctx)
{
    tool_json_walk property = {0};

    while (tool_json_each(tool_json_get(facts, "properties"), &property)) {
        tool_json_walk count = {0};
        tool_json types = tool_json_get(property.value, "types");
        tool_text name = {0};

        tool_json_text(tool_json_get(property.value, "name"), &name);
        while (tool_json_each(types, &count)) {
            const char *shown = type_name(count.name.at, count.name.size);

            if (shown && name.at)
                visit(ctx, name.at, shown, tool_json_number(count.value), property.value);
        }
        tool_text_done(&name);
    }
}

static void add_to_list(void *ctx, const char *name, const char *type, double entities,
                        tool_json property)
{
    tool_text *list = ctx;

    (void)entities;
    (void)property;
    tool_text_printf(list, "%s%s:%s", list->size ? "," : "", name, type);
}

static void print_property(void *ctx, const char *name, const char *type, double entities,
                           tool_json property)
{
    tool_field fields[] = {
        {"Property", tavola_string(name)},
        {"Type", tavola_string(type)},
        {"EntitiesOfSample", tavola_int64((int64_t)entities)},
        {"DistinctLow", count_of(property, "distinctLow")},
        {"DistinctHigh", count_of(property, "distinctHigh")},
    };

    tool_output_record(ctx, fields, sizeof fields / sizeof fields[0]);
}

static tool_exit print_table(const tool_run *run, tool_json facts)
{
    tool_json_walk largest = {0};
    tool_text properties = {0}, key = {0};
    tool_exit exit;

    tool_text_puts(&properties, "");
    each_property(facts, add_to_list, &properties);
    if (tool_json_each(tool_json_get(facts, "partitions.largest"), &largest))
        tool_json_text(tool_json_get(largest.value, "partitionKey"), &key);

    tool_field fields[] = {
        {"Entities", count_of(facts, "entities")},
        {"Partitions", count_of(facts, "partitions.count")},
        {"PartitionsError", count_of(facts, "partitions.error")},
        {"Bytes", count_of(facts, "billedBytes")},
        {"BytesError", count_of(facts, "billedBytesError")},
        {"LargestPartition", tool_text_value(key.at)},
        {"LargestPartitionEntities", count_of(largest.value, "entities")},
        {"LargestPartitionEntitiesError", count_of(largest.value, "error")},
        {"Properties", tavola_string(properties.at)},
    };

    exit = tool_output_one(run, fields, sizeof fields / sizeof fields[0]);
    tool_text_done(&properties);
    tool_text_done(&key);
    return exit;
}

static tool_exit print(const tool_run *run, tool_json facts)
{
    tool_output *output = NULL;
    tool_exit exit;

    double changes = tool_json_number(tool_json_get(facts, "sample.changesSince"));
    char room[TOOL_GROUPED], age[TOOL_GROUPED];

    tool_note("by the facts that the server keeps; properties are those of %s entities",
              tool_grouped(room, tool_json_number(tool_json_get(facts, "propertySamples"))));
    if (changes > 0)
        tool_note("the table was read %s s ago; since then entities have come, gone or changed: "
                  "%s",
                  tool_grouped(age, tool_json_number(tool_json_get(facts, "sample.ageSeconds"))),
                  tool_grouped(room, changes));
    if (!tool_has(run, TOOL_FLAG_PROPERTIES))
        return print_table(run, facts);
    exit = tool_output_open(run, true, &output);
    if (!exit)
        each_property(facts, print_property, output);
    tool_output_close(output);
    return exit;
}

tool_exit tool_table_facts(tool_run *run)
{
    tavola_client *client;
    tool_answer answer = {0};
    tool_text path = {0};
    tool_exit exit = tool_client(run, &client);

    if (!exit && run->where_count)
        exit = tool_refuse("facts are of a whole table: with a filter it is read, without --admin, "
                           "--data and --token-file");
    if (exit)
        return exit;
    tool_text_puts(&path, "/facts");
    tool_path_add(&path, "account", tavola_client_account(client));
    tool_path_add(&path, "table", run->args[0]);
    exit = tool_server_ask(run, "GET", path.at, 200, &answer);
    if (answer.status == 404)
        exit = TOOL_NOT_FOUND; /* it has been told */
    if (!exit) {
        tool_json facts = tool_json_of(answer.body.at);

        if (tool_json_get(facts, "entities").at)
            exit = print(run, facts);
        else
            exit = tool_trouble("the server has not counted '%s' yet: without --admin, --data and "
                                "--token-file the table is read",
                                run->args[0]);
    }
    tool_text_done(&path);
    tool_answer_done(&answer);
    return exit;
}
