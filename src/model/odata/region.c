/* The algebra of boxes. */
#include "model/odata/region.h"

#include "base/assert.h"
#include "store/engine/engine.h"
#include "store/engine/key.h"

/* A union of boxes while it is made. */
typedef struct boxes {
    tv_box *list;
    size_t count;
    bool is_widened;
} boxes;

typedef struct planner {
    tv_arena *arena;
    const tv_filter *filter;
    tv_named_keys partitions, rows;
    uint32_t *numbers; /* of each comparison's key; NO_KEY for those with anything else */
    size_t work_left;
} planner;

#define NO_KEY UINT32_MAX

static const tv_span everything = {0, TV_BOUND_END};

/* --- the keys that a filter names --- */

typedef struct named {
    tv_slice key;
    int comparison;
} named;

static int compare_named(const void *a, const void *b)
{
    return tv_slice_cmp(((const named *)a)->key, ((const named *)b)->key);
}

/*
 * Gather the literals that a key is compared with.  Left out are those that no
 * stored key can be compared with bytewise: with control characters, or too long.
 */
static size_t gather(planner *p, const tv_node *node, int name, named *list, size_t count)
{
    if (node->kind == TV_NODE_COMPARE && node->name == name) {
        named *next = &list[count];

        next->comparison = node->number;
        if (tv_key_encode_text(p->arena, node->literal.bytes, &next->key) == TV_OK &&
            next->key.len <= TV_KEY_BYTES_MAX / 2)
            count++;
    }
    for (const tv_node *child = tv_node_first(node); child; child = child->next)
        count = gather(p, child, name, list, count);
    return count;
}

/* Sort them and give each its number. */
static tv_named_keys name_keys(planner *p, int name)
{
    size_t room = (size_t)p->filter->compare_count + 1;
    named *list = tv_arena_alloc(p->arena, room * sizeof *list);
    size_t count = name < 0 ? 0 : gather(p, p->filter->root, name, list, 0);
    tv_named_keys keys = {.list = tv_arena_alloc(p->arena, (count + 1) * sizeof *keys.list)};

    if (count > 1)
        qsort(list, count, sizeof *list, compare_named);
    for (size_t i = 0; i < count; i++) {
        if (keys.count == 0 || !tv_slice_eq(keys.list[keys.count - 1], list[i].key))
            keys.list[keys.count++] = list[i].key;
        p->numbers[list[i].comparison] = keys.count - 1;
    }
    keys.has_empty = keys.count && keys.list[0].len == 0;
    return keys;
}

/* --- boxes --- */

/* Take some of the work that is still allowed; false when there is too little. */
static bool take_work(planner *p, size_t box_count)
{
    if (box_count > p->work_left)
        return false;

    p->work_left -= box_count;
    return true;
}

static boxes everywhere(planner *p, bool is_widened)
{
    boxes all = {tv_arena_alloc(p->arena, sizeof(tv_box)), 1, is_widened};

    all.list[0] = (tv_box){everything, everything};
    return all;
}

static int compare_bounds(tv_bound a, tv_bound b)
{
    return (a > b) - (a < b);
}

static int compare_boxes(const void *a, const void *b)
{
    const tv_box *x = a, *y = b;
    int order = compare_bounds(x->partition.from, y->partition.from);

    if (order == 0)
        order = compare_bounds(x->partition.to, y->partition.to);
    if (order == 0)
        order = compare_bounds(x->row.from, y->row.from);
    return order ? order : compare_bounds(x->row.to, y->row.to);
}

static bool same_partitions(const tv_box *a, const tv_box *b)
{
    return a->partition.from == b->partition.from && a->partition.to == b->partition.to;
}

static void sort(boxes *set)
{
    for (size_t i = 1; i < set->count; i++) {
        if (compare_boxes(&set->list[i - 1], &set->list[i]) > 0) {
            qsort(set->list, set->count, sizeof *set->list, compare_boxes);
            return;
        }
    }
}

/* Sort, and join neighbours that have the same partitions and rows without a gap. */
static void normalize(boxes *set)
{
    size_t kept = 0;

    sort(set);
    for (size_t i = 0; i < set->count; i++) {
        tv_box *box = &set->list[i], *last = kept ? &set->list[kept - 1] : NULL;

        if (last && same_partitions(last, box) && box->row.from <= last->row.to) {
            if (box->row.to > last->row.to)
                last->row.to = box->row.to;
        } else {
            set->list[kept++] = *box;
        }
    }
    set->count = kept;
}

