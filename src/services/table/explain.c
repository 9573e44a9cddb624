/*
 * {"value":[],"plan":"range","description":"…","ranges":[{"plan":"range","from":…,"to":…}],
 *  "residual":"Age gt 5","advice":"…","warnings":["Age is …"],
 *  "estimate":{"examined":1200,"low":900,"high":1500,…}}
 *
 * A bound is null (none) or {"PartitionKey":…[,"RowKey":…],"isIncluded":…}.  Warnings are there
 * when there are any.  The value is that of a page without entities, so that a client that asks for
 * entities gets none and does not fail.
 */
#include "services/table/explain.h"

#include <math.h>

#include "base/json.h"
#include "insight/facts/estimate.h"
#include "store/engine/key.h"

static const char *description(const tv_plan *plan)
{
    if (plan->count == 0)
        return "No entity can match, so nothing is read.";

    switch (plan->kind) {
    case TV_PLAN_POINT:
        return "Point Query: PartitionKey and RowKey are given, so each entity is found directly. "
               "Nothing is more efficient.";
    case TV_PLAN_RANGE:
        return "Range Query: the PartitionKey and a range of RowKey are given, so only that part "
               "of a partition is read.";
    case TV_PLAN_PARTITION:
        return "Partition Scan: the PartitionKey is given and nothing bounds the RowKey, so every "
               "entity of the partition is read.";
    case TV_PLAN_TABLE:
    case TV_PLAN_KINDS:
        break;
    }
    return "Table Scan: no single PartitionKey is given, so the entities of many partitions are "
           "read.";
}

/* The anti-pattern and its cure; NULL when there is nothing to cure. */
static const char *advice(const tv_plan *plan)
{
    if (plan->count == 0 || plan->kind <= TV_PLAN_RANGE || plan->residual == NULL)
        return NULL; /* of a scan without a test all that is read is returned */
    if (plan->kind == TV_PLAN_TABLE)
        return "Give the PartitionKey. If this query must find entities by something else, store a "
               "second copy under it (inter-partition secondary index pattern) or keep lists of "
               "keys (index entities pattern).";
    return "The test on other properties is made on every entity of the partition. A second "
           "copy of each entity whose RowKey begins with the property (intra-partition secondary "
           "index pattern) makes this a range query.";
}

/* What follows ranges and residual: the advice and the estimate. */
enum { CLOSING_BYTES = 2048 };

/* A number of entities; null when nothing bounds it. */
static void add_number(tv_buf *out, const char *name, double value)
{
    tv_json_name(out, name);
    if (value > 9e15)
        tv_buf_add_lit(out, "null");
    else
        tv_buf_printf(out, "%.0f", value);
}

static void add_estimate(tv_buf *out, const tv_estimate *e)
{
    tv_json_open(out, "estimate", '{');
    add_number(out, "examined", e->examined);
    add_number(out, "low", floor(e->low));
    add_number(out, "high", ceil(e->high));
    tv_json_bool(out, "exact", e->is_exact);
    add_number(out, "returned", e->returned);
    add_number(out, "returnedLow", floor(e->returned_low));
    add_number(out, "returnedHigh", ceil(e->returned_high));
    tv_buf_printf(out,
                  ",\"returnedBasis\":\"%s\",\"pages\":%llu,\"ms\":%.3f,\"basis\":\"%s\","
                  "\"azure\":{\"plan\":\"%s\",\"documented\":%s,\"examined\":%.0f}}",
                  tv_share_basis_name(e->returned_basis), (unsigned long long)e->pages, e->ms,
                  tv_estimate_basis_name(e->basis), e->azure_plan,
                  e->azure_is_documented ? "true" : "false", e->azure_examined);
}

static void add_text(tv_buf *out, const char *name, const char *text)
{
    tv_json_name(out, name);
    if (text)
        tv_json_add_string(out, tv_slice_of(text));
    else
        tv_buf_add_lit(out, "null");
}

static void add_key(tv_buf *out, const char *name, tv_slice encoded)
{
    tv_arena arena;
    tv_slice text;

    tv_arena_init(&arena);
    if (tv_key_decode_text(&arena, encoded, &text))
        text = TV_LIT("?");
    tv_json_text(out, name, text);
    tv_arena_done(&arena);
}

