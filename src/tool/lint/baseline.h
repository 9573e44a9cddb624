/* The ids of findings that were there when somebody said so: tavola-lint.baseline.json. */
#ifndef TOOL_LINT_BASELINE_H
#define TOOL_LINT_BASELINE_H
#include "../text.h"
#include "../tool.h"

typedef struct tool_baseline {
    tool_text path; /* beside the configuration */
    char **ids;
    bool *is_found; /* by tool_baseline_take */
    size_t count;
} tool_baseline;

/* Add the ids of a file's text; false when it is not a baseline. */
bool tool_baseline_parse(tool_baseline *baseline, const char *text);
/* The text of a file with these, sorted, each once. */
void tool_baseline_format(char **ids, size_t count, tool_text *ret_text);

/* Read the one beside the configuration (NULL: in this folder).  None is empty.  Call
 * tool_baseline_done in any case. */
tool_exit tool_baseline_read(tool_baseline *baseline, const char *config_path);
/* Write these in its place, sorted, each once. */
tool_exit tool_baseline_write(const tool_baseline *baseline, char **ids, size_t count);
void tool_baseline_done(tool_baseline *baseline);

/* Whether it has the id, which is noted. */
bool tool_baseline_take(tool_baseline *baseline, const char *id);

#endif
