/* The algebra of boxes. */
#include "odata/region.h"

#include "base/assert.h"
#include "engine/engine.h"
#include "engine/key.h"

/* Pairs of boxes that a plan may intersect: a bound on its time and memory. */
enum { PAIRS_MAX = 50 * TV_REGION_BOXES_MAX };

typedef struct planner {
    tv_arena *arena;
    const tv_filter *filter;
    size_t pairs_left;
} planner;

static const tv_span everything = {{"", 0}, {NULL, 0}};

/* --- spans --- */

bool tv_span_is_full(const tv_span *span)
{
    return span->from.len == 0 && span->to.data == NULL;
}

/* The end of a point is its beginning with one more byte, or with its last byte raised. */
bool tv_span_is_point(const tv_span *span, char key_end)
{
    tv_slice from = span->from, to = span->to;

    if (to.data == NULL)
        return false;
    if (key_end == '\x01')
        return to.len == from.len + 1 && to.data[from.len] == key_end &&
               tv_slice_starts_with(to, from);
    return to.len == from.len && to.len > 0 && to.data[to.len - 1] == key_end &&
           from.data[from.len - 1] == '\x01' && memcmp(to.data, from.data, to.len - 1) == 0;
}

/* Order of two upper bounds, no bound being the greatest. */
static int compare_ends(tv_slice a, tv_slice b)
{
    if (a.data == NULL || b.data == NULL)
        return (a.data == NULL) - (b.data == NULL);
    return tv_slice_cmp(a, b);
}

/* Whether a span that ends at `to` reaches one that begins at `from`. */
static bool reaches(tv_slice to, tv_slice from)
{
    return to.data == NULL || tv_slice_cmp(from, to) <= 0;
}

/* False when nothing is left. */
static bool intersect_spans(tv_span a, tv_span b, tv_span *ret_span)
{
    ret_span->from = tv_slice_cmp(a.from, b.from) > 0 ? a.from : b.from;
    ret_span->to = compare_ends(a.to, b.to) < 0 ? a.to : b.to;
    return ret_span->to.data == NULL || tv_slice_cmp(ret_span->from, ret_span->to) < 0;
}

/* --- regions --- */

static tv_region region_of_box(tv_arena *arena, tv_box box)
{
    tv_region region = {.boxes = tv_arena_alloc(arena, sizeof box), .count = 1};

    region.boxes[0] = box;
    return region;
}

static tv_region everywhere(tv_arena *arena)
{
    return region_of_box(arena, (tv_box){everything, everything});
}

static int compare_boxes(const void *a, const void *b)
{
    const tv_box *x = a, *y = b;
    int order = tv_slice_cmp(x->partition.from, y->partition.from);

    if (order == 0)
        order = compare_ends(x->partition.to, y->partition.to);
    if (order == 0)
        order = tv_slice_cmp(x->row.from, y->row.from);
    return order ? order : compare_ends(x->row.to, y->row.to);
}

static bool same_partitions(const tv_box *a, const tv_box *b)
{
    return tv_slice_eq(a->partition.from, b->partition.from) &&
           compare_ends(a->partition.to, b->partition.to) == 0;
}

/* Sort, and join neighbours that have the same partitions and rows without a gap. */
static void normalize(tv_region *region)
{
    size_t kept = 0;

    if (region->count > 1)
        qsort(region->boxes, region->count, sizeof *region->boxes, compare_boxes);
    for (size_t i = 0; i < region->count; i++) {
        tv_box *box = &region->boxes[i], *last = kept ? &region->boxes[kept - 1] : NULL;

        if (last && same_partitions(last, box) && reaches(last->row.to, box->row.from)) {
            if (compare_ends(box->row.to, last->row.to) > 0)
                last->row.to = box->row.to;
        } else {
            region->boxes[kept++] = *box;
        }
    }
    region->count = kept;
}

/* Make a box reach around another one, too. */
static void include(tv_box *around, const tv_box *box)
{
    if (tv_slice_cmp(box->partition.from, around->partition.from) < 0)
        around->partition.from = box->partition.from;
    if (compare_ends(box->partition.to, around->partition.to) > 0)
        around->partition.to = box->partition.to;
    if (tv_slice_cmp(box->row.from, around->row.from) < 0)
        around->row.from = box->row.from;
    if (compare_ends(box->row.to, around->row.to) > 0)
        around->row.to = box->row.to;
}

