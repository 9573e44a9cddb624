/* See metrics.h. */
#include "base/metrics.h"

static const char *type_of(const char *name)
{
    static const tv_slice ending = {"_total", 6};
    tv_slice text = tv_slice_of(name);

    return text.len > ending.len && tv_slice_eq(tv_slice_skip(text, text.len - ending.len), ending)
               ? "counter"
               : "gauge";
}

static void open_as(tv_buf *out, const char *name, const char *help, const char *type)
{
    tv_buf_printf(out, "# HELP tavola_%s %s\n# TYPE tavola_%s %s\n", name, help, name, type);
}

/* Whole numbers are exact as far as a double is. */
static void add_value(tv_buf *out, double value)
{
    bool is_whole = value > -1e18 && value < 1e18 && value == (double)(int64_t)value;

    tv_buf_printf(out, is_whole ? " %.0f\n" : " %.15g\n", value);
}

void tv_metric_open(tv_buf *out, const char *name, const char *help)
{
    open_as(out, name, help, type_of(name));
}

void tv_metric_open_histogram(tv_buf *out, const char *name, const char *help)
{
    open_as(out, name, help, "histogram");
}

void tv_metric_add(tv_buf *out, const char *name, const char *help, double value)
{
    tv_metric_open(out, name, help);
    tv_buf_printf(out, "tavola_%s", name);
    add_value(out, value);
}

void tv_metric_add_of(tv_buf *out, const char *name, const char *label, const char *of,
                      double value)
{
    tv_buf_printf(out, "tavola_%s{%s=\"%s\"}", name, label, of);
    add_value(out, value);
}

void tv_metric_add_histogram(tv_buf *out, const char *name, const char *labels,
                             const uint64_t *slots, int slot_count, double unit, double sum)
{
    const char *comma = labels[0] ? "," : "";
    uint64_t total = 0;

    for (int i = 0; i < slot_count - 1; i++) {
        total += slots[i];
        tv_buf_printf(out, "tavola_%s_bucket{%s%sle=\"%g\"} %llu\n", name, labels, comma,
                      (double)(UINT64_C(1) << i) * unit, (unsigned long long)total);
    }
    total += slots[slot_count - 1];
    tv_buf_printf(out, "tavola_%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, labels, comma,
                  (unsigned long long)total);
    tv_buf_printf(out, "tavola_%s_sum{%s} %.9g\ntavola_%s_count{%s} %llu\n", name, labels, sum,
                  name, labels, (unsigned long long)total);
}
