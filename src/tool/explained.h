/* What a Tavola says of a query before it is run: its plan, an estimate, and what is hardly meant.
 */
#ifndef TOOL_EXPLAINED_H
#define TOOL_EXPLAINED_H
#include "tool.h"

/* Said after a warning about a literal that was a value behind the filter. */
#define TOOL_VALUES_NEED_TYPES                                                                     \
    "a value behind the filter is text unless it names its type, as 30:int32 and 1.5:double do"

/*
 * The explanation of a query, as JSON; tavola_free.  UNSUPPORTED where no Tavola answers, which is
 * found out by asking for an entity that no table has: no other service runs the query.
 */
tavola_err tool_explain(tool_run *run, tavola_table *table, const tavola_query *query,
                        char **ret_json);
/*
 * Say on stderr what is hardly meant in the filter of a query: a literal of another type than what
 * the table has, which finds nothing or everything.  Says nothing where that is not known.  Fails
 * as the query would, as far as it is asked.
 */
tavola_err tool_warn(tool_run *run, tavola_table *table, const tavola_query *query);
/* The same of a service that has told a plan, so that it is known to be a Tavola. */
void tool_warn_of(tool_run *run, tavola_table *table, const tavola_query *query);

#endif
