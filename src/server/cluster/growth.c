/* See growth.h. */
#include "server/cluster/growth.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

enum { MARKS_MAX = 64, ROWS_FEWEST = 8 };
#define SHARE_IN_ONE 0.80      /* of the new rows: then they come into one stretch */
#define SHARE_BEFORE (1.0 / 8) /* of the rows: so many must have been there at the last look */
#define SHARE_NEW (1.0 / 256)  /* and so many must have come since */

/* --- what is remembered --- */

static void add_mark(tv_marks *marks, tv_slice partition, uint64_t rows_before)
{
    char *copy = tv_malloc(partition.len + 1);

    tv_slice_put(copy, partition);
    marks->at[marks->count++] =
        (tv_range_boundary){.partition = {copy, partition.len}, .rows_before = rows_before};
}

void tv_marks_keep(tv_marks *marks, const tv_range_shape *shape)
{
    uint64_t step = shape->rows / (MARKS_MAX - 2) + 1, next = step;

    tv_marks_done(marks);
    if (shape->rows == 0)
        return;
    marks->at = tv_calloc(MARKS_MAX, sizeof *marks->at);
    marks->rows = shape->rows;
    add_mark(marks, shape->first, 0);
    for (size_t i = 0; i < shape->count; i++) {
        const tv_range_boundary *boundary = &shape->boundaries[i];

        if (boundary->rows_before < next && i + 1 < shape->count)
            continue;
        add_mark(marks, boundary->partition, boundary->rows_before);
        next = boundary->rows_before + step;
    }
}

void tv_marks_done(tv_marks *marks)
{
    for (size_t i = 0; i < marks->count; i++)
        free((char *)marks->at[i].partition.data);
    free(marks->at);
    *marks = (tv_marks){0};
}

/* --- what has come since --- */

/* The first boundary that is not before a partition; the count when all are. */
static size_t find(const tv_range_shape *shape, tv_slice partition)
{
    size_t low = 0, high = shape->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (tv_slice_cmp(shape->boundaries[middle].partition, partition) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t rows_up_to(const tv_range_shape *shape, tv_slice partition)
{
    size_t at = find(shape, partition);

    if (tv_slice_cmp(partition, shape->first) <= 0)
        return 0;
    return at < shape->count ? shape->boundaries[at].rows_before : shape->rows;
}

/* Between two marks, before the first or behind the last. */
typedef struct stretch {
    size_t index;      /* of the mark at its end; the count of marks: none */
    uint64_t old_rows; /* that were there */
    uint64_t new_rows; /* that have come */
} stretch;

static stretch stretch_at(const tv_marks *marks, const tv_range_shape *shape, size_t index)
{
    const tv_range_boundary *from = index ? &marks->at[index - 1] : NULL;
    const tv_range_boundary *to = index < marks->count ? &marks->at[index] : NULL;
    uint64_t before = from ? from->rows_before : 0, up_to = to ? to->rows_before : marks->rows;
    uint64_t before_now = from ? rows_up_to(shape, from->partition) : 0;
    uint64_t rows_now = (to ? rows_up_to(shape, to->partition) : shape->rows) - before_now;
    uint64_t old_rows = up_to - before;

    return (stretch){index, old_rows, rows_now > old_rows ? rows_now - old_rows : 0};
}

static size_t common_bytes(tv_slice a, tv_slice b)
{
    size_t i = 0;

    while (i < a.len && i < b.len && a.data[i] == b.data[i])
        i++;
    return i;
}

/* Whether a partition is more like what was there behind it than what was there before it. */
static bool is_like_upper(tv_slice partition, tv_slice lower, tv_slice upper)
{
    return common_bytes(partition, upper) > common_bytes(partition, lower);
}

static bool is_like_lower(tv_slice partition, tv_slice lower, tv_slice upper)
{
    return common_bytes(partition, lower) > common_bytes(partition, upper);
}

/*
 * A stretch may have rows that were there before: of a table that ends in it, and of the next one.
 * New rows are more like those that they continue.
 */
static tv_growth follow(const tv_marks *marks, const tv_range_shape *shape, const stretch *in)
{
    const tv_range_boundary *boundaries = shape->boundaries;
    bool is_first = in->index == 0, is_last = in->index == marks->count;
    tv_slice lower = is_first ? shape->start : marks->at[in->index - 1].partition;
    tv_slice upper = is_last ? shape->end : marks->at[in->index].partition;
    tv_growth growth = {
        .kind = TV_GROWTH_UP,
        .first = is_first ? 0 : find(shape, lower),
        .end = is_last ? shape->count : find(shape, upper),
        .is_from_start = is_first,
    };
    size_t middle = (growth.first + growth.end) / 2;
    tv_slice inside = middle < growth.end ? boundaries[middle].partition : shape->first;

    if (is_first ? !is_like_lower(inside, lower, upper) : is_like_upper(inside, lower, upper))
        growth.kind = TV_GROWTH_DOWN;
    if (growth.kind == TV_GROWTH_UP) {
        uint64_t rows =
            growth.end < shape->count ? boundaries[growth.end].rows_before : shape->rows;

        while (growth.end > growth.first + 1 &&
               rows - boundaries[growth.end - 1].rows_before <= in->old_rows &&
               is_like_upper(boundaries[growth.end - 1].partition, lower, upper))
            growth.end--;
    } else {
        uint64_t rows = is_first ? 0 : rows_up_to(shape, lower);

        while (growth.first + 1 < growth.end &&
               boundaries[growth.first + 1].rows_before - rows <= in->old_rows &&
               is_like_lower(boundaries[growth.first].partition, lower, upper))
            growth.first++;
    }
    return growth;
}

tv_growth tv_growth_since(const tv_marks *marks, const tv_range_shape *shape)
{
    stretch most = {0};
    uint64_t rows = 0;

    if (marks->rows < ROWS_FEWEST || (double)marks->rows < SHARE_BEFORE * (double)shape->rows)
        return (tv_growth){.kind = TV_GROWTH_UNKNOWN};
    for (size_t i = 0; i <= marks->count; i++) {
        stretch one = stretch_at(marks, shape, i);

        rows += one.new_rows;
        if (one.new_rows > most.new_rows)
            most = one;
    }
    if (rows < ROWS_FEWEST || (double)rows < SHARE_NEW * (double)shape->rows)
        return (tv_growth){.kind = TV_GROWTH_UNKNOWN};
    if ((double)most.new_rows < SHARE_IN_ONE * (double)rows)
        return (tv_growth){.kind = TV_GROWTH_SPREAD};
    return follow(marks, shape, &most);
}
