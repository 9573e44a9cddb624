#include "insight/traffic/heat.h"

#include <math.h>

#include "base/json.h"
#include "store/engine/key.h"

static const char behind_prefix = '\xff'; /* in a bound: after all keys that begin so */

static uint64_t max_of(const tv_heat *heat)
{
    const uint64_t *cells = heat->view->cells[heat->measure];
    size_t count = heat->view->slots * heat->view->axis->count;
    uint64_t max = 0;

    for (size_t i = 0; i < count; i++)
        max = cells[i] > max ? cells[i] : max;
    return max;
}

unsigned char tv_heat_code(uint64_t value, uint64_t max)
{
    if (value == 0)
        return 0;
    if (value >= max)
        return 255;
    return (unsigned char)(1 + lround(254 * log((double)value) / log((double)max)));
}

/* A part of a bound; what cannot be shown is left out. */
static void write_part(tv_arena *arena, tv_slice part, tv_buf *out)
{
    bool is_behind = part.len && part.data[part.len - 1] == behind_prefix;
    tv_slice text;

    part.len -= is_behind;
    if (tv_key_decode_text(arena, part, &text))
        text = TV_LIT("");
    tv_json_add_string(out, text);
    if (is_behind) {
        out->len--; /* the quote */
        tv_buf_add_lit(out, "\\u0002\"");
    }
}

void tv_heat_bound_write(tv_arena *arena, tv_slice bound, tv_buf *out)
{
    tv_slice part;

    tv_json_open(out, NULL, '[');
    while (tv_slice_next(&bound, TV_KEY_MARK, &part)) {
        tv_json_name(out, NULL);
        write_part(arena, part, out);
    }
    tv_buf_add(out, out->data[out->len - 1] == '[' ? TV_LIT("\"\"]") : TV_LIT("]"));
}

tv_err tv_heat_bound_parse(tv_arena *arena, tv_slice text, tv_slice *ret_bound)
{
    tv_slice rest = text, part, encoded;
    bool is_behind = text.len && text.data[text.len - 1] == TV_KEY_BEHIND;
    char *start, *to;

    rest.len -= is_behind;
    /* No character of a key is longer in CESU-8 than one and a half times its UTF-8. */
    start = to = tv_arena_alloc(arena, text.len * 3 / 2 + 2);
    for (bool is_first = true; tv_slice_next(&rest, TV_KEY_MARK, &part); is_first = false) {
        tv_err err = tv_key_encode_text(arena, part, &encoded);

        if (err)
            return err;
        if (!is_first)
            *to++ = TV_KEY_MARK;
        to = tv_slice_put(to, encoded);
    }
    if (is_behind)
        *to++ = behind_prefix;
    *ret_bound = (tv_slice){start, (size_t)(to - start)};
    return TV_OK;
}

/* A pattern's place in the picture. */
static void write_place(const tv_view *view, const tv_pattern *pattern, tv_buf *out)
{
    const tv_axis *axis = view->axis;
    tv_slice low = tv_pattern_bound_slice(&pattern->low),
             high = tv_pattern_bound_slice(&pattern->high);
    size_t first = tv_axis_find(axis, low);
    size_t end = high.len ? tv_axis_find(axis, high) : axis->count;
    size_t slot = (pattern->minute - view->from) / (uint32_t)view->grain;

    if (high.len && tv_slice_cmp(axis->bounds[end], high) < 0)
        end++;
    if (end <= first)
        end = first + 1;
    tv_buf_printf(out, "\"slot\":%zu,\"slots\":%zu,\"bucket\":%zu,\"buckets\":%zu", slot,
                  (size_t)(pattern->minutes / (uint32_t)view->grain), first, end - first);
}

