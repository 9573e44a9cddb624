/* See findings.h. */
#include "findings.h"

#include <stdlib.h>
#include <string.h>

const char *tool_lint_state_name(tool_lint_state state)
{
    static const char *const names[TOOL_LINT_STATES] = {"open", "allowed", "baseline", "ignored"};

    return names[state];
}

static char *text_of(tool_json object, const char *path)
{
    tool_text text = {0};

    tool_json_text(tool_json_get(object, path), &text);
    return text.at;
}

/* ---- one finding ----------------------------------------------------------------------------- */

/* Of "9{8}#1c2d3e4f5a6b" what is before the hash. */
static void add_class(tool_text *id, tool_json finding, const char *path)
{
    char *key = text_of(finding, path), *hash = key ? strrchr(key, '#') : NULL;

    if (hash)
        tool_text_add(id, key, (size_t)(hash - key));
    free(key);
}

/*
 * An id that the next run has, too.  That of a finding on keys ends with a hash which each store
 * makes in its own way, so that nobody can guess keys by it: what the keys look like stands in its
 * place, which is as good for tests, whose keys are rarely the same.
 */
static char *stable_id(tool_json finding)
{
    char *id = text_of(finding, "id"), *kind = text_of(finding, "subject.kind");
    bool is_entity = strcmp(kind, "entity") == 0;
    const char *hash = strrchr(id, '/');
    tool_text stable = {0};

    if (hash && (is_entity || strcmp(kind, "partition") == 0)) {
        tool_text_add(&stable, id, (size_t)(hash + 1 - id));
        add_class(&stable, finding, "subject.partitionKey");
        if (is_entity) {
            tool_text_puts(&stable, ",");
            add_class(&stable, finding, "subject.rowKey");
        }
        free(id);
        id = stable.at;
    }
    free(kind);
    return id;
}

static bool is_text(const char *wanted, const char *text)
{
    return !wanted || strcmp(wanted, text) == 0;
}

static bool is_of_rule(const char *wanted, const tool_lint_finding *finding)
{
    return !wanted || strcmp(wanted, finding->rule) == 0 || strcmp(wanted, finding->code) == 0 ||
           (!wanted[1] && wanted[0] == finding->code[0]);
}

/* One that holds goes before one whose time is over. */
static const tool_allow *find_allow(tool_lint_config *config, const tool_lint_finding *finding,
                                    tavola_ticks now, bool *ret_holds)
{
    const tool_allow *found = NULL;

    *ret_holds = false;
    for (size_t i = 0; i < config->allow_count; i++) {
        tool_allow *allow = &config->allows[i];

        if (!is_of_rule(allow->rule, finding) ||
            !tool_patterns_match(&allow->tables, finding->table) ||
            !is_text(allow->shape, finding->shape) || !is_text(allow->text, finding->text))
            continue;
        allow->is_used = true;
        if (*ret_holds)
            continue;
        found = allow;
        *ret_holds = !allow->until || now < allow->ends;
    }
    return found;
}

