#include "insight/traffic/advised.h"

#include "base/clock.h"
#include "insight/advice/finding_write.h"
#include "insight/traffic/judged.h"
#include "store/engine/key.h"

/* What a rule's findings look like on the map. */
static const struct {
    tv_rule rule;
    tv_pattern_kind kind;
} looks[] = {
    {TV_RULE_P01, TV_PATTERN_HOT_LINE}, {TV_RULE_P02, TV_PATTERN_HOT_LINE},
    {TV_RULE_P04, TV_PATTERN_RISING},   {TV_RULE_P05, TV_PATTERN_RISING},
    {TV_RULE_P07, TV_PATTERN_UNEVEN},   {TV_RULE_Q01, TV_PATTERN_WALL},
    {TV_RULE_Q02, TV_PATTERN_WALL},
};

static bool look_of(const tv_finding *finding, tv_pattern_kind *ret_kind)
{
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        if (looks[i].rule != finding->rule)
            continue;
        *ret_kind = looks[i].kind;
        return true;
    }
    return false;
}

/* The key that a finding names, as it is stored; without data when it names none. */
static tv_slice key_of(const tv_finding *finding, tv_arena *arena)
{
    tv_slice partition, row;

    if ((finding->subject != TV_SUBJECT_PARTITION && finding->subject != TV_SUBJECT_ENTITY) ||
        tv_key_encode_text(arena, finding->partition_key, &partition))
        return TV_NONE;
    if (finding->subject == TV_SUBJECT_PARTITION)
        return partition;
    if (tv_key_encode_text(arena, finding->row_key, &row))
        return TV_NONE;
    return tv_arena_printf(arena, "%.*s" TV_KEY_MARK_TEXT "%.*s", TV_FMT(partition), TV_FMT(row));
}

/* A long key is kept as its beginning. */
static bool is_key(const tv_pattern *pattern, tv_slice key)
{
    tv_slice low = tv_pattern_bound_slice(&pattern->low);

    if (low.len < key.len && low.len >= TV_COLUMN_BOUND_BYTES_MAX - 6)
        return tv_slice_starts_with(key, low);
    return key.data && tv_slice_eq(low, key);
}

static bool is_about(const tv_finding *finding, const tv_pattern *pattern, tv_arena *arena)
{
    switch (finding->rule) {
    case TV_RULE_P01:
    case TV_RULE_P02:
        return (pattern->kind == TV_PATTERN_HOT_LINE || pattern->kind == TV_PATTERN_UNEVEN) &&
               pattern->is_one_key == (finding->rule == TV_RULE_P02) &&
               is_key(pattern, key_of(finding, arena));
    case TV_RULE_P04:
    case TV_RULE_P05:
        return pattern->kind == TV_PATTERN_RISING || pattern->kind == TV_PATTERN_FALLING;
    case TV_RULE_P07:
        return pattern->kind == TV_PATTERN_UNEVEN;
    case TV_RULE_Q01:
    case TV_RULE_Q02:
        return pattern->kind == TV_PATTERN_WALL;
    default:
        return false;
    }
}

static uint32_t minute_of(int64_t ticks)
{
    return (uint32_t)((ticks - TV_TICKS_UNIX_EPOCH) / TV_TICKS_PER_SECOND / 60);
}

/* The window of a finding, as far as the view has it. */
static void set_time(const tv_view *view, const tv_finding *finding, tv_pattern *pattern)
{
    uint32_t grain = (uint32_t)view->grain, end = view->from + (uint32_t)view->slots * grain;
    uint32_t from = minute_of(finding->from_ticks), to = minute_of(finding->to_ticks) + 1;

    from = from < view->from ? view->from : from > end ? end : from;
    to = to > end ? end : to < from ? from : to;
    pattern->minute = from - (from - view->from) % grain;
    pattern->minutes = (to - pattern->minute + grain - 1) / grain * grain;
}

/* A pattern that only a finding tells of. */
static tv_advised own_of(const tv_view *view, const tv_finding *finding, tv_pattern_kind kind,
                         tv_arena *arena)
{
    tv_advised own = {.pattern = {.kind = kind, .measure = TV_MEASURE_WRITES, .is_now = true},
                      .finding = finding,
                      .is_findings_own = true};
    tv_slice key = key_of(finding, arena);

    set_time(view, finding, &own.pattern);
    own.pattern.is_one_key = finding->rule == TV_RULE_P02;
    if (kind == TV_PATTERN_WALL)
        own.pattern.measure = TV_MEASURE_SCANNED;
    if (key.data && finding->rule == TV_RULE_P01 && key.len + 2 <= TV_COLUMN_BOUND_BYTES_MAX) {
        tv_pattern_set_partition(&own.pattern, key);
    } else if (key.data) {
        tv_pattern_bound_set(&own.pattern.low, key);
        tv_pattern_bound_set(&own.pattern.high, key); /* the bucket that it lies in */
    }
    for (size_t i = 0; i < finding->field_count; i++) {
        if (tv_slice_eq(finding->fields[i].name, TV_LIT("share")))
            own.pattern.share = finding->fields[i].number;
        if (tv_slice_eq(finding->fields[i].name, TV_LIT("firstBucketShare")))
            own.pattern.kind = TV_PATTERN_FALLING;
    }
    return own;
}

size_t tv_advised_of(const tv_view *view, tv_finding *const *findings, size_t count,
                     tv_arena *arena, tv_advised ret_advised[TV_ADVISED_MAX])
{
    size_t told = 0;
    bool has_finding = false;

    for (size_t i = 0; i < view->pattern_count; i++)
        ret_advised[told++] = (tv_advised){.pattern = view->patterns[i]};
    for (size_t i = 0; i < count; i++) {
        tv_pattern_kind kind;
        bool is_told = false;

        if (!look_of(findings[i], &kind))
            continue;
        has_finding = true;
        for (size_t k = 0; k < told; k++) {
            if (!is_about(findings[i], &ret_advised[k].pattern, arena))
                continue;
            is_told = true;
            if (!ret_advised[k].finding || findings[i]->severity > ret_advised[k].finding->severity)
                ret_advised[k].finding = findings[i];
        }
        if (!is_told && view->slots && told < TV_ADVISED_MAX)
            ret_advised[told++] = own_of(view, findings[i], kind, arena);
    }
    /* Nothing is even, whatever its columns say, while a rule has something to say. */
    if (has_finding && told && ret_advised[0].pattern.kind == TV_PATTERN_EVEN) {
        memmove(ret_advised, ret_advised + 1, (told - 1) * sizeof *ret_advised);
        told--;
    }
    return told;
}

const char *tv_advised_verdict(const tv_advised *advised)
{
    if (advised->finding && advised->finding->severity >= TV_SEVERITY_WARNING)
        return "fix";
    return advised->finding ? "watch" : tv_pattern_verdict(advised->pattern.kind);
}

void tv_advised_describe(const tv_advised *advised, tv_arena *arena, tv_buf *out)
{
    if (!advised->is_findings_own) {
        tv_pattern_describe(&advised->pattern, arena, out);
        return;
    }
    tv_finding_add_title(out, advised->finding, false);
    tv_buf_add_char(out, '.');
}
