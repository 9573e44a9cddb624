/* What `tavola lint` is told by tavola-lint.toml: which rules matter, limits, thresholds and what
 * is allowed.  docs/lint.md is for users. */
#ifndef TOOL_LINT_CONFIG_H
#define TOOL_LINT_CONFIG_H
#include "../tool.h"
#include "toml.h"

/* How grave a finding is; from mild to grave. */
typedef enum tool_level {
    TOOL_LEVEL_UNSET = -1,
    TOOL_LEVEL_OFF,
    TOOL_LEVEL_INFO,
    TOOL_LEVEL_WARNING,
    TOOL_LEVEL_ERROR,
    TOOL_LEVELS,
} tool_level;

const char *tool_level_name(tool_level level);
/* False when the text is not one of them. */
bool tool_level_parse(const char *text, tool_level *ret_level);

/* Names with * in them; none: all. */
typedef struct tool_patterns {
    char **texts;
    size_t count;
} tool_patterns;
/* Whether one of them is the whole of the text. */
bool tool_patterns_match(const tool_patterns *patterns, const char *text);

enum { TOOL_LIMIT_UNSET = -1 };

/* [[limit]]: of every shape of a query, whatever its plan.  A number is TOOL_LIMIT_UNSET without
 * one. */
typedef struct tool_limit {
    unsigned line;
    double examined_over, returned_up_to, pages_over, ratio_over;
    char *plan; /* NULL: any */
    tool_patterns tables;
    tool_level severity;
} tool_limit;

/* [[allow]] */
typedef struct tool_allow {
    unsigned line;
    char *rule; /* a name, a code or the letter of a group; NULL: any */
    tool_patterns tables;
    char *shape, *text; /* NULL: any */
    char *reason;
    char *until;       /* a day, the last on which it holds; NULL: for good */
    tavola_ticks ends; /* when that day is over */
    bool is_used;      /* something was allowed by it, or would be if its time were not over */
} tool_allow;

typedef struct tool_lint_config {
    const char *path; /* of the file, for messages; NULL: there is none */
    tool_level fail_on;
    double min_requests;
    tool_toml_row *rules; /* [rules]: name or letter, and level */
    size_t rule_count;
    tool_limit *limits;
    size_t limit_count;
    tool_allow *allows;
    size_t allow_count;
    tool_text thresholds; /* "rule.name=number,rule.name=number" */
    tool_toml toml;       /* what the texts above are parts of */
} tool_lint_config;

/* Read the file of --config, or ./tavola-lint.toml, or nothing.  TOOL_USAGE with one line on stderr
 * that says where it is wrong.  Call tool_lint_config_done in any case. */
tool_exit tool_lint_config_read(tool_lint_config *config, const char *path);
/* The same of a text: false, and what is wrong. */
bool tool_lint_config_parse(tool_lint_config *config, const char *text, size_t size,
                            tool_toml_error *reterr);
void tool_lint_config_done(tool_lint_config *config);

/* The level that [rules] gives to a rule: by its name or code, else by its group; UNSET: none. */
tool_level tool_lint_config_level(const tool_lint_config *config, const char *rule,
                                  const char *code);

#endif