/* Bounds have the forms "p 01 r", "p 01 r 01" (after r) and "p 02" (after p); see region.h. */
static void add_bound(tv_buf *out, tv_slice bound, bool is_upper, bool is_point)
{
    size_t end = 0;
    bool is_after;

    while (end < bound.len && bound.data[end] != TV_KEY_MARK && bound.data[end] != TV_KEY_BEHIND)
        end++;
    if (end == bound.len) {
        tv_buf_add_lit(out, "null");
        return;
    }

    tv_slice row = tv_slice_skip(bound, end + 1);

    is_after = bound.data[end] == TV_KEY_BEHIND;
    if (row.len && row.data[row.len - 1] == TV_KEY_MARK) {
        is_after = true;
        row.len--;
    }
    tv_buf_add_char(out, '{');
    add_key(out, "PartitionKey", tv_slice_take(bound, end));
    if (bound.data[end] == TV_KEY_MARK && (row.len || is_after || is_point))
        add_key(out, "RowKey", row);
    tv_json_bool(out, "isIncluded", is_after == is_upper);
    tv_buf_add_char(out, '}');
}

static void add_range(tv_buf *out, const tv_key_range *range, tv_slice prefix)
{
    /* The end of the table is not a key of it. */
    tv_slice to =
        tv_slice_starts_with(range->to, prefix) ? tv_slice_skip(range->to, prefix.len) : TV_LIT("");

    bool is_point = range->kind == TV_PLAN_POINT;

    tv_buf_printf(out, "{\"plan\":\"%s\",\"from\":", tv_plan_kind_name(range->kind));
    add_bound(out, tv_slice_skip(range->from, prefix.len), false, is_point);
    tv_buf_add_lit(out, ",\"to\":");
    add_bound(out, to, true, is_point);
    tv_buf_add_char(out, '}');
}

/* The most that a range takes: of every byte of its bounds JSON makes up to six. */
static size_t range_bytes(const tv_key_range *range)
{
    return 512 + 6 * (range->from.len + range->to.len);
}

/* The residual twice, as text and in JSON. */
static tv_err add_residual(tv_buf *out, const tv_plan *plan)
{
    tv_buf residual = TV_BUF_EMPTY;
    tv_err err;

    if (plan->residual == NULL) {
        tv_buf_add_lit(out, "null");
        return TV_OK;
    }
    residual.charge = out->charge;
    err = tv_buf_try_reserve(&residual, tv_filter_print_max(plan->filter, plan->residual));
    if (err)
        return err;

    tv_filter_print(&residual, plan->filter, plan->residual);
    err = tv_buf_try_grow(out, 6 * residual.len + CLOSING_BYTES);
    if (err == TV_OK)
        tv_json_add_string(out, tv_buf_slice(&residual));
    tv_buf_done(&residual);
    return err;
}

static tv_err add_warnings(tv_buf *out, const tv_table_scan *scan)
{
    size_t bytes = CLOSING_BYTES;

    if (scan->warning_count == 0)
        return TV_OK;
    for (size_t i = 0; i < scan->warning_count; i++)
        bytes += 6 * scan->warnings[i].len + 3;

    tv_err err = tv_buf_try_grow(out, bytes);

    if (err)
        return err;
    tv_json_open(out, "warnings", '[');
    for (size_t i = 0; i < scan->warning_count; i++)
        tv_json_text(out, NULL, scan->warnings[i]);
    tv_buf_add_char(out, ']');
    return TV_OK;
}

tv_err tv_table_explain(tv_buf *out, const tv_table_scan *scan)
{
    const tv_plan *plan = &scan->plan;
    tv_err err;

    tv_buf_printf(out, "{\"value\":[],\"plan\":\"%s\"", tv_plan_kind_name(plan->kind));
    add_text(out, "description", description(plan));
    tv_buf_add_lit(out, ",\"ranges\":[");
    for (size_t i = 0; i < plan->count; i++) {
        err = tv_buf_try_grow(out, range_bytes(&plan->ranges[i]) + CLOSING_BYTES);
        if (err)
            return err;
        tv_json_name(out, NULL);
        add_range(out, &plan->ranges[i], scan->table->prefix);
    }
    tv_buf_add_lit(out, "],\"residual\":");
    err = add_residual(out, plan);
    if (err)
        return err;

    add_text(out, "advice", advice(plan));
    err = add_warnings(out, scan);
    if (err)
        return err;
    if (scan->estimate)
        add_estimate(out, scan->estimate);
    tv_buf_add_char(out, '}');
    return TV_OK;
}
