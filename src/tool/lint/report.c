/* The report as text, and what its other forms share. */
#include "report.h"

#include "../verbs/finding.h"

#include <stdlib.h>
#include <string.h>

static const tool_lint_format formats[] = {
    {"text", tool_lint_write_text},   {"github", tool_lint_write_github},
    {"junit", tool_lint_write_junit}, {"json", tool_lint_write_json},
    {"sarif", tool_lint_write_sarif},
};

tool_exit tool_lint_format_find(const char *name, const tool_lint_format **ret_format)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        *ret_format = &formats[i];
        if (!name || strcmp(name, formats[i].name) == 0)
            return TOOL_OK;
    }
    return tool_refuse("-o is text, github, junit, json or sarif here, not '%s'", name);
}

void tool_lint_message(const tool_lint_finding *finding, tool_text *ret_text)
{
    tool_text cure = {0}, seen = {0};

    tool_json_text(tool_json_get(finding->json, "cure.text"), &cure);
    tool_json_text(tool_json_get(finding->json, "seen"), &seen);
    tool_text_printf(ret_text, "%s%s%s: %s. %s%s%s", finding->table, finding->text[0] ? ", " : "",
                     finding->text, finding->title, seen.size ? seen.at : "", seen.size ? " " : "",
                     cure.at);
    if (finding->allow && finding->allow->until)
        tool_text_printf(ret_text, " (%s until %s: %s)",
                         finding->state == TOOL_LINT_ALLOWED ? "allowed" : "was allowed",
                         finding->allow->until, finding->allow->reason);
    else if (finding->allow)
        tool_text_printf(ret_text, " (allowed: %s)", finding->allow->reason);
    tool_text_done(&cure);
    tool_text_done(&seen);
}

bool tool_lint_place_of(const tool_lint_report *report, const tool_lint_finding *finding,
                        size_t nth, tool_lint_place *ret_place)
{
    tool_json_walk one = {0};
    tool_json all = tool_json_get(finding->json, "sources");
    size_t at = 0;

    *ret_place = (tool_lint_place){.line = 1};
    while (tool_json_each(all, &one)) {
        char *colon;

        if (at++ != nth)
            continue;
        tool_json_text(one.value, &ret_place->file);
        colon = strrchr(ret_place->file.at, ':');
        if (colon) {
            ret_place->line = (unsigned)strtoul(colon + 1, NULL, 10);
            *colon = '\0';
            ret_place->file.size = (size_t)(colon - ret_place->file.at);
        }
        return true;
    }
    if (at || nth)
        return false;
    tool_text_puts(&ret_place->file,
                   report->config->path ? report->config->path : "tavola-lint.toml");
    return true;
}

/* ---- text ------------------------------------------------------------------------------------ */

static double of_window(const tool_lint_report *report, const char *name)
{
    return tool_json_number(tool_json_get(report->window, name));
}

static void put_plain(const char *text)
{
    tool_text safe = {0};

    tool_text_escape(&safe, text, strlen(text), false);
    printf("%s", safe.at ? safe.at : "");
    tool_text_done(&safe);
}

static void put_head(const tool_lint_report *report)
{
    char requests[32], lost[32];
    double period = of_window(report, "samplePeriod");

    printf("tavola lint: %s request%s, %zu query shape%s, %zu table%s, %.1f s recorded (",
           tool_grouped(requests, of_window(report, "requests")),
           of_window(report, "requests") == 1 ? "" : "s", report->shapes,
           report->shapes == 1 ? "" : "s", report->tables, report->tables == 1 ? "" : "s",
           of_window(report, "seconds"));
    if (report->lost)
        printf("incomplete: %s requests are missing", tool_grouped(lost, (double)report->lost));
    else if (of_window(report, "dropped") > 0 || of_window(report, "evictedShapes") > 0)
        printf("incomplete: the server had no room for all");
    else
        printf("complete");
    if (period > 1)
        printf(", keys of 1 in %.0f sampled)\n\n", period);
    else
        printf(", nothing sampled)\n\n");
}

