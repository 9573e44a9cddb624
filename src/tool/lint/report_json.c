/* The report for programs: JSON of our own, and SARIF 2.1.0. */
#include "../output/row.h"
#include "report.h"

#include <string.h>

static void put(tool_text *text)
{
    fwrite(text->at, 1, text->size, stdout);
    tool_text_done(text);
}

/* `,"name":"text"`, without the comma behind a brace. */
static void add_member(tool_text *to, const char *name, const char *text)
{
    tool_text_printf(to, "%s\"%s\":", to->at[to->size - 1] == '{' ? "" : ",", name);
    tool_json_string(to, text, strlen(text));
}

/* ---- our own --------------------------------------------------------------------------------- */

static void add_finding(tool_text *to, const tool_lint_finding *finding)
{
    tool_text_puts(to, "{");
    add_member(to, "severity", tool_level_name(finding->level));
    add_member(to, "state", tool_lint_state_name(finding->state));
    if (finding->allow) {
        add_member(to, "reason", finding->allow->reason);
        if (finding->allow->until)
            add_member(to, "until", finding->allow->until);
    }
    tool_text_puts(to, ",\"finding\":");
    tool_text_add(to, finding->json.at, finding->json.size);
    tool_text_puts(to, "}");
}

static void add_stale(tool_text *to, const tool_baseline *baseline)
{
    bool is_first = true;

    tool_text_puts(to, "],\n\"stale\":[");
    for (size_t i = 0; i < baseline->count; i++) {
        if (baseline->is_found[i])
            continue;
        tool_text_puts(to, is_first ? "" : ",");
        tool_json_string(to, baseline->ids[i], strlen(baseline->ids[i]));
        is_first = false;
    }
    tool_text_puts(to, "]}\n");
}

void tool_lint_write_json(const tool_lint_report *report)
{
    tool_text text = {0};

    tool_text_puts(&text, "{\"version\":1,\n\"window\":");
    tool_text_add(&text, report->window.at, report->window.size);
    tool_text_printf(&text,
                     ",\n\"lost\":%llu,\"shapes\":%zu,\"tables\":%zu,\"fails\":%s,\n"
                     "\"summary\":{\"error\":%zu,\"warning\":%zu,\"info\":%zu,\"allowed\":%zu,"
                     "\"baseline\":%zu,\"ignored\":%zu},\n\"findings\":[",
                     (unsigned long long)report->lost, report->shapes, report->tables,
                     tool_lint_fails(report) ? "true" : "false", report->open[TOOL_LEVEL_ERROR],
                     report->open[TOOL_LEVEL_WARNING], report->open[TOOL_LEVEL_INFO],
                     report->by_state[TOOL_LINT_ALLOWED], report->by_state[TOOL_LINT_BASELINE],
                     report->by_state[TOOL_LINT_IGNORED]);
    for (size_t i = 0; i < report->count; i++) {
        tool_text_puts(&text, i ? ",\n" : "\n");
        add_finding(&text, &report->findings[i]);
    }
    add_stale(&text, report->baseline);
    put(&text);
}

/* ---- SARIF ----------------------------------------------------------------------------------- */

/* Each rule that has found something, once. */
static void add_rules(tool_text *to, const tool_lint_report *report)
{
    bool is_first = true;

    for (size_t i = 0; i < report->count; i++) {
        const tool_lint_finding *finding = &report->findings[i];
        tool_text anchor = {0};
        size_t before = 0;

        while (before < i && strcmp(report->findings[before].code, finding->code) != 0)
            before++;
        if (before < i)
            continue;
        tool_json_text(tool_json_get(finding->json, "chapter.anchor"), &anchor);
        tool_text_puts(to, is_first ? "{" : ",\n{");
        is_first = false;
        add_member(to, "id", finding->code);
        add_member(to, "name", finding->rule);
        tool_text_printf(to,
                         ",\"helpUri\":\"https://learn.microsoft.com/azure/storage/tables/"
                         "table-storage-design-guide#%s\"}",
                         anchor.at);
        tool_text_done(&anchor);
    }
}

static void add_locations(tool_text *to, const tool_lint_report *report,
                          const tool_lint_finding *finding)
{
    tool_lint_place place;

    tool_text_puts(to, ",\"locations\":[");
    for (size_t i = 0; tool_lint_place_of(report, finding, i, &place); i++) {
        tool_text_puts(to, i ? "," : "");
        tool_text_puts(to, "{\"physicalLocation\":{\"artifactLocation\":{");
        add_member(to, "uri", place.file.at);
        tool_text_printf(to, "},\"region\":{\"startLine\":%u}}}", place.line ? place.line : 1);
        tool_text_done(&place.file);
    }
    tool_text_puts(to, "]");
}

static void add_result(tool_text *to, const tool_lint_report *report,
                       const tool_lint_finding *finding)
{
    tool_text message = {0};

    tool_lint_message(finding, &message);
    tool_text_puts(to, "{");
    add_member(to, "ruleId", finding->code);
    add_member(to, "level",
               finding->level == TOOL_LEVEL_INFO ? "note" : tool_level_name(finding->level));
    tool_text_puts(to, ",\"message\":{");
    add_member(to, "text", message.at);
    tool_text_puts(to, "}");
    add_locations(to, report, finding);
    tool_text_puts(to, ",\"partialFingerprints\":{");
    add_member(to, "tavola/v1", finding->id);
    tool_text_puts(to, "}");
    if (finding->state != TOOL_LINT_OPEN) {
        tool_text_puts(to, ",\"suppressions\":[{\"kind\":\"external\"");
        add_member(to, "justification",
                   finding->state == TOOL_LINT_ALLOWED ? finding->allow->reason
                                                       : tool_lint_state_name(finding->state));
        tool_text_puts(to, "}]");
    }
    tool_text_puts(to, "}");
    tool_text_done(&message);
}

void tool_lint_write_sarif(const tool_lint_report *report)
{
    tool_text text = {0};

    tool_text_puts(&text, "{\"version\":\"2.1.0\",\n"
                          "\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\n"
                          "\"runs\":[{\"tool\":{\"driver\":{\"name\":\"tavola lint\"");
    add_member(&text, "version", TV_VERSION);
    tool_text_puts(&text, ",\"rules\":[");
    add_rules(&text, report);
    tool_text_puts(&text, "]}},\n\"results\":[");
    for (size_t i = 0; i < report->count; i++) {
        tool_text_puts(&text, i ? ",\n" : "\n");
        add_result(&text, report, &report->findings[i]);
    }
    tool_text_puts(&text, "]}]}\n");
    put(&text);
}
