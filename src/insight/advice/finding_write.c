/* See finding_write.h. */
#include "insight/advice/finding_write.h"

#include <math.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "insight/advice/cure.h"
#include "insight/advice/seen.h"

/* Text that may have been cut within a character. */
static void add_string(tv_buf *out, tv_slice text)
{
    tv_buf clean = TV_BUF_EMPTY;

    if (tv_utf8_is_valid(text)) {
        tv_json_add_string(out, text);
        return;
    }
    for (size_t i = 0; i < text.len; i++)
        tv_buf_add_char(&clean, (unsigned char)text.data[i] < 0x80 ? text.data[i] : '?');
    tv_json_add_string(out, tv_buf_slice(&clean));
    tv_buf_done(&clean);
}

/* `a_9{5}#1c2d3e4f5a6b`: what a key looks like, and a hash that tells it from others. */
static void add_key(tv_buf *out, tv_slice key, bool is_redacted)
{
    tv_buf shown = TV_BUF_EMPTY;

    tv_finding_add_key(&shown, key, is_redacted);
    add_string(out, tv_buf_slice(&shown));
    tv_buf_done(&shown);
}

static void add_number(tv_buf *out, double number)
{
    if (number == floor(number) && fabs(number) < 1e15)
        tv_buf_printf(out, "%.0f", number);
    else
        tv_buf_printf(out, "%.4g", number);
}

void tv_finding_add_time(tv_buf *out, const char *name, int64_t ticks)
{
    tv_json_time(out, name, ticks / TV_TICKS_PER_SECOND * TV_TICKS_PER_SECOND);
}

static void add_member(tv_buf *out, const char *name, tv_slice text)
{
    tv_json_name(out, name);
    add_string(out, text);
}

static void add_list(tv_buf *out, const tv_slice *texts, size_t count)
{
    tv_buf_add_char(out, '[');
    for (size_t i = 0; i < count; i++)
        add_member(out, NULL, texts[i]);
    tv_buf_add_char(out, ']');
}

static void add_separated(tv_buf *out, tv_slice list)
{
    tv_slice part;

    tv_buf_add_char(out, '[');
    while (tv_slice_next(&list, ',', &part))
        add_member(out, NULL, part);
    tv_buf_add_char(out, ']');
}

static void add_field_value(tv_buf *out, const tv_field *field, bool is_redacted)
{
    switch (field->kind) {
    case TV_FIELD_BOOL:
        tv_buf_printf(out, field->number != 0 ? "true" : "false");
        break;
    case TV_FIELD_TEXT:
        if (field->text_count && field->texts[0].len)
            add_string(out, field->texts[0]);
        else
            tv_buf_add_lit(out, "null");
        break;
    case TV_FIELD_TEXTS:
        add_list(out, field->texts, field->text_count);
        break;
    case TV_FIELD_KEYS:
        tv_buf_add_char(out, '[');
        for (size_t i = 0; i < field->text_count; i++) {
            tv_json_name(out, NULL);
            add_key(out, field->texts[i], is_redacted);
        }
        tv_buf_add_char(out, ']');
        break;
    default:
        add_number(out, field->number);
    }
}

static void add_fields(tv_buf *out, const tv_field *fields, size_t count, bool is_redacted)
{
    tv_buf_add_char(out, '{');
    for (size_t i = 0; i < count; i++) {
        add_member(out, NULL, fields[i].name);
        tv_buf_add_char(out, ':');
        add_field_value(out, &fields[i], is_redacted);
        if (fields[i].kind == TV_FIELD_NUMBER && fields[i].error > 0) {
            tv_buf name = TV_BUF_EMPTY;

            tv_buf_printf(&name, "%.*sError", TV_FMT(fields[i].name));
            add_member(out, NULL, tv_buf_slice(&name));
            tv_buf_add_char(out, ':');
            add_number(out, fields[i].error);
            tv_buf_done(&name);
        }
    }
    tv_buf_add_char(out, '}');
}

