/* How a report is written to stdout. */
#ifndef TOOL_LINT_REPORT_H
#define TOOL_LINT_REPORT_H
#include "findings.h"

typedef struct tool_lint_format {
    const char *name;
    void (*write)(const tool_lint_report *report);
} tool_lint_format;

/* text, github, junit, json or sarif; TOOL_USAGE for another.  NULL: text. */
tool_exit tool_lint_format_find(const char *name, const tool_lint_format **ret_format);

void tool_lint_write_text(const tool_lint_report *report);
void tool_lint_write_github(const tool_lint_report *report);
void tool_lint_write_junit(const tool_lint_report *report);
void tool_lint_write_json(const tool_lint_report *report);
void tool_lint_write_sarif(const tool_lint_report *report);

/* For those that write. */

/* Its title and what the guide says, on one line. */
void tool_lint_message(const tool_lint_finding *finding, tool_text *ret_text);

/* Where in a program it comes from. */
typedef struct tool_lint_place {
    tool_text file;
    unsigned line;
} tool_lint_place;
/* The nth of its sources; without any, the first is line 1 of the configuration.  False: no more.
 */
bool tool_lint_place_of(const tool_lint_report *report, const tool_lint_finding *finding,
                        size_t nth, tool_lint_place *ret_place);

#endif