/* One box around all of them: too much, but never too little. */
static void widen_to_one(tv_region *region)
{
    for (size_t i = 1; i < region->count; i++) {
        include(&region->boxes[0], &region->boxes[i]);
        region->is_widened = true;
    }
    if (region->count)
        region->count = 1;
}

/* Fewer boxes: one around all that have the same partitions, or else one around everything. */
static void widen(tv_region *region)
{
    size_t kept = 0;

    for (size_t i = 0; i < region->count; i++) {
        if (kept && same_partitions(&region->boxes[kept - 1], &region->boxes[i]))
            include(&region->boxes[kept - 1], &region->boxes[i]);
        else
            region->boxes[kept++] = region->boxes[i];
    }
    region->count = kept;
    region->is_widened = true;
    if (kept > TV_REGION_BOXES_MAX)
        widen_to_one(region);
}

/* Whether each box lies in one partition. */
static bool is_in_partitions(const tv_region *region)
{
    for (size_t i = 0; i < region->count; i++) {
        if (!tv_span_is_point(&region->boxes[i].partition, '\x02'))
            return false;
    }
    return true;
}

/* Whether it is better to keep `a` whole than `b`: it names partitions, or has fewer boxes. */
static bool is_better(const tv_region *a, const tv_region *b)
{
    bool is_a_narrow = is_in_partitions(a), is_b_narrow = is_in_partitions(b);

    return is_a_narrow != is_b_narrow ? is_a_narrow : a->count <= b->count;
}

static tv_region intersect(planner *p, tv_region a, tv_region b)
{
    /* Too many pairs: of the worse one, the box around it will do; or even nothing of it. */
    if (a.count * b.count > p->pairs_left) {
        tv_region better = is_better(&a, &b) ? a : b, worse = is_better(&a, &b) ? b : a;

        widen_to_one(&worse);
        a = better;
        b = worse;
        if (a.count > p->pairs_left) {
            a.is_widened = true;
            return a;
        }
    }

    tv_region both = {.is_widened = a.is_widened || b.is_widened};
    size_t pairs = a.count * b.count;

    p->pairs_left -= pairs;
    both.boxes = tv_arena_alloc(p->arena, pairs * sizeof *both.boxes);
    for (size_t i = 0; i < a.count; i++) {
        for (size_t j = 0; j < b.count; j++) {
            tv_box *box = &both.boxes[both.count];

            if (intersect_spans(a.boxes[i].partition, b.boxes[j].partition, &box->partition) &&
                intersect_spans(a.boxes[i].row, b.boxes[j].row, &box->row))
                both.count++;
        }
    }
    normalize(&both);
    if (both.count > TV_REGION_BOXES_MAX)
        widen(&both);
    return both;
}

/* --- from comparisons to boxes --- */

/*
 * The bytes just before and just behind a key.  False when no stored key can
 * be compared with it bytewise: it holds control characters or is too long.
 */
static bool key_bounds(tv_arena *arena, tv_slice text, bool is_partition, tv_slice *ret_at,
                       tv_slice *ret_after)
{
    tv_slice encoded;

    if (tv_key_encode_text(arena, text, &encoded) || encoded.len > TV_KEY_BYTES_MAX / 2)
        return false;

    char *bytes = tv_arena_bytes(arena, 2 * (encoded.len + 1));
    char *behind = bytes + encoded.len + 1;

    if (encoded.len) {
        memcpy(bytes, encoded.data, encoded.len);
        memcpy(behind, encoded.data, encoded.len);
    }
    bytes[encoded.len] = '\x01';
    behind[encoded.len] = is_partition ? '\x02' : '\x01';
    *ret_at = (tv_slice){bytes, encoded.len + is_partition};
    *ret_after = (tv_slice){behind, encoded.len + 1};
    return true;
}

