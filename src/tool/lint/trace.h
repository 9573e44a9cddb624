/* A trace judged as a server judges its run: by the same recorder and the same rules. */
#ifndef TOOL_LINT_TRACE_H
#define TOOL_LINT_TRACE_H
#include "../text.h"
#include "../tool.h"

typedef struct tool_trace_answer {
    tool_text advice, shapes; /* as GET /advice and GET /shapes would answer */
    uint64_t lost;            /* requests that the traces do not have */
} tool_trace_answer;

/* Judge the files, one after another, with these thresholds ("rule.name=number,...").  TOOL_USAGE
 * with one line on stderr for a file that is no trace. */
tool_exit tool_trace_judge(const char *const *paths, size_t count, const char *thresholds,
                           tool_trace_answer *ret_answer);
void tool_trace_answer_done(tool_trace_answer *answer);

#endif