static void add_subject(tv_buf *out, const tv_finding *finding, bool is_redacted)
{
    tv_buf_printf(out, ",\"subject\":{\"kind\":\"%s\"", tv_subject_kind_name(finding->subject));
    switch (finding->subject) {
    case TV_SUBJECT_SHAPE:
        tv_buf_printf(out, ",\"fingerprint\":\"%016llx\"",
                      (unsigned long long)finding->fingerprint);
        add_member(out, "text", finding->text);
        break;
    case TV_SUBJECT_ENTITY:
    case TV_SUBJECT_PARTITION:
        tv_json_name(out, "partitionKey");
        add_key(out, finding->partition_key, is_redacted);
        if (finding->subject == TV_SUBJECT_ENTITY) {
            tv_json_name(out, "rowKey");
            add_key(out, finding->row_key, is_redacted);
        }
        break;
    case TV_SUBJECT_TABLE:
    case TV_SUBJECT_ACCOUNT:
        break;
    default:
        add_member(out, "name", finding->text);
    }
    tv_buf_add_char(out, '}');
}

void tv_finding_add_title(tv_buf *out, const tv_finding *finding, bool is_redacted)
{
    const char *at = memmem(finding->title.data, finding->title.len, "{pk}", 4);
    size_t before = at ? (size_t)(at - finding->title.data) : finding->title.len;

    tv_buf_add(out, tv_slice_take(finding->title, before));
    if (at) {
        tv_finding_add_key(out, finding->partition_key, is_redacted);
        tv_buf_add(out, tv_slice_skip(finding->title, before + 4));
    }
}

static void add_title(tv_buf *out, const tv_finding *finding, bool is_redacted)
{
    tv_buf title = TV_BUF_EMPTY;

    tv_finding_add_title(&title, finding, is_redacted);
    add_member(out, "title", tv_buf_slice(&title));
    tv_buf_done(&title);
}

static void add_seen(tv_buf *out, const tv_finding *finding, bool is_redacted)
{
    tv_buf seen = TV_BUF_EMPTY;

    tv_finding_add_seen(&seen, finding, is_redacted);
    if (seen.len)
        add_member(out, "seen", tv_buf_slice(&seen));
    tv_buf_done(&seen);
}

static void add_chapter(tv_buf *out, const tv_rule_info *info)
{
    tv_json_open(out, "chapter", '{');
    add_member(out, "title", tv_slice_of(info->chapter));
    if (info->anchor[0])
        add_member(out, "anchor", tv_slice_of(info->anchor));
    add_member(out, "text", tv_slice_of(info->chapter_text));
    tv_buf_add_char(out, '}');
}

static void add_cost(tv_buf *out, const tv_cost *cost)
{
    tv_json_open(out, "cost", '{');
    tv_json_name(out, "rowsPerHour");
    add_number(out, cost->rows);
    tv_json_name(out, "requestsPerHour");
    add_number(out, cost->requests);
    tv_json_name(out, "bytesPerHour");
    add_number(out, cost->bytes);
    tv_json_name(out, "cpuMsPerHour");
    add_number(out, tv_cost_ms(cost));
    tv_buf_add_char(out, '}');
}

static void add_proposal(tv_buf *out, const tv_proposal *proposal, bool is_redacted)
{
    bool is_hidden = is_redacted && proposal->shows_keys;

    tv_json_open(out, "proposal", '{');
    add_member(out, "pattern", proposal->pattern);
    if (!is_hidden) {
        add_member(out, "partitionKey", proposal->partition_key);
        add_member(out, "rowKey", proposal->row_key);
    }
    tv_json_name(out, "columns");
    if (proposal->columns.len)
        add_separated(out, proposal->columns);
    else
        tv_buf_add_lit(out, "null");
    if (proposal->filter_before.len)
        add_member(out, "filterBefore", proposal->filter_before);
    if (proposal->filter_after.len && !is_hidden)
        add_member(out, "filterAfter", proposal->filter_after);
    if (proposal->has_plan) {
        add_member(out, "planAfter", tv_slice_of(tv_plan_kind_name(proposal->plan_after)));
        tv_json_name(out, "examinedBefore");
        add_number(out, proposal->examined_before);
        tv_json_name(out, "examinedAfter");
        add_number(out, proposal->examined_after);
        tv_json_name(out, "extraWritesPerHour");
        add_number(out, proposal->extra_writes_per_hour);
    }
    add_member(out, "function", proposal->function);
    tv_json_name(out, "notes");
    add_list(out, proposal->notes, proposal->note_count);
    tv_buf_add_char(out, '}');
}

static void add_code_in(tv_buf *out, const tv_finding *finding, tv_language language)
{
    tv_buf code = TV_BUF_EMPTY;

    tv_cure_add(&code, finding, language);
    if (code.len) {
        tv_json_open(out, NULL, '{');
        add_member(out, "language", tv_slice_of(tv_language_name(language)));
        add_member(out, "text", tv_buf_slice(&code));
        tv_buf_add_char(out, '}');
    }
    tv_buf_done(&code);
}

