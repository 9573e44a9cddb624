/* What is said about a pattern. */
#include "insight/traffic/pattern.h"

#include "insight/advice/seen.h"
#include "store/engine/key.h"

static const struct {
    const char *name, *verdict;
} kinds[TV_PATTERN_KINDS] = {
    [TV_PATTERN_EVEN] = {"even", "fine"},        [TV_PATTERN_UNEVEN] = {"uneven", "watch"},
    [TV_PATTERN_STRIPES] = {"stripes", "watch"}, [TV_PATTERN_HOT_LINE] = {"hot-line", "watch"},
    [TV_PATTERN_RISING] = {"rising", "watch"},   [TV_PATTERN_FALLING] = {"falling", "watch"},
    [TV_PATTERN_WALL] = {"wall", "watch"},
};

const char *tv_pattern_name(tv_pattern_kind kind)
{
    return kinds[kind].name;
}

const char *tv_pattern_verdict(tv_pattern_kind kind)
{
    return kinds[kind].verdict;
}

/* "11:18 UTC". */
static void add_time(uint32_t minute, tv_buf *out)
{
    tv_buf_printf(out, "%02u:%02u UTC", minute / 60 % 24, minute % 60);
}

/* "since 11:18 UTC"; "from 11:18 UTC to 11:30 UTC" of what has ended. */
static void add_span(const tv_pattern *pattern, tv_buf *out)
{
    tv_buf_printf(out, pattern->is_now ? "since " : "from ");
    add_time(pattern->minute, out);
    if (!pattern->is_now) {
        tv_buf_add_lit(out, " to ");
        add_time(pattern->minute + pattern->minutes, out);
    }
}

/* A part of a key in quotes, with dots where it is only the beginning of one. */
static void add_part(tv_slice part, bool is_cut, tv_arena *arena, tv_buf *out)
{
    tv_slice text;

    if (tv_key_decode_text(arena, part, &text))
        text = TV_LIT("");
    tv_buf_printf(out, "'%.*s%s'", TV_FMT(text), is_cut ? "\u2026" : "");
}

/* "Partition 's07'", "Entity 'counter' / 'visits'". */
static void add_whose(const tv_pattern *pattern, tv_arena *arena, tv_buf *out)
{
    tv_slice key = tv_pattern_bound_slice(&pattern->low), partition = tv_key_before_mark(key);
    bool is_cut = partition.len >= TV_COLUMN_BOUND_BYTES_MAX - 6; /* see adapt.h */

    tv_buf_printf(out, pattern->is_one_key ? "Entity " : is_cut ? "Partitions " : "Partition ");
    add_part(partition, is_cut, arena, out);
    if (pattern->is_one_key) {
        tv_buf_add_lit(out, " / ");
        add_part(tv_slice_skip(key, partition.len + 1), false, arena, out);
    }
}

/* How many scans there were in a slot is not known. */
static void add_wall(const tv_pattern *pattern, tv_buf *out)
{
    tv_buf_add_lit(out, "Nearly all of the table was scanned at ");
    add_time(pattern->minute, out);
    if (pattern->times > 1)
        tv_buf_printf(out, ", and in %zu other %s%s", pattern->times - 1,
                      pattern->minutes == 1 ? "minute" : "slot", pattern->times > 2 ? "s" : "");
    tv_buf_add_char(out, '.');
}

/* "all of the writes", "92 % of the writes", "at least 92 % of the writes". */
static void add_share(const tv_pattern *pattern, tv_buf *out)
{
    if (pattern->is_at_least)
        tv_buf_add_lit(out, "at least ");
    if (pattern->share >= 1)
        tv_buf_add_lit(out, "all");
    else
        tv_finding_add_percent(out, pattern->share);
    tv_buf_printf(out, " of the %s", tv_traffic_measure_name(pattern->measure));
}

static void add_even(const tv_pattern *pattern, tv_buf *out)
{
    if (pattern->few == 1) {
        tv_buf_add_lit(out, "The table has one entity: there is nothing to spread.");
    } else if (pattern->few) {
        tv_buf_printf(out, "The table has %llu entities: there is nothing to spread.",
                      (unsigned long long)pattern->few);
    } else {
        tv_buf_add_lit(out, "Even: no partition has more than ");
        tv_finding_add_percent(out, pattern->share);
        tv_buf_add_lit(out, " of the requests.");
    }
}

static void add_end(const tv_pattern *pattern, tv_buf *out)
{
    bool is_rising = pattern->kind == TV_PATTERN_RISING;

    tv_buf_printf(out, "New entities go to the %s of the table: ", is_rising ? "end" : "beginning");
    add_share(pattern, out);
    tv_buf_add_char(out, ' ');
    add_span(pattern, out);
    tv_buf_printf(out, " lie %s those of the slot before.", is_rising ? "behind" : "in front of");
}

void tv_pattern_describe(const tv_pattern *pattern, tv_arena *arena, tv_buf *out)
{
    switch (pattern->kind) {
    case TV_PATTERN_EVEN:
        add_even(pattern, out);
        break;
    case TV_PATTERN_UNEVEN:
        add_whose(pattern, arena, out);
        tv_buf_add_lit(out, " has ");
        add_share(pattern, out);
        tv_buf_printf(out, "%s.", pattern->share >= 1 ? "" : ", the largest share");
        break;
    case TV_PATTERN_STRIPES:
        tv_buf_printf(out, "Traffic comes every %u minutes, evenly over the keys.",
                      pattern->period);
        break;
    case TV_PATTERN_HOT_LINE:
        add_whose(pattern, arena, out);
        tv_buf_add_lit(out, " has ");
        add_share(pattern, out);
        tv_buf_add_lit(out, ", ");
        add_span(pattern, out);
        tv_buf_printf(out, ".%s", pattern->is_one_key ? " One key cannot be split." : "");
        break;
    case TV_PATTERN_RISING:
    case TV_PATTERN_FALLING:
        add_end(pattern, out);
        break;
    case TV_PATTERN_WALL:
        add_wall(pattern, out);
        break;
    case TV_PATTERN_KINDS:
        break;
    }
}
