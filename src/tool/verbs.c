/* The tables of verbs, in any order; help.c groups them. */
#include "verbs.h"

const tool_verb *const tool_verb_tables[] = {
    tool_table_verbs,
    tool_entity_verbs,
    tool_batch_verbs,
    tool_query_verbs,
    tool_explain_verbs,
    tool_tail_verbs,
    tool_transfer_verbs,
    tool_queue_verbs,
    tool_blob_verbs,
    tool_sas_verbs,
    tool_ping_verbs,
    tool_bench_verbs,
    tool_server_verbs,
    tool_cluster_verbs,
    tool_advise_verbs,
    tool_heat_verbs,
    tool_whatif_verbs,
    tool_lint_verbs,
    tool_shell_verbs,
    tool_own_verbs,
    NULL,
};
