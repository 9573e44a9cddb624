/* See finding.h. */
#include "finding.h"

#include <stdio.h>
#include <string.h>

#include "../text.h"

void tool_finding_put(tool_json object, const char *path)
{
    tool_text text = {0}, safe = {0};

    tool_json_text(path ? tool_json_get(object, path) : object, &text);
    tool_text_escape(&safe, text.at, text.size, false);
    fwrite(safe.at, 1, safe.size, stdout);
    tool_text_done(&text);
    tool_text_done(&safe);
}

bool tool_finding_has(tool_json object, const char *path)
{
    tool_json value = tool_json_get(object, path);

    return value.at && strncmp(value.at, "null", 4) != 0 && value.size > 2;
}

static void put_seen(tool_json finding)
{
    if (!tool_finding_has(finding, "seen"))
        return;
    printf("  seen   ");
    tool_finding_put(finding, "seen");
    putchar('\n');
}

static bool has_other_clients(tool_json finding)
{
    tool_json_walk item = {0};
    tool_json all = tool_json_get(finding, "languages");
    bool is_any = false, is_c = false;

    while (tool_json_each(all, &item)) {
        is_any = true;
        is_c = is_c || tool_json_is(item.value, "C");
    }
    return is_any && !is_c;
}

/* Those of the library: not for clients of which it is known that they use another. */
static void put_functions(tool_json finding)
{
    tool_json_walk item = {0};
    tool_json all = tool_json_get(finding, "cure.functions");
    bool is_first = true;

    if (has_other_clients(finding))
        return;
    while (tool_json_each(all, &item)) {
        printf(is_first ? "         " : ", ");
        is_first = false;
        tool_finding_put(item.value, NULL);
        printf("()");
    }
    if (!is_first)
        putchar('\n');
}

/* "1", "2.5", "3,600" */
static void put_mean(tool_json object, const char *path)
{
    double number = tool_json_number(tool_json_get(object, path));
    char room[TOOL_GROUPED];

    if (number < 100)
        printf("%.3g", number);
    else
        fputs(tool_grouped(room, number), stdout);
}

static void put_proposal(tool_json finding)
{
    tool_json proposal = tool_json_get(finding, "cure.proposal");

    if (!tool_finding_has(proposal, "partitionKey"))
        return;
    printf("         PartitionKey = ");
    tool_finding_put(proposal, "partitionKey");
    printf(", RowKey = ");
    tool_finding_put(proposal, "rowKey");
    putchar('\n');
    if (!tool_finding_has(proposal, "filterAfter"))
        return;
    printf("         then ");
    tool_finding_put(proposal, "filterAfter");
    printf(" examines ");
    put_mean(proposal, "examinedAfter");
    printf(" instead of ");
    put_mean(proposal, "examinedBefore");
    putchar('\n');
}

static void put_notes(tool_json finding)
{
    tool_json_walk item = {0};
    tool_json all = tool_json_get(finding, "cure.proposal.notes");

    while (tool_json_each(all, &item)) {
        printf("         ");
        tool_finding_put(item.value, NULL);
        putchar('\n');
    }
}

/* Line by line, from the edge, so that it can be copied. */
static void put_code(tool_json code)
{
    tool_text text = {0}, safe = {0};
    const char *line, *end;

    tool_json_text(tool_json_get(code, "text"), &text);
    for (line = text.at; line && *line; line = *end ? end + 1 : end) {
        end = strchr(line, '\n');
        if (!end)
            end = line + strlen(line);
        tool_text_escape(&safe, line, (size_t)(end - line), false);
        tool_text_add(&safe, "\n", 1);
    }
    putchar('\n');
    fwrite(safe.at, 1, safe.size, stdout);
    tool_text_done(&text);
    tool_text_done(&safe);
}

static void put_codes(tool_json finding, bool with_code)
{
    tool_json_walk code = {0};
    tool_json all = tool_json_get(finding, "cure.code");
    bool is_first = true;

    while (tool_json_each(all, &code)) {
        printf(is_first ? "  code   " : ", ");
        tool_finding_put(code.value, "language");
        is_first = false;
        if (with_code) {
            put_code(code.value);
            return;
        }
    }
    if (!is_first)
        printf(": --code shows the first\n");
}

static void put_subject(tool_json finding)
{
    static const char *const names[] = {"text", "name", "partitionKey", "rowKey"};
    bool is_any = false;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[40];

        snprintf(path, sizeof path, "subject.%s", names[i]);
        if (tool_finding_has(finding, path)) {
            printf("  ");
            tool_finding_put(finding, path);
            is_any = true;
        }
    }
    if (is_any)
        putchar('\n');
}

void tool_finding_put_reasons(tool_json finding)
{
    put_subject(finding);
    printf("  ");
    tool_finding_put(finding, "title");
    putchar('\n');
    put_seen(finding);
}

void tool_finding_put_cure(tool_json finding, bool with_code)
{
    printf("  guide  ");
    tool_finding_put(finding, "chapter.title");
    printf("\n  cure   ");
    tool_finding_put(finding, "cure.text");
    putchar('\n');
    put_proposal(finding);
    put_notes(finding);
    put_functions(finding);
    put_codes(finding, with_code);
}
