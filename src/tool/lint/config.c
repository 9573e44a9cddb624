/* See config.h. */
#include "config.h"

#include "insight/advice/rules.h"
#include "names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char default_path[] = "tavola-lint.toml";

static const char *const level_names[TOOL_LEVELS] = {"off", "info", "warning", "error"};

const char *tool_level_name(tool_level level)
{
    return level_names[level];
}

bool tool_level_parse(const char *text, tool_level *ret_level)
{
    for (int i = 0; i < TOOL_LEVELS; i++) {
        if (strcmp(level_names[i], text) == 0) {
            *ret_level = (tool_level)i;
            return true;
        }
    }
    return false;
}

/* The text, from the pattern on; patterns are short, so trying all lengths of a * is fine. */
static bool matches(const char *pattern, const char *text)
{
    const char *star = NULL, *again = NULL;

    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            again = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++again;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool tool_patterns_match(const tool_patterns *patterns, const char *text)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (matches(patterns->texts[i], text))
            return true;
    }
    return patterns->count == 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct reading {
    tool_lint_config *config;
    const char *section; /* "" before the first */
    tool_toml_error *error;
} reading;

static bool fail(reading *r, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(reading *r, unsigned line, const char *format, ...)
{
    va_list values;

    r->error->line = line;
    va_start(values, format);
    vsnprintf(r->error->text, sizeof r->error->text, format, values);
    va_end(values);
    return false;
}

static bool unknown(reading *r, const tool_toml_row *row, const char *what,
                    const char *const *known)
{
    const char *nearest = tool_nearest(row->key, known);

    return fail(r, row->line, "there is no %s '%.60s'%s%s%s", what, row->key,
                nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static bool take_text(reading *r, const tool_toml_row *row, char **ret_text)
{
    if (row->kind != TOOL_TOML_STRING)
        return fail(r, row->line, "%.60s takes \"text\"", row->key);
    *ret_text = row->texts[0];
    return true;
}

static bool take_number(reading *r, const tool_toml_row *row, double *ret_number)
{
    if (row->kind != TOOL_TOML_NUMBER || row->number < 0)
        return fail(r, row->line, "%.60s takes a number that is not negative", row->key);
    *ret_number = row->number;
    return true;
}

static bool take_level(reading *r, const tool_toml_row *row, bool may_be_off, tool_level *ret_level)
{
    if (row->kind != TOOL_TOML_STRING || !tool_level_parse(row->texts[0], ret_level) ||
        (*ret_level == TOOL_LEVEL_OFF && !may_be_off))
        return fail(r, row->line, "%.60s takes \"error\", \"warning\"%s\"info\"%s", row->key,
                    may_be_off ? ", " : " or ", may_be_off ? " or \"off\"" : "");
    return true;
}

static bool take_patterns(reading *r, const tool_toml_row *row, tool_patterns *ret_patterns)
{
    if ((row->kind != TOOL_TOML_STRING && row->kind != TOOL_TOML_LIST) || row->text_count == 0)
        return fail(r, row->line, "%.60s takes \"text\" or a list of texts", row->key);
    *ret_patterns = (tool_patterns){row->texts, row->text_count};
    return true;
}

/* ---- rules and thresholds -------------------------------------------------------------------- */

static bool is_group(const char *name)
{
    return name[0] && !name[1] && strchr("QPWDKC", name[0]);
}

static bool is_limit(const char *name)
{
    return strcmp(name, "limit") == 0 || strcmp(name, "Q99") == 0;
}

static bool is_rule(const char *name)
{
    tv_rule rule;

    return is_group(name) || is_limit(name) || tv_rule_parse(tv_slice_of(name), &rule);
}

/* Names of rules, for messages. */
static const char *nearest_rule(const char *name)
{
    const char *names[TV_RULES + 2] = {0};

    for (int i = 0; i < TV_RULES; i++)
        names[i] = tv_rule_info_of((tv_rule)i)->name;
    names[TV_RULES] = "limit";
    return tool_nearest(name, names);
}

static bool check_rule(reading *r, const char *name, unsigned line)
{
    const char *nearest;

    if (is_rule(name))
        return true;
    nearest = nearest_rule(name);
    return fail(r, line, "there is no rule '%.60s'%s%s%s", name, nearest ? "; did you mean '" : "",
                nearest ? nearest : "", nearest ? "'?" : "");
}

static bool take_rule(reading *r, tool_toml_row *row)
{
    tool_lint_config *config = r->config;
    tool_level level = (tool_level)0;

    if (!check_rule(r, row->key, row->line) || !take_level(r, row, true, &level))
        return false;
    config->rules = tool_resize(config->rules, (config->rule_count + 1) * sizeof *config->rules);
    config->rules[config->rule_count] = *row;
    config->rules[config->rule_count++].number = level;
    return true;
}

/* The nearest of all thresholds to this text. */
static bool unknown_threshold(reading *r, const tool_toml_row *row)
{
    static char texts[TV_PARAMS][80];
    const char *names[TV_PARAMS + 1] = {0};

    for (int i = 0; i < TV_PARAMS; i++) {
        const tv_param_info *info = tv_param_info_of((tv_param)i);

        snprintf(texts[i], sizeof texts[i], "%s.%s",
                 info->rule == TV_RULE_ALL ? "all" : tv_rule_info_of(info->rule)->name, info->name);
        names[i] = texts[i];
    }
    return unknown(r, row, "threshold", names);
}

static bool take_threshold(reading *r, const tool_toml_row *row)
{
    tool_text *text = &r->config->thresholds;
    tv_params params = tv_params_default(TV_EVIDENCE_RUN);
    double number = 0;

    if (!take_number(r, row, &number))
        return false;
    switch (tv_params_set(&params, tv_slice_of(row->key), number)) {
    case TV_PARAMS_NO_SUCH:
        return unknown_threshold(r, row);
    case TV_PARAMS_FIXED:
        return fail(r, row->line, "the server counts by %.60s: it cannot be set", row->key);
    case TV_PARAMS_NOT_A_NUMBER:
        return fail(r, row->line, "%.60s takes a number that is not negative", row->key);
    case TV_PARAMS_SET:
        break;
    }
    tool_text_printf(text, "%s%s=%.15g", text->size ? "," : "", row->key, number);
    return true;
}

/* ---- sections -------------------------------------------------------------------------------- */

static bool take_top(reading *r, const tool_toml_row *row)
{
    static const char *const known[] = {"version", "fail_on", "min_requests", NULL};

    if (strcmp(row->key, "version") == 0)
        return row->kind == TOOL_TOML_NUMBER && row->number == 1
                   ? true
                   : fail(r, row->line, "version is 1: another one is for another tavola");
    if (strcmp(row->key, "fail_on") == 0)
        return take_level(r, row, false, &r->config->fail_on);
    if (strcmp(row->key, "min_requests") == 0)
        return take_number(r, row, &r->config->min_requests);
    return unknown(r, row, "key", known);
}

static bool take_limit(reading *r, const tool_toml_row *row)
{
    static const char *const known[] = {
        "examined_over", "returned_up_to", "pages_over", "ratio_over",
        "plan",          "table",          "severity",   NULL};
    static const char plans[] = "point range partition table";
    tool_limit *limit = &r->config->limits[r->config->limit_count - 1];

    if (strcmp(row->key, "examined_over") == 0)
        return take_number(r, row, &limit->examined_over);
    if (strcmp(row->key, "returned_up_to") == 0)
        return take_number(r, row, &limit->returned_up_to);
    if (strcmp(row->key, "pages_over") == 0)
        return take_number(r, row, &limit->pages_over);
    if (strcmp(row->key, "ratio_over") == 0)
        return take_number(r, row, &limit->ratio_over);
    if (strcmp(row->key, "table") == 0)
        return take_patterns(r, row, &limit->tables);
    if (strcmp(row->key, "severity") == 0)
        return take_level(r, row, false, &limit->severity);
    if (strcmp(row->key, "plan") != 0)
        return unknown(r, row, "key of [[limit]]", known);
    if (!take_text(r, row, &limit->plan))
        return false;
    return !strchr(limit->plan, ' ') && limit->plan[0] && strstr(plans, limit->plan)
               ? true
               : fail(r, row->line, "a plan is point, range, partition or table");
}

/* The last day; it holds until that is over, in UTC. */
static bool take_until(reading *r, const tool_toml_row *row, tool_allow *allow)
{
    const tavola_ticks day = INT64_C(864000000000);
    char time[24];

    if (!take_text(r, row, &allow->until))
        return false;
    snprintf(time, sizeof time, "%.10sT00:00:00Z", allow->until);
    if (strlen(allow->until) != 10 || !tavola_ticks_parse(time, &allow->ends))
        return fail(r, row->line, "until takes a day, \"2027-01-31\"");
    allow->ends += day;
    return true;
}

static bool take_allow(reading *r, const tool_toml_row *row)
{
    static const char *const known[] = {"rule", "table", "shape", "text", "reason", "until", NULL};
    tool_allow *allow = &r->config->allows[r->config->allow_count - 1];

    if (strcmp(row->key, "rule") == 0)
        return take_text(r, row, &allow->rule) && check_rule(r, allow->rule, row->line);
    if (strcmp(row->key, "table") == 0)
        return take_patterns(r, row, &allow->tables);
    if (strcmp(row->key, "shape") == 0)
        return take_text(r, row, &allow->shape);
    if (strcmp(row->key, "text") == 0)
        return take_text(r, row, &allow->text);
    if (strcmp(row->key, "reason") == 0)
        return take_text(r, row, &allow->reason);
    if (strcmp(row->key, "until") == 0)
        return take_until(r, row, allow);
    return unknown(r, row, "key of [[allow]]", known);
}

static bool begin_many(reading *r, const tool_toml_row *row)
{
    static const char *const known[] = {"limit", "allow", NULL};
    tool_lint_config *config = r->config;

    if (strcmp(row->key, "limit") == 0) {
        config->limits =
            tool_resize(config->limits, (config->limit_count + 1) * sizeof *config->limits);
        config->limits[config->limit_count++] = (tool_limit){.line = row->line,
                                                             .examined_over = TOOL_LIMIT_UNSET,
                                                             .returned_up_to = TOOL_LIMIT_UNSET,
                                                             .pages_over = TOOL_LIMIT_UNSET,
                                                             .ratio_over = TOOL_LIMIT_UNSET,
                                                             .severity = TOOL_LEVEL_ERROR};
    } else if (strcmp(row->key, "allow") == 0) {
        config->allows =
            tool_resize(config->allows, (config->allow_count + 1) * sizeof *config->allows);
        config->allows[config->allow_count++] = (tool_allow){.line = row->line};
    } else {
        return unknown(r, row, "section", known);
    }
    return true;
}

static bool begin_one(reading *r, const tool_toml_row *row)
{
    static const char *const known[] = {"rules", "thresholds", NULL};

    if (strcmp(row->key, "limit") == 0 || strcmp(row->key, "allow") == 0)
        return fail(r, row->line, "write [[%s]]: there may be several", row->key);
    if (strcmp(row->key, "rules") != 0 && strcmp(row->key, "thresholds") != 0)
        return unknown(r, row, "section", known);
    return true;
}

static bool take_row(reading *r, tool_toml_row *row)
{
    if (strcmp(r->section, "thresholds") == 0)
        return take_threshold(r, row);
    if (strchr(row->key, '.'))
        return fail(r, row->line, "only keys of [thresholds] have a dot");
    if (strcmp(r->section, "rules") == 0)
        return take_rule(r, row);
    if (strcmp(r->section, "limit") == 0)
        return take_limit(r, row);
    if (strcmp(r->section, "allow") == 0)
        return take_allow(r, row);
    return take_top(r, row);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* A key stands once in its section, and so does a [section] in the file. */
static bool check_twice(reading *r, const tool_toml *toml, size_t at, size_t section_at)
{
    const tool_toml_row *row = &toml->rows[at];
    bool is_section = row->kind == TOOL_TOML_SECTION;

    for (size_t i = is_section ? 0 : section_at; i < at; i++) {
        const tool_toml_row *other = &toml->rows[i];

        if ((other->kind == TOOL_TOML_SECTION) == is_section && other->kind != TOOL_TOML_MANY &&
            strcmp(other->key, row->key) == 0)
            return fail(r, row->line, "'%.60s' stands on line %u already", row->key, other->line);
    }
    return true;
}

/* What each [[limit]] and [[allow]] needs. */
static bool check_many(reading *r)
{
    const tool_lint_config *config = r->config;

    for (size_t i = 0; i < config->limit_count; i++) {
        const tool_limit *limit = &config->limits[i];

        if (limit->examined_over < 0 && limit->pages_over < 0 && limit->ratio_over < 0 &&
            !limit->plan)
            return fail(r, limit->line,
                        "a [[limit]] has examined_over, pages_over, ratio_over or plan");
    }
    for (size_t i = 0; i < config->allow_count; i++) {
        const tool_allow *allow = &config->allows[i];

        if (!allow->reason || !allow->reason[0])
            return fail(r, allow->line, "this [[allow]] has no reason");
        if (!allow->rule && !allow->tables.count && !allow->shape && !allow->text)
            return fail(r, allow->line, "this [[allow]] has no rule, table, shape or text");
    }
    return true;
}

bool tool_lint_config_parse(tool_lint_config *config, const char *text, size_t size,
                            tool_toml_error *reterr)
{
    tool_toml *toml = &config->toml;
    reading r = {.config = config, .section = "", .error = reterr};
    size_t section_at = 0;

    if (!tool_toml_parse(toml, text, size, reterr))
        return false;
    for (size_t i = 0; i < toml->count; i++) {
        tool_toml_row *row = &toml->rows[i];
        bool is_many = row->kind == TOOL_TOML_MANY, is_one = row->kind == TOOL_TOML_SECTION;

        if (!is_many && !check_twice(&r, toml, i, section_at))
            return false;
        if (is_many || is_one) {
            r.section = row->key;
            section_at = i + 1;
        }
        if (!(is_many ? begin_many(&r, row) : is_one ? begin_one(&r, row) : take_row(&r, row)))
            return false;
    }
    return check_many(&r);
}

tool_exit tool_lint_config_read(tool_lint_config *config, const char *path)
{
    tool_toml_error error;
    tool_text text = {0};
    tool_exit exit = TOOL_OK;

    *config = (tool_lint_config){.fail_on = TOOL_LEVEL_WARNING, .min_requests = 1};
    if (!tool_text_read_file(&text, path ? path : default_path)) {
        if (path || errno != ENOENT)
            exit = tool_refuse("cannot read %s: %s", path ? path : default_path, strerror(errno));
    } else {
        config->path = path ? path : default_path;
        if (!tool_lint_config_parse(config, text.at ? text.at : "", text.size, &error))
            exit = tool_refuse("%s:%u: %s", config->path, error.line, error.text);
    }
    tool_text_done(&text);
    return exit;
}

void tool_lint_config_done(tool_lint_config *config)
{
    free(config->rules);
    free(config->limits);
    free(config->allows);
    tool_text_done(&config->thresholds);
    tool_toml_done(&config->toml);
}

tool_level tool_lint_config_level(const tool_lint_config *config, const char *rule,
                                  const char *code)
{
    tool_level of_group = TOOL_LEVEL_UNSET;

    for (size_t i = 0; i < config->rule_count; i++) {
        const tool_toml_row *row = &config->rules[i];

        if (strcmp(row->key, rule) == 0 || strcmp(row->key, code) == 0)
            return (tool_level)row->number;
        if (is_group(row->key) && row->key[0] == code[0])
            of_group = (tool_level)row->number;
    }
    return of_group;
}