/* The spans of keys k with "k op key"; one, or two for ne. */
static int spans_of(tv_compare_op op, tv_slice at, tv_slice after, tv_span ret_spans[2])
{
    tv_span before = {{"", 0}, at}, behind = {after, {NULL, 0}};

    switch (op) {
    case TV_OP_EQ:
        ret_spans[0] = (tv_span){at, after};
        return 1;
    case TV_OP_NE:
        ret_spans[0] = before;
        ret_spans[1] = behind;
        return 2;
    case TV_OP_GT:
        ret_spans[0] = behind;
        return 1;
    case TV_OP_GE:
        ret_spans[0] = (tv_span){at, {NULL, 0}};
        return 1;
    case TV_OP_LT:
        ret_spans[0] = before;
        return 1;
    case TV_OP_LE:
        ret_spans[0] = (tv_span){{"", 0}, after};
        return 1;
    }
    tv_assert(!"an operator");
    return 0;
}

static tv_region region_of_comparison(tv_arena *arena, const tv_node *node, bool is_partition,
                                      bool is_negated)
{
    tv_compare_op op = is_negated ? tv_compare_op_negate(node->op) : node->op;
    tv_region region = {.boxes = tv_arena_alloc(arena, 2 * sizeof(tv_box))};
    tv_slice at, after;
    tv_span spans[2];

    if (!key_bounds(arena, node->literal.bytes, is_partition, &at, &after)) {
        region = everywhere(arena);
        region.is_widened = true;
        return region;
    }

    int count = spans_of(op, at, after, spans);

    for (int i = 0; i < count; i++) {
        /* Nothing is before the empty key. */
        if (node->literal.bytes.len == 0 && spans[i].to.data == at.data)
            continue;
        region.boxes[region.count++] =
            is_partition ? (tv_box){spans[i], everything} : (tv_box){everything, spans[i]};
    }
    return region;
}

static tv_region region_of_node(planner *p, const tv_node *node, bool is_negated);

static tv_region region_of_all(planner *p, const tv_node *node, bool is_negated)
{
    tv_region all = everywhere(p->arena);

    for (const tv_node *child = node->first; child; child = child->next)
        all = intersect(p, all, region_of_node(p, child, is_negated));
    return all;
}

static tv_region region_of_any(planner *p, const tv_node *node, bool is_negated)
{
    tv_region any = {0};
    size_t size = 0;

    for (const tv_node *child = node->first; child; child = child->next) {
        tv_region more = region_of_node(p, child, is_negated);

        if (any.count + more.count > size) {
            tv_box *boxes;

            size = 2 * (any.count + more.count);
            boxes = tv_arena_alloc(p->arena, size * sizeof *boxes);
            if (any.count)
                memcpy(boxes, any.boxes, any.count * sizeof *boxes);
            any.boxes = boxes;
        }
        if (more.count)
            memcpy(any.boxes + any.count, more.boxes, more.count * sizeof *more.boxes);
        any.count += more.count;
        any.is_widened |= more.is_widened;
    }
    normalize(&any);
    if (any.count > TV_REGION_BOXES_MAX)
        widen(&any);
    return any;
}

/* Negation is carried down to the comparisons, where it is exact: keys are always there. */
static tv_region region_of_node(planner *p, const tv_node *node, bool is_negated)
{
    switch (node->kind) {
    case TV_NODE_AND:
        return is_negated ? region_of_any(p, node, true) : region_of_all(p, node, false);
    case TV_NODE_OR:
        return is_negated ? region_of_all(p, node, true) : region_of_any(p, node, false);
    case TV_NODE_NOT:
        return region_of_node(p, node->first, !is_negated);
    case TV_NODE_COMPARE:
        if (tv_slice_eq(p->filter->names[node->name], TV_LIT("PartitionKey")))
            return region_of_comparison(p->arena, node, true, is_negated);
        if (tv_slice_eq(p->filter->names[node->name], TV_LIT("RowKey")))
            return region_of_comparison(p->arena, node, false, is_negated);
        break;
    case TV_NODE_TRUTH:
        break;
    case TV_NODE_FALSE:
        return (tv_region){0};
    }
    return everywhere(p->arena);
}

tv_region tv_region_of(tv_arena *arena, const tv_filter *filter, const tv_node *node)
{
    planner p = {.arena = arena, .filter = filter, .pairs_left = PAIRS_MAX};

    return node ? region_of_node(&p, node, false) : everywhere(arena);
}
