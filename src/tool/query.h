/* Queries of the command line: filter, --select, --limit, --page-size, --token, --plan. */
#ifndef TOOL_QUERY_H
#define TOOL_QUERY_H
#include "output/output.h"

/*
 * The names of --select to ask the service for; NULL: all.  odata.etag is no property, but may be
 * selected, for --if-match.  Free it with tool_names_free.
 */
char **tool_select_of(const tool_run *run);
/* How an entity is printed: tool_output_entity, or some of it as a record. */
typedef void (*tool_print_fn)(tool_output *output, const tavola_entity *entity);
/*
 * Read the pages of a query and print their entities, up to --limit of them, from --token on; the
 * token to go on with, and with --plan how it was answered, go to stderr.  Takes the filter over.
 */
tool_exit tool_query_run(tool_run *run, const char *table, tavola_filter *filter,
                         const char *const *select, tool_print_fn print);
/* What to do about a plan, in the words of the Table Design Guide; one line. */
const char *tool_plan_advice(const char *plan);

#endif
