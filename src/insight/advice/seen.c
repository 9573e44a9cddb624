/* See seen.h. */
#include "insight/advice/seen.h"

#include <math.h>

#include "base/clock.h"
#include "insight/advice/key_forms.h"
#include "insight/advice/redact.h"

typedef struct filling {
    tv_buf *out;
    const tv_finding *finding;
    bool is_redacted;
    bool lacks_field; /* that stands outside of brackets */
} filling;

/* ---- values ---------------------------------------------------------------------------------- */

void tv_finding_add_grouped(tv_buf *out, double number)
{
    char digits[32];
    int size = snprintf(digits, sizeof digits, "%.0f", fmin(fabs(number), 1e24));

    if (number < 0)
        tv_buf_add_char(out, '-');
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            tv_buf_add_char(out, ',');
        tv_buf_add_char(out, digits[i]);
    }
}

/* As exact as a reader needs it: 12,345, 3.4, 0.05. */
static void add_number(tv_buf *out, double number)
{
    double rounded = fabs(number) < 99.95 ? round(number * 10) / 10 : round(number);

    if (number == floor(number) || (rounded == floor(rounded) && rounded != 0))
        tv_finding_add_grouped(out, rounded);
    else if (fabs(number) >= 0.995)
        tv_buf_printf(out, "%.1f", number);
    else if (fabs(number) >= 0.005)
        tv_buf_printf(out, "%.2f", number);
    else
        tv_buf_add_lit(out, "less than 0.01");
}

/* What is not all of it is not 100 %, and what is something is not 0 %. */
void tv_finding_add_percent(tv_buf *out, double share)
{
    if (share < 1 && share >= 0.995)
        tv_buf_add_lit(out, "more than 99 %");
    else if (share > 0 && share < 0.005)
        tv_buf_add_lit(out, "less than 1 %");
    else
        tv_buf_printf(out, "%.0f %%", 100 * share);
}

static void add_amount(tv_buf *out, double number, bool is_share)
{
    if (is_share)
        tv_finding_add_percent(out, number);
    else
        add_number(out, number);
}

void tv_finding_add_key(tv_buf *out, tv_slice key, bool is_redacted)
{
    char hash[TV_REDACT_CHARS + 1];
    bool is_plain = true;

    if (!is_redacted) {
        tv_buf_add(out, key);
        return;
    }
    for (size_t i = 0; i < key.len; i++)
        is_plain = is_plain && (unsigned char)key.data[i] < 0x80; /* other scripts have no class */
    if (is_plain)
        tv_key_class(out, key);
    tv_redact_hash(key, hash);
    tv_buf_printf(out, "#%s", hash);
}

static void add_texts(filling *f, const tv_field *field)
{
    for (size_t i = 0; i < field->text_count; i++) {
        if (i)
            tv_buf_add(f->out, i + 1 == field->text_count ? TV_LIT(" and ") : TV_LIT(", "));
        if (field->kind == TV_FIELD_KEYS) {
            tv_buf_add_char(f->out, '\'');
            tv_finding_add_key(f->out, field->texts[i], f->is_redacted);
            tv_buf_add_char(f->out, '\'');
        } else {
            tv_buf_add(f->out, field->texts[i]);
        }
    }
}

void tv_finding_add_duration(tv_buf *out, int64_t seconds)
{
    int64_t minutes = (seconds + 30) / 60;

    if (seconds < 120)
        tv_buf_printf(out, "%lld second%s", (long long)(seconds < 1 ? 1 : seconds),
                      seconds <= 1 ? "" : "s");
    else if (minutes < 120)
        tv_buf_printf(out, "%lld minutes", (long long)minutes);
    else
        tv_buf_printf(out, "%lld hours", (long long)((seconds + 1800) / 3600));
}

/* `the 12 minutes to 14:05 UTC`, or `12 minutes of the run` */
static void add_window(tv_buf *out, const tv_finding *finding)
{
    int64_t seconds = (finding->to_ticks - finding->from_ticks) / TV_TICKS_PER_SECOND;
    int64_t end = finding->to_ticks / TV_TICKS_PER_SECOND % 86400;

    if (!finding->is_of_run)
        tv_buf_add_lit(out, "the ");
    tv_finding_add_duration(out, seconds);
    if (finding->is_of_run)
        tv_buf_add_lit(out, " of the run");
    else
        tv_buf_printf(out, " to %02d:%02d UTC", (int)(end / 3600), (int)(end / 60 % 60));
}

/* ---- templates ------------------------------------------------------------------------------- */

typedef struct token {
    tv_slice name, one, many;
    char kind; /* '\0', '%', '#', '?' */
    bool has_of;
} token;

