/* Shared access signatures: made by the key of the connection, and taken apart. */
#include "../output/output.h"
#include "../text.h"
#include "../verbs.h"
#include "resource.h"

#include <errno.h>
#include <string.h>

tool_exit tool_sas_options(const tool_run *run, tavola_sas_options *ret_options)
{
    tavola_sas_options options = {
        .struct_size = sizeof options,
        .permissions = tool_value_of(run, TOOL_FLAG_PERMISSIONS),
        .policy_id = tool_value_of(run, TOOL_FLAG_POLICY),
        .ip_range = tool_value_of(run, TOOL_FLAG_IP),
        .https_only = tool_has(run, TOOL_FLAG_HTTPS_ONLY),
        .start_pk = tool_value_of(run, TOOL_FLAG_START_PK),
        .start_rk = tool_value_of(run, TOOL_FLAG_START_RK),
        .end_pk = tool_value_of(run, TOOL_FLAG_END_PK),
        .end_rk = tool_value_of(run, TOOL_FLAG_END_RK),
    };
    tool_exit exit = tool_time_of(run, TOOL_FLAG_START, &options.start);

    if (!exit)
        exit = tool_time_of(run, TOOL_FLAG_EXPIRY, &options.expiry);
    if (!exit && !options.policy_id && (!options.permissions || !options.expiry))
        exit =
            tool_refuse("a signature needs --permissions and --expiry%s",
                        run->verb->flags & TOOL_BIT(POLICY) ? ", or a --policy that has them" : "");
    *ret_options = options;
    return exit;
}

tool_exit tool_sas_print(const tool_run *run, tavola_err err, char *query)
{
    tool_exit exit;

    if (err == TAVOLA_ERR_INVALID)
        return tool_refuse("no signature can be made of this: it takes an account key, letters of "
                           "--permissions that the service knows, a row key only with its "
                           "partition key, and no empty end");
    if (err)
        return tool_fail(run, err, NULL);
    exit = tool_output_one(run, &(tool_field){"Sas", tavola_string(query)}, 1);
    tavola_free(query);
    return exit;
}

tool_exit tool_resource_sas(tool_run *run)
{
    tavola_sas_options options;
    void *resource = NULL;
    char *query = NULL;
    tool_exit exit = tool_sas_options(run, &options);
    tavola_err err;

    if (!exit)
        exit = tool_resource(run, &resource);
    if (exit)
        return exit;
    err = tool_kind_of(run)->sas(resource, &options, &query);
    exit = tool_sas_print(run, err, query);
    tool_kind_of(run)->close(resource);
    return exit;
}

static tool_exit blob_sas(tool_run *run)
{
    tavola_sas_options options;
    tavola_container *container = NULL;
    tavola_client *client;
    char *query = NULL;
    tool_exit exit = tool_sas_options(run, &options);
    tavola_err err;

    if (!exit)
        exit = tool_client(run, &client);
    if (exit)
        return exit;
    err = tavola_container_open(client, run->args[0], &container);
    if (!err)
        err = tavola_blob_sas(container, run->args[1], &options, &query);
    tavola_container_close(container);
    return tool_sas_print(run, err, query);
}

static tool_exit make(tool_run *run)
{
    const char *services = tool_value_of(run, TOOL_FLAG_SERVICES);
    const char *types = tool_value_of(run, TOOL_FLAG_TYPES);
    tavola_sas_options options;
    tavola_client *client;
    char *query = NULL;
    tool_exit exit = tool_sas_options(run, &options);
    tavola_err err;

    if (!exit && (!services || !types))
        exit = tool_refuse("an account's signature needs --services and --types, for example "
                           "--services t --types sco");
    if (!exit)
        exit = tool_client(run, &client);
    if (exit)
        return exit;
    err = tavola_account_sas(client, services, types, &options, &query);
    return tool_sas_print(run, err, query);
}

/* Parameters in the order in which one wants to read them, and what they are. */
static const struct {
    const char *parameter, *name;
} fields_known[] = {
    {"sp", "Permissions"},   {"st", "Start"},
    {"se", "Expiry"},        {"si", "Policy"},
    {"ss", "Services"},      {"srt", "ResourceTypes"},
    {"tn", "Table"},         {"spk", "StartPartitionKey"},
    {"srk", "StartRowKey"},  {"epk", "EndPartitionKey"},
    {"erk", "EndRowKey"},    {"sr", "Resource"},
    {"sip", "AddressRange"}, {"spr", "Protocols"},
    {"sv", "Version"},
};
#define FIELD_COUNT (sizeof fields_known / sizeof fields_known[0])

static tool_exit explain_text(const tool_run *run, const char *text)
{
    tool_field fields[FIELD_COUNT + 2];
    size_t count = 0;
    tavola_sas *sas = NULL;
    const char *expiry;
    tavola_ticks until;
    tool_exit exit;

    if (tavola_sas_parse(text, &sas) != TAVOLA_OK)
        return tool_refuse("this is not a shared access signature: sv=...&sig=..., or a URL that "
                           "ends with one");
    fields[count++] = (tool_field){"Kind", tavola_string(tavola_sas_kind(sas))};
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const char *value = tavola_sas_field(sas, fields_known[i].parameter);
        if (value)
            fields[count++] = (tool_field){fields_known[i].name, tavola_string(value)};
    }
    expiry = tavola_sas_field(sas, "se");
    if (expiry && tavola_ticks_parse(expiry, &until))
        fields[count++] = (tool_field){"Expired", tavola_boolean(until < tavola_now())};
    exit = tool_output_one(run, fields, count);
    tavola_sas_free(sas);
    return exit;
}

static tool_exit explain(tool_run *run)
{
    const char *from = run->arg_count ? run->args[0] : "-";
    tool_text text = {0};
    tool_exit exit;

    if (from[0] != '@' && strcmp(from, "-") != 0)
        return tool_refuse("a signature on the command line is seen by every user (ps): give it on "
                           "standard input, or as @file");
    if (!tool_text_read_file(&text, from[0] == '@' ? from + 1 : from))
        exit = tool_refuse("cannot read %s: %s", from, strerror(errno));
    else {
        while (text.size && strchr(" \r\n", text.at[text.size - 1]))
            text.at[--text.size] = '\0';
        exit = explain_text(run, text.at);
    }
    tool_text_done(&text);
    return exit;
}

const tool_verb tool_sas_verbs[] = {
    {"sas make", "", "Make a shared access signature for the account", 0, 0,
     TOOL_SAS_FLAGS | TOOL_BIT(SERVICES) | TOOL_BIT(TYPES), .run = make, .is_plain = true,
     .examples = "  tavola sas make --services t --types sco --permissions rl --expiry +1h\n"},
    {"sas explain", "[@FILE|-]", "What a signature on standard input allows, and until when", 0, 1,
     0, .run = explain,
     .examples =
         "  tavola table sas Employees --permissions r --expiry +1h | tavola sas explain\n"},
    {"blob sas", "CONTAINER BLOB", "Make a shared access signature for a blob", 2, 2,
     TOOL_SAS_FLAGS | TOOL_BIT(POLICY), .run = blob_sas, .is_plain = true,
     .examples = "  tavola blob sas photos ada.jpg --permissions r --expiry +15m\n"},
    {0},
};
