#include "insight/traffic/view.h"

#include <stdlib.h>

#include "base/assert.h"
#include "insight/traffic/gather.h"
#include "insight/traffic/read.h"

void tv_view_done(tv_view *view)
{
    for (int k = 0; k < TV_MEASURES; k++)
        free(view->cells[k]);
    free(view->is_recorded);
    tv_axis_unref(view->axis);
    *view = (tv_view){0};
}

size_t tv_view_recorded(const tv_view *view)
{
    size_t count = 0;

    for (size_t i = 0; i < view->slots; i++)
        count += view->is_recorded[i];
    return count;
}

uint32_t tv_view_until(const tv_view *view)
{
    for (size_t i = view->slots; i > 0; i--) {
        if (view->is_recorded[i - 1])
            return view->from + (uint32_t)(i * view->grain);
    }
    return 0;
}

/* While a view is made. */
typedef struct view_work {
    const tv_view_query *query;
    tv_view *view;
    tv_traffic_gather gather;
    tv_buf files[TV_LAYER_FILES_MAX]; /* what is gathered points into them */
    int file_count;
} view_work;

static size_t slot_of(const tv_view *view, uint32_t minute)
{
    return (minute - view->from) / (uint32_t)view->grain;
}

static void note_column(void *ctx, const tv_column_head *head)
{
    tv_view *view = ((view_work *)ctx)->view;

    view->is_recorded[slot_of(view, head->minute)] = true;
}

/* The time of the view: whole slots, the newest if they are too many. */
static void choose_slots(const tv_view_query *query, tv_view *view)
{
    uint32_t grain = (uint32_t)query->grain, from = query->from - query->from % grain;
    uint32_t to = query->to < UINT32_MAX - grain ? query->to + grain - 1 : query->to;

    to -= to % grain;
    view->grain = query->grain;
    view->slots = to > from ? (to - from) / grain : 0;
    if (view->slots > TV_VIEW_SLOTS_MAX)
        view->slots = TV_VIEW_SLOTS_MAX;
    view->from = to - (uint32_t)view->slots * grain;
    if (view->slots == 0)
        view->from = from;
}

/* Read the files that have columns of this time. */
static tv_err read_files(tv_traffic_store *store, view_work *work)
{
    const tv_layer *layer = &tv_layers[tv_layer_of(work->view->grain)];
    tv_traffic_gather *gather = &work->gather;
    uint32_t number = gather->from / layer->file_minutes, newest = 0;

    /* Only the last few can be there, however long ago the time begins. */
    if (gather->to > gather->from)
        newest = (gather->to - 1) / layer->file_minutes;
    if (newest >= TV_LAYER_FILES_MAX && number <= newest - TV_LAYER_FILES_MAX)
        number = newest - TV_LAYER_FILES_MAX + 1;
    for (; gather->to > gather->from && number <= newest; number++) {
        tv_buf *file = &work->files[work->file_count++];
        tv_err err = tv_traffic_store_read(store, tv_layer_of(work->view->grain),
                                           number * layer->file_minutes, file);

        if (err)
            return err;
        tv_traffic_gather_file(gather, tv_buf_slice(file));
    }
    return TV_OK;
}

/* Leave out slots before the first column. */
static void fit(tv_view *view)
{
    size_t first = 0;

    while (first < view->slots && !view->is_recorded[first])
        first++;
    if (first == view->slots || view->slots < TV_VIEW_FITTED_SLOTS)
        return;
    if (first > view->slots - TV_VIEW_FITTED_SLOTS)
        first = view->slots - TV_VIEW_FITTED_SLOTS;
    view->slots -= first;
    view->from += (uint32_t)first * (uint32_t)view->grain;
    memmove(view->is_recorded, view->is_recorded + first, view->slots * sizeof(bool));
}

static double weight_of(const tv_counts *counts)
{
    return tv_counts_weight(counts) + (double)counts->by[TV_MEASURE_CONFLICTS] +
           (double)counts->by[TV_MEASURE_THROTTLED];
}

/* What each bucket of `axis` has had, a bucket that lies in several divided evenly. */
static double *weigh(const tv_gathered *table, const tv_axis *axis)
{
    double *steps = tv_calloc(axis->count + 1, sizeof *steps), sum = 0;

    for (size_t i = 0; i < table->count; i++) {
        const tv_piece *piece = &table->pieces[i];

        for (size_t k = 0; k < piece->axis->count; k++) {
            double weight = weight_of(&piece->counts[k]);
            size_t first, end;

            if (weight <= 0)
                continue;
            first = tv_axis_find(axis, piece->axis->bounds[k]);
            end = k + 1 == piece->axis->count ? axis->count
                                              : tv_axis_find(axis, piece->axis->bounds[k + 1]);
            if (end <= first)
                end = first + 1;
            weight /= (double)(end - first);
            steps[first] += weight;
            steps[end] -= weight;
        }
    }
    for (size_t i = 0; i < axis->count; i++) {
        sum += steps[i];
        steps[i] = sum > 1e-6 ? sum : 0; /* what rounding has left is nothing */
    }
    return steps;
}

