#include "insight/traffic/pattern.h"

#include <stdlib.h>

#include "base/assert.h"

enum { BUCKETS_MIN = 8 }; /* with fewer there is no picture */

static uint64_t cell(const tv_grid *grid, size_t slot, size_t bucket)
{
    return grid->cells[slot * grid->buckets + bucket];
}

static uint64_t slot_sum(const tv_grid *grid, size_t slot)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < grid->buckets; i++)
        sum += cell(grid, slot, i);
    return sum;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

bool tv_pattern_even(const tv_grid *grid, tv_pattern *ret_pattern)
{
    uint64_t *sums, hottest, median;

    if (grid->buckets < BUCKETS_MIN || grid->slots == 0)
        return false;

    sums = tv_calloc(grid->buckets, sizeof *sums);
    for (size_t slot = 0; slot < grid->slots; slot++) {
        for (size_t i = 0; i < grid->buckets; i++)
            sums[i] += cell(grid, slot, i);
    }
    qsort(sums, grid->buckets, sizeof *sums, compare_numbers);
    hottest = sums[grid->buckets - 1];
    median = sums[grid->buckets / 2];
    free(sums);
    if (hottest == 0 || hottest / 4 >= median)
        return false;

    *ret_pattern =
        (tv_pattern){.kind = TV_PATTERN_EVEN, .slots = grid->slots, .buckets = grid->buckets};
    return true;
}

/* How much a row of numbers is like itself `lag` later: 1 the same, 0 not at all. */
static double autocorrelation(const double *deviations, size_t count, size_t lag)
{
    double both = 0, own = 0;

    for (size_t i = 0; i < count; i++)
        own += deviations[i] * deviations[i];
    for (size_t i = 0; i + lag < count; i++)
        both += deviations[i] * deviations[i + lag];
    return own > 0 ? both / own * ((double)count / (double)(count - lag)) : 0;
}

/* The shortest time after which the row repeats itself, and in between does not; 0 for none. */
static size_t find_period(const double *deviations, size_t count)
{
    bool has_fallen = false;

    for (size_t lag = 1; lag <= count / 3; lag++) {
        double here = autocorrelation(deviations, count, lag);

        if (here < 0.3)
            has_fallen = true;
        if (has_fallen && here > 0.6 &&
            (lag == count / 3 || here >= autocorrelation(deviations, count, lag + 1)))
            return lag;
    }
    return 0;
}

bool tv_pattern_stripes(const tv_grid *grid, tv_pattern *ret_pattern)
{
    double *deviations, mean = 0, square = 0;
    size_t period = 0;
    tv_pattern even;

    if (grid->slots < TV_PATTERN_SLOTS_MIN || !tv_pattern_even(grid, &even))
        return false;

    deviations = tv_malloc(grid->slots * sizeof *deviations);
    for (size_t i = 0; i < grid->slots; i++) {
        deviations[i] = (double)slot_sum(grid, i);
        mean += deviations[i] / (double)grid->slots;
    }
    for (size_t i = 0; i < grid->slots; i++) {
        deviations[i] -= mean;
        square += deviations[i] * deviations[i] / (double)grid->slots;
    }
    if (square > 0.25 * mean * mean) /* less cannot be seen */
        period = find_period(deviations, grid->slots);
    free(deviations);
    if (period == 0)
        return false;

    *ret_pattern = (tv_pattern){.kind = TV_PATTERN_STRIPES,
                                .slots = grid->slots,
                                .buckets = grid->buckets,
                                .period = period};
    return true;
}

/* The longest time that buckets [first, first + width) have their share of each slot. */
static size_t longest_run(const tv_grid *grid, const uint64_t *totals, size_t first, size_t width,
                          double share_min, size_t *ret_slot, double *ret_sum, double *ret_share)
{
    double sum = 0, all = 0;
    size_t run = 0, longest = 0;

    for (size_t slot = 0; slot < grid->slots; slot++) {
        uint64_t own = 0;

        for (size_t i = 0; i < width; i++)
            own += cell(grid, slot, first + i);
        if (own == 0 || (double)own < share_min * (double)totals[slot]) {
            run = 0;
            sum = all = 0;
            continue;
        }
        run++;
        sum += (double)own;
        all += (double)totals[slot];
        if (run > longest) {
            longest = run;
            *ret_slot = slot + 1 - run;
            *ret_sum = sum;
            *ret_share = sum / all;
        }
    }
    return longest;
}

bool tv_pattern_hot_line(const tv_grid *grid, tv_pattern *ret_pattern)
{
    size_t width = grid->buckets / 500 ? grid->buckets / 500 : 1;
    double share_min = 4.0 * (double)width / (double)grid->buckets, best = 0;
    uint64_t *totals;

    if (grid->buckets < 2 || grid->slots < TV_PATTERN_SLOTS_MIN)
        return false;
    if (share_min < 0.25)
        share_min = 0.25;
    if (share_min > 0.8)
        share_min = 0.8; /* of a table that has hardly any buckets: nearly all is in one */

    totals = tv_malloc(grid->slots * sizeof *totals);
    for (size_t i = 0; i < grid->slots; i++)
        totals[i] = slot_sum(grid, i);
    for (size_t first = 0; first + width <= grid->buckets; first++) {
        size_t slot = 0, run;
        double sum = 0, share = 0;

        run = longest_run(grid, totals, first, width, share_min, &slot, &sum, &share);
        if (run < TV_PATTERN_SLOTS_MIN || sum <= best)
            continue;
        best = sum;
        *ret_pattern = (tv_pattern){.kind = TV_PATTERN_HOT_LINE,
                                    .slot = slot,
                                    .slots = run,
                                    .bucket = first,
                                    .buckets = width,
                                    .share = share};
    }
    free(totals);
    return best > 0;
}

