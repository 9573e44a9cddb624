/* The tables of verbs, in the order in which 'tavola help' lists them. */
#include "verbs.h"

const tool_verb *const tool_verb_tables[] = {
    tool_table_verbs,    tool_entity_verbs, tool_query_verbs,
    tool_transfer_verbs, tool_own_verbs,    NULL,
};