/* All bounds of a table's columns, and the ends of the range of keys. */
static tv_axis *unite(const tv_gathered *table, const tv_view_query *query)
{
    tv_axis **axes = tv_malloc((table->count + 2) * sizeof *axes), *united;
    tv_slice bounds[2] = {TV_LIT(""), query->low};
    size_t count = 0, own = 0;

    for (size_t i = 0; i < table->count; i++) {
        if (i == 0 || table->pieces[i].axis != table->pieces[i - 1].axis)
            axes[count++] = table->pieces[i].axis;
    }
    if (query->low.len)
        axes[count + own++] = tv_axis_new(bounds, 2);
    bounds[1] = query->high;
    if (query->high.len)
        axes[count + own++] = tv_axis_new(bounds, 2);
    united = tv_axis_unite(axes, count + own);
    while (own)
        tv_axis_unref(axes[count + --own]);
    free(axes);
    return united;
}

/* The part of an axis that lies in [low, high): its first bucket and how many. */
static void range_of(const tv_axis *axis, const tv_view_query *query, size_t *ret_first,
                     size_t *ret_count)
{
    size_t first = tv_axis_find(axis, query->low);
    size_t end = query->high.len ? tv_axis_find(axis, query->high) : axis->count;

    *ret_first = first;
    *ret_count = end > first ? end - first : 1;
}

/* The axis of the view, squeezed, with what lies before and after the range of keys in one bucket
 * each. */
static tv_axis *choose_axis(const tv_gathered *table, const tv_view_query *query)
{
    tv_axis *united = unite(table, query), *inner, *squeezed, *full;
    double *weights = weigh(table, united);
    size_t first, count, total = 0;

    range_of(united, query, &first, &count);

    tv_slice *bounds = tv_malloc((count + 2) * sizeof *bounds);

    for (size_t i = 0; i < count; i++)
        bounds[i] = i ? united->bounds[first + i] : TV_LIT("");
    inner = tv_axis_new(bounds, count);
    squeezed = tv_axis_squeeze(inner, weights + first, query->buckets_max);

    bounds[total++] = TV_LIT("");
    if (query->low.len)
        bounds[total++] = query->low;
    for (size_t i = 1; i < squeezed->count; i++)
        bounds[total++] = squeezed->bounds[i];
    if (query->high.len)
        bounds[total++] = query->high;
    full = tv_axis_new(bounds, total);

    free(bounds);
    free(weights);
    tv_axis_unref(squeezed);
    tv_axis_unref(inner);
    tv_axis_unref(united);
    return full;
}

/* The axis without what lies before and after the range. */
static tv_axis *inner_axis(const tv_axis *full, size_t first, size_t count)
{
    tv_slice *bounds = tv_malloc(count * sizeof *bounds);
    tv_axis *axis;

    for (size_t i = 0; i < count; i++)
        bounds[i] = i ? full->bounds[first + i] : TV_LIT("");
    axis = tv_axis_new(bounds, count);
    free(bounds);
    return axis;
}

/* Who asks chooses how many there are. */
static tv_err allocate_cells(tv_view *view, unsigned measures)
{
    for (int k = 0; k < TV_MEASURES; k++) {
        if (!(measures >> k & 1))
            continue;
        view->cells[k] = calloc(view->slots * view->axis->count + 1, sizeof(uint64_t));
        if (view->cells[k] == NULL)
            return TV_ERR_OVERLOADED;
    }
    return TV_OK;
}

/* Which bounds of an axis another one has, too. */
static void find_shared(const tv_axis *axis, const tv_axis *other, bool *ret_is_shared)
{
    size_t k = 0;

    for (size_t i = 0; i < axis->count; i++) {
        int order = -1;

        while (k < other->count && (order = tv_slice_cmp(other->bounds[k], axis->bounds[i])) < 0)
            k++;
        ret_is_shared[i] = k < other->count && order == 0;
    }
}

/* How much the heaviest of the parts between the ends of [first, end) has; of two parts the
 * lighter; negative when there is but one. */
static double heaviest_inner(const bool *is_start, size_t first, size_t end, const double *overall)
{
    double parts[2] = {0}, best = -1, sum = overall[first];
    size_t count = 1;

    for (size_t i = first + 1; i < end; i++) {
        if (is_start[i]) {
            if (count == 1)
                parts[0] = sum;
            else if (sum > best)
                best = sum;
            count++;
            sum = 0;
        }
        sum += overall[i];
    }
    parts[1] = sum;
    if (count == 2)
        return parts[0] < parts[1] ? parts[0] : parts[1];
    return best;
}

/* Give a part at one end of a bucket at most `most`, at its place that is nearest to the others. */
static void limit(double *weights, size_t first, size_t end, size_t nearest, double most)
{
    double sum = 0;

    for (size_t i = first; i < end; i++)
        sum += weights[i];
    if (sum <= most)
        return;
    for (size_t i = first; i < end; i++)
        weights[i] = i == nearest ? most : 0;
}

/*
 * By what a column's counts are divided: by what all columns have had.  But a bucket that was split
 * for what it had counted has that between the new bounds, and little at its ends, whatever is
 * written there later: an append begins in a bucket that reaches to the end of the keys.
 */
