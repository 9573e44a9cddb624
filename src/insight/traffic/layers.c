#include "insight/traffic/layers.h"

#include <stdlib.h>

#include "insight/traffic/gather.h"

static int compare(const void *a, const void *b)
{
    const tv_gathered *x = a, *y = b;
    int order = tv_slice_cmp(x->account, y->account);

    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static double *weights_of(const tv_counts *counts, size_t count)
{
    double *weights = tv_malloc(count * sizeof *weights);

    for (size_t i = 0; i < count; i++)
        weights[i] = tv_counts_weight(&counts[i]);
    return weights;
}

/* One table: all its pieces on the newest axis, squeezed.  Returns whether counts were divided. */
static bool fold_table(const tv_gathered *table, size_t buckets_max, tv_column_writer *writer)
{
    const tv_piece *newest = &table->pieces[table->count - 1];
    tv_counts *sums = tv_calloc(newest->axis->count, sizeof *sums);
    double *weights = weights_of(newest->counts, newest->axis->count);
    bool is_divided = false;

    for (size_t i = 0; i < table->count; i++)
        is_divided |= tv_axis_project(table->pieces[i].axis, table->pieces[i].counts, newest->axis,
                                      weights, sums);
    free(weights);
    weights = weights_of(sums, newest->axis->count);

    tv_axis *axis = tv_axis_squeeze(newest->axis, weights, buckets_max);
    tv_counts *squeezed = tv_calloc(axis->count, sizeof *squeezed);

    tv_axis_project(newest->axis, sums, axis, weights, squeezed); /* nests, so nothing is divided */
    tv_column_add(writer, table->account, table->id, axis, true, squeezed);
    free(squeezed);
    free(weights);
    free(sums);
    tv_axis_unref(axis);
    return is_divided;
}

/* The column of `layer` that begins at `from`, out of those of the layer below. */
static tv_err fold(tv_traffic_store *store, int layer, uint32_t from, const tv_fold_filter *filter)
{
    tv_grain grain = tv_layers[layer].grain;
    tv_traffic_gather gather = {.from = from, .to = from + grain};
    tv_column_head head = {.minute = from, .grain = (uint16_t)grain};
    tv_column_writer writer = {0};
    tv_buf file = TV_BUF_EMPTY, out = TV_BUF_EMPTY;
    tv_err err = tv_traffic_store_read(store, layer - 1, from, &file);

    if (err)
        goto out;

    tv_traffic_gather_file(&gather, tv_buf_slice(&file));
    if (gather.count)
        qsort(gather.tables, gather.count, sizeof *gather.tables, compare);
    head.flags = (uint16_t)gather.flags;
    for (size_t i = 0; i < gather.count; i++) {
        const tv_gathered *table = &gather.tables[i];

        if (table->count == 0 || writer.count == TV_COLUMN_TABLES_MAX ||
            (filter->is_dropped && filter->is_dropped(filter->ctx, table->account, table->id)))
            continue;
        if (fold_table(table, tv_layers[layer].buckets_max, &writer))
            head.flags |= TV_COLUMN_APPROXIMATE;
    }
    tv_column_finish(&writer, &head, &out);
    err = tv_traffic_store_append(store, layer, from, tv_buf_slice(&out));

out:
    tv_column_writer_done(&writer);
    tv_traffic_gather_done(&gather);
    tv_buf_done(&file);
    tv_buf_done(&out);
    return err;
}

/* The column of `layer` that `minute` lies in, unless there is one. */
static tv_err fold_once(tv_traffic_store *store, int layer, uint32_t minute,
                        const tv_fold_filter *filter)
{
    if (tv_traffic_store_has(store, layer, minute))
        return TV_OK;
    return fold(store, layer, minute - minute % (uint32_t)tv_layers[layer].grain, filter);
}

tv_err tv_layers_fold(tv_traffic_store *store, uint32_t before, uint32_t minute,
                      const tv_fold_filter *filter)
{
    for (int layer = 1; layer < TV_LAYERS; layer++) {
        uint32_t grain = (uint32_t)tv_layers[layer].grain;
        tv_err err = TV_OK;

        if (before / grain != minute / grain)
            err = fold_once(store, layer, before, filter);
        if (!err && minute % grain == grain - 1)
            err = fold_once(store, layer, minute, filter);
        if (err)
            return err;
    }
    return TV_OK;
}
