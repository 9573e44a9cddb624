/*
 * What a tavolad advises about the tables of its accounts: GET /advice of the admin port, as text
 * for people or as it came.
 */
#include "../json_find.h"
#include "../output/output.h"
#include "../verbs.h"
#include "cost.h"
#include "finding.h"
#include "server.h"

#include <string.h>

/* ---- text ------------------------------------------------------------------------------------ */

static void put_finding(tool_json finding, bool with_code)
{
    tool_finding_put(finding, "severity");
    putchar(' ');
    tool_finding_put(finding, "code");
    putchar(' ');
    tool_finding_put(finding, "rule");
    printf("  ");
    tool_finding_put(finding, "table");
    if (tool_finding_has(finding, "subject.fingerprint")) {
        printf("  [");
        tool_finding_put(finding, "subject.fingerprint");
        putchar(']');
    }
    printf("  ");
    tool_finding_put(finding, "state");
    putchar('\n');
    tool_finding_put_reasons(finding);
    tool_finding_put_cure(finding, with_code);
}

/* Whether a finding was last seen before the window: by an earlier server, or before it was idle.
 */
static bool is_before(tool_json finding, tool_json answer)
{
    tool_text seen = {0}, from = {0};
    bool is_so;

    tool_json_text(tool_json_get(finding, "lastSeen"), &seen);
    tool_json_text(tool_json_get(answer, "window.from"), &from);
    is_so = seen.size && from.size && strcmp(seen.at, from.at) < 0;
    tool_text_done(&seen);
    tool_text_done(&from);
    return is_so;
}

static void put_count(tool_json answer, size_t count, size_t older)
{
    double requests = tool_json_number(tool_json_get(answer, "window.requests"));
    char room[TOOL_GROUPED];

    printf("%zu finding%s", count, count == 1 ? "" : "s");
    if (older) {
        printf(", %zu of them last seen before ", older);
        tool_finding_put(answer, "window.from");
        printf("; %s request%s since then (", tool_grouped(room, requests),
               requests == 1 ? "" : "s");
    } else {
        printf(" in %s request%s (", tool_grouped(room, requests), requests == 1 ? "" : "s");
    }
    tool_finding_put(answer, "window.mode");
    printf(")\n");
}

static void put_answer(tool_json answer, bool with_code)
{
    tool_json_walk finding = {0};
    tool_json all = tool_json_get(answer, "findings");
    size_t count = 0, older = 0;

    while (tool_json_each(all, &finding)) {
        put_finding(finding.value, with_code);
        putchar('\n');
        count++;
        older += is_before(finding.value, answer);
    }
    put_count(answer, count, older);
}

/* ---- verbs ----------------------------------------------------------------------------------- */

