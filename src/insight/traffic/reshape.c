/* Counts of one axis on another, and axes with fewer buckets: see axis.h. */
#include <stdlib.h>

#include "base/assert.h"
#include "insight/traffic/axis.h"

/* The heaviest of some buckets. */
static size_t heaviest_of(const double *weights, size_t from, size_t to)
{
    size_t best = from;

    for (size_t i = from; i < to; i++) {
        if (weights[i] > weights[best])
            best = i;
    }
    return best;
}

/* Divide one count between the buckets [from, to) by their weights; the sum is kept. */
static void divide(uint64_t count, tv_traffic_measure measure, const double *weights, size_t from,
                   size_t to, tv_counts *ret_counts)
{
    double sum = 0;
    uint64_t left = count;

    for (size_t i = from; i < to; i++)
        sum += weights[i];
    for (size_t i = from; i < to; i++) {
        double share = sum > 0 ? weights[i] / sum : 1.0 / (double)(to - from);
        uint64_t part = (uint64_t)((double)count * share);

        if (part > left) /* rounding of counts beyond 2^53 */
            part = left;
        ret_counts[i].by[measure] += part;
        left -= part;
    }
    ret_counts[heaviest_of(weights, from, to)].by[measure] += left;
}

bool tv_axis_project(const tv_axis *from, const tv_counts *counts, const tv_axis *to_axis,
                     const double *weights, tv_counts *to)
{
    bool is_divided = false;
    size_t first = 0; /* of the target: the bucket in which the source bucket begins */

    for (size_t i = 0; i < from->count; i++) {
        size_t end;

        while (first + 1 < to_axis->count &&
               tv_slice_cmp(to_axis->bounds[first + 1], from->bounds[i]) <= 0)
            first++;
        end = first + 1;
        while (
            end < to_axis->count &&
            (i + 1 == from->count || tv_slice_cmp(to_axis->bounds[end], from->bounds[i + 1]) < 0))
            end++;

        for (int k = 0; k < TV_MEASURES; k++) {
            if (counts[i].by[k] == 0)
                continue;
            if (end - first == 1) {
                to[first].by[k] += counts[i].by[k];
            } else {
                divide(counts[i].by[k], (tv_traffic_measure)k, weights, first, end, to);
                is_divided = true;
            }
        }
    }
    return is_divided;
}

/* A bucket while neighbours are merged; the merged one takes the place of the left. */
typedef struct part {
    double weight;
    size_t width;          /* buckets it was made of */
    size_t previous, next; /* SIZE_MAX at the ends */
    unsigned version;      /* of pairs in the heap that begin with it */
    bool is_gone;
} part;

/* Two neighbours that could be merged. */
typedef struct pair {
    double weight;
    size_t width, left;
    unsigned version;
} pair;

typedef struct pair_heap {
    pair *items;
    size_t count;
} pair_heap;

static bool is_before(const pair *a, const pair *b)
{
    if (a->weight != b->weight)
        return a->weight < b->weight;
    return a->width != b->width ? a->width < b->width : a->left < b->left;
}

static void push(pair_heap *heap, pair item)
{
    size_t at = heap->count++;

    while (at && is_before(&item, &heap->items[(at - 1) / 2])) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = item;
}

static pair pop(pair_heap *heap)
{
    pair top = heap->items[0], last = heap->items[--heap->count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && is_before(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (!is_before(&heap->items[child], &last))
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    if (heap->count)
        heap->items[at] = last;
    return top;
}

static void push_pair(pair_heap *heap, part *parts, size_t left)
{
    size_t right = parts[left].next;

    if (right == SIZE_MAX)
        return;
    push(heap, (pair){parts[left].weight + parts[right].weight,
                      parts[left].width + parts[right].width, left, ++parts[left].version});
}

/* Merge a part with the one after it, and note the pairs that it is in now. */
static void merge(pair_heap *heap, part *parts, size_t left)
{
    size_t right = parts[left].next;

    parts[left].weight += parts[right].weight;
    parts[left].width += parts[right].width;
    parts[left].next = parts[right].next;
    parts[right].is_gone = true;
    if (parts[left].next != SIZE_MAX)
        parts[parts[left].next].previous = left;
    push_pair(heap, parts, left);
    if (parts[left].previous != SIZE_MAX)
        push_pair(heap, parts, parts[left].previous);
}

tv_axis *tv_axis_squeeze(tv_axis *axis, const double *weights, size_t count_max)
{
    size_t count = axis->count, kept = 0;

    tv_assert(count_max > 0);
    if (count <= count_max)
        return tv_axis_ref(axis);

    part *parts = tv_malloc(count * sizeof *parts);
    /* Each merge adds two pairs at most. */
    pair_heap heap = {.items = tv_malloc(3 * count * sizeof(pair))};

    for (size_t i = 0; i < count; i++)
        parts[i] =
            (part){weights[i], 1, i ? i - 1 : SIZE_MAX, i + 1 < count ? i + 1 : SIZE_MAX, 0, false};
    for (size_t i = 0; i + 1 < count; i++)
        push_pair(&heap, parts, i);
    for (size_t left = count; left > count_max;) {
        pair least = pop(&heap);

        /* A pair of which a part has changed since is in the heap once more. */
        if (parts[least.left].is_gone || parts[least.left].version != least.version)
            continue;
        merge(&heap, parts, least.left);
        left--;
    }

    tv_slice *bounds = tv_malloc(count_max * sizeof *bounds);

    for (size_t i = 0; i < count; i++) {
        if (!parts[i].is_gone)
            bounds[kept++] = axis->bounds[i];
    }
    tv_axis *squeezed = tv_axis_new(bounds, kept);

    free(bounds);
    free(heap.items);
    free(parts);
    return squeezed;
}
