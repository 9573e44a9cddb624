/*
 * tavola lint: what tests have done to tables, judged by the rules of the design guide and by what
 * tavola-lint.toml says about them.  Its exit code tells a pipeline whether to go on: 1 means
 * findings and nothing else.
 */
#include "../lint/report.h"
#include "../lint/trace.h"
#include "../verbs.h"
#include "server.h"

#include <stdlib.h>
#include <string.h>

/* ---- asking ---------------------------------------------------------------------------------- */

/* A mark that is not known, or a server that records nothing: there is nothing to judge. */
static tool_exit exit_of(tool_exit exit, const tool_answer *answer)
{
    if (exit != TOOL_FAILURE)
        return exit;
    if (answer->status == 404)
        return TOOL_NO_EVIDENCE;
    return answer->status ? TOOL_UNAVAILABLE : TOOL_DENIED; /* there is no token */
}

static tool_exit ask(tool_run *run, const tool_lint_config *config, const char *resource,
                     bool is_advice, tool_answer *ret_answer)
{
    const char *since = tool_value_of(run, TOOL_FLAG_SINCE);
    tool_text path = {0};
    tool_exit exit;

    tool_text_puts(&path, resource);
    if (since)
        tool_path_add(&path, "since", since);
    if (is_advice) {
        /* Logs of pipelines are read by many: keys stay out of them. */
        tool_path_add(&path, "redact", "1");
        if (config->thresholds.size)
            tool_path_add(&path, "thresholds", config->thresholds.at);
    }
    exit = exit_of(tool_server_ask(run, "GET", path.at, 200, ret_answer), ret_answer);
    tool_text_done(&path);
    return exit;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static tool_exit update(const tool_lint_report *report)
{
    char **ids = tool_alloc((report->count + 1) * sizeof *ids);
    size_t count = 0;
    tool_exit exit;

    for (size_t i = 0; i < report->count; i++) {
        const tool_lint_finding *finding = &report->findings[i];

        if (finding->state == TOOL_LINT_OPEN || finding->state == TOOL_LINT_BASELINE)
            ids[count++] = finding->id;
    }
    exit = tool_baseline_write(report->baseline, ids, count);
    if (!exit)
        printf("%s: %zu finding%s\n", report->baseline->path.at, count, count == 1 ? "" : "s");
    free(ids);
    return exit;
}

static tool_exit end(tool_run *run, const tool_lint_report *report, const tool_lint_format *format)
{
    double requests = tool_json_number(tool_json_get(report->window, "requests"));
    char room[2][TOOL_GROUPED];

    if (requests < report->config->min_requests) {
        tool_trouble("%s request%s recorded, and %s %s needed (min_requests): did the tests "
                     "run?",
                     tool_grouped(room[0], requests), requests == 1 ? " was" : "s were",
                     tool_grouped(room[1], report->config->min_requests),
                     report->config->min_requests == 1 ? "is" : "are");
        return TOOL_NO_EVIDENCE;
    }
    if (tool_has(run, TOOL_FLAG_UPDATE_BASELINE))
        return update(report);
    format->write(report);
    return tool_lint_fails(report) ? TOOL_FAILURE : TOOL_OK;
}

/* What is to be judged. */
typedef struct judged {
    tool_run *run;
    tool_lint_config *config;
    tool_baseline *baseline;
    const tool_lint_format *format;
} judged;

static tool_exit judge(const judged *j, const char *advice, const char *shapes, uint64_t lost)
{
    tool_lint_report report = {.lost = lost, .with_code = tool_has(j->run, TOOL_FLAG_CODE)};
    tool_exit exit;

    tool_lint_judge(&report, j->config, j->baseline, advice, shapes, tavola_now());
    exit = end(j->run, &report, j->format);
    tool_lint_report_done(&report);
    return exit;
}

static tool_exit lint_server(const judged *j)
{
    tool_answer advice = {0}, shapes = {0};
    tool_exit exit;

    if (j->config->thresholds.size && !tool_has(j->run, TOOL_FLAG_SINCE))
        return tool_refuse("[thresholds] of %s are of a run: give --since or --trace",
                           j->config->path);
    exit = ask(j->run, j->config, "/advice", true, &advice);
    if (!exit)
        exit = ask(j->run, j->config, "/shapes", false, &shapes);
    if (!exit)
        exit = judge(j, advice.body.at, shapes.body.at, 0);
    tool_answer_done(&advice);
    tool_answer_done(&shapes);
    return exit;
}

/* The file of --trace, and those behind it. */
static tool_exit lint_traces(const judged *j)
{
    const tool_run *run = j->run;
    const char **paths = tool_alloc((run->arg_count + 1) * sizeof *paths);
    tool_trace_answer answer = {0};
    tool_exit exit;

    paths[0] = tool_value_of(run, TOOL_FLAG_TRACE);
    for (size_t i = 0; i < run->arg_count; i++)
        paths[i + 1] = run->args[i];
    exit = tool_trace_judge(paths, run->arg_count + 1, j->config->thresholds.at, &answer);
    if (!exit)
        exit = judge(j, answer.advice.at, answer.shapes.at, answer.lost);
    tool_trace_answer_done(&answer);
    free(paths);
    return exit;
}

static tool_exit check_flags(const tool_run *run)
{
    if (tool_has(run, TOOL_FLAG_TRACE) && tool_has(run, TOOL_FLAG_SINCE))
        return tool_refuse("--since is of a server, --trace of a file: give one of them");
    if (run->arg_count && !tool_has(run, TOOL_FLAG_TRACE))
        return tool_refuse("files are traces: write lint --trace %s", run->args[0]);
    return TOOL_OK;
}

static tool_exit lint(tool_run *run)
{
    tool_lint_config config = {0};
    tool_baseline baseline = {0};
    judged j = {run, &config, &baseline, NULL};
    tool_exit exit = check_flags(run);

    if (!exit)
        exit = tool_lint_format_find(tool_value_of(run, TOOL_FLAG_OUTPUT), &j.format);
    if (!exit)
        exit = tool_lint_config_read(&config, tool_value_of(run, TOOL_FLAG_CONFIG));
    if (!exit)
        exit = tool_baseline_read(&baseline, config.path);
    if (!exit)
        exit = tool_has(run, TOOL_FLAG_TRACE) ? lint_traces(&j) : lint_server(&j);
    tool_baseline_done(&baseline);
    tool_lint_config_done(&config);
    return exit;
}

#define LINT_FLAGS                                                                                 \
    (TOOL_BIT(ADMIN) | TOOL_BIT(TOKEN_FILE) | TOOL_BIT(DATA) | TOOL_BIT(SINCE) |                   \
     TOOL_BIT(CONFIG) | TOOL_BIT(TRACE) | TOOL_BIT(UPDATE_BASELINE) |           \
     TOOL_BIT(CODE))

const tool_verb tool_lint_verbs[] = {
    {"lint", "[FILE]...",
     "For pipelines: judge what tests did to tables; exit code 1 findings, 7 too few requests", 0,
     -1, LINT_FLAGS, .run = lint, .is_plain = true,
     .examples = "  MARK=$(tavola advise mark); ./tests; tavola lint --since $MARK\n"
                 "  tavola lint --since $MARK -o github\n"},
    {0},
};