/* Make a span reach around another one, too. */
static void include_span(tv_span *around, tv_span span)
{
    if (span.from < around->from)
        around->from = span.from;
    if (span.to > around->to)
        around->to = span.to;
}

static void include(tv_box *around, const tv_box *box)
{
    include_span(&around->partition, box->partition);
    include_span(&around->row, box->row);
}

/* One box around all of them: too much, but never too little. */
static size_t widen_to_one(tv_box *list, size_t count)
{
    for (size_t i = 1; i < count; i++)
        include(&list[0], &list[i]);
    return count ? 1 : 0;
}

/* One box around all that have the same partitions. */
static size_t widen_rows(tv_box *list, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (kept && same_partitions(&list[kept - 1], &list[i]))
            include(&list[kept - 1], &list[i]);
        else
            list[kept++] = list[i];
    }
    return kept;
}

void tv_region_widen(tv_region *region)
{
    size_t count = widen_rows(region->boxes, region->count);

    region->count = count < region->count ? count : widen_to_one(region->boxes, count);
    region->is_widened = true;
}

/* As many boxes as a region may have, or fewer, wider ones. */
static boxes bounded(boxes set)
{
    normalize(&set);
    if (set.count > TV_REGION_BOXES_MAX) {
        set.count = widen_rows(set.list, set.count);
        set.is_widened = true;
    }
    if (set.count > TV_REGION_BOXES_MAX)
        set.count = widen_to_one(set.list, set.count);
    return set;
}

/* Whether each box lies in one partition. */
static bool is_in_partitions(const planner *p, const boxes *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (!tv_span_is_point(&p->partitions, set->list[i].partition))
            return false;
    }
    return true;
}

/* Whether it is better to keep `a` whole than `b`: it names partitions, or has fewer boxes. */
static bool is_better(const planner *p, const boxes *a, const boxes *b)
{
    bool is_a_narrow = is_in_partitions(p, a), is_b_narrow = is_in_partitions(p, b);

    return is_a_narrow != is_b_narrow ? is_a_narrow : a->count <= b->count;
}

/* False when nothing is left. */
static bool intersect_spans(tv_span a, tv_span b, tv_span *ret_span)
{
    ret_span->from = a.from > b.from ? a.from : b.from;
    ret_span->to = a.to < b.to ? a.to : b.to;
    return ret_span->from < ret_span->to;
}

static boxes intersect(planner *p, boxes a, boxes b)
{
    /* Too many pairs: of the worse one, the box around it will do; or even nothing of it. */
    if (a.count * b.count > p->work_left) {
        boxes better = is_better(p, &a, &b) ? a : b, worse = is_better(p, &a, &b) ? b : a;

        worse.is_widened |= worse.count > 1;
        worse.count = widen_to_one(worse.list, worse.count);
        a = better;
        b = worse;
    }
    if (!take_work(p, a.count * b.count)) {
        a.is_widened = true;
        return a;
    }

    boxes both = {.is_widened = a.is_widened || b.is_widened};

    both.list = tv_arena_alloc(p->arena, a.count * b.count * sizeof *both.list);
    for (size_t i = 0; i < a.count; i++) {
        for (size_t j = 0; j < b.count; j++) {
            tv_box *box = &both.list[both.count];

            if (intersect_spans(a.list[i].partition, b.list[j].partition, &box->partition) &&
                intersect_spans(a.list[i].row, b.list[j].row, &box->row))
                both.count++;
        }
    }
    return bounded(both);
}

/* Append the boxes of `more`; there is room for *size of them. */
static void append(planner *p, boxes *set, size_t *size, boxes more)
{
    if (set->count + more.count > *size) {
        tv_box *list;

        *size = 2 * (set->count + more.count);
        list = tv_arena_alloc(p->arena, *size * sizeof *list);
        if (set->count)
            memcpy(list, set->list, set->count * sizeof *list);
        set->list = list;
    }
    if (more.count)
        memcpy(set->list + set->count, more.list, more.count * sizeof *more.list);
    set->count += more.count;
    set->is_widened |= more.is_widened;
}

/* --- from comparisons to boxes --- */