static void weigh_piece(const tv_gathered *table, size_t piece, const tv_axis *axis,
                        const double *overall, double *weights)
{
    const tv_axis *own = table->pieces[piece].axis;
    const tv_axis *next = piece + 1 < table->count ? table->pieces[piece + 1].axis : own;
    size_t end = 0;
    bool *is_start;

    memcpy(weights, overall, axis->count * sizeof *weights);
    if (next == own)
        return;
    is_start = tv_malloc(axis->count * sizeof *is_start);
    find_shared(axis, next, is_start);
    for (size_t k = 0; k < own->count; k++) {
        size_t first = end, low, high;
        double most;

        end = k + 1 < own->count ? tv_axis_find(axis, own->bounds[k + 1]) : axis->count;
        if (end < first + 2)
            continue;
        most = heaviest_inner(is_start, first, end, overall);
        if (most < 0)
            continue;
        for (low = first + 1; !is_start[low];)
            low++;
        for (high = end - 1; !is_start[high];)
            high--;
        limit(weights, first, low, low - 1, most);
        limit(weights, high, end, high, most);
    }
    free(is_start);
}

/* Divide the columns between the buckets of `full`, and put those from `first` on into the cells.
 */
static void fill_cells(const tv_gathered *table, const tv_axis *full, size_t first, tv_view *view)
{
    double *overall = weigh(table, full), *weights = tv_malloc(full->count * sizeof *weights);
    tv_counts *counts = tv_malloc(full->count * sizeof *counts);
    size_t count = view->axis->count;

    for (size_t i = 0; i < table->count; i++) {
        const tv_piece *piece = &table->pieces[i];
        size_t row = slot_of(view, piece->minute) * count;

        weigh_piece(table, i, full, overall, weights);
        memset(counts, 0, full->count * sizeof *counts);
        if (tv_axis_project(piece->axis, piece->counts, full, weights, counts))
            view->is_approximate = true;
        for (int k = 0; k < TV_MEASURES; k++) {
            for (size_t b = 0; b < count && view->cells[k]; b++)
                view->cells[k][row + b] += counts[first + b].by[k];
        }
    }
    free(counts);
    free(weights);
    free(overall);
}

static tv_err fill(const tv_gathered *table, const tv_view_query *query, tv_view *view)
{
    tv_axis *full = choose_axis(table, query);
    size_t first, count;
    tv_err err;

    range_of(full, query, &first, &count);
    view->axis = inner_axis(full, first, count);
    err = allocate_cells(view, query->measures);
    if (err == TV_OK)
        fill_cells(table, full, first, view);
    tv_axis_unref(full);
    return err;
}

/* Patterns, from the first column that was recorded to the last. */
static void find_patterns(const tv_gathered *table, const tv_view_query *query, tv_view *view)
{
    uint32_t grain = (uint32_t)view->grain;
    size_t first = 0, end = view->slots;

    while (first < end && !view->is_recorded[first])
        first++;
    while (end > first && !view->is_recorded[end - 1])
        end--;

    tv_pattern_input input = {.pieces = table->pieces,
                              .count = table->count,
                              .from = view->from + (uint32_t)first * grain,
                              .to = view->from + (uint32_t)end * grain,
                              .grain = grain,
                              .low = query->low,
                              .high = query->high,
                              .row_count = query->row_count};

    view->pattern_count = tv_patterns_find(&input, view->patterns);
}

tv_err tv_view_read(tv_traffic_store *store, const tv_view_query *query, tv_view *ret_view)
{
    static const tv_slice no_bounds[1] = {{"", 0}};
    view_work work = {.query = query, .view = ret_view};
    tv_err err;

    tv_assert(query->buckets_max > 0 && query->buckets_max <= TV_VIEW_BUCKETS_MAX);
    *ret_view = (tv_view){0};
    choose_slots(query, ret_view);
    ret_view->is_recorded = tv_calloc(ret_view->slots + 1, sizeof(bool));
    work.gather = (tv_traffic_gather){
        .account = query->account,
        .table_id = query->table_id,
        .from = ret_view->from,
        .to = ret_view->from + (uint32_t)ret_view->slots * (uint32_t)query->grain,
        .on_column = note_column,
        .ctx = &work,
    };
    err = read_files(store, &work);
    if (query->is_fitted)
        fit(ret_view);
    if (!err && work.gather.count && work.gather.tables[0].count) {
        err = fill(&work.gather.tables[0], query, ret_view);
        find_patterns(&work.gather.tables[0], query, ret_view);
        ret_view->is_approximate |= (work.gather.flags & TV_COLUMN_APPROXIMATE) != 0;
    } else if (!err) {
        ret_view->axis = tv_axis_new(no_bounds, 1);
        err = allocate_cells(ret_view, query->measures);
    }

    tv_traffic_gather_done(&work.gather);
    for (int i = 0; i < work.file_count; i++)
        tv_buf_done(&work.files[i]);
    if (err)
        tv_view_done(ret_view);
    return err;
}
