/* Extents that were listed: a sorted array. */
#include "base/assert.h"
#include "base/grow.h"
#include "store/extent/internal.h"

static int compare(const void *a, const void *b)
{
    const tv_extent_id *left = a, *right = b;

    if (left->boot != right->boot)
        return left->boot < right->boot ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

void tv_extent_set_add(tv_extent_set *set, tv_extent_id id)
{
    /* Parts of one extent often come one after the other. */
    if (set->count && compare(&set->ids[set->count - 1], &id) == 0)
        return;

    tv_grow(&set->ids, set->count, &set->size, 1024);
    set->ids[set->count++] = id;
}

void tv_extent_set_sort(tv_extent_set *set)
{
    size_t count = 0;

    if (set->count)
        qsort(set->ids, set->count, sizeof *set->ids, compare);
    for (size_t i = 0; i < set->count; i++) {
        if (count == 0 || compare(&set->ids[count - 1], &set->ids[i]) != 0)
            set->ids[count++] = set->ids[i];
    }
    set->count = count;
    free(set->is_marked);
    set->is_marked = tv_calloc(count + 1, 1);
}

static const tv_extent_id *find(const tv_extent_set *set, tv_extent_id id)
{
    return set->count ? bsearch(&id, set->ids, set->count, sizeof *set->ids, compare) : NULL;
}

bool tv_extent_set_mark(tv_extent_set *set, tv_extent_id id)
{
    const tv_extent_id *at = find(set, id);

    if (at)
        set->is_marked[at - set->ids] = 1;
    return at != NULL;
}

bool tv_extent_set_has(const tv_extent_set *set, tv_extent_id id)
{
    return find(set, id) != NULL;
}

void tv_extent_set_keep_unmarked(tv_extent_set *set)
{
    size_t count = 0;

    for (size_t i = 0; i < set->count; i++) {
        if (!set->is_marked[i])
            set->ids[count++] = set->ids[i];
    }
    set->count = count;
    memset(set->is_marked, 0, count + 1);
}

void tv_extent_set_done(tv_extent_set *set)
{
    free(set->ids);
    free(set->is_marked);
    *set = (tv_extent_set){0};
}