static void add(tool_lint_report *report, tool_lint_config *config, tool_baseline *baseline,
                tool_lint_finding finding, tavola_ticks now)
{
    char *state = text_of(finding.json, "state");
    tool_level level;
    bool holds;

    finding.id = stable_id(finding.json);
    finding.rule = text_of(finding.json, "rule");
    finding.code = text_of(finding.json, "code");
    finding.table = text_of(finding.json, "table");
    finding.title = text_of(finding.json, "title");
    finding.shape = text_of(finding.json, "subject.fingerprint");
    finding.text = text_of(finding.json, "subject.text");
    level = tool_lint_config_level(config, finding.rule, finding.code);
    if (level != TOOL_LEVEL_UNSET)
        finding.level = level;
    finding.allow = find_allow(config, &finding, now, &holds);
    finding.state = holds                                      ? TOOL_LINT_ALLOWED
                    : strcmp(state, "ignored") == 0            ? TOOL_LINT_IGNORED
                    : tool_baseline_take(baseline, finding.id) ? TOOL_LINT_BASELINE
                                                               : TOOL_LINT_OPEN;
    free(state);
    report->findings =
        tool_resize(report->findings, (report->count + 1) * sizeof *report->findings);
    report->findings[report->count++] = finding;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* What is said of a shape by its numbers. */
typedef struct shape {
    tool_json json;
    double executions, examined, returned, pages, ratio;
} shape;

static double number_of(tool_json object, const char *name)
{
    return tool_json_number(tool_json_get(object, name));
}

static shape read_shape(tool_json json)
{
    shape s = {.json = json,
               .executions = number_of(json, "executions"),
               .examined = number_of(json, "examinedMax"),
               .returned = number_of(json, "returnedMax")};
    double returned = number_of(json, "returned");

    s.pages = s.executions > 0 ? number_of(json, "pages") / s.executions : 0;
    s.ratio = number_of(json, "examined") / (returned < 1 ? 1 : returned);
    return s;
}

/* Write what is wrong with the shape, or nothing. */
static void compare(const tool_limit *limit, const shape *s, tool_text *title)
{
    char plan[40];

    if (limit->plan) {
        snprintf(plan, sizeof plan, "plans.%s", limit->plan);
        if (number_of(s->json, plan) < 1)
            return;
    }
    if (limit->returned_up_to >= 0 && s->returned > limit->returned_up_to)
        return;
    if (limit->examined_over >= 0 && s->examined > limit->examined_over)
        tool_text_printf(title, "An execution examined %.0f entities, over the limit of %.0f",
                         s->examined, limit->examined_over);
    else if (limit->pages_over >= 0 && s->pages > limit->pages_over)
        tool_text_printf(title, "An execution takes %.3g pages, over the limit of %.3g", s->pages,
                         limit->pages_over);
    else if (limit->ratio_over >= 0 && s->ratio > limit->ratio_over)
        tool_text_printf(title,
                         "%.3g entities are examined for each that is returned, over the limit "
                         "of %.3g",
                         s->ratio, limit->ratio_over);
    else if (limit->plan && limit->examined_over < 0 && limit->pages_over < 0 &&
             limit->ratio_over < 0)
        tool_text_printf(title, "The plan is %s, which a limit refuses", limit->plan);
}

static void add_json(tool_text *to, const char *before, tool_json object, const char *path)
{
    tool_json value = tool_json_get(object, path);

    tool_text_puts(to, before);
    if (value.at)
        tool_text_add(to, value.at, value.size);
    else
        tool_text_puts(to, "\"\"");
}

/* A finding of rule "limit", as the rules write theirs. */
static char *limit_json(const shape *s, const char *title, const tool_limit *limit)
{
    char *account = text_of(s->json, "account"), *table = text_of(s->json, "table");
    char *fingerprint = text_of(s->json, "fingerprint");
    tool_text text = {0};

    tool_text_printf(&text,
                     "{\"id\":\"limit@%s/%s/%s\",\"rule\":\"limit\",\"code\":\"Q99\","
                     "\"severity\":\"%s\",\"confidence\":\"certain\",\"state\":\"active\","
                     "\"title\":\"%s\"",
                     account, table, fingerprint, tool_level_name(limit->severity), title);
    add_json(&text, ",\"account\":", s->json, "account");
    add_json(&text, ",\"table\":", s->json, "table");
    add_json(&text, ",\"subject\":{\"kind\":\"shape\",\"fingerprint\":", s->json, "fingerprint");
    add_json(&text, ",\"text\":", s->json, "text");
    tool_text_printf(&text,
                     "},\"chapter\":{\"title\":\"Design for querying\","
                     "\"anchor\":\"design-for-querying\"},\"evidence\":{\"executions\":%.0f,"
                     "\"examinedMax\":%.0f,\"returnedMax\":%.0f},\"cure\":{\"text\":\"Give the "
                     "query keys that name what it wants, or raise the limit on line %u.\"}",
                     s->executions, s->examined, s->returned, limit->line);
    add_json(&text, ",\"sources\":", s->json, "sources");
    tool_text_puts(&text, "}");
    free(account);
    free(table);
    free(fingerprint);
    return text.at;
}

/* The first limit that a shape is over. */
static void check_limits(tool_lint_report *report, tool_lint_config *config,
                         tool_baseline *baseline, tool_json json, tavola_ticks now)
{
    shape s = read_shape(json);
    char *table = text_of(json, "table");

    for (size_t i = 0; i < config->limit_count; i++) {
        const tool_limit *limit = &config->limits[i];
        tool_text title = {0};

        if (tool_patterns_match(&limit->tables, table))
            compare(limit, &s, &title);
        if (title.size) {
            char *own = limit_json(&s, title.at, limit);
            tool_lint_finding finding = {
                .json = tool_json_of(own), .own_json = own, .level = limit->severity};

            add(report, config, baseline, finding, now);
            tool_text_done(&title);
            break;
        }
    }
    free(table);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* How many tables the shapes are of: those of one stand together. */
static void look_at_shapes(tool_lint_report *report, tool_lint_config *config,
                           tool_baseline *baseline, tool_json shapes, tavola_ticks now)
{
    tool_json_walk one = {0};
    char **tables = NULL;

    while (tool_json_each(shapes, &one)) {
        char *account = text_of(one.value, "account"), *table = text_of(one.value, "table");
        char *operation = text_of(one.value, "operation");
        tool_text key = {0};
        size_t i = 0;

        tool_text_printf(&key, "%s/%s", account, table);
        while (i < report->tables && strcmp(tables[i], key.at) != 0)
            i++;
        if (i == report->tables) {
            tables = tool_resize(tables, (i + 1) * sizeof *tables);
            tables[report->tables++] = tool_copy(key.at);
        }
        if (strcmp(operation, "QueryEntities") == 0) {
            report->shapes++;
            check_limits(report, config, baseline, one.value, now);
        }
        free(account);
        free(table);
        free(operation);
        tool_text_done(&key);
    }
    for (size_t i = 0; i < report->tables; i++)
        free(tables[i]);
    free(tables);
}

static void finding_done(tool_lint_finding *finding)
{
    free(finding->own_json);
    free(finding->id);
    free(finding->rule);
    free(finding->code);
    free(finding->table);
    free(finding->title);
    free(finding->shape);
    free(finding->text);
}

/* Rules that are off are not told of. */
static void count(tool_lint_report *report)
{
    size_t kept = 0;

    for (size_t i = 0; i < report->count; i++) {
        tool_lint_finding *finding = &report->findings[i];

        if (finding->level == TOOL_LEVEL_OFF) {
            finding_done(finding);
            continue;
        }
        report->by_state[finding->state]++;
        if (finding->state == TOOL_LINT_OPEN)
            report->open[finding->level]++;
        report->findings[kept++] = *finding;
    }
    report->count = kept;
}

void tool_lint_judge(tool_lint_report *report, tool_lint_config *config, tool_baseline *baseline,
                     const char *advice, const char *shapes, tavola_ticks now)
{
    tool_json_walk one = {0};
    tool_json all = tool_json_of(advice);

    report->config = config;
    report->baseline = baseline;
    report->window = tool_json_get(all, "window");
    while (tool_json_each(tool_json_get(all, "findings"), &one)) {
        tool_lint_finding finding = {.json = one.value, .level = TOOL_LEVEL_INFO};
        char *severity = text_of(one.value, "severity");

        tool_level_parse(severity, &finding.level);
        free(severity);
        add(report, config, baseline, finding, now);
    }
    look_at_shapes(report, config, baseline, tool_json_get(tool_json_of(shapes), "shapes"), now);
    count(report);
}

void tool_lint_report_done(tool_lint_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        finding_done(&report->findings[i]);
    free(report->findings);
}

bool tool_lint_fails(const tool_lint_report *report)
{
    for (int level = report->config->fail_on; level < TOOL_LEVELS; level++) {
        if (report->open[level])
            return true;
    }
    return false;
}
