/*
 * A cluster as one of its servers sees it: its nodes, its ranges, what was done to them.  All of it
 * is one answer of the admin port (GET /cluster), in which each range and each event is a line.
 */
#include "../output/output.h"
#include "../verbs.h"
#include "server.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIELDS_MAX = 12, PAUSE_MS = 200, WAIT_MS = 120 * 1000 };

/* ---- reading --------------------------------------------------------------------------------- */

/* What is behind "name": within a line, which ends the search. */
static const char *find_member(const char *line, const char *name)
{
    char key[40];
    int size = snprintf(key, sizeof key, "\"%s\":", name);
    const char *found = memmem(line, strcspn(line, "\n"), key, (size_t)size);

    return found ? found + size : NULL;
}

/* Four hexadecimal digits as UTF-8; halves of pairs and control characters are a '?'. */
static void add_code(tool_text *text, const char *digits)
{
    char four[5] = {digits[0], digits[1], digits[2], digits[3], '\0'};
    unsigned code = (unsigned)strtoul(four, NULL, 16);

    if (code < ' ' || (code >= 0xD800 && code < 0xE000))
        tool_text_puts(text, "?");
    else if (code < 0x80)
        tool_text_printf(text, "%c", (int)code);
    else if (code < 0x800)
        tool_text_printf(text, "%c%c", (int)(0xC0 | code >> 6), (int)(0x80 | (code & 0x3F)));
    else
        tool_text_printf(text, "%c%c%c", (int)(0xE0 | code >> 12), (int)(0x80 | (code >> 6 & 0x3F)),
                         (int)(0x80 | (code & 0x3F)));
}

/* A value as text: a string without its escapes, or a number; "" when there is none. */
static void read_member(const char *line, const char *name, tool_text *ret_text)
{
    const char *at = find_member(line, name);

    tool_text_puts(ret_text, "");
    if (!at)
        return;
    if (*at != '"') {
        tool_text_add(ret_text, at, strcspn(at, ",}]\n"));
        return;
    }
    for (at++; *at && *at != '"' && *at != '\n'; at++) {
        if (*at == '\\' && at[1] == 'u' && strspn(at + 2, "0123456789abcdefABCDEF") >= 4) {
            add_code(ret_text, at + 2);
            at += 5;
        } else {
            at += *at == '\\' && at[1];
            tool_text_add(ret_text, at, 1);
        }
    }
}

static int64_t read_number(const char *line, const char *name)
{
    const char *at = find_member(line, name);

    return at ? strtoll(at, NULL, 10) : 0;
}

/* The first line of a list, which has a line for each of its objects; NULL: it is empty. */
static const char *first_of(const char *json, const char *list)
{
    char key[40];
    const char *found;

    snprintf(key, sizeof key, "\n\"%s\":[\n{", list);
    found = strstr(json, key);
    return found ? found + strlen(key) - 1 : NULL;
}

static const char *next_of(const char *line)
{
    line += strcspn(line, "\n");
    return strncmp(line, "\n{", 2) == 0 ? line + 1 : NULL;
}

static size_t count_of(const char *json, const char *list)
{
    size_t count = 0;

    for (const char *line = first_of(json, list); line; line = next_of(line))
        count++;
    return count;
}

static tool_exit ask(const tool_admin *admin, tool_answer *ret_answer)
{
    tool_exit exit = tool_server_get(admin, "/cluster", ret_answer);

    if (!exit && ret_answer->status == 404)
        return tool_trouble("the server at %s is not one of a cluster", admin->url);
    if (!exit && ret_answer->status != 200)
        return tool_server_refused(admin, ret_answer);
    if (!exit && strncmp(ret_answer->body.at, "{\"version\":", 11) != 0)
        return tool_trouble("the server at %s does not answer as a tavolad does", admin->url);
    return exit;
}

/* ---- lists ----------------------------------------------------------------------------------- */

typedef struct column {
    const char *name, *member;
    bool is_number;
} column;

static const column range_columns[] = {
    {"Start", "start", false},
    {"Rows", "rows", true},
    {"Bytes", "bytes", true},
    {"ReadsPerSecond", "reads_s", true},
    {"WritesPerSecond", "writes_s", true},
    {"RowsPerWrite", "rows_per_op", true},
    {"BusyPercent", "busy_percent", true},
    {"Refused", "refused", false},
    {"Usual", "usual", false},
    {"Object", "object", false},
    {"Key", "key", false},
    {NULL, NULL, false},
};

static const column event_columns[] = {
    {"At", "at_ms", true},           {"Op", "op", false},
    {"Key", "key", false},           {"Reason", "reason", false},
    {"Rows", "rows", true},          {"TotalMs", "total_ms", true},
    {"PausedMs", "paused_ms", true}, {"Outcome", "outcome", false},
    {"Range", "range", false},       {NULL, NULL, false},
};

