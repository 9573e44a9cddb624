/*
 * A cluster as one of its servers sees it: its nodes, its ranges, what was done to them.  All of it
 * is one answer of the admin port (GET /cluster).
 */
#include "../json_find.h"
#include "../output/output.h"
#include "../verbs.h"
#include "server.h"

#include <string.h>
#include <time.h>

enum { FIELDS_MAX = 12, PAUSE_MS = 200, WAIT_MS = 120 * 1000 };

/* ---- asking ---------------------------------------------------------------------------------- */

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

static tool_exit ask(const tool_run *run, const tool_admin *admin, tool_answer *ret_answer,
                     tool_json *ret_cluster)
{
    tool_exit exit = get(run, admin, ret_answer);

    if (!exit && ret_answer->status == 404)
        return tool_trouble("the server at %s is not one of a cluster", admin->url);
    if (!exit && ret_answer->status != 200)
        return tool_server_refused(admin, ret_answer);
    if (!exit)
        *ret_cluster = tool_json_of(ret_answer->body.at);
    if (!exit && !tool_json_get(*ret_cluster, "version").at)
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

static void print_item(tool_output *output, tool_json item, const column *columns)
{
    tool_field fields[FIELDS_MAX];
    tool_text texts[FIELDS_MAX] = {{0}};
    size_t count = 0;

    for (; columns[count].name; count++) {
        const column *c = &columns[count];

        fields[count].name = c->name;
        if (strcmp(c->member, "at_ms") == 0) {
            fields[count].value = tool_time_value(ticks_of(tool_json_int(item, c->member)));
        } else if (c->is_number) {
            fields[count].value = tavola_int64(tool_json_int(item, c->member));
        } else {
            tool_json_text(tool_json_get(item, c->member), &texts[count]);
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
    tool_json_walk item = {0};
    tool_json cluster;
    tool_admin admin;
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = tool_output_open(run, true, &output);
    if (exit)
        return exit;
    exit = ask(run, &admin, &answer, &cluster);
    while (!exit && tool_json_each(tool_json_get(cluster, list), &item))
        print_item(output, item.value, columns);
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

static int64_t sum_of(tool_json list, const char *member)
{
    tool_json_walk item = {0};
    int64_t sum = 0;

    while (tool_json_each(list, &item))
        sum += tool_json_int(item.value, member);
    return sum;
}

static bool is_dead(tool_json node)
{
    return tool_json_is(tool_json_get(node, "state"), "dead");
}

static int64_t count_nodes(tool_json cluster, bool are_dead)
{
    tool_json_walk node = {0};
    int64_t count = 0;

    while (tool_json_each(tool_json_get(cluster, "nodes"), &node))
        count += is_dead(node.value) == are_dead;
    return count;
}

static tool_exit status(tool_run *run)
{
    tool_answer answer = {0};
    tool_text leader = {0}, self = {0};
    tool_json all;
    tool_admin admin;
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = ask(run, &admin, &answer, &all);
    if (!exit) {
        tool_json ranges_of = tool_json_get(all, "ranges");

        tool_json_text(tool_json_get(all, "leader"), &leader);
        tool_json_text(tool_json_get(all, "self"), &self);

        tool_field fields[] = {
            {"Server", tavola_string(admin.url)},
            {"Incarnation", tavola_string(self.at)},
            {"Leader", tavola_string(leader.at)},
            {"Nodes", tavola_int64(count_nodes(all, false))},
            {"DeadNodes", tavola_int64(count_nodes(all, true))},
            {"Ranges", tavola_int64((int64_t)tool_json_count(ranges_of))},
            {"Rows", tavola_int64(sum_of(ranges_of, "rows"))},
            {"Bytes", tavola_int64(sum_of(ranges_of, "bytes"))},
            {"ChangesUnderWay",
             tavola_int64((int64_t)tool_json_count(tool_json_get(all, "intents")))},
            {"MapVersion", tavola_int64(tool_json_int(all, "version"))},
            {"Level", tavola_int64(tool_json_int(all, "level"))},
            {"Osds", tavola_int64(tool_json_int(all, "pool.osds"))},
            {"OsdsUp", tavola_int64(tool_json_int(all, "pool.osds_up"))},
            {"PoolFreeBytes", tavola_int64(tool_json_int(all, "pool.free_bytes"))},
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
        *ret_job = tool_json_int(tool_json_of(answer.body.at), "job");
    }
    tool_answer_done(&answer);
    return exit;
}

/* Until GET /cluster says that the job has ended. */
static tool_exit wait_for(const tool_run *run, const tool_admin *admin, int64_t job)
{
    for (int waited = 0; waited < WAIT_MS; waited += PAUSE_MS) {
        tool_answer answer = {0};
        tool_text error = {0};
        tool_json cluster = {0};
        tool_exit exit = ask(run, admin, &answer, &cluster);
        int64_t last = tool_json_int(cluster, "force.job");
        bool is_done = last > job; /* somebody else's has come after it */

        if (last == job) {
            tool_json_text(tool_json_get(cluster, "force.error"), &error);
            is_done = tool_json_is(tool_json_get(cluster, "force.state"), "done");
        }
        if (is_done && error.size)
            exit = tool_trouble("the change was not made: %.60s", error.at);
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

static bool is_unled(tool_json cluster)
{
    int64_t led_ms = tool_json_int(cluster, "pool.led_ms");
    bool is_led = tool_json_get(cluster, "leader").size > 2; /* the quotes */
    bool has_ranges = tool_json_count(tool_json_get(cluster, "ranges")) > 0;

    if (!is_led)
        tool_trouble("no node leads the cluster");
    else if (led_ms > STUCK_MS)
        tool_trouble("the leader has not been heard of for %lld s", (long long)led_ms / 1000);
    if (!has_ranges)
        tool_trouble("the cluster shows no ranges yet");
    return !is_led || led_ms > STUCK_MS || !has_ranges;
}

static bool is_stuck(tool_json cluster)
{
    tool_json_walk intent = {0};
    struct timespec now;
    bool is = false;

    clock_gettime(CLOCK_REALTIME, &now);
    while (tool_json_each(tool_json_get(cluster, "intents"), &intent)) {
        int64_t age_ms = now.tv_sec * 1000 - tool_json_int(intent.value, "began_ms");
        tool_text op = {0}, object = {0};

        tool_json_text(tool_json_get(intent.value, "op"), &op);
        tool_json_text(tool_json_get(intent.value, "object"), &object);
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

/* " at 10.0.0.1 (0.0.0.0:10000,...)": where its clients connect to; "" where it does not say. */
static void describe_place(tool_json node, tool_text *ret_place)
{
    tool_text address = {0}, http = {0};

    tool_json_text(tool_json_get(node, "address"), &address);
    tool_json_text(tool_json_get(node, "http"), &http);
    address.at[strcspn(address.at, ":")] = '\0';
    tool_text_puts(ret_place, "");
    if (*address.at)
        tool_text_printf(ret_place, " at %.60s (%.200s)", address.at, http.at);
    tool_text_done(&address);
    tool_text_done(&http);
}

/* Whether a node at the same place lives: the dead one was started again. */
static bool is_back(tool_json nodes, const char *place)
{
    tool_json_walk node = {0};
    bool is = false;

    while (*place && !is && tool_json_each(nodes, &node)) {
        tool_text other = {0};

        describe_place(node.value, &other);
        is = !is_dead(node.value) && strcmp(other.at, place) == 0;
        tool_text_done(&other);
    }
    return is;
}

static bool has_bad_nodes(tool_json cluster)
{
    tool_json nodes = tool_json_get(cluster, "nodes");
    tool_json_walk node = {0};
    bool has = false;

    while (tool_json_each(nodes, &node)) {
        int64_t skew_ms = tool_json_int(node.value, "clock_skew_ms");
        tool_text name = {0}, place = {0};

        tool_json_text(tool_json_get(node.value, "incarnation"), &name);
        describe_place(node.value, &place);
        if (is_dead(node.value) && !is_back(nodes, place.at)) {
            tool_trouble("node %.40s%.300s is dead since %lld s", name.at, place.at,
                         (long long)tool_json_int(node.value, "beat_ms") / 1000);
            has = true;
        } else if (!is_dead(node.value) && (skew_ms > SKEW_MS || skew_ms < -SKEW_MS)) {
            tool_trouble("the clock of node %.40s%.300s is %lld ms off", name.at, place.at,
                         (long long)skew_ms);
            has = true;
        }
        tool_text_done(&name);
        tool_text_done(&place);
    }
    return has;
}

static bool has_strays(tool_json cluster)
{
    tool_json names = tool_json_get(cluster, "check.strays");

    if (names.size <= 2)
        return false;
    tool_trouble("objects that no range, change or node names, and that were not made by a split: "
                 "%.*s; look at them (rados listxattr, listomapkeys) before you remove any",
                 (int)(names.size - 2 > 1000 ? 1000 : names.size - 2), names.at + 1);
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
    tool_json all;
    tool_admin admin;
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = list_pool(run, &admin);
    if (!exit)
        exit = ask(run, &admin, &answer, &all);
    if (!exit) {
        int wrong = is_unled(all) + is_stuck(all) + has_bad_nodes(all) + has_strays(all);

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
