/*
 * What a trace tells of the data of tables, for rules that a server asks its facts for: how wide
 * entities are that were written, which types their properties have, and, where the trace shows
 * them, their keys.  How much is in a table no trace tells.
 */
#ifndef TOOL_LINT_DATA_H
#define TOOL_LINT_DATA_H
#include "insight/advice/evidence.h"
#include "insight/watch/trace.h"

typedef struct tool_lint_data tool_lint_data;

tool_lint_data *tool_lint_data_new(void);
void tool_lint_data_free(tool_lint_data *data);

/* A request of a trace. */
void tool_lint_data_add(tool_lint_data *data, const tv_watch_trace_head *head,
                        const tv_watch_traced *request);

/* What is known of a table, into evidence that may refer to `data`. */
void tool_lint_data_fill(const tool_lint_data *data, tv_arena *arena, tv_evidence_table *table);

#endif
