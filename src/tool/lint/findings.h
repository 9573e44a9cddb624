/*
 * What the rules have found, as the configuration sees it: how grave it is here, and whether it is
 * allowed or was there before.
 */
#ifndef TOOL_LINT_FINDINGS_H
#define TOOL_LINT_FINDINGS_H
#include "../json_find.h"
#include "baseline.h"
#include "config.h"

typedef enum tool_lint_state {
    TOOL_LINT_OPEN,
    TOOL_LINT_ALLOWED,  /* by an [[allow]] */
    TOOL_LINT_BASELINE, /* it is in the baseline */
    TOOL_LINT_IGNORED,  /* by POST /advice/ignore */
    TOOL_LINT_STATES,
} tool_lint_state;

/* "open", "allowed", "baseline", "ignored" */
const char *tool_lint_state_name(tool_lint_state state);

typedef struct tool_lint_finding {
    tool_json json; /* as GET /advice writes it; that of a limit is made here */
    char *own_json; /* of a limit: where that is */
    char *id, *rule, *code, *table, *title, *shape, *text;
    tool_level level;
    tool_lint_state state;
    const tool_allow *allow; /* ALLOWED: by which; OPEN: by which it was, until its time was over */
} tool_lint_finding;

typedef struct tool_lint_report {
    const tool_lint_config *config;
    const tool_baseline *baseline;
    tool_json window; /* of the advice */
    bool with_code;   /* cures as code, too, for people */
    uint64_t lost;    /* requests that a trace does not have */
    size_t shapes, tables;
    tool_lint_finding *findings;
    size_t count;
    size_t open[TOOL_LEVELS]; /* by level */
    size_t by_state[TOOL_LINT_STATES];
} tool_lint_report;

/* Both texts are JSON of the admin port, and outlive the report; `config` notes which of its allows
 * were used. */
void tool_lint_judge(tool_lint_report *report, tool_lint_config *config, tool_baseline *baseline,
                     const char *advice, const char *shapes, tavola_ticks now);
void tool_lint_report_done(tool_lint_report *report);

/* Whether something open is as grave as fail_on. */
bool tool_lint_fails(const tool_lint_report *report);

#endif