/* A record for each finding. */
static tool_exit print_records(const tool_run *run, tool_json findings)
{
    static const char *const columns[][2] = {
        {"Severity", "severity"},  {"Code", "code"},   {"Rule", "rule"},   {"Table", "table"},
        {"Shape", "subject.text"}, {"State", "state"}, {"Title", "title"}, {"Seen", "seen"},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    tool_json_walk finding = {0};
    tool_output *output = NULL;
    tool_exit exit = tool_output_open(run, true, &output);

    while (!exit && tool_json_each(findings, &finding)) {
        tool_text texts[COLUMNS] = {0};
        tool_field fields[COLUMNS];

        for (size_t i = 0; i < COLUMNS; i++) {
            tool_json value = tool_json_get(finding.value, columns[i][1]);

            tool_json_text(value, &texts[i]);
            fields[i] = (tool_field){columns[i][0], tool_text_value(value.at ? texts[i].at : NULL)};
        }
        tool_output_record(output, fields, COLUMNS);
        for (size_t i = 0; i < COLUMNS; i++)
            tool_text_done(&texts[i]);
    }
    tool_output_close(output);
    return exit;
}

/* Nothing is found about a table that is not there: that is no praise.  Its account is that of the
 * connection. */
static tool_exit check_table(tool_run *run)
{
    tavola_client *client;
    tool_text path = {0};
    tool_answer answer = {0};
    tool_exit exit = tool_client(run, &client);

    if (exit)
        return exit;
    tool_text_puts(&path, "/facts");
    tool_path_add(&path, "account", tavola_client_account(client));
    tool_path_add(&path, "table", run->args[0]);
    exit = tool_server_ask(run, "GET", path.at, 0, &answer);
    if (!exit && answer.status == 404 && strstr(answer.body.at, "no such table")) {
        tool_trouble("there is no table '%s' in the account %s", run->args[0],
                     tavola_client_account(client));
        exit = TOOL_NOT_FOUND;
    }
    tool_text_done(&path);
    tool_answer_done(&answer);
    return exit;
}

static tool_exit show_findings(tool_run *run)
{
    tool_json_walk finding = {0};
    tool_json findings;
    tool_text path = {0};
    tool_answer answer = {0};
    tool_exit exit = tool_output_check(run);

    if (exit)
        return exit;
    tool_text_puts(&path, "/advice");
    if (run->arg_count)
        tool_path_add(&path, "table", run->args[0]);
    if (tool_value_of(run, TOOL_FLAG_SINCE))
        tool_path_add(&path, "since", tool_value_of(run, TOOL_FLAG_SINCE));
    if (tool_value_of(run, TOOL_FLAG_LIMIT))
        tool_path_add(&path, "limit", tool_value_of(run, TOOL_FLAG_LIMIT));
    exit = tool_server_ask(run, "GET", path.at, 200, &answer);
    if (exit)
        goto out;
    findings = tool_json_get(tool_json_of(answer.body.at), "findings");
    if (run->arg_count && !tool_json_each(findings, &finding))
        exit = check_table(run);
    if (exit)
        goto out;
    if (tool_wants_json(run))
        fwrite(answer.body.at, 1, answer.body.size, stdout);
    else if (tool_has(run, TOOL_FLAG_OUTPUT))
        exit = print_records(run, findings);
    else
        put_answer(tool_json_of(answer.body.at), tool_has(run, TOOL_FLAG_CODE));

out:
    tool_text_done(&path);
    tool_answer_done(&answer);
    return exit;
}

static tool_exit advise(tool_run *run)
{
    if (tool_has(run, TOOL_FLAG_COST))
        return tool_advise_cost(run);
    if (tool_has(run, TOOL_FLAG_PRICES))
        return tool_refuse("--prices needs --cost");
    return show_findings(run);
}

static tool_exit advise_mark(tool_run *run)
{
    tool_answer answer = {0};
    tool_text mark = {0};
    tool_exit exit = tool_output_check(run);

    if (!exit)
        exit = tool_server_ask(run, "POST", "/advice/marks", 201, &answer);
    if (!exit) {
        tool_json_text(tool_json_get(tool_json_of(answer.body.at), "mark"), &mark);
        exit = tool_output_one(run, &(tool_field){"Mark", tavola_string(mark.at)}, 1);
    }
    tool_text_done(&mark);
    tool_answer_done(&answer);
    return exit;
}

#define ADMIN_FLAGS (TOOL_BIT(ADMIN) | TOOL_BIT(TOKEN_FILE) | TOOL_BIT(DATA))

const tool_verb tool_advise_verbs[] = {
    {"advise mark", "", "Begin a run: prints the mark that 'advise --since' takes", 0, 0,
     ADMIN_FLAGS, .run = advise_mark, .is_plain = true,
     .examples = "  MARK=$(tavola advise mark)\n"},
    {"advise", "[TABLE]",
     "What the design guide says about how tables are used, the costliest first", 0, 1,
     ADMIN_FLAGS | TOOL_BIT(SINCE) | TOOL_BIT(CODE) | TOOL_BIT(LIMIT) | TOOL_BIT(COST) |
         TOOL_BIT(PRICES),
     .run = advise, .is_plain = true,
     .examples = "  tavola advise --data /var/lib/tavola\n"
                 "  MARK=$(tavola advise mark); ./tests; tavola advise --since $MARK\n"
                 "  tavola advise --cost --prices my.prices --data /var/lib/tavola\n"},
    {0},
};
