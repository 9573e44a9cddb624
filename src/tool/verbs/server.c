/* Is the server well, and what does it do?  For those who run one. */
#include "server.h"
#include "../json_find.h"
#include "../output/output.h"
#include "../verbs.h"

#include <stdlib.h>
#include <string.h>

tool_exit tool_server_get(const tool_admin *admin, const char *path, tool_answer *ret_answer)
{
    char why[200];

    if (tool_admin_ask(admin, &(tool_request){.method = "GET", .path = path}, ret_answer, why))
        return TOOL_OK;
    return tool_server_absent(admin, why);
}

/* Texts of the server become one line: "unhealthy: a\nunhealthy: b\n" is "a; b". */
static void join_lines(const char *text, tool_text *ret_line)
{
    static const char prefix[] = "unhealthy: ";

    tool_text_puts(ret_line, "");
    while (*text) {
        size_t size = strcspn(text, "\n");
        size_t skip = strncmp(text, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;

        if (size > skip) {
            tool_text_puts(ret_line, ret_line->size ? "; " : "");
            tool_text_add(ret_line, text + skip, size - skip);
        }
        text += size + (text[size] == '\n');
    }
}

tool_exit tool_server_refused(const tool_admin *admin, const tool_answer *answer)
{
    tool_text line = {0};

    join_lines(answer->body.at, &line);
    tool_trouble("the server at %s says %d: %.500s", admin->url, answer->status, line.at);
    tool_text_done(&line);
    switch (answer->status) {
    case 400:
        return TOOL_USAGE;
    case 401:
    case 403:
        return TOOL_DENIED;
    case 409:
        return TOOL_CONFLICT;
    default:
        return TOOL_FAILURE;
    }
}

/* "ok", or what is wrong. */
static tool_exit ask_health(const tool_admin *admin, tool_text *ret_health)
{
    tool_answer answer = {0};
    tool_exit exit = tool_server_get(admin, "/healthz", &answer);

    if (!exit && answer.status != 200 && answer.status != 503)
        exit = tool_server_refused(admin, &answer);
    if (!exit && answer.status == 200)
        tool_text_puts(ret_health, "ok");
    else if (!exit)
        join_lines(answer.body.at, ret_health);
    if (!exit && !ret_health->size)
        tool_text_puts(ret_health, "it does not say why");
    tool_answer_done(&answer);
    return exit;
}

static bool is_well(const tool_text *health)
{
    return strcmp(health->at, "ok") == 0;
}

static tool_exit tell_health(const tool_admin *admin, const tool_text *health)
{
    return is_well(health)
               ? TOOL_OK
               : tool_trouble("the server at %s is not well: %.1000s", admin->url, health->at);
}

/* Until somebody says that all is well, or the time is over: then it is asked once more, aloud. */
static void wait_until_well(const tool_admin *admin, int64_t wait_s)
{
    enum { PAUSE_MS = 50 };
    const tool_request request = {.method = "GET", .path = "/healthz"};
    double until_ms = tool_now_ms() + (double)wait_s * 1000;
    bool is_waiting = true;

    while (is_waiting && !tool_stop_signal() && tool_now_ms() < until_ms) {
        tool_answer answer = {0};
        char why[200];

        is_waiting = !tool_admin_ask(admin, &request, &answer, why) || answer.status != 200;
        tool_answer_done(&answer);
        if (is_waiting)
            tool_stop_wait(-1, 0, PAUSE_MS);
    }
}

static tool_exit check(tool_run *run)
{
    tool_text health = {0};
    tool_output *output = NULL;
    tool_admin admin;
    int64_t wait_s = 0;
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = tool_number_of(run, TOOL_FLAG_WAIT, 1, 86400, &wait_s);
    if (!exit)
        exit = tool_output_open(run, false, &output);
    if (exit)
        return exit;
    wait_until_well(&admin, wait_s);
    exit = ask_health(&admin, &health);
    if (!exit)
        exit = tell_health(&admin, &health);
    if (!exit)
        tool_output_record(output, &(tool_field){"Health", tavola_string(health.at)}, 1);
    tool_output_close(output);
    tool_text_done(&health);
    return exit;
}

static tool_exit ask_metrics(const tool_admin *admin, tool_answer *ret_answer)
{
    tool_exit exit = tool_server_get(admin, "/metrics", ret_answer);

    return exit || ret_answer->status == 200 ? exit : tool_server_refused(admin, ret_answer);
}

/* Lines of a server on a terminal, without what a terminal would obey. */
static void show_lines(const char *line)
{
    while (*line) {
        size_t size = strcspn(line, "\n");
        tool_text shown = {0};

        tool_text_escape(&shown, line, size, false);
        tool_text_puts(&shown, "\n");
        fputs(shown.at, stdout);
        tool_text_done(&shown);
        line += size + (line[size] == '\n');
    }
}

/* A record for each line "name{labels} value". */
static tool_exit print_metrics(const tool_run *run, const char *line)
{
    tool_output *output = NULL;
    tool_exit exit = tool_output_open(run, true, &output);

    for (; !exit && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t size = strcspn(line, "\n"), name = strcspn(line, "{ \n");
        const char *value = memrchr(line, ' ', size);

        if (line[0] == '#' || !value)
            continue;
        tool_field fields[] = {
            {"Metric", {.type = TAVOLA_STRING, .as.ptr = line, .size = name}},
            {"Labels",
             {.type = TAVOLA_STRING, .as.ptr = line + name, .size = (size_t)(value - line) - name}},
            {"Value", tavola_double(strtod(value, NULL))},
        };
        tool_output_record(output, fields, sizeof fields / sizeof fields[0]);
    }
    tool_output_close(output);
    return exit;
}

/* As Prometheus gets it. */
static tool_exit metrics(tool_run *run)
{
    tool_answer answer = {0};
    tool_admin admin;
    tool_exit exit = tool_output_check(run);

    if (!exit)
        exit = tool_admin_open(run, &admin);
    if (!exit)
        exit = ask_metrics(&admin, &answer);
    if (!exit && tool_has(run, TOOL_FLAG_OUTPUT))
        exit = print_metrics(run, answer.body.at);
    else if (!exit && tool_width())
        show_lines(answer.body.at);
    else if (!exit)
        fwrite(answer.body.at, 1, answer.body.size, stdout);
    tool_answer_done(&answer);
    return exit;
}

/* ---- status ---------------------------------------------------------------------------------- */

typedef enum unit_kind { COUNT, BYTES, SECONDS } unit_kind;
typedef struct main_metric {
    const char *label, *name; /* in a table; elsewhere */
    const char *metric;
    const char *with; /* only with these labels; NULL: all of them together */
    unit_kind unit;
} main_metric;

static const main_metric main_metrics[] = {
    {"Uptime", "UptimeSeconds", "tavola_uptime_seconds", NULL, SECONDS},
    {"Requests", "Requests", "tavola_requests_total", NULL, COUNT},
    {"Failed (5xx)", "ServerErrors", "tavola_requests_total", "status=\"5", COUNT},
    {"Waiting writes", "WaitingWrites", "tavola_commit_queue", NULL, COUNT},
    {"Waiting scans", "WaitingScans", "tavola_scans_waiting", NULL, COUNT},
    {"Tables", "Tables", "tavola_tables", NULL, COUNT},
    {"Queues", "Queues", "tavola_queues", NULL, COUNT},
    {"Containers", "Containers", "tavola_containers", NULL, COUNT},
    {"Large blobs", "LargeBlobBytes", "tavola_extent_bytes", NULL, BYTES},
    {"Memory", "MemoryBytes", "tavola_resident_bytes", NULL, BYTES},
    {"Free disk", "DiskFreeBytes", "tavola_disk_free_bytes", NULL, BYTES},
};
enum { MAIN_METRICS = sizeof main_metrics / sizeof main_metrics[0], OTHERS = 4 };

/* The value of a line "name{labels} value" or "name value" if it is of this metric. */
static bool read_line(const char *line, const main_metric *wanted, double *ret_value)
{
    size_t size = strcspn(line, "\n"), name = strlen(wanted->metric);
    const char *value = memrchr(line, ' ', size);
    const char *with;

    if (!value || strncmp(line, wanted->metric, name) != 0 || !strchr("{ ", line[name]))
        return false;
    with = wanted->with ? memmem(line, size, wanted->with, strlen(wanted->with)) : line;
    *ret_value = with ? strtod(value, NULL) : 0;
    return true;
}

/* The sum over all labels; false when there is no such metric. */
static bool find_metric(const char *text, const main_metric *wanted, double *ret_sum)
{
    bool is_there = false;

    *ret_sum = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        double value;

        if (!read_line(line, wanted, &value))
            continue;
        is_there = true;
        *ret_sum += value;
    }
    /* A whole number that a column can show; nothing else is sent by a tavolad. */
    return is_there && *ret_sum >= 0 && *ret_sum < 1e18;
}

