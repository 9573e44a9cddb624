/* From a region to ranges, and what is left to test. */
#include "odata/plan.h"

#include "base/assert.h"
#include "engine/key.h"
#include "odata/region.h"

const char *tv_plan_kind_name(tv_plan_kind kind)
{
    static const char *const names[] = {"point", "range", "partition", "table"};

    tv_assert(kind < TV_PLAN_KINDS);
    return names[kind];
}

static tv_slice join(tv_arena *arena, tv_slice a, tv_slice b, tv_slice c)
{
    char *bytes = tv_arena_bytes(arena, a.len + b.len + c.len);

    memcpy(bytes, a.data, a.len);
    if (b.len)
        memcpy(bytes + a.len, b.data, b.len);
    if (c.len)
        memcpy(bytes + a.len + b.len, c.data, c.len);
    return (tv_slice){bytes, a.len + b.len + c.len};
}

/* Rows of one partition. */
static tv_key_range range_in_partition(tv_arena *arena, tv_slice prefix, const tv_box *box)
{
    tv_slice partition = box->partition.from;
    tv_key_range range = {.from = join(arena, prefix, partition, box->row.from)};

    if (box->row.to.data)
        range.to = join(arena, prefix, partition, box->row.to);
    else
        range.to = join(arena, prefix, box->partition.to, TV_LIT(""));

    if (tv_span_is_full(&box->row))
        range.kind = TV_PLAN_PARTITION;
    else
        range.kind = tv_span_is_point(&box->row, '\x01') ? TV_PLAN_POINT : TV_PLAN_RANGE;
    return range;
}

/*
 * All rows of a run of partitions.  Bounds on their row keys do not make one
 * range; they are left to the residual test, and *ret_is_wider is set.
 */
static tv_key_range range_of_partitions(tv_arena *arena, tv_slice prefix, const tv_box *box,
                                        bool *ret_is_wider)
{
    tv_key_range range = {
        .from = join(arena, prefix, box->partition.from, TV_LIT("")),
        .kind = TV_PLAN_TABLE,
    };

    range.to = box->partition.to.data ? join(arena, prefix, box->partition.to, TV_LIT(""))
                                      : tv_key_after(arena, prefix);
    if (!tv_span_is_full(&box->row))
        *ret_is_wider = true;
    return range;
}

static int compare_ranges(const void *a, const void *b)
{
    const tv_key_range *x = a, *y = b;
    int order = tv_slice_cmp(x->from, y->from);

    return order ? order : tv_slice_cmp(x->to, y->to);
}

/* Sort the ranges and join those that touch, so that no row is read twice. */
static void join_ranges(tv_plan *plan)
{
    size_t kept = 0;

    if (plan->count > 1)
        qsort(plan->ranges, plan->count, sizeof *plan->ranges, compare_ranges);
    for (size_t i = 0; i < plan->count; i++) {
        tv_key_range *range = &plan->ranges[i], *last = kept ? &plan->ranges[kept - 1] : NULL;

        if (last == NULL || tv_slice_cmp(range->from, last->to) > 0) {
            plan->ranges[kept++] = *range;
            continue;
        }
        if (compare_ranges(range, last) != 0 && last->kind == TV_PLAN_POINT)
            last->kind = TV_PLAN_RANGE;
        if (range->kind > last->kind)
            last->kind = range->kind;
        if (tv_slice_cmp(range->to, last->to) > 0)
            last->to = range->to;
    }
    plan->count = kept;
}

static bool is_key(tv_slice name)
{
    return tv_slice_eq(name, TV_LIT("PartitionKey")) || tv_slice_eq(name, TV_LIT("RowKey"));
}

/* Whether a part of the filter is about the keys alone. */
static bool is_about_keys(const tv_filter *filter, const tv_node *node)
{
    if (node->kind == TV_NODE_COMPARE || node->kind == TV_NODE_TRUTH)
        return node->kind == TV_NODE_COMPARE && is_key(filter->names[node->name]);

    for (const tv_node *child = node->first; child; child = child->next) {
        if (!is_about_keys(filter, child))
            return false;
    }
    return true;
}

/* The conjuncts that the ranges do not decide.  The children are copied: they have new siblings. */
static const tv_node *residual_of(tv_arena *arena, const tv_filter *filter)
{
    const tv_node *root = filter->root;
    tv_node *rest = NULL;

    if (root == NULL || is_about_keys(filter, root))
        return NULL;
    if (root->kind != TV_NODE_AND)
        return root;

    rest = tv_arena_zalloc(arena, sizeof *rest);
    rest->kind = TV_NODE_AND;
    for (const tv_node *child = root->first; child; child = child->next) {
        if (is_about_keys(filter, child))
            continue;

        tv_node *copy = tv_arena_alloc(arena, sizeof *copy);

        *copy = *child;
        copy->next = NULL;
        if (rest->last)
            rest->last->next = copy;
        else
            rest->first = copy;
        rest->last = copy;
    }
    return rest->first == rest->last ? rest->first : rest;
}

tv_plan tv_plan_make(tv_arena *arena, tv_slice table_prefix, const tv_filter *filter)
{
    tv_region region = tv_region_of(arena, filter, filter->root);
    bool is_wider = region.is_widened;
    tv_plan plan = {.filter = filter, .count = region.count};

    plan.ranges = tv_arena_alloc(arena, (region.count + 1) * sizeof *plan.ranges);
    for (size_t i = 0; i < region.count; i++) {
        const tv_box *box = &region.boxes[i];

        plan.ranges[i] = tv_span_is_point(&box->partition, '\x02')
                             ? range_in_partition(arena, table_prefix, box)
                             : range_of_partitions(arena, table_prefix, box, &is_wider);
    }
    join_ranges(&plan);
    for (size_t i = 0; i < plan.count; i++) {
        if (plan.ranges[i].kind > plan.kind)
            plan.kind = plan.ranges[i].kind;
    }
    plan.residual = is_wider ? filter->root : residual_of(arena, filter);
    return plan;
}
