/*
 * Tables, queues and containers: what is done to them is the same, so it is written once, over a
 * row of functions for each kind.  The kind of a verb is its first word.
 */
#ifndef TOOL_RESOURCE_H
#define TOOL_RESOURCE_H
#include "../tool.h"

typedef struct tool_kind {
    const char *word;   /* "table" */
    const char *column; /* "TableName", in lists */
    const char *rule;   /* how names are made, for people */
    tavola_service service;
    tavola_err (*open)(tavola_client *client, const char *name, void **ret_resource);
    void (*close)(void *resource);
    tavola_err (*create)(void *resource, tavola_call *call);
    tavola_err (*create_if_absent)(void *resource, tavola_call *call);
    tavola_err (*delete)(void *resource, tavola_call *call);
    tavola_err (*delete_if_present)(void *resource, tavola_call *call);
    tavola_err (*exists)(void *resource, tavola_call *call, bool *ret_exists);
    tavola_err (*list)(tavola_client *client, const char *prefix, tavola_call *call,
                       tavola_names **ret_names);
    tavola_err (*get_policies)(void *resource, tavola_call *call, tavola_policies **ret_policies);
    tavola_err (*set_policies)(void *resource, const tavola_policy *policies, size_t count,
                               tavola_call *call);
    tavola_err (*sas)(void *resource, const tavola_sas_options *options, char **ret_query);
} tool_kind;

const tool_kind *tool_kind_of(const tool_run *run);
/* The resource that the first argument names; close it with kind->close. */
tool_exit tool_resource(tool_run *run, void **ret_resource);
/* The queue or container that it names, for verbs about what is in it; close it. */
tool_exit tool_queue(tool_run *run, tavola_queue **ret_queue);
tool_exit tool_container(tool_run *run, tavola_container **ret_container);
/* What a verb that asks whether something exists prints and returns; `err` is that of asking. */
tool_exit tool_print_exists(const tool_run *run, tavola_err err, bool does_exist);

tool_exit tool_resource_list(tool_run *run);
tool_exit tool_resource_create(tool_run *run);
tool_exit tool_resource_delete(tool_run *run);
tool_exit tool_resource_exists(tool_run *run);
tool_exit tool_policy_list(tool_run *run);
tool_exit tool_policy_set(tool_run *run);
tool_exit tool_policy_delete(tool_run *run);
tool_exit tool_resource_sas(tool_run *run);
tool_exit tool_table_stats(tool_run *run); /* stats.c */
tool_exit tool_table_facts(tool_run *run); /* stats_facts.c */

/* The flags of a signature, read into options whose texts belong to the run. */
#define TOOL_SAS_FLAGS                                                                             \
    (TOOL_BIT(PERMISSIONS) | TOOL_BIT(START) | TOOL_BIT(EXPIRY) | TOOL_BIT(IP) |                   \
     TOOL_BIT(HTTPS_ONLY))
tool_exit tool_sas_options(const tool_run *run, tavola_sas_options *ret_options);
/* Print a signature that was made, or say why it was not; frees it. */
tool_exit tool_sas_print(const tool_run *run, tavola_err err, char *query);

/* The rows that all three have; `word`, `NAME` and `one`, a name for examples, are literals. */
#define TOOL_RESOURCE_ROWS(word, NAME, one, sas_flags)                                             \
    {word " list",                                                                                 \
     "",                                                                                           \
     "The names of all " word "s",                                                                 \
     0,                                                                                            \
     0,                                                                                            \
     TOOL_BIT(PREFIX),                                                                             \
     .run = tool_resource_list,                                                                    \
     .examples = "  tavola " word " list --prefix a\n"},                                           \
        {word " create",                                                                           \
         NAME,                                                                                     \
         "Create a " word,                                                                         \
         1,                                                                                        \
         1,                                                                                        \
         TOOL_BIT(IF_ABSENT),                                                                      \
         .run = tool_resource_create,                                                              \
         .examples = "  tavola " word " create " one " --if-absent\n"},                            \
        {word " delete",                                                                           \
         NAME,                                                                                     \
         "Delete a " word " and all that is in it",                                                \
         1,                                                                                        \
         1,                                                                                        \
         TOOL_BIT(YES) | TOOL_BIT(IF_EXISTS),                                                      \
         .run = tool_resource_delete,                                                              \
         .examples = "  tavola " word " delete " one " --yes\n"},                                  \
        {word " exists",                                                                           \
         NAME,                                                                                     \
         "Whether there is a " word ": true, or false with exit code 3",                           \
         1,                                                                                        \
         1,                                                                                        \
         0,                                                                                        \
         .run = tool_resource_exists,                                                              \
         .is_plain = true,                                                                         \
         .examples = "  tavola " word " exists " one "\n"},                                        \
        {word " policy list",                                                                      \
         NAME,                                                                                     \
         "The stored access policies of a " word,                                                  \
         1,                                                                                        \
         1,                                                                                        \
         0,                                                                                        \
         .run = tool_policy_list,                                                                  \
         .examples = "  tavola " word " policy list " one "\n"},                                   \
        {word " policy set",                                                                       \
         NAME " ID",                                                                               \
         "Store an access policy, or change that of this id",                                      \
         2,                                                                                        \
         2,                                                                                        \
         TOOL_BIT(PERMISSIONS) | TOOL_BIT(START) | TOOL_BIT(EXPIRY),                               \
         .run = tool_policy_set,                                                                   \
         .examples = "  tavola " word " policy set " one " readers --permissions r --expiry "      \
                     "2030-01-01\n"},                                                              \
        {word " policy delete",                                                                    \
         NAME " ID",                                                                               \
         "Remove a policy, and with it every signature that names it",                             \
         2,                                                                                        \
         2,                                                                                        \
         TOOL_BIT(YES),                                                                            \
         .run = tool_policy_delete,                                                                \
         .examples = "  tavola " word " policy delete " one " readers --yes\n"},                   \
    {                                                                                              \
        word " sas", NAME, "Make a shared access signature for a " word, 1, 1,                     \
            TOOL_SAS_FLAGS | TOOL_BIT(POLICY) | (sas_flags),                                       \
            .run = tool_resource_sas, .is_plain = true,                                            \
            .examples = "  tavola " word " sas " one " --permissions r --expiry +1h\n"             \
                        "  tavola " word " sas " one " --policy readers\n"                         \
    }

#endif