void tool_put_bytes(char ret_text[32], double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;

    while (bytes >= 999.95 && unit < 5) {
        bytes /= 1000;
        unit++;
    }
    snprintf(ret_text, 32, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

static void put_value(char ret_text[32], double value, unit_kind unit)
{
    long long number = (long long)value;

    if (unit == BYTES)
        tool_put_bytes(ret_text, value);
    else if (unit == COUNT)
        snprintf(ret_text, 32, "%lld", number);
    else if (number < 86400)
        snprintf(ret_text, 32, "%lld:%02lld:%02lld", number / 3600, number / 60 % 60, number % 60);
    else
        snprintf(ret_text, 32, "%lld d %lld:%02lld", number / 86400, number / 3600 % 24,
                 number / 60 % 60);
}

static char *find_version(const char *text)
{
    static const char before[] = "tavola_info{version=\"";
    const char *found = strstr(text, before);

    if (!found)
        return NULL;
    found += strlen(before);
    return tool_copy_part(found, strcspn(found, "\"\n"));
}

/* What there is to tell, asked for in three requests. */
typedef struct server_report {
    tool_text health;
    tool_answer metrics, backup;
    tool_backup_state last_backup;
} server_report;

static tool_exit ask_report(const tool_admin *admin, server_report *ret_report)
{
    tool_exit exit = ask_health(admin, &ret_report->health);

    if (!exit)
        exit = ask_metrics(admin, &ret_report->metrics);
    if (!exit)
        exit = tool_server_get(admin, "/backup", &ret_report->backup);
    /* An older server has no backups. */
    if (!exit && !tool_backup_state_parse(ret_report->backup.body.at, &ret_report->last_backup))
        ret_report->last_backup = (tool_backup_state){0};
    return exit;
}

static void print_report(const tool_admin *admin, const server_report *report, tool_output *output)
{
    bool is_table = tool_output_format(output) == TOOL_TABLE;
    const char *text = report->metrics.body.at, *backup = report->last_backup.state;
    char *version = find_version(text), texts[MAIN_METRICS][32];
    tool_field fields[MAIN_METRICS + OTHERS] = {
        {"Server", tavola_string(admin->url)},
        {"Health", tavola_string(report->health.at)},
        {"Version", tool_text_value(version)},
        {is_table ? "Last backup" : "LastBackup", tool_text_value(*backup ? backup : NULL)},
    };

    for (size_t i = 0; i < MAIN_METRICS; i++) {
        tool_field *field = &fields[OTHERS + i];
        double value;
        bool is_there = find_metric(text, &main_metrics[i], &value);

        /* Requests are counted from the first one on. */
        if (!is_there && main_metrics[i].unit == COUNT && value == 0)
            is_there = true;
        field->name = is_table ? main_metrics[i].label : main_metrics[i].name;
        field->value = tool_text_value(NULL);
        if (is_there && is_table)
            put_value(texts[i], value, main_metrics[i].unit);
        if (is_there)
            field->value = is_table ? tavola_string(texts[i]) : tavola_int64((int64_t)value);
    }
    tool_output_record(output, fields, MAIN_METRICS + OTHERS);
    free(version);
}

static tool_exit status(tool_run *run)
{
    tool_output *output = NULL;
    server_report report = {0};
    tool_admin admin;
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = tool_output_open(run, false, &output);
    if (exit)
        return exit;
    exit = ask_report(&admin, &report);
    if (!exit)
        print_report(&admin, &report, output);
    tool_output_close(output);
    if (!exit)
        exit = tell_health(&admin, &report.health);
    tool_text_done(&report.health);
    tool_answer_done(&report.metrics);
    tool_answer_done(&report.backup);
    return exit;
}

/* ---- a link into the page -------------------------------------------------------------------- */

/* {"path":"/#/login/WORD"}: the path; false when it is something else. */
static bool read_link(const char *json, tool_text *ret_path)
{
    static const char before[] = "/#/login/";
    const char *word;

    tool_json_text(tool_json_get(tool_json_of(json), "path"), ret_path);
    word = ret_path->at + strlen(before);
    return strncmp(ret_path->at, before, strlen(before)) == 0 &&
           !word[strspn(word, "0123456789abcdef")];
}

/* By the address that has answered: a name may lead the browser to another. */
static tool_exit ask_link(tool_run *run, const tool_admin *admin)
{
    tool_answer answer = {0};
    tool_text link = {0}, path = {0};
    tool_exit exit = tool_output_check(run);

    if (!exit)
        exit = tool_server_ask(run, "POST", "/link", 0, &answer);

    if (exit)
        ;
    else if (answer.status == 404)
        exit = tool_trouble("the server at %s serves no page: it was started with --no-explorer",
                            admin->url);
    else if (answer.status != 201)
        exit = tool_server_refused(admin, &answer);
    else if (!read_link(answer.body.at, &path))
        exit = tool_trouble("the server at %s answers with something else", admin->url);
    if (!exit) {
        tool_text_printf(&link, "http://%s%s", answer.from, path.at);
        exit = tool_output_one(run, &(tool_field){"Url", tavola_string(link.at)}, 1);
    }
    tool_text_done(&link);
    tool_text_done(&path);
    tool_answer_done(&answer);
    return exit;
}

static tool_exit url(tool_run *run)
{
    tool_admin admin;
    tool_exit exit = tool_admin_open(run, &admin);

    return exit ? exit : ask_link(run, &admin);
}

const tool_verb tool_server_verbs[] = {
    {"server status", "", "Health, version and main metrics of a tavolad; exit code as of check", 0,
     0, TOOL_BIT(ADMIN) | TOOL_BIT(SELECT), .run = status,
     .examples = "  tavola server status\n"
                 "  tavola server status --admin http://10.0.0.7:10003\n"},
    {"server check", "", "For scripts: exit code 0 well, 1 not well, 6 not reachable", 0, 0,
     TOOL_BIT(ADMIN) | TOOL_BIT(WAIT), .run = check, .is_plain = true,
     .examples = "  tavola server check || echo \"the server is not well\"\n"
                 "  tavola server check --wait 60   # after a start\n"},
    {"server metrics", "", "All metrics, as Prometheus gets them", 0, 0, TOOL_BIT(ADMIN),
     .run = metrics, .examples = "  tavola server metrics | grep tavola_requests_total\n"},
    {"server url", "", "A link into the page of a running tavolad, which works once", 0, 0,
     TOOL_BIT(ADMIN) | TOOL_BIT(TOKEN_FILE) | TOOL_BIT(DATA), .run = url, .is_plain = true,
     .examples =
         "  tavola server url\n  tavola server url --token-file /run/secrets/admin.token\n"},
    {"server backup", "DIR", "Back up a running tavolad to a new folder, and wait for it", 1, 1,
     TOOL_BIT(ADMIN) | TOOL_BIT(TOKEN_FILE) | TOOL_BIT(DATA) | TOOL_BIT(BASE),
     .run = tool_server_backup,
     .examples = "  tavola server backup /backups/monday --data /var/lib/tavola\n"
                 "  tavola server backup /backups/tuesday --base /backups/monday\n"},
    {0},
};