/* Milliseconds since 1970 as the library counts time: 100 ns since the year 1. */
static tavola_ticks ticks_of(int64_t ms)
{
    return (tavola_ticks)(INT64_C(621355968000000000) + ms * 10000);
}

static void print_line(tool_output *output, const char *line, const column *columns)
{
    tool_field fields[FIELDS_MAX];
    tool_text texts[FIELDS_MAX] = {{0}};
    size_t count = 0;

    for (; columns[count].name; count++) {
        const column *c = &columns[count];

        fields[count].name = c->name;
        if (strcmp(c->member, "at_ms") == 0) {
            fields[count].value = tool_time_value(ticks_of(read_number(line, c->member)));
        } else if (c->is_number) {
            fields[count].value = tavola_int64(read_number(line, c->member));
        } else {
            read_member(line, c->member, &texts[count]);
            fields[count].value = tavola_string(texts[count].at);
        }
    }
    tool_output_record(output, fields, count);
    for (size_t i = 0; i < count; i++)
        tool_text_done(&texts[i]);
}

static tool_exit print_list(tool_run *run, const char *list, const column *columns)
{
    tool_answer answer = {0};
    tool_output *output = NULL;
    tool_admin admin;
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = tool_output_open(run, true, &output);
    if (exit)
        return exit;
    exit = ask(&admin, &answer);
    for (const char *line = exit ? NULL : first_of(answer.body.at, list); line;
         line = next_of(line))
        print_line(output, line, columns);
    tool_output_close(output);
    tool_answer_done(&answer);
    return exit;
}

static tool_exit ranges(tool_run *run)
{
    return print_list(run, "ranges", range_columns);
}

static tool_exit history(tool_run *run)
{
    return print_list(run, "history", event_columns);
}

/* ---- status ---------------------------------------------------------------------------------- */

static int64_t sum_of(const char *json, const char *list, const char *member)
{
    int64_t sum = 0;

    for (const char *line = first_of(json, list); line; line = next_of(line))
        sum += read_number(line, member);
    return sum;
}

/* Objects in the list of nodes. */
static int64_t count_nodes(const char *json)
{
    const char *line = strstr(json, "\n\"nodes\":"), *end;
    int64_t count = 0;

    if (!line)
        return 0;
    end = strstr(line, "\n\"ranges\":");
    if (!end)
        end = line + strlen(line);
    while ((line = memmem(line, (size_t)(end - line), "\"incarnation\":", 14)) != NULL) {
        count++;
        line += 14;
    }
    return count;
}

static tool_exit status(tool_run *run)
{
    tool_answer answer = {0};
    tool_text leader = {0}, self = {0};
    tool_admin admin;
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = ask(&admin, &answer);
    if (!exit) {
        const char *json = answer.body.at;

        read_member(json, "leader", &leader);
        read_member(json, "self", &self);

        tool_field fields[] = {
            {"Server", tavola_string(admin.url)},
            {"Incarnation", tavola_string(self.at)},
            {"Leader", tavola_string(leader.at)},
            {"Nodes", tavola_int64(count_nodes(json))},
            {"Ranges", tavola_int64((int64_t)count_of(json, "ranges"))},
            {"Rows", tavola_int64(sum_of(json, "ranges", "rows"))},
            {"Bytes", tavola_int64(sum_of(json, "ranges", "bytes"))},
            {"ChangesUnderWay", tavola_int64((int64_t)count_of(json, "intents"))},
            {"MapVersion", tavola_int64(read_number(json, "version"))},
        };

        exit = tool_output_one(run, fields, sizeof fields / sizeof fields[0]);
    }
    tool_text_done(&leader);
    tool_text_done(&self);
    tool_answer_done(&answer);
    return exit;
}

/* For scripts: somebody leads, there are ranges, and nothing is stuck. */
static tool_exit check(tool_run *run)
{
    enum { STUCK_MS = 60 * 1000 };
    struct timespec now;
    tool_answer answer = {0};
    tool_text leader = {0};
    tool_admin admin;
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = ask(&admin, &answer);
    clock_gettime(CLOCK_REALTIME, &now);
    if (!exit) {
        read_member(answer.body.at, "leader", &leader);
        if (leader.size == 0)
            exit = tool_trouble("no node leads the cluster");
        if (!exit && count_of(answer.body.at, "ranges") == 0)
            exit = tool_trouble("the cluster shows no ranges yet");
    }
    for (const char *line = exit ? NULL : first_of(answer.body.at, "intents"); line && !exit;
         line = next_of(line)) {
        int64_t age_ms = now.tv_sec * 1000 - read_number(line, "began_ms");
        tool_text op = {0};

        read_member(line, "op", &op);
        if (age_ms > STUCK_MS)
            exit = tool_trouble("a %.20s has been under way for %lld s", op.at,
                                (long long)age_ms / 1000);
        tool_text_done(&op);
    }
    if (!exit)
        exit = tool_output_one(run, &(tool_field){"Health", tavola_string("ok")}, 1);
    tool_text_done(&leader);
    tool_answer_done(&answer);
    return exit;
}

