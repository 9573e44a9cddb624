/* The tables of verbs.  A new one is declared here and listed in verbs.c. */
#ifndef TOOL_VERBS_H
#define TOOL_VERBS_H
#include "tool.h"

extern const tool_verb tool_table_verbs[];
extern const tool_verb tool_entity_verbs[];
extern const tool_verb tool_batch_verbs[];
extern const tool_verb tool_query_verbs[];
extern const tool_verb tool_explain_verbs[];
extern const tool_verb tool_tail_verbs[];
extern const tool_verb tool_transfer_verbs[]; /* transfer/ */
extern const tool_verb tool_queue_verbs[];
extern const tool_verb tool_blob_verbs[];
extern const tool_verb tool_sas_verbs[];
extern const tool_verb tool_ping_verbs[];
extern const tool_verb tool_bench_verbs[];
extern const tool_verb tool_server_verbs[];
extern const tool_verb tool_cluster_verbs[];
extern const tool_verb tool_advise_verbs[];
extern const tool_verb tool_heat_verbs[];
extern const tool_verb tool_whatif_verbs[];
extern const tool_verb tool_lint_verbs[];
extern const tool_verb tool_shell_verbs[];
extern const tool_verb tool_own_verbs[]; /* help, completion */

#endif
