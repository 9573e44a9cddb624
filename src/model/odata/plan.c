/* From a region to ranges, and what is left to test. */
#include "model/odata/plan.h"

#include "base/assert.h"
#include "model/odata/region.h"
#include "store/engine/key.h"

const char *tv_plan_kind_name(tv_plan_kind kind)
{
    static const char *const names[] = {"point", "range", "partition", "table"};

    tv_assert(kind < TV_PLAN_KINDS);
    return names[kind];
}

const char *tv_page_end_name(tv_page_end end)
{
    static const char *const names[] = {"done", "rows", "top", "bytes", "time"};

    tv_assert(end < TV_PAGE_ENDS);
    return names[end];
}

enum { PARTS = 5 };

/* Some of: the table's prefix, a PartitionKey, the byte after it, a RowKey, the byte after it. */
static tv_slice join(tv_arena *arena, const tv_slice parts[PARTS])
{
    size_t len = 0;

    for (int i = 0; i < PARTS; i++)
        len += parts[i].len;

    char *bytes = tv_arena_bytes(arena, len), *to = bytes;

    for (int i = 0; i < PARTS; i++) {
        if (parts[i].len)
            memcpy(to, parts[i].data, parts[i].len);
        to += parts[i].len;
    }
    return (tv_slice){bytes, len};
}

/*
 * A bound of partitions as bytes.  In row keys a PartitionKey is followed by 01,
 * so "p 01" is before all of partition p and "p 02" after it, for no legal byte
 * of a key is below 20.
 */
static tv_slice partition_bound(tv_arena *arena, tv_slice prefix, const tv_region *region,
                                tv_bound bound)
{
    bool is_after;

    if (bound == 0)
        return prefix;
    if (bound == TV_BOUND_END)
        return tv_key_after(arena, prefix);

    tv_slice key = tv_bound_key(&region->partitions, bound, &is_after);

    return join(
        arena, (tv_slice[PARTS]){prefix, key,
                                 is_after ? TV_LIT(TV_KEY_BEHIND_TEXT) : TV_LIT(TV_KEY_MARK_TEXT)});
}

/* A bound of rows in one partition: "r" is just before the RowKey r, "r 01" just after it. */
static tv_slice row_bound(tv_arena *arena, tv_slice prefix, tv_slice partition,
                          const tv_region *region, tv_bound bound)
{
    tv_slice key = TV_LIT("");
    bool is_after = false;

    if (bound == TV_BOUND_END)
        return join(arena, (tv_slice[PARTS]){prefix, partition, TV_LIT(TV_KEY_BEHIND_TEXT)});
    if (bound)
        key = tv_bound_key(&region->rows, bound, &is_after);
    return join(arena, (tv_slice[PARTS]){prefix, partition, TV_LIT(TV_KEY_MARK_TEXT), key,
                                         is_after ? TV_LIT(TV_KEY_MARK_TEXT) : TV_LIT("")});
}

/* What reading a box is called. */
static tv_plan_kind kind_of_box(const tv_region *region, const tv_box *box)
{
    if (!tv_span_is_point(&region->partitions, box->partition))
        return TV_PLAN_TABLE;
    if (tv_span_is_point(&region->rows, box->row))
        return TV_PLAN_POINT;
    return tv_span_is_full(box->row) ? TV_PLAN_PARTITION : TV_PLAN_RANGE;
}

/* The rows that a box has in one partition.  The bounds of a point share their bytes. */
static tv_key_range range_in_partition(tv_arena *arena, tv_slice prefix, const tv_region *region,
                                       const tv_box *box)
{
    bool is_after;
    tv_slice partition = tv_bound_key(&region->partitions, box->partition.from, &is_after);
    tv_key_range range = {
        .to = row_bound(arena, prefix, partition, region, box->row.to),
        .kind = kind_of_box(region, box),
    };

    if (range.kind == TV_PLAN_POINT) {
        range.from = tv_slice_take(range.to, range.to.len - 1);
    } else {
        range.from = row_bound(arena, prefix, partition, region, box->row.from);
    }
    return range;
}

/*
 * All rows of a run of partitions.  Bounds on their row keys do not make one
 * range; they are left to the residual test, and *ret_is_wider is set.
 */