/* The spans of keys k with "k op key"; one, or two for ne. */
static int spans_of(tv_compare_op op, tv_bound at, tv_bound after, tv_span ret_spans[2])
{
    switch (op) {
    case TV_OP_EQ:
        ret_spans[0] = (tv_span){at, after};
        return 1;
    case TV_OP_NE:
        ret_spans[0] = (tv_span){0, at};
        ret_spans[1] = (tv_span){after, TV_BOUND_END};
        return 2;
    case TV_OP_GT:
        ret_spans[0] = (tv_span){after, TV_BOUND_END};
        return 1;
    case TV_OP_GE:
        ret_spans[0] = (tv_span){at, TV_BOUND_END};
        return 1;
    case TV_OP_LT:
        ret_spans[0] = (tv_span){0, at};
        return 1;
    case TV_OP_LE:
        ret_spans[0] = (tv_span){0, after};
        return 1;
    }
    tv_assert(!"an operator");
    return 0;
}

static boxes boxes_of_comparison(planner *p, const tv_node *node, bool is_negated)
{
    bool is_partition = node->name == p->filter->partition_name;
    const tv_named_keys *keys = is_partition ? &p->partitions : &p->rows;
    uint32_t number = p->numbers[node->number];
    tv_span spans[2];

    if (number == NO_KEY)
        return everywhere(p, true);

    tv_bound at = 2 * number + !keys->has_empty;
    int count =
        spans_of(is_negated ? tv_compare_op_negate(node->op) : node->op, at, at + 1, spans);
    boxes set = {.list = tv_arena_alloc(p->arena, 2 * sizeof(tv_box))};

    for (int i = 0; i < count; i++) {
        /* Nothing is before the empty key. */
        if (spans[i].from < spans[i].to)
            set.list[set.count++] =
                is_partition ? (tv_box){spans[i], everything} : (tv_box){everything, spans[i]};
    }
    return set;
}

static boxes boxes_of_node(planner *p, const tv_node *node, bool is_negated);

static boxes boxes_of_all(planner *p, const tv_node *node, bool is_negated)
{
    boxes all = boxes_of_node(p, node->first, is_negated);

    for (const tv_node *child = node->first->next; child; child = child->next)
        all = intersect(p, all, boxes_of_node(p, child, is_negated));
    return all;
}

static boxes boxes_of_any(planner *p, const tv_node *node, bool is_negated)
{
    boxes any = {0};
    size_t size = 0;

    for (const tv_node *child = node->first; child; child = child->next) {
        boxes more = boxes_of_node(p, child, is_negated);

        if (!take_work(p, more.count))
            return everywhere(p, true);
        append(p, &any, &size, more);
    }
    return bounded(any);
}

/* Negation is carried down to the comparisons, where it is exact: keys are always there. */
static boxes boxes_of_node(planner *p, const tv_node *node, bool is_negated)
{
    switch ((tv_node_kind)node->kind) {
    case TV_NODE_AND:
        return is_negated ? boxes_of_any(p, node, true) : boxes_of_all(p, node, false);
    case TV_NODE_OR:
        return is_negated ? boxes_of_all(p, node, true) : boxes_of_any(p, node, false);
    case TV_NODE_NOT:
        return boxes_of_node(p, node->first, !is_negated);
    case TV_NODE_COMPARE:
        if (tv_filter_is_key(p->filter, node->name))
            return boxes_of_comparison(p, node, is_negated);
        break;
    case TV_NODE_TRUTH:
        break;
    case TV_NODE_FALSE:
        return (boxes){0};
    }
    return everywhere(p, false);
}

tv_region tv_region_of(tv_arena *arena, const tv_filter *filter)
{
    planner p = {.arena = arena, .filter = filter, .work_left = TV_REGION_WORK_MAX};
    size_t comparisons = (size_t)filter->compare_count;
    boxes set = everywhere(&p, false);

    if (filter->root) {
        p.numbers = tv_arena_alloc(arena, (comparisons + 1) * sizeof *p.numbers);
        for (size_t i = 0; i < comparisons; i++)
            p.numbers[i] = NO_KEY;
        p.partitions = name_keys(&p, filter->partition_name);
        p.rows = name_keys(&p, filter->row_name);
        set = boxes_of_node(&p, filter->root, false);
    }
    return (tv_region){
        .partitions = p.partitions,
        .rows = p.rows,
        .boxes = set.list,
        .count = set.count,
        .work = TV_REGION_WORK_MAX - p.work_left,
        .is_widened = set.is_widened,
    };
}
