/* The report for machines that run tests: GitHub's annotations and JUnit's XML. */
#include "report.h"

#include <string.h>

/* ---- GitHub ---------------------------------------------------------------------------------- */

/* In a property of a command : and , mean something, too. */
static void put_github(const char *text, bool is_property)
{
    for (; *text; text++) {
        if (strchr("%\r\n", *text) || (is_property && strchr(":,", *text)))
            printf("%%%02X", (unsigned char)*text);
        else
            putchar(*text);
    }
}

static const char *command_of(tool_level level)
{
    return level == TOOL_LEVEL_ERROR ? "error" : level == TOOL_LEVEL_WARNING ? "warning" : "notice";
}

static void annotate(const tool_lint_report *report, const tool_lint_finding *finding)
{
    tool_lint_place place;
    tool_text message = {0};

    tool_lint_message(finding, &message);
    for (size_t i = 0; tool_lint_place_of(report, finding, i, &place); i++) {
        printf("::%s file=", command_of(finding->level));
        put_github(place.file.at, true);
        printf(",line=%u,title=%s %s::", place.line, finding->code, finding->rule);
        put_github(message.at, false);
        putchar('\n');
        tool_text_done(&place.file);
    }
    tool_text_done(&message);
}

void tool_lint_write_github(const tool_lint_report *report)
{
    tool_lint_write_text(report);
    for (size_t i = 0; i < report->count; i++) {
        if (report->findings[i].state == TOOL_LINT_OPEN)
            annotate(report, &report->findings[i]);
    }
}

/* ---- JUnit ----------------------------------------------------------------------------------- */

static void put_xml(const char *text)
{
    size_t left = strlen(text), bytes;

    for (; left; text += bytes, left -= bytes) {
        uint32_t c = tool_utf8_next(text, left, &bytes);

        if (c == '<' || c == '>' || c == '&' || c == '"')
            printf("&#%u;", (unsigned)c);
        else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0xFFFD || c == 0xFFFE || c == 0xFFFF)
            putchar('?');
        else
            fwrite(text, 1, bytes, stdout);
    }
}

static void put_case(const tool_lint_report *report, const tool_lint_finding *finding)
{
    tool_text message = {0};
    bool fails = finding->state == TOOL_LINT_OPEN && finding->level >= report->config->fail_on;

    tool_lint_message(finding, &message);
    printf("  <testcase classname=\"tavola.lint.%s\" name=\"", finding->rule);
    put_xml(finding->id);
    if (finding->state == TOOL_LINT_OPEN && !fails) {
        printf("\">\n    <system-out>");
        put_xml(message.at);
        printf("</system-out>\n  </testcase>\n");
    } else {
        printf("\">\n    <%s message=\"", fails ? "failure" : "skipped");
        put_xml(message.at);
        printf("\"/>\n  </testcase>\n");
    }
    tool_text_done(&message);
}

void tool_lint_write_junit(const tool_lint_report *report)
{
    size_t failures = 0, open = report->by_state[TOOL_LINT_OPEN];

    for (int level = report->config->fail_on; level < TOOL_LEVELS; level++)
        failures += report->open[level];
    printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
           "<testsuite name=\"tavola lint\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n",
           report->count, failures, report->count - open);
    for (size_t i = 0; i < report->count; i++)
        put_case(report, &report->findings[i]);
    printf("</testsuite>\n");
}