static tv_key_range range_of_partitions(tv_arena *arena, tv_slice prefix, const tv_region *region,
                                        const tv_box *box, bool *ret_is_wider)
{
    if (!tv_span_is_full(box->row))
        *ret_is_wider = true;
    return (tv_key_range){
        .from = partition_bound(arena, prefix, region, box->partition.from),
        .to = partition_bound(arena, prefix, region, box->partition.to),
        .kind = TV_PLAN_TABLE,
    };
}

static size_t bound_bytes(const tv_named_keys *keys, tv_bound bound)
{
    bool is_after;

    return bound == 0 || bound == TV_BOUND_END ? 0 : tv_bound_key(keys, bound, &is_after).len;
}

/* About how many bytes the ranges of a region take. */
static size_t range_bytes(const tv_region *region, size_t prefix_len)
{
    size_t bytes = 0;

    for (size_t i = 0; i < region->count; i++) {
        const tv_box *box = &region->boxes[i];
        size_t copies = tv_span_is_point(&region->rows, box->row) ? 1 : 2;

        bytes += sizeof(tv_key_range) +
                 copies * (prefix_len + bound_bytes(&region->partitions, box->partition.from) +
                           bound_bytes(&region->rows, box->row.to));
    }
    return bytes;
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

/* Whether a part of the filter is about the keys alone. */
static bool is_about_keys(const tv_filter *filter, const tv_node *node)
{
    if (node->kind == TV_NODE_COMPARE || node->kind == TV_NODE_TRUTH)
        return node->kind == TV_NODE_COMPARE && tv_filter_is_key(filter, node->name);

    for (const tv_node *child = tv_node_first(node); child; child = child->next) {
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

/* The keys that a plan reads: as few as can be told without too many bytes of ranges. */
static tv_region region_to_read(tv_arena *scratch, size_t prefix_len, const tv_filter *filter)
{
    tv_region region = tv_region_of(scratch, filter);

    while (region.count > 1 && range_bytes(&region, prefix_len) > TV_PLAN_BYTES_MAX)
        tv_region_widen(&region);
    return region;
}

tv_plan_kind tv_plan_kind_of(tv_arena *scratch, size_t prefix_len, const tv_filter *filter)
{
    tv_region region = region_to_read(scratch, prefix_len, filter);
    tv_plan_kind worst = TV_PLAN_POINT;

    for (size_t i = 0; i < region.count; i++) {
        tv_plan_kind kind = kind_of_box(&region, &region.boxes[i]);

        worst = kind > worst ? kind : worst;
    }
    return worst;
}

tv_plan tv_plan_make(tv_arena *arena, tv_slice table_prefix, const tv_filter *filter)
{
    tv_arena scratch; /* only the plan itself outlives the planning */

    tv_arena_init(&scratch);

    tv_region region = region_to_read(&scratch, table_prefix.len, filter);
    tv_plan plan = {.filter = filter, .count = region.count};
    bool is_wider = region.is_widened;

    plan.ranges = tv_arena_alloc(arena, (region.count + 1) * sizeof *plan.ranges);
    for (size_t i = 0; i < region.count; i++) {
        const tv_box *box = &region.boxes[i];

        plan.ranges[i] = tv_span_is_point(&region.partitions, box->partition)
                             ? range_in_partition(arena, table_prefix, &region, box)
                             : range_of_partitions(arena, table_prefix, &region, box, &is_wider);
    }
    tv_arena_done(&scratch);
    join_ranges(&plan);
    for (size_t i = 0; i < plan.count; i++) {
        if (plan.ranges[i].kind > plan.kind)
            plan.kind = plan.ranges[i].kind;
    }
    plan.residual = is_wider ? filter->root : residual_of(arena, filter);
    return plan;
}

tv_slice tv_plan_partition(const tv_plan *plan)
{
    tv_slice first;

    if (plan->count == 0 || plan->kind == TV_PLAN_TABLE)
        return TV_NONE;
    first = tv_key_partition_of(plan->ranges[0].from);
    /* They are sorted: those between the first and the last are in it, too. */
    return tv_slice_starts_with(plan->ranges[plan->count - 1].from, first) ? first : TV_NONE;
}
