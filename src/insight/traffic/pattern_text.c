/* What is said about a pattern. */
#include "insight/traffic/pattern.h"

static const struct {
    const char *name, *verdict;
} kinds[TV_PATTERN_KINDS] = {
    [TV_PATTERN_EVEN] = {"even", "fine"},        [TV_PATTERN_STRIPES] = {"stripes", "watch"},
    [TV_PATTERN_HOT_LINE] = {"hot-line", "fix"}, [TV_PATTERN_RISING] = {"rising", "fix"},
    [TV_PATTERN_FALLING] = {"falling", "fix"},   [TV_PATTERN_WALL] = {"wall", "fix"},
};

const char *tv_pattern_name(tv_pattern_kind kind)
{
    return kinds[kind].name;
}

const char *tv_pattern_verdict(tv_pattern_kind kind)
{
    return kinds[kind].verdict;
}

/* "11:18" of a slot, in UTC. */
static void add_time(const tv_view *view, size_t slot, tv_buf *out)
{
    uint32_t minute = view->from + (uint32_t)slot * (uint32_t)view->grain;

    tv_buf_printf(out, "%02u:%02u UTC", minute / 60 % 24, minute % 60);
}

static void add_hot_line(const tv_pattern *pattern, const tv_view *view, const char *measure,
                         tv_buf *out)
{
    size_t end = pattern->slot + pattern->slots;

    tv_buf_printf(out, "%s, %.0f %% of the %s, hot ",
                  pattern->is_one_key ? "One entity" : "A narrow range of keys",
                  pattern->share * 100, measure);
    tv_buf_printf(out, end >= view->slots ? "since " : "from ");
    add_time(view, pattern->slot, out);
    if (end < view->slots) {
        tv_buf_add_lit(out, " to ");
        add_time(view, end, out);
    }
    tv_buf_add_char(out, '.');
    if (pattern->is_one_key)
        tv_buf_add_lit(out, " One key cannot be split.");
}

void tv_pattern_describe(const tv_pattern *pattern, const tv_view *view, tv_traffic_measure measure,
                         tv_buf *out)
{
    switch (pattern->kind) {
    case TV_PATTERN_EVEN:
        tv_buf_add_lit(out, "Even. Nothing to do.");
        break;
    case TV_PATTERN_STRIPES:
        tv_buf_printf(out, "Traffic comes every %zu minutes, evenly over the keys.",
                      pattern->period * (size_t)view->grain);
        break;
    case TV_PATTERN_HOT_LINE:
        add_hot_line(pattern, view, tv_traffic_measure_name(measure), out);
        break;
    case TV_PATTERN_RISING:
        tv_buf_printf(out, "%.0f %% of the writes go to the largest keys, which rise.",
                      pattern->share * 100);
        break;
    case TV_PATTERN_FALLING:
        tv_buf_printf(out, "%.0f %% of the writes go to the smallest keys, which fall.",
                      pattern->share * 100);
        break;
    case TV_PATTERN_WALL:
        tv_buf_add_lit(out, "A table scan at ");
        add_time(view, pattern->slot, out);
        tv_buf_add_lit(out, " read every part of the keys");
        if (pattern->times > 1)
            tv_buf_printf(out, "; there are %zu such slots", pattern->times);
        tv_buf_add_char(out, '.');
        break;
    case TV_PATTERN_KINDS:
        break;
    }
}
