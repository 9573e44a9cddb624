/*
 * What a tavolad advises about the tables of its accounts: GET /advice of the admin port, as text
 * for people or as it came.
 */
#include "../json_find.h"
#include "../verbs.h"
#include "server.h"

#include <string.h>

/* ---- asking ---------------------------------------------------------------------------------- */

static void add_parameter(tool_text *path, const char *name, const char *value)
{
    tool_text_printf(path, "%c%s=", strchr(path->at, '?') ? '&' : '?', name);
    for (; *value; value++) {
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.", *value))
            tool_text_add(path, value, 1);
        else
            tool_text_printf(path, "%%%02X", (unsigned char)*value);
    }
}

static tool_exit ask(tool_run *run, const char *method, const char *path, int status,
                     tool_answer *ret_answer)
{
    tool_text token = {0};
    tool_admin admin;
    char why[200];
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = tool_admin_token(run, &token);
    if (!exit) {
        tool_request request = {.method = method, .path = path, .token = token.at};

        if (!tool_admin_ask(&admin, &request, ret_answer, why)) {
            tool_trouble("no server answers at %s: %s", admin.url, why);
            exit = TOOL_UNAVAILABLE;
        } else if (ret_answer->status != status) {
            exit = tool_server_refused(&admin, ret_answer);
        }
    }
    if (token.at)
        explicit_bzero(token.at, token.size);
    tool_text_done(&token);
    return exit;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* What a terminal would obey is shown instead. */
static void put(tool_json object, const char *path)
{
    tool_text text = {0}, safe = {0};

    tool_json_text(path ? tool_json_get(object, path) : object, &text);
    tool_text_escape(&safe, text.at, text.size, false);
    fwrite(safe.at, 1, safe.size, stdout);
    tool_text_done(&text);
    tool_text_done(&safe);
}

static bool has(tool_json object, const char *path)
{
    tool_json value = tool_json_get(object, path);

    return value.at && strncmp(value.at, "null", 4) != 0 && value.size > 2;
}

/* "executions 412, examinedPerExecution 48211" */
static void put_evidence(tool_json finding)
{
    tool_json next = {0}, name, value, all = tool_json_get(finding, "evidence");
    bool is_first = true;

    while (tool_json_each(all, &next, &name, &value)) {
        printf(is_first ? "  why    " : ", ");
        is_first = false;
        put(name, NULL);
        putchar(' ');
        put(value, NULL);
    }
    if (!is_first)
        putchar('\n');
}

static void put_functions(tool_json finding)
{
    tool_json next = {0}, name, value, all = tool_json_get(finding, "cure.functions");
    bool is_first = true;

    while (tool_json_each(all, &next, &name, &value)) {
        printf(is_first ? "         " : ", ");
        is_first = false;
        put(value, NULL);
        printf("()");
    }
    if (!is_first)
        putchar('\n');
}

static void put_proposal(tool_json finding)
{
    tool_json proposal = tool_json_get(finding, "cure.proposal");

    if (!has(proposal, "partitionKey"))
        return;
    printf("         PartitionKey = ");
    put(proposal, "partitionKey");
    printf(", RowKey = ");
    put(proposal, "rowKey");
    putchar('\n');
    if (!has(proposal, "filterAfter"))
        return;
    printf("         then ");
    put(proposal, "filterAfter");
    printf(" examines ");
    put(proposal, "examinedAfter");
    printf(" instead of ");
    put(proposal, "examinedBefore");
    putchar('\n');
}

static void put_subject(tool_json finding)
{
    static const char *const names[] = {"text", "name", "partitionKey", "rowKey"};
    bool is_any = false;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[40];

        snprintf(path, sizeof path, "subject.%s", names[i]);
        if (has(finding, path)) {
            printf("  ");
            put(finding, path);
            is_any = true;
        }
    }
    if (is_any)
        putchar('\n');
}

static void put_finding(tool_json finding)
{
    put(finding, "severity");
    putchar(' ');
    put(finding, "code");
    putchar(' ');
    put(finding, "rule");
    printf("  ");
    put(finding, "table");
    if (has(finding, "subject.fingerprint")) {
        printf("  [");
        put(finding, "subject.fingerprint");
        putchar(']');
    }
    printf("  ");
    put(finding, "state");
    putchar('\n');
    put_subject(finding);
    printf("  ");
    put(finding, "title");
    putchar('\n');
    put_evidence(finding);
    printf("  guide  ");
    put(finding, "chapter.title");
    printf("\n  cure   ");
    put(finding, "cure.text");
    putchar('\n');
    put_proposal(finding);
    put_functions(finding);
}

static void put_answer(tool_json answer)
{
    tool_json next = {0}, name, finding, all = tool_json_get(answer, "findings");
    double requests = tool_json_number(tool_json_get(answer, "window.requests"));
    size_t count = 0;

    while (tool_json_each(all, &next, &name, &finding)) {
        put_finding(finding);
        putchar('\n');
        count++;
    }
    printf("%zu finding%s in %.0f requests (", count, count == 1 ? "" : "s", requests);
    put(answer, "window.mode");
    printf(")\n");
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static tool_exit advise(tool_run *run)
{
    const char *format = tool_value_of(run, TOOL_FLAG_OUTPUT);
    bool is_json = tool_has(run, TOOL_FLAG_JSON) || (format && strcmp(format, "json") == 0);
    tool_text path = {0};
    tool_answer answer = {0};
    tool_exit exit;

    tool_text_puts(&path, "/advice");
    if (run->arg_count)
        add_parameter(&path, "table", run->args[0]);
    if (tool_value_of(run, TOOL_FLAG_SINCE))
        add_parameter(&path, "since", tool_value_of(run, TOOL_FLAG_SINCE));
    if (tool_value_of(run, TOOL_FLAG_LIMIT))
        add_parameter(&path, "limit", tool_value_of(run, TOOL_FLAG_LIMIT));
    exit = ask(run, "GET", path.at, 200, &answer);
    if (!exit && is_json)
        fwrite(answer.body.at, 1, answer.body.size, stdout);
    else if (!exit)
        put_answer(tool_json_of(answer.body.at));
    tool_text_done(&path);
    tool_answer_done(&answer);
    return exit;
}

static tool_exit advise_mark(tool_run *run)
{
    tool_answer answer = {0};
    tool_exit exit = ask(run, "POST", "/advice/marks", 201, &answer);

    if (!exit) {
        put(tool_json_of(answer.body.at), "mark");
        putchar('\n');
    }
    tool_answer_done(&answer);
    return exit;
}

#define ADMIN_FLAGS (TOOL_BIT(ADMIN) | TOOL_BIT(TOKEN_FILE) | TOOL_BIT(DATA))

const tool_verb tool_advise_verbs[] = {
    {"advise mark", "", "Begin a run: prints the mark that 'advise --since' takes", 0, 0,
     ADMIN_FLAGS, .run = advise_mark, .is_plain = true},
    {"advise", "[TABLE]",
     "What the design guide says about how tables are used, the costliest first", 0, 1,
     ADMIN_FLAGS | TOOL_BIT(SINCE) | TOOL_BIT(JSON) | TOOL_BIT(LIMIT), .run = advise,
     .is_plain = true,
     .examples = "  tavola advise --data /var/lib/tavola\n"
                 "  MARK=$(tavola advise mark); ./tests; tavola advise --since $MARK\n"},
    {0},
};
