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

/* A number of the object of this name, which has a line of its own. */
static int64_t read_line_number(const char *json, const char *object, const char *name)
{
    char key[40];
    const char *line;

    snprintf(key, sizeof key, "\n\"%s\":", object);
    line = strstr(json, key);
    return line ? read_number(line + 1, name) : 0;
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

/* With the token, where one was named: keys are shown to whoever has it. */
static tool_exit get(const tool_run *run, const tool_admin *admin, tool_answer *ret_answer)
{
    tool_request request = {.method = "GET", .path = "/cluster"};
    char why[200];
    bool has_answer = false;
    tool_exit exit;

    if (!tool_value_of(run, TOOL_FLAG_DATA) && !tool_value_of(run, TOOL_FLAG_TOKEN_FILE))
        return tool_server_get(admin, "/cluster", ret_answer);
    exit = tool_admin_ask_with_token(run, admin, request, ret_answer, &has_answer, why);
    return !exit && !has_answer ? tool_server_absent(admin, why) : exit;
}

static tool_exit ask(const tool_run *run, const tool_admin *admin, tool_answer *ret_answer)
{
    tool_exit exit = get(run, admin, ret_answer);

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
    exit = ask(run, &admin, &answer);
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

/* The next node in the list, which is one line; NULL: there is none. */
static const char *next_node(const char *at)
{
    return memmem(at, strcspn(at, "\n"), "{\"incarnation\":", 15);
}

static const char *first_node(const char *json)
{
    const char *line = strstr(json, "\n\"nodes\":");

    return line ? next_node(line + 1) : NULL;
}

static bool is_dead(const char *node)
{
    tool_text state = {0};

    read_member(node, "state", &state);
    bool is = strcmp(state.at, "dead") == 0;

    tool_text_done(&state);
    return is;
}

static int64_t count_nodes(const char *json, bool are_dead)
{
    int64_t count = 0;

    for (const char *node = first_node(json); node; node = next_node(node + 1))
        count += is_dead(node) == are_dead;
    return count;
}

static tool_exit status(tool_run *run)
{
    tool_answer answer = {0};
    tool_text leader = {0}, self = {0};
    tool_admin admin;
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = ask(run, &admin, &answer);
    if (!exit) {
        const char *json = answer.body.at;

        read_member(json, "leader", &leader);
        read_member(json, "self", &self);

        tool_field fields[] = {
            {"Server", tavola_string(admin.url)},
            {"Incarnation", tavola_string(self.at)},
            {"Leader", tavola_string(leader.at)},
            {"Nodes", tavola_int64(count_nodes(json, false))},
            {"DeadNodes", tavola_int64(count_nodes(json, true))},
            {"Ranges", tavola_int64((int64_t)count_of(json, "ranges"))},
            {"Rows", tavola_int64(sum_of(json, "ranges", "rows"))},
            {"Bytes", tavola_int64(sum_of(json, "ranges", "bytes"))},
            {"ChangesUnderWay", tavola_int64((int64_t)count_of(json, "intents"))},
            {"MapVersion", tavola_int64(read_number(json, "version"))},
            {"Level", tavola_int64(read_number(json, "level"))},
            {"Osds", tavola_int64(read_line_number(json, "pool", "osds"))},
            {"OsdsUp", tavola_int64(read_line_number(json, "pool", "osds_up"))},
            {"PoolFreeBytes", tavola_int64(read_line_number(json, "pool", "free_bytes"))},
        };

        exit = tool_output_one(run, fields, sizeof fields / sizeof fields[0]);
    }
    tool_text_done(&leader);
    tool_text_done(&self);
    tool_answer_done(&answer);
    return exit;
}

/* ---- force ----------------------------------------------------------------------------------- */

static tool_exit begin(const tool_run *run, const tool_admin *admin, const char *body,
                       int64_t *ret_job)
{
    tool_request request = {.method = "POST", .path = "/cluster/force", .body = body};
    tool_answer answer = {0};
    char why[200];
    bool has_answer = false;
    tool_exit exit = tool_admin_ask_with_token(run, admin, request, &answer, &has_answer, why);

    if (!exit && !has_answer) {
        exit = tool_server_absent(admin, why);
    } else if (!exit && answer.status != 202) {
        exit = tool_server_refused(admin, &answer);
    } else if (!exit) {
        *ret_job = read_number(answer.body.at, "job");
    }
    tool_answer_done(&answer);
    return exit;
}

/* Until GET /cluster says that the job has ended. */
static tool_exit wait_for(const tool_run *run, const tool_admin *admin, int64_t job)
{
    for (int waited = 0; waited < WAIT_MS; waited += PAUSE_MS) {
        tool_answer answer = {0};
        tool_text state = {0}, error = {0};
        tool_exit exit = ask(run, admin, &answer);
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
        tool_stop_wait(-1, 0, PAUSE_MS);
        if (tool_stop_signal())
            break;
    }
    return tool_trouble("the change goes on; see 'tavola cluster history'");
}

static tool_exit force(tool_run *run)
{
    tool_text body = {0};
    tool_admin admin;
    int64_t job = 0;
    tool_exit exit = tool_admin_open(run, &admin);

    tool_admin_add_member(&body, "op", run->args[0]);
    tool_admin_add_member(&body, "range", run->arg_count > 1 ? run->args[1] : "");
    tool_admin_add_member(&body, "key", run->arg_count > 2 ? run->args[2] : "");
    tool_text_puts(&body, "}");
    if (!exit)
        exit = begin(run, &admin, body.at, &job);
    if (!exit)
        exit = wait_for(run, &admin, job);
    tool_text_done(&body);
    return exit;
}

/* ---- check ----------------------------------------------------------------------------------- */

enum { STUCK_MS = 60 * 1000, SKEW_MS = 1000 };

/* Each tells what is wrong, a line for each thing; true when something is. */

static bool is_unled(const char *json)
{
    tool_text leader = {0};
    int64_t led_ms = read_line_number(json, "pool", "led_ms");
    bool is = false;

    read_member(json, "leader", &leader);
    if (leader.size == 0) {
        tool_trouble("no node leads the cluster");
        is = true;
    } else if (led_ms > STUCK_MS) {
        tool_trouble("the leader has not been heard of for %lld s", (long long)led_ms / 1000);
        is = true;
    }
    if (count_of(json, "ranges") == 0) {
        tool_trouble("the cluster shows no ranges yet");
        is = true;
    }
    tool_text_done(&leader);
    return is;
}

static bool is_stuck(const char *json)
{
    struct timespec now;
    bool is = false;

    clock_gettime(CLOCK_REALTIME, &now);
    for (const char *line = first_of(json, "intents"); line; line = next_of(line)) {
        int64_t age_ms = now.tv_sec * 1000 - read_number(line, "began_ms");
        tool_text op = {0}, object = {0};

        read_member(line, "op", &op);
        read_member(line, "object", &object);
        if (age_ms > STUCK_MS) {
            tool_trouble("a %.20s of %.100s has been under way for %lld s", op.at, object.at,
                         (long long)age_ms / 1000);
            is = true;
        }
        tool_text_done(&op);
        tool_text_done(&object);
    }
    return is;
}

/* "3 at 10.0.0.1 (0.0.0.0:10000,...)": who it is, and where its clients connect to. */
static void describe_node(const char *node, tool_text *ret_name, tool_text *ret_place)
{
    tool_text address = {0}, http = {0};
    const char *number = find_member(node, "incarnation");

    read_member(node, "address", &address);
    read_member(node, "http", &http);
    address.at[strcspn(address.at, ":")] = '\0';
    tool_text_printf(ret_name, "%.*s", (int)strcspn(number, ",}\""), number);
    if (*ret_name->at == '\0')
        read_member(node, "incarnation", ret_name);
    if (*address.at)
        tool_text_printf(ret_place, " at %.60s (%.200s)", address.at, http.at);
    tool_text_done(&address);
    tool_text_done(&http);
}

/* Whether a node at the same place lives: the dead one was started again. */
static bool is_back(const char *json, const char *place)
{
    bool is = false;

    for (const char *node = first_node(json); node && *place && !is; node = next_node(node + 1)) {
        tool_text name = {0}, other = {0};

        describe_node(node, &name, &other);
        is = !is_dead(node) && other.size && strcmp(other.at, place) == 0;
        tool_text_done(&name);
        tool_text_done(&other);
    }
    return is;
}

static bool has_bad_nodes(const char *json)
{
    bool has = false;

    for (const char *node = first_node(json); node; node = next_node(node + 1)) {
        int64_t skew_ms = read_number(node, "clock_skew_ms");
        tool_text name = {0}, place = {0};

        tool_text_puts(&place, "");
        describe_node(node, &name, &place);
        if (is_dead(node) && !is_back(json, place.at)) {
            tool_trouble("node %.40s%.300s is dead since %lld s", name.at, place.at,
                         (long long)read_number(node, "beat_ms") / 1000);
            has = true;
        } else if (!is_dead(node) && (skew_ms > SKEW_MS || skew_ms < -SKEW_MS)) {
            tool_trouble("the clock of node %.40s%.300s is %lld ms off", name.at, place.at,
                         (long long)skew_ms);
            has = true;
        }
        tool_text_done(&name);
        tool_text_done(&place);
    }
    return has;
}

static bool has_strays(const char *json)
{
    const char *line = strstr(json, "\n\"check\":");
    const char *names = line ? find_member(line + 1, "strays") : NULL;
    size_t size = names ? strcspn(names, "]\n") : 0;

    if (size < 2)
        return false;
    tool_trouble("objects that no range, change or node names, and that were not made by a split: "
                 "%.*s; look at them (rados listxattr, listomapkeys) before you remove any",
                 (int)(size - 1 > 1000 ? 1000 : size - 1), names + 1);
    return true;
}

/* What the server says of itself: a full pool, a clock, an operation that does not come back. */
static tool_exit check_health(const tool_admin *admin)
{
    tool_answer answer = {0};
    tool_exit exit = tool_server_get(admin, "/healthz", &answer);

    if (!exit && answer.status != 200)
        exit = tool_server_refused(admin, &answer);
    tool_answer_done(&answer);
    return exit;
}

/* Have the pool listed now, where there is a token for that. */
static tool_exit list_pool(tool_run *run, const tool_admin *admin)
{
    int64_t job = 0;
    tool_exit exit;

    if (!tool_value_of(run, TOOL_FLAG_DATA) && !tool_value_of(run, TOOL_FLAG_TOKEN_FILE))
        return TOOL_OK;
    exit = begin(run, admin, "{\"op\":\"check\"}", &job);
    return exit ? exit : wait_for(run, admin, job);
}

static tool_exit check(tool_run *run)
{
    tool_answer answer = {0};
    tool_admin admin;
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = list_pool(run, &admin);
    if (!exit)
        exit = ask(run, &admin, &answer);
    if (!exit) {
        const char *json = answer.body.at;
        int wrong = is_unled(json) + is_stuck(json) + has_bad_nodes(json) + has_strays(json);

        exit = check_health(&admin);
        if (!exit && wrong)
            exit = TOOL_FAILURE;
    }
    if (!exit)
        exit = tool_output_one(run, &(tool_field){"Health", tavola_string("ok")}, 1);
    tool_answer_done(&answer);
    return exit;
}

const tool_verb tool_cluster_verbs[] = {
    {"cluster status", "", "Nodes, leader, ranges and rows of the cluster of a tavolad", 0, 0,
     TOOL_BIT(ADMIN) | TOOL_BIT(SELECT), .run = status,
     .examples = "  tavola cluster status --admin http://10.0.0.7:10003\n"},
    {"cluster ranges", "",
     "The ranges of its keys: size, load, why one is not split; the keys with a token", 0, 0,
     TOOL_BIT(ADMIN) | TOOL_BIT(TOKEN_FILE) | TOOL_BIT(DATA) | TOOL_BIT(SELECT), .run = ranges,
     .examples = "  tavola cluster ranges -o json\n"},
    {"cluster history", "", "What was done to ranges, the newest last, and how long writes waited",
     0, 0, TOOL_BIT(ADMIN) | TOOL_BIT(TOKEN_FILE) | TOOL_BIT(DATA) | TOOL_BIT(SELECT),
     .run = history, .examples = "  tavola cluster history\n"},
    {"cluster check", "", "For scripts: exit code 0 well, 1 not well, 6 not reachable", 0, 0,
     TOOL_BIT(ADMIN) | TOOL_BIT(TOKEN_FILE) | TOOL_BIT(DATA), .run = check, .is_plain = true,
     .examples = "  tavola cluster check\n"
                 "  tavola cluster check --data /var/lib/tavola   # lists the pool first\n"},
    {"cluster force", "OP [RANGE [KEY]]",
     "Do it now: split, merge, move, fence, collect or check; keys as 'cluster ranges' shows them",
     1, 3, TOOL_BIT(ADMIN) | TOOL_BIT(TOKEN_FILE) | TOOL_BIT(DATA), .run = force,
     .examples = "  tavola cluster force split '' 'racct%0100000007Sales%01'\n"
                 "  tavola cluster force merge 'racct%0100000007Sales%01'\n"},
    {0},
};
