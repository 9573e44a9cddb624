/* How a finding is put together. */
#include "insight/advice/judging.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "insight/advice/redact.h"

bool tv_has_rates(const tv_judging *j)
{
    return j->evidence->has_targets || j->evidence->seconds >= TV_THRESHOLD(j, ALL, rate_seconds);
}

static void set_id(tv_judging *j, tv_finding *finding, const char *subject)
{
    finding->id = tv_arena_printf(j->arena, "%s@%.*s/%.*s%s%s",
                                  tv_rule_info_of(finding->rule)->name, TV_FMT(finding->account),
                                  TV_FMT(finding->table), subject[0] ? "/" : "", subject);
}

/* The most first; none of them leaves it as it is. */
static void set_languages(tv_finding *finding, const uint64_t *requests)
{
    uint64_t left[TV_LANGUAGES];
    size_t count = 0;

    memcpy(left, requests, sizeof left);
    for (int rank = 0; rank < TV_LANGUAGES; rank++) {
        int most = 0;

        for (int i = 1; i < TV_LANGUAGES; i++) {
            if (left[i] > left[most])
                most = i;
        }
        if (left[most] == 0)
            break;
        finding->languages[count++] = (tv_language)most;
        left[most] = 0;
    }
    if (count)
        finding->language_count = count;
}

tv_finding *tv_find(tv_judging *j, tv_rule rule, tv_severity severity, tv_confidence confidence)
{
    tv_finding *finding = tv_arena_zalloc(j->arena, sizeof *finding);

    finding->rule = rule;
    finding->severity = severity;
    finding->confidence = confidence;
    finding->account = j->table->account;
    finding->table = j->table_name;
    finding->subject = TV_SUBJECT_TABLE;
    finding->title = tv_slice_of(tv_rule_info_of(rule)->title);
    finding->from_ticks = j->rate.from_ticks;
    finding->to_ticks = j->evidence->to_ticks;
    finding->is_of_run = tv_is_run(j);
    set_id(j, finding, "");
    set_languages(finding, j->table->languages);
    tv_arena_grow(j->arena, &j->found.items, j->found.count, &j->found.size, 64);
    j->found.items[j->found.count++] = finding;
    return finding;
}

void tv_find_since(tv_finding *finding, int64_t from_ticks)
{
    finding->from_ticks = from_ticks < finding->to_ticks ? from_ticks : finding->to_ticks;
}

void tv_find_on_shape(tv_judging *j, tv_finding *finding, const tv_evidence_shape *shape)
{
    char hex[17];

    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)shape->fingerprint);
    finding->subject = TV_SUBJECT_SHAPE;
    finding->fingerprint = shape->fingerprint;
    finding->text = shape->text;
    finding->source_count = shape->source_count;
    memcpy(finding->sources, shape->sources, sizeof finding->sources);
    set_languages(finding, shape->languages);
    set_id(j, finding, hex);
}

static void set_key_id(tv_judging *j, tv_finding *finding)
{
    tv_buf id = TV_BUF_EMPTY;

    tv_finding_add_key_id(&id, finding);
    finding->id = tv_arena_dup(j->arena, tv_buf_slice(&id));
    tv_buf_done(&id);
}

void tv_find_on_partition(tv_judging *j, tv_finding *finding, tv_slice partition_key)
{
    finding->subject = TV_SUBJECT_PARTITION;
    finding->partition_key = partition_key;
    set_key_id(j, finding);
}

void tv_find_on_entity(tv_judging *j, tv_finding *finding, tv_slice partition_key, tv_slice row_key)
{
    finding->subject = TV_SUBJECT_ENTITY;
    finding->partition_key = partition_key;
    finding->row_key = row_key;
    set_key_id(j, finding);
}

void tv_find_on_name(tv_judging *j, tv_finding *finding, tv_subject_kind kind, tv_slice text)
{
    char hex[9];

    finding->subject = kind;
    finding->text = text;
    /* 8 digits of the hash of a name, which the finding shows as it is. */
    snprintf(hex, sizeof hex, "%08x", (unsigned)(tv_fnv(text) >> 32));
    set_id(j, finding, hex);
}

void tv_find_title(tv_judging *j, tv_finding *finding, const char *name, tv_slice text)
{
    tv_slice token = tv_arena_printf(j->arena, "{%s}", name);
    const char *at = memmem(finding->title.data, finding->title.len, token.data, token.len);
    size_t before;

    tv_assert(at);
    before = (size_t)(at - finding->title.data);
    finding->title =
        tv_arena_printf(j->arena, "%.*s%.*s%.*s", (int)before, finding->title.data, TV_FMT(text),
                        TV_FMT(tv_slice_skip(finding->title, before + token.len)));
}

static tv_field *add_field(tv_finding *finding, const char *name, tv_field_kind kind)
{
    tv_field *field;

    tv_assert(finding->field_count < TV_FINDING_FIELDS_MAX);
    field = &finding->fields[finding->field_count++];
    field->name = tv_slice_of(name);
    field->kind = kind;
    return field;
}

void tv_find_sampled(tv_finding *finding, const char *name, double number, double error)
{
    tv_field *field = add_field(finding, name, TV_FIELD_NUMBER);

    field->number = isfinite(number) ? number : 0;
    field->error = isfinite(error) ? error : 0;
}

void tv_find_number(tv_finding *finding, const char *name, double number)
{
    tv_find_sampled(finding, name, number, 0);
}

void tv_find_bool(tv_finding *finding, const char *name, bool is_so)
{
    add_field(finding, name, TV_FIELD_BOOL)->number = is_so;
}

void tv_find_text(tv_finding *finding, const char *name, tv_slice text)
{
    tv_field *field = add_field(finding, name, TV_FIELD_TEXT);

    field->texts[0] = text;
    field->text_count = 1;
}

static void add_texts(tv_finding *finding, const char *name, tv_field_kind kind,
                      const tv_slice *texts, size_t count)
{
    tv_field *field = add_field(finding, name, kind);

    field->text_count = count < TV_FIELD_TEXTS_MAX ? count : TV_FIELD_TEXTS_MAX;
    for (size_t i = 0; i < field->text_count; i++)
        field->texts[i] = texts[i];
}

void tv_find_texts(tv_finding *finding, const char *name, const tv_slice *texts, size_t count)
{
    add_texts(finding, name, TV_FIELD_TEXTS, texts, count);
}

void tv_find_keys(tv_finding *finding, const char *name, const tv_slice *keys, size_t count)
{
    add_texts(finding, name, TV_FIELD_KEYS, keys, count);
}

void tv_find_threshold(const tv_judging *j, tv_finding *finding, tv_param param)
{
    tv_field *field;

    tv_assert(finding->threshold_count < TV_FINDING_THRESHOLDS_MAX);
    field = &finding->thresholds[finding->threshold_count++];
    field->name = tv_slice_of(tv_param_info_of(param)->name);
    field->kind = TV_FIELD_NUMBER;
    field->number = j->params->value[param];
}

tv_slice tv_percent(tv_judging *j, double share)
{
    return tv_arena_printf(j->arena, "%.0f %%", share * 100);
}

tv_finding *tv_found_on_shape(const tv_judging *j, tv_rule rule, uint64_t fingerprint)
{
    for (size_t i = 0; i < j->found.count; i++) {
        tv_finding *finding = j->found.items[i];

        if (finding->rule == rule && finding->subject == TV_SUBJECT_SHAPE &&
            finding->fingerprint == fingerprint &&
            tv_slice_eq(finding->account, j->table->account) &&
            tv_slice_eq(finding->table, j->table_name))
            return finding;
    }
    return NULL;
}