static void put_sources(const tool_lint_finding *finding)
{
    tool_json_walk one = {0};
    tool_json all = tool_json_get(finding->json, "sources");
    bool is_first = true;

    while (tool_json_each(all, &one)) {
        printf(is_first ? "  from   " : ", ");
        is_first = false;
        tool_finding_put(one.value, NULL);
    }
    if (!is_first)
        putchar('\n');
}

static void put_open(const tool_lint_finding *finding, bool with_code)
{
    printf("%s %s %s  ", tool_level_name(finding->level), finding->code, finding->rule);
    put_plain(finding->table);
    if (finding->shape[0])
        printf("  [%s]", finding->shape);
    putchar('\n');
    tool_finding_put_reasons(finding->json);
    put_sources(finding);
    tool_finding_put_cure(finding->json, with_code);
    if (finding->allow) {
        printf("  note   was allowed until %s: ", finding->allow->until);
        put_plain(finding->allow->reason);
        putchar('\n');
    }
    putchar('\n');
}

/* One line for what does not count. */
static void put_silent(const tool_lint_finding *finding)
{
    printf("%s %s ", tool_lint_state_name(finding->state), finding->code);
    put_plain(finding->table);
    if (finding->shape[0])
        printf(" [%s]", finding->shape);
    if (finding->state == TOOL_LINT_ALLOWED) {
        putchar(' ');
        put_plain(finding->allow->reason);
        if (finding->allow->until)
            printf(" (until %s)", finding->allow->until);
    }
    putchar('\n');
}

/* What the configuration and the baseline say about nothing that was found. */
static size_t put_stale(const tool_lint_report *report)
{
    size_t count = 0;

    for (size_t i = 0; i < report->baseline->count; i++) {
        if (report->baseline->is_found[i])
            continue;
        printf("stale baseline ");
        put_plain(report->baseline->ids[i]);
        putchar('\n');
        count++;
    }
    for (size_t i = 0; i < report->config->allow_count; i++) {
        if (report->config->allows[i].is_used)
            continue;
        printf("unused [[allow]] on line %u: ", report->config->allows[i].line);
        put_plain(report->config->allows[i].reason);
        putchar('\n');
        count++;
    }
    return count;
}

static void put_sum(const tool_lint_report *report)
{
    size_t open = report->by_state[TOOL_LINT_OPEN], listed = 0;

    printf("%zu finding%s", open, open == 1 ? "" : "s");
    for (int level = TOOL_LEVEL_ERROR; level > TOOL_LEVEL_OFF; level--) {
        if (report->open[level])
            printf("%s%zu %s", listed++ ? ", " : " (", report->open[level],
                   tool_level_name((tool_level)level));
    }
    printf(listed ? ")" : "");
    for (int state = TOOL_LINT_ALLOWED; state < TOOL_LINT_STATES; state++) {
        if (report->by_state[state])
            printf(", %zu %s", report->by_state[state],
                   state == TOOL_LINT_BASELINE ? "in the baseline"
                                               : tool_lint_state_name((tool_lint_state)state));
    }
    printf("; fails on %s\n", tool_level_name(report->config->fail_on));
}

void tool_lint_write_text(const tool_lint_report *report)
{
    size_t silent = 0;

    put_head(report);
    for (size_t i = 0; i < report->count; i++) {
        if (report->findings[i].state == TOOL_LINT_OPEN)
            put_open(&report->findings[i], report->with_code);
    }
    for (size_t i = 0; i < report->count; i++) {
        if (report->findings[i].state != TOOL_LINT_OPEN) {
            put_silent(&report->findings[i]);
            silent++;
        }
    }
    silent += put_stale(report);
    if (silent)
        putchar('\n');
    put_sum(report);
}