/* In each language that has it, those of the clients first. */
static void add_code(tv_buf *out, const tv_finding *finding)
{
    bool is_done[TV_LANGUAGES] = {false};

    tv_json_open(out, "code", '[');
    for (size_t i = 0; i < finding->language_count; i++) {
        add_code_in(out, finding, finding->languages[i]);
        is_done[finding->languages[i]] = true;
    }
    for (int language = 0; language < TV_LANGUAGES; language++) {
        if (!is_done[language])
            add_code_in(out, finding, (tv_language)language);
    }
    tv_buf_add_char(out, ']');
}

static void add_languages(tv_buf *out, const tv_finding *finding)
{
    tv_json_open(out, "languages", '[');
    for (size_t i = 0; i < finding->language_count; i++)
        add_member(out, NULL, tv_slice_of(tv_language_name(finding->languages[i])));
    tv_buf_add_char(out, ']');
}

static void add_cure(tv_buf *out, const tv_finding *finding, const tv_rule_info *info,
                     bool is_redacted)
{
    tv_json_open(out, "cure", '{');
    add_member(out, "text", finding->cure.len ? finding->cure : tv_slice_of(info->cure));
    add_member(out, "pattern", tv_slice_of(info->pattern));
    tv_json_name(out, "functions");
    add_separated(out, tv_slice_of(info->functions));
    if (finding->proposal.is_set)
        add_proposal(out, &finding->proposal, is_redacted);
    add_code(out, finding);
    tv_buf_add_char(out, '}');
}

/* Where to look on the map of traffic. */
static void add_map(tv_buf *out, const tv_finding *finding, bool is_redacted)
{
    bool is_narrow =
        finding->subject == TV_SUBJECT_PARTITION || finding->subject == TV_SUBJECT_ENTITY;

    tv_json_open(out, "map", '{');
    tv_finding_add_time(out, "from", finding->from_ticks);
    tv_finding_add_time(out, "to", finding->to_ticks);
    if (is_narrow && !is_redacted) {
        tv_json_name(out, "fromKey");
        add_list(out, (tv_slice[]){finding->partition_key, finding->row_key}, 2);
        tv_json_name(out, "toKey");
        add_list(out, (tv_slice[]){finding->partition_key, finding->row_key},
                 finding->subject == TV_SUBJECT_ENTITY ? 2 : 1);
    } else if (!is_narrow) {
        tv_buf_add_lit(out, ",\"fromKey\":[\"\",\"\"],\"toKey\":null");
    }
    tv_buf_add_char(out, '}');
}

void tv_finding_write(tv_buf *out, const tv_finding *finding, const tv_finding_status *status,
                      bool is_redacted)
{
    const tv_rule_info *info = tv_rule_info_of(finding->rule);

    tv_buf_add_char(out, '{');
    add_member(out, "id", finding->id);
    add_member(out, "rule", tv_slice_of(info->name));
    add_member(out, "code", tv_slice_of(info->code));
    add_member(out, "severity", tv_slice_of(tv_severity_name(finding->severity)));
    add_member(out, "confidence", tv_slice_of(tv_confidence_name(finding->confidence)));
    add_member(out, "state", tv_slice_of(status->state));
    add_title(out, finding, is_redacted);
    add_member(out, "account", finding->account);
    add_member(out, "table", finding->table);
    add_subject(out, finding, is_redacted);
    add_chapter(out, info);
    tv_finding_add_time(out, "firstSeen", status->first_ticks);
    tv_finding_add_time(out, "lastSeen", status->last_ticks);
    if (status->ignored_until) {
        if (status->ignored_until == INT64_MAX)
            tv_buf_add_lit(out, ",\"ignoredUntil\":null");
        else
            tv_finding_add_time(out, "ignoredUntil", status->ignored_until);
    }
    add_cost(out, &finding->cost);
    add_seen(out, finding, is_redacted);
    tv_json_name(out, "evidence");
    add_fields(out, finding->fields, finding->field_count, is_redacted);
    tv_json_name(out, "threshold");
    add_fields(out, finding->thresholds, finding->threshold_count, is_redacted);
    add_cure(out, finding, info, is_redacted);
    add_map(out, finding, is_redacted);
    tv_json_name(out, "sources");
    add_list(out, finding->sources, finding->source_count);
    add_languages(out, finding);
    tv_buf_add_char(out, '}');
}