/* Take `{...}` off the front. */
static token take_token(tv_slice *rest)
{
    size_t end = tv_slice_find(*rest, '}');
    tv_slice inside = tv_slice_skip(tv_slice_take(*rest, end), 1);
    token t = {0};
    size_t at = 0;

    *rest = tv_slice_skip(*rest, end + 1);
    while (at < inside.len && !strchr("%#?", inside.data[at]))
        at++;
    t.name = tv_slice_take(inside, at);
    if (at < inside.len) {
        tv_slice after = tv_slice_skip(inside, at + 1);
        size_t bar = tv_slice_find(after, '|');

        t.kind = inside.data[at];
        t.has_of = t.kind == '%' && after.len > 0;
        t.one = tv_slice_take(after, bar);
        t.many = tv_slice_skip(after, bar < after.len ? bar + 1 : bar);
    }
    return t;
}

static const tv_field *field_of(const filling *f, tv_slice name)
{
    for (size_t i = 0; i < f->finding->field_count; i++) {
        if (tv_slice_eq(f->finding->fields[i].name, name))
            return &f->finding->fields[i];
    }
    return NULL;
}

static bool says_something(const tv_field *field)
{
    if (field == NULL)
        return false;
    if (field->kind == TV_FIELD_NUMBER || field->kind == TV_FIELD_BOOL)
        return field->number != 0;
    return field->text_count > 0 && (field->text_count > 1 || field->texts[0].len > 0);
}

static void add_token(filling *f, const token *t)
{
    const tv_field *field;

    if (tv_slice_eq(t->name, TV_LIT("window"))) {
        add_window(f->out, f->finding);
        return;
    }
    field = field_of(f, t->name);
    f->lacks_field |= field == NULL;
    if (field == NULL || t->kind == '?')
        return;
    if (field->kind != TV_FIELD_NUMBER) {
        add_texts(f, field);
    } else if (t->has_of && field->number >= 1 && field->error <= 0) {
        tv_buf_add_lit(f->out, "all of");
    } else if (t->has_of && field->number <= 0) {
        tv_buf_add_lit(f->out, "none of");
    } else {
        add_amount(f->out, field->number, t->kind == '%');
        if (field->error > 0) {
            tv_buf_add_lit(f->out, " ± ");
            add_amount(f->out, field->error, t->kind == '%');
        }
        if (t->has_of)
            tv_buf_add_lit(f->out, " of");
    }
    if (t->kind == '#') {
        tv_buf_add_char(f->out, ' ');
        tv_buf_add(f->out, field->number == 1 ? t->one : t->many);
    }
}

/* Up to a bar or the end of the brackets that `rest` stands in, without those inside of it. */
static tv_slice take_choice(tv_slice *rest)
{
    tv_slice all = *rest;
    size_t at = 0;
    int depth = 0;

    for (; at < all.len; at++) {
        char c = all.data[at];

        if (depth == 0 && (c == '|' || c == ']'))
            break;
        depth += c == '[' || c == '{';
        depth -= c == ']' || c == '}';
    }
    *rest = tv_slice_skip(all, at);
    return tv_slice_take(all, at);
}

/* Whether all fields of a choice say something; brackets inside of it decide for themselves. */
static bool is_chosen(const filling *f, tv_slice choice)
{
    int depth = 0;

    while (choice.len) {
        char c = choice.data[0];

        if (c == '{') {
            token t = take_token(&choice);

            if (depth == 0 && !tv_slice_eq(t.name, TV_LIT("window")) &&
                !says_something(field_of(f, t.name)))
                return false;
            continue;
        }
        depth += c == '[';
        depth -= c == ']';
        choice = tv_slice_skip(choice, 1);
    }
    return true;
}

static void fill(filling *f, tv_slice rest)
{
    while (rest.len) {
        bool is_done = false;

        if (rest.data[0] == '{') {
            token t = take_token(&rest);

            add_token(f, &t);
        } else if (rest.data[0] == '[') {
            do {
                rest = tv_slice_skip(rest, 1); /* the bracket, or the bar */
                tv_slice choice = take_choice(&rest);

                if (!is_done && is_chosen(f, choice)) {
                    fill(f, choice);
                    is_done = true;
                }
            } while (rest.len && rest.data[0] == '|');
            rest = tv_slice_skip(rest, 1);
        } else {
            tv_buf_add_char(f->out, rest.data[0]);
            rest = tv_slice_skip(rest, 1);
        }
    }
}

void tv_finding_fill(tv_buf *out, const char *sentence, const tv_finding *finding, bool is_redacted)
{
    filling f = {.out = out, .finding = finding, .is_redacted = is_redacted};
    size_t start = out->len;

    fill(&f, tv_slice_of(sentence));
    if (f.lacks_field)
        out->len = start;
}

void tv_finding_add_seen(tv_buf *out, const tv_finding *finding, bool is_redacted)
{
    tv_finding_fill(out, tv_rule_info_of(finding->rule)->seen, finding, is_redacted);
}
