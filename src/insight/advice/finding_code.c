/* One description of the form serves both directions. */
#include "insight/advice/finding_code.h"

#include <math.h>

#include "base/utf8.h"

/* Writes when `out` is set, else reads. */
typedef struct coder {
    tv_buf *out;
    tv_slice rest;
    bool is_bad;
} coder;

void tv_code_add_number(tv_buf *out, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        tv_buf_add_char(out, (char)(number | 0x80));
    tv_buf_add_char(out, (char)number);
}

bool tv_code_take_number(tv_slice *bytes, uint64_t *ret_number)
{
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 64 && bytes->len; shift += 7) {
        unsigned char byte = (unsigned char)bytes->data[0];

        *bytes = tv_slice_skip(*bytes, 1);
        if (shift == 63 && byte > 1)
            return false;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_number = number;
            return true;
        }
    }
    return false;
}

static void code_u64(coder *c, uint64_t *number)
{
    if (c->out)
        tv_code_add_number(c->out, *number);
    else if (!c->is_bad && !tv_code_take_number(&c->rest, number))
        c->is_bad = true;
}

/* Whatever has a range: a count of an array, a kind. */
static uint64_t code_below(coder *c, uint64_t number, uint64_t limit)
{
    code_u64(c, &number);
    if (number >= limit)
        c->is_bad = true;
    return c->is_bad ? 0 : number;
}

static void code_bool(coder *c, bool *is)
{
    *is = code_below(c, *is, 2);
}

static void code_i64(coder *c, int64_t *number)
{
    uint64_t bits = (uint64_t)*number;

    code_u64(c, &bits);
    *number = (int64_t)bits;
}

static void code_double(coder *c, double *number)
{
    if (c->out) {
        tv_buf_add(c->out, (tv_slice){(const char *)number, sizeof *number});
    } else if (c->is_bad || c->rest.len < sizeof *number) {
        c->is_bad = true;
    } else {
        memcpy(number, c->rest.data, sizeof *number);
        c->rest = tv_slice_skip(c->rest, sizeof *number);
        if (!isfinite(*number))
            c->is_bad = true;
    }
}

/* A key that was cut may end within a character. */
static void add_clean(tv_buf *out, tv_slice text)
{
    bool is_valid = tv_utf8_is_valid(text);

    for (size_t i = 0; i < text.len; i++)
        tv_buf_add_char(out, is_valid || (unsigned char)text.data[i] < 0x80 ? text.data[i] : '?');
}

static void code_text(coder *c, tv_slice *text)
{
    uint64_t len = text->len;

    code_u64(c, &len);
    if (c->out) {
        add_clean(c->out, *text);
    } else if (c->is_bad || len > c->rest.len) {
        c->is_bad = true;
    } else {
        *text = tv_slice_take(c->rest, (size_t)len);
        c->rest = tv_slice_skip(c->rest, (size_t)len);
        if (!tv_utf8_is_valid(*text))
            c->is_bad = true;
    }
}

static void code_texts(coder *c, tv_slice *texts, size_t *count, size_t max)
{
    *count = code_below(c, *count, max + 1);
    for (size_t i = 0; i < *count; i++)
        code_text(c, &texts[i]);
}

static void code_rule(coder *c, tv_rule *rule)
{
    tv_slice name = c->out ? tv_slice_of(tv_rule_info_of(*rule)->name) : TV_NONE;

    code_text(c, &name);
    if (!c->out && !c->is_bad && !tv_rule_parse(name, rule))
        c->is_bad = true;
}

static void code_fields(coder *c, tv_field *fields, size_t *count, size_t max)
{
    *count = code_below(c, *count, max + 1);
    for (size_t i = 0; i < *count; i++) {
        code_text(c, &fields[i].name);
        fields[i].kind = (tv_field_kind)code_below(c, fields[i].kind, TV_FIELD_KINDS);
        code_double(c, &fields[i].number);
        code_double(c, &fields[i].error);
        code_texts(c, fields[i].texts, &fields[i].text_count, TV_FIELD_TEXTS_MAX);
    }
}

static void code_proposal(coder *c, tv_proposal *proposal)
{
    code_bool(c, &proposal->is_set);
    if (!proposal->is_set)
        return;
    code_bool(c, &proposal->shows_keys);
    code_bool(c, &proposal->has_plan);
    proposal->plan_after = (tv_plan_kind)code_below(c, proposal->plan_after, TV_PLAN_KINDS);
    code_double(c, &proposal->examined_before);
    code_double(c, &proposal->examined_after);
    code_double(c, &proposal->extra_writes_per_hour);
    code_text(c, &proposal->pattern);
    code_text(c, &proposal->function);
    code_text(c, &proposal->partition_key);
    code_text(c, &proposal->row_key);
    code_text(c, &proposal->columns);
    code_text(c, &proposal->filter_before);
    code_text(c, &proposal->filter_after);
    code_texts(c, proposal->notes, &proposal->note_count, TV_PROPOSAL_NOTES_MAX);
}

/* Findings that were kept before there were any have none. */
static void code_languages(coder *c, tv_finding *finding)
{
    if (!c->out && c->rest.len == 0)
        return;
    finding->language_count = code_below(c, finding->language_count, TV_LANGUAGES + 1);
    for (size_t i = 0; i < finding->language_count; i++)
        finding->languages[i] = (tv_language)code_below(c, finding->languages[i], TV_LANGUAGES);
}

static void code_finding(coder *c, tv_finding *finding)
{
    code_rule(c, &finding->rule);
    finding->severity = (tv_severity)code_below(c, finding->severity, TV_SEVERITIES);
    finding->confidence = (tv_confidence)code_below(c, finding->confidence, TV_CONFIDENCES);
    code_text(c, &finding->id);
    code_text(c, &finding->account);
    code_text(c, &finding->table);
    finding->subject = (tv_subject_kind)code_below(c, finding->subject, TV_SUBJECT_KINDS);
    code_u64(c, &finding->fingerprint);
    code_text(c, &finding->text);
    code_text(c, &finding->partition_key);
    code_text(c, &finding->row_key);
    code_text(c, &finding->title);
    code_text(c, &finding->cure);
    code_i64(c, &finding->from_ticks);
    code_i64(c, &finding->to_ticks);
    code_double(c, &finding->cost.rows);
    code_double(c, &finding->cost.requests);
    code_double(c, &finding->cost.bytes);
    code_double(c, &finding->cost.throttled);
    code_fields(c, finding->fields, &finding->field_count, TV_FINDING_FIELDS_MAX);
    code_fields(c, finding->thresholds, &finding->threshold_count, TV_FINDING_THRESHOLDS_MAX);
    code_proposal(c, &finding->proposal);
    code_texts(c, finding->sources, &finding->source_count, TV_EVIDENCE_SOURCES_MAX);
    code_languages(c, finding);
}

void tv_finding_encode(tv_buf *out, const tv_finding *finding)
{
    tv_finding copy = *finding; /* the description may change what it reads into */

    code_finding(&(coder){.out = out}, &copy);
}

static bool is_instant(int64_t ticks)
{
    return ticks >= 0 && ticks <= INT64_C(3155378975999999999);
}

bool tv_finding_decode(tv_slice bytes, tv_finding *ret_finding)
{
    coder c = {.rest = bytes};

    *ret_finding = (tv_finding){0};
    code_finding(&c, ret_finding);
    return !c.is_bad && c.rest.len == 0 && ret_finding->id.len > 0 &&
           is_instant(ret_finding->from_ticks) && is_instant(ret_finding->to_ticks);
}