static void write_patterns(const tv_heat *heat, tv_arena *arena, tv_buf *out)
{
    tv_advised told[TV_ADVISED_MAX];
    size_t count = tv_advised_of(heat->view, heat->findings, heat->finding_count, arena, told);

    for (size_t i = 0; i < count; i++) {
        const tv_pattern *pattern = &told[i].pattern;
        tv_buf text = TV_BUF_EMPTY;

        tv_json_open(out, NULL, '{');
        tv_buf_printf(out, "\"kind\":\"%s\",\"verdict\":\"%s\",\"m\":\"%s\",",
                      tv_pattern_name(pattern->kind), tv_advised_verdict(&told[i]),
                      tv_traffic_measure_name(pattern->measure));
        write_place(heat->view, pattern, out);
        tv_buf_printf(out, ",\"share\":%.4f,\"period\":%u,\"oneKey\":%s", pattern->share,
                      pattern->period / (uint32_t)heat->view->grain,
                      pattern->is_one_key ? "true" : "false");
        if (told[i].finding) {
            tv_json_text(out, "rule", tv_slice_of(tv_rule_info_of(told[i].finding->rule)->name));
            tv_json_text(out, "id", told[i].finding->id);
        }
        tv_advised_describe(&told[i], arena, &text);
        tv_json_text(out, "text", tv_buf_slice(&text));
        tv_buf_add_char(out, '}');
        tv_buf_done(&text);
    }
}

/* All members of the header, without the end of the object. */
static void write_header(const tv_heat *heat, tv_arena *arena, uint64_t max, tv_buf *out)
{
    const tv_view *view = heat->view;

    tv_buf_add_char(out, '{');
    tv_json_text(out, "account", heat->account);
    tv_json_text(out, "table", heat->table);
    tv_buf_printf(out,
                  ",\"m\":\"%s\",\"grainS\":%d,\"from\":%llu,\"slots\":%zu,\"recorded\":%zu,"
                  "\"until\":%llu,"
                  "\"buckets\":%zu,\"max\":%llu,\"approx\":%s,\"keys\":[",
                  tv_traffic_measure_name(heat->measure), view->grain * 60,
                  (unsigned long long)view->from * 60, view->slots, tv_view_recorded(view),
                  (unsigned long long)tv_view_until(view) * 60, view->axis->count, (unsigned long long)max,
                  view->is_approximate ? "true" : "false");
    for (size_t i = 0; i < view->axis->count; i++)
        tv_heat_bound_write(arena, i ? view->axis->bounds[i] : heat->low, out);
    tv_buf_add_lit(out, "],\"findings\":[");
    write_patterns(heat, arena, out);
    tv_buf_add_char(out, ']');
}

void tv_heat_write_json(const tv_heat *heat, tv_arena *arena, tv_buf *out)
{
    const tv_view *view = heat->view;

    write_header(heat, arena, max_of(heat), out);
    tv_buf_add_lit(out, ",\"cells\":[");
    for (size_t slot = 0; slot < view->slots; slot++) {
        tv_buf_printf(out, slot ? ",[" : "[");
        for (size_t i = 0; i < view->axis->count; i++)
            tv_buf_printf(out, i ? ",%llu" : "%llu",
                          (unsigned long long)tv_view_cell(view, heat->measure, slot, i));
        tv_buf_add_char(out, ']');
    }
    tv_buf_add_lit(out, "]}\n");
}

void tv_heat_write_bytes(const tv_heat *heat, tv_arena *arena, tv_buf *out)
{
    const uint64_t *cells = heat->view->cells[heat->measure];
    size_t count = heat->view->slots * heat->view->axis->count, start;
    uint64_t max = max_of(heat);

    tv_buf_add_lit(out, "TVH1len.");
    start = out->len;
    write_header(heat, arena, max, out);
    tv_buf_add_char(out, '}');
    for (int i = 0; i < 4; i++)
        out->data[start - 4 + (size_t)i] = (char)((out->len - start) >> (8 * i));
    for (size_t i = 0; i < count; i++)
        tv_buf_add_char(out, (char)tv_heat_code(cells[i], max));
}