/* ---- force ----------------------------------------------------------------------------------- */

static void add_string(tool_text *body, const char *name, const char *text)
{
    tool_text_printf(body, "%s\"%s\":\"", body->size > 1 ? "," : "", name);
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            tool_text_printf(body, "\\u%04x", (unsigned)*text);
        else
            tool_text_printf(body, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    tool_text_puts(body, "\"");
}

static tool_exit begin(const tool_admin *admin, const char *token, const char *body,
                       int64_t *ret_job)
{
    tool_request request = {
        .method = "POST", .path = "/cluster/force", .token = token, .body = body};
    tool_answer answer = {0};
    char why[200];
    tool_exit exit = TOOL_OK;

    if (!tool_admin_ask(admin, &request, &answer, why)) {
        tool_trouble("the server at %s has not answered: %s", admin->url, why);
        exit = TOOL_UNAVAILABLE;
    } else if (answer.status != 202) {
        exit = tool_server_refused(admin, &answer);
    } else {
        *ret_job = read_number(answer.body.at, "job");
    }
    tool_answer_done(&answer);
    return exit;
}

/* Until GET /cluster says that the job has ended. */
static tool_exit wait_for(const tool_admin *admin, int64_t job)
{
    for (int waited = 0; waited < WAIT_MS; waited += PAUSE_MS) {
        tool_answer answer = {0};
        tool_text state = {0}, error = {0};
        tool_exit exit = ask(admin, &answer);
        const char *force = exit ? NULL : strstr(answer.body.at, "\"force\":");
        bool is_done = false;

        if (force && read_number(force, "job") == job) {
            read_member(force, "state", &state);
            read_member(force, "error", &error);
            is_done = strcmp(state.at, "done") == 0;
        } else if (force && read_number(force, "job") > job) {
            is_done = true; /* somebody else's has come after it */
        }
        if (is_done && error.size)
            exit = tool_trouble("the change was not made: %.60s", error.at);
        tool_text_done(&state);
        tool_text_done(&error);
        tool_answer_done(&answer);
        if (exit || is_done)
            return exit;
        poll(NULL, 0, PAUSE_MS);
    }
    return tool_trouble("the change goes on; see 'tavola cluster history'");
}

static tool_exit force(tool_run *run)
{
    tool_text token = {0}, body = {0};
    tool_admin admin;
    int64_t job = 0;
    tool_exit exit = tool_admin_open(run, &admin);

    tool_text_puts(&body, "{");
    add_string(&body, "op", run->args[0]);
    add_string(&body, "range", run->arg_count > 1 ? run->args[1] : "");
    add_string(&body, "key", run->arg_count > 2 ? run->args[2] : "");
    tool_text_puts(&body, "}");
    if (!exit)
        exit = tool_admin_token(run, &token);
    if (!exit)
        exit = begin(&admin, token.at, body.at, &job);
    if (!exit)
        exit = wait_for(&admin, job);
    if (token.at)
        explicit_bzero(token.at, token.size);
    tool_text_done(&token);
    tool_text_done(&body);
    return exit;
}

const tool_verb tool_cluster_verbs[] = {
    {"cluster status", "", "Nodes, leader, ranges and rows of the cluster of a tavolad", 0, 0,
     TOOL_BIT(ADMIN) | TOOL_BIT(SELECT), .run = status},
    {"cluster ranges", "", "The ranges of its keys: size, load, why one is not split", 0, 0,
     TOOL_BIT(ADMIN) | TOOL_BIT(SELECT), .run = ranges},
    {"cluster history", "", "What was done to ranges, the newest last, and how long writes waited",
     0, 0, TOOL_BIT(ADMIN) | TOOL_BIT(SELECT), .run = history},
    {"cluster check", "", "For scripts: exit code 0 well, 1 no leader or a change is stuck", 0, 0,
     TOOL_BIT(ADMIN), .run = check, .is_plain = true},
    {"cluster force", "OP [RANGE [KEY]]",
     "Do it now: split, merge, move, fence or collect; keys as 'cluster ranges' shows them", 1, 3,
     TOOL_BIT(ADMIN) | TOOL_BIT(TOKEN_FILE) | TOOL_BIT(DATA), .run = force,
     .examples = "  tavola cluster force split '' 'racct%0100000007Sales%01'\n"
                 "  tavola cluster force merge 'racct%0100000007Sales%01'\n"},
    {0},
};
