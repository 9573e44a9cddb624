#include "insight/traffic/axis.h"

#include <stdlib.h>

#include "base/assert.h"
#include "store/engine/key.h"

tv_axis *tv_axis_new(const tv_slice *bounds, size_t count)
{
    size_t bytes = 0;

    tv_assert(count > 0 && bounds[0].len == 0);
    for (size_t i = 0; i < count; i++)
        bytes += bounds[i].len;

    tv_axis *axis = tv_malloc(sizeof *axis + count * sizeof axis->bounds[0] + bytes);
    char *to = (char *)&axis->bounds[count];

    atomic_init(&axis->refs, 1);
    axis->count = count;
    for (size_t i = 0; i < count; i++) {
        tv_assert(i == 0 || tv_slice_cmp(bounds[i - 1], bounds[i]) < 0);
        axis->bounds[i] = (tv_slice){to, bounds[i].len};
        to = tv_slice_put(to, bounds[i]);
    }
    return axis;
}

tv_axis *tv_axis_ref(tv_axis *axis)
{
    atomic_fetch_add_explicit(&axis->refs, 1, memory_order_relaxed);
    return axis;
}

void tv_axis_unref(tv_axis *axis)
{
    if (axis && atomic_fetch_sub_explicit(&axis->refs, 1, memory_order_acq_rel) == 1)
        free(axis);
}

size_t tv_axis_find(const tv_axis *axis, tv_slice key)
{
    size_t low = 0, high = axis->count;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (tv_slice_cmp(axis->bounds[middle], key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool tv_axis_eq(const tv_axis *a, const tv_axis *b)
{
    if (a == b)
        return true;
    if (a->count != b->count)
        return false;

    for (size_t i = 0; i < a->count; i++) {
        if (!tv_slice_eq(a->bounds[i], b->bounds[i]))
            return false;
    }
    return true;
}

bool tv_axis_is_one_key(const tv_axis *axis, size_t bucket)
{
    if (bucket + 1 >= axis->count)
        return false;

    tv_slice first = axis->bounds[bucket], end = axis->bounds[bucket + 1];

    return end.len == first.len + 1 && end.data[first.len] == TV_KEY_MARK &&
           tv_slice_starts_with(end, first);
}

static int compare(const void *a, const void *b)
{
    return tv_slice_cmp(*(const tv_slice *)a, *(const tv_slice *)b);
}

tv_axis *tv_axis_unite(tv_axis *const *axes, size_t count)
{
    size_t total = 0, kept = 0;

    for (size_t i = 0; i < count; i++)
        total += axes[i]->count;
    tv_assert(total > 0);

    tv_slice *bounds = tv_malloc(total * sizeof *bounds);

    total = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < axes[i]->count; k++)
            bounds[total++] = axes[i]->bounds[k];
    }
    qsort(bounds, total, sizeof *bounds, compare);
    for (size_t i = 0; i < total; i++) {
        if (kept == 0 || !tv_slice_eq(bounds[kept - 1], bounds[i]))
            bounds[kept++] = bounds[i];
    }

    tv_axis *united = tv_axis_new(bounds, kept);

    free(bounds);
    return united;
}