/* How writes go through the keys, slot by slot. */
typedef struct drift {
    size_t slots, up, down;          /* slots with writes; steps of their middle */
    size_t first, last;              /* middles: half of a slot's writes are below */
    size_t highest, lowest;          /* buckets that were written to so far */
    uint64_t at_top, at_bottom, all; /* writes at the edge of all before, but for the first slot */
} drift;

/* The bucket in which half of a slot's writes are reached. */
static size_t middle_of(const tv_grid *grid, size_t slot, uint64_t sum)
{
    uint64_t below = 0;
    size_t i = 0;

    while (i + 1 < grid->buckets && (below += cell(grid, slot, i)) * 2 < sum)
        i++;
    return i;
}

static void drift_slot(drift *d, const tv_grid *grid, size_t slot)
{
    uint64_t sum = slot_sum(grid, slot);
    size_t middle, highest = 0, lowest = SIZE_MAX;

    if (sum == 0)
        return;
    for (size_t i = 0; i < grid->buckets; i++) {
        uint64_t writes = cell(grid, slot, i);

        if (writes == 0)
            continue;
        highest = i;
        lowest = lowest == SIZE_MAX ? i : lowest;
        if (d->slots) {
            d->at_top += i >= d->highest ? writes : 0;
            d->at_bottom += i <= d->lowest ? writes : 0;
            d->all += writes;
        }
    }

    middle = middle_of(grid, slot, sum);
    if (d->slots == 0) {
        d->first = d->last = middle;
        d->highest = highest;
        d->lowest = lowest;
    }
    d->up += middle > d->last;
    d->down += middle < d->last;
    d->last = middle;
    d->slots++;
    if (highest > d->highest)
        d->highest = highest;
    if (lowest < d->lowest)
        d->lowest = lowest;
}

bool tv_pattern_diagonal(const tv_grid *grid, tv_pattern *ret_pattern)
{
    drift d = {0};
    size_t moved, way;
    bool is_rising;
    double edge;

    if (grid->buckets < BUCKETS_MIN)
        return false;
    for (size_t slot = 0; slot < grid->slots; slot++)
        drift_slot(&d, grid, slot);

    moved = d.up + d.down;
    is_rising = d.up > d.down;
    if (moved + 1 < TV_PATTERN_SLOTS_MIN || is_rising != (d.last > d.first) ||
        (double)(is_rising ? d.up : d.down) <= 0.8 * (double)moved)
        return false;

    way = is_rising ? d.last - d.first : d.first - d.last;
    edge = (double)(is_rising ? d.at_top : d.at_bottom) / (double)d.all;
    if (edge < 0.5 || way * 10 < grid->buckets)
        return false;

    *ret_pattern = (tv_pattern){.kind = is_rising ? TV_PATTERN_RISING : TV_PATTERN_FALLING,
                                .slots = grid->slots,
                                .bucket = d.lowest,
                                .buckets = d.highest - d.lowest + 1,
                                .share = edge};
    return true;
}

bool tv_pattern_wall(const tv_grid *grid, uint64_t row_count, tv_pattern *ret_pattern)
{
    uint64_t best = 0;
    size_t times = 0;

    for (size_t slot = 0; slot < grid->slots; slot++) {
        uint64_t sum = slot_sum(grid, slot);
        size_t touched = 0;

        for (size_t i = 0; i < grid->buckets; i++)
            touched += cell(grid, slot, i) > 0;
        /* Few buckets say nothing about which keys were read; then the size of the table does. */
        if (sum == 0 || touched * 10 < grid->buckets * 9 ||
            (row_count ? (double)sum < 0.9 * (double)row_count : grid->buckets < BUCKETS_MIN))
            continue;
        times++;
        if (sum <= best)
            continue;
        best = sum;
        *ret_pattern = (tv_pattern){.kind = TV_PATTERN_WALL,
                                    .slot = slot,
                                    .slots = 1,
                                    .buckets = grid->buckets,
                                    .share = row_count ? (double)sum / (double)row_count : 0};
    }
    ret_pattern->times = times;
    return times > 0;
}

size_t tv_view_recorded(const tv_view *view)
{
    size_t count = 0;

    for (size_t i = 0; i < view->slots; i++)
        count += view->is_recorded[i];
    return count;
}

size_t tv_patterns_find(const tv_view *view, tv_traffic_measure measure, uint64_t row_count,
                        tv_pattern ret_patterns[TV_PATTERN_KINDS])
{
    size_t first = 0, end = view->slots, count = 0;
    tv_grid grid;

    if (tv_view_recorded(view) < TV_PATTERN_SLOTS_MIN)
        return 0;

    /* Without the time before the first column and after the last one. */
    while (!view->is_recorded[first])
        first++;
    while (!view->is_recorded[end - 1])
        end--;
    grid =
        (tv_grid){view->cells[measure] + first * view->axis->count, end - first, view->axis->count};

    if (tv_pattern_hot_line(&grid, &ret_patterns[count])) {
        ret_patterns[count].is_one_key = ret_patterns[count].buckets == 1 &&
                                         tv_axis_is_one_key(view->axis, ret_patterns[count].bucket);
        count++;
    }
    if (measure == TV_MEASURE_WRITES)
        count += tv_pattern_diagonal(&grid, &ret_patterns[count]);
    if (measure == TV_MEASURE_SCANNED)
        count += tv_pattern_wall(&grid, row_count, &ret_patterns[count]);
    if (tv_pattern_stripes(&grid, &ret_patterns[count]))
        count++;
    else if (count == 0)
        count += tv_pattern_even(&grid, &ret_patterns[count]);
    for (size_t i = 0; i < count; i++)
        ret_patterns[i].slot += first;
    return count;
}
