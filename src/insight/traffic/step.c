/*
 * What the advisor has done every ten seconds and every minute, with the lock held.
 * A map that is replaced lives on until no thread can be counting in it: every shard has left its
 * epoch since the new one was published (base/epoch.h).
 */
#include <stdlib.h>

#include "base/assert.h"
#include "insight/traffic/column.h"
#include "insight/traffic/internal.h"
#include "insight/traffic/layers.h"

enum {
    SYNC_MINUTES = 10,
    MADE_ROOM_MAX = 64, /* buckets for one table in one step */
};

static tv_traffic_bucket_map *map_of(tv_traffic_table_state *table)
{
    return atomic_load_explicit(&table->table.map, memory_order_relaxed);
}

static double *live_weights(const tv_traffic_table_state *table)
{
    double *weights = tv_malloc(table->live.count * sizeof *weights);

    for (size_t i = 0; i < table->live.count; i++)
        weights[i] = table->live.buckets[i].weight;
    return weights;
}

/* Whether no shard can be inside a map any more that was replaced. */
static bool is_quiet(tv_traffic *traffic, tv_retired_map *retired)
{
    for (int i = 0; i < traffic->options.shard_count; i++) {
        if (!tv_epoch_has_left(&traffic->epochs[i], retired->epochs[i]))
            return false;
        retired->epochs[i] = 0;
    }
    return true;
}

/* What was counted in a map that was replaced, on the bounds of now. */
static void fold_retired(tv_traffic_table_state *table, tv_traffic_bucket_map *old)
{
    tv_traffic_bucket_map *map = map_of(table);
    tv_counts *counts = tv_calloc(old->count, sizeof *counts);
    double *weights = live_weights(table);

    tv_traffic_bucket_map_fold(old, counts);
    if (tv_axis_project(old->axis, counts, map->axis, weights, table->minute))
        table->is_divided = true;
    tv_axis_project(old->axis, counts, map->axis, weights, table->fresh);
    free(weights);
    free(counts);
}

/* Add to the open minute what all shards have counted since the last time. */
static void fold(tv_traffic *traffic, tv_traffic_table_state *table)
{
    tv_traffic_bucket_map *map = map_of(table);
    tv_counts *counts = tv_calloc(map->count, sizeof *counts);

    for (tv_retired_map **at = &table->retired; *at;) {
        tv_retired_map *retired = *at;
        bool is_last = is_quiet(traffic, retired); /* before it is read */

        fold_retired(table, retired->map);
        if (!is_last) {
            at = &retired->next;
            continue;
        }
        *at = retired->next;
        traffic->retired_bytes -= tv_traffic_bucket_map_bytes(retired->map);
        tv_traffic_bucket_map_free(retired->map);
        free(retired);
    }

    tv_traffic_bucket_map_fold(map, counts);
    for (size_t i = 0; i < map->count; i++) {
        tv_counts_add(&table->minute[i], &counts[i]);
        tv_counts_add(&table->fresh[i], &counts[i]);
    }
    free(counts);
}

/* Counts of the open minute, on new bounds. */
static tv_counts *move_counts(tv_traffic_table_state *table, const tv_axis *from, const tv_axis *to,
                              const double *weights, const tv_counts *counts)
{
    tv_counts *moved = tv_calloc(to->count, sizeof *moved);

    if (tv_axis_project(from, counts, to, weights, moved))
        table->is_divided = true;
    return moved;
}

/* The buckets have changed: publish a map of them and retire the old one. */
static void publish(tv_traffic *traffic, tv_traffic_table_state *table)
{
    int shard_count = traffic->options.shard_count;
    tv_traffic_bucket_map *old = map_of(table);
    tv_axis *axis = tv_live_axis(&table->live);
    double *weights = live_weights(table);
    tv_counts *minute = move_counts(table, old->axis, axis, weights, table->minute);
    tv_counts *fresh = move_counts(table, old->axis, axis, weights, table->fresh);
    tv_retired_map *retired = tv_malloc(sizeof *retired + (size_t)shard_count * sizeof(uint64_t));

    free(weights);
    free(table->minute);
    free(table->fresh);
    table->minute = minute;
    table->fresh = fresh;
    atomic_store_explicit(&table->table.map, tv_traffic_bucket_map_new(axis, shard_count),
                          memory_order_seq_cst);
    tv_axis_unref(axis);

    retired->map = old;
    retired->next = table->retired;
    for (int i = 0; i < shard_count; i++)
        retired->epochs[i] = tv_epoch_look(&traffic->epochs[i]);
    table->retired = retired;
    traffic->retired_bytes += tv_traffic_bucket_map_bytes(old);
}

bool tv_traffic_make_room(tv_traffic *traffic, double below)
{
    tv_traffic_table_state *best = NULL;
    double best_weight = below, weight;
    size_t best_left = 0, left;

    for (tv_traffic_table_state *table = traffic->tables; table; table = table->next) {
        if (tv_live_lightest(&table->live, &left, &weight) && weight < best_weight) {
            best = table;
            best_left = left;
            best_weight = weight;
        }
    }
    if (best == NULL)
        return false;
    fold(traffic, best);
    tv_live_merge_at(&best->live, &traffic->pool, best_left);
    publish(traffic, best);
    return true;
}

/* When the pool is empty, what is lighter elsewhere makes room for buckets that are too heavy. */
static void make_room_for(tv_traffic *traffic, const tv_live *live)
{
    size_t wanted = tv_live_wants(live);

    if (wanted > MADE_ROOM_MAX)
        wanted = MADE_ROOM_MAX;
    while (traffic->pool.buckets_left < wanted &&
           tv_traffic_make_room(traffic, live->threshold / 2))
        continue;
}

static void adapt(tv_traffic *traffic, tv_traffic_table_state *table)
{
    size_t buckets_max = (size_t)traffic->options.buckets_max;
    bool is_changed;

    tv_live_weigh(&table->live, table->fresh, buckets_max);
    memset(table->fresh, 0, table->live.count * sizeof *table->fresh);
    is_changed = tv_live_merge(&table->live, &traffic->pool);
    if (traffic->pool.buckets_left < tv_live_wants(&table->live)) {
        if (is_changed)
            publish(traffic, table);
        is_changed = false;
        make_room_for(traffic, &table->live);
    }
    is_changed |= tv_live_split(&table->live, &traffic->pool, buckets_max);
    if (is_changed)
        publish(traffic, table);
}

/* Those that nobody counts any more, and whose counts are all in the column.  The lock was not held
 * while that was written: somebody may have come back. */
static void forget_tables(tv_traffic *traffic)
{
    for (tv_traffic_table_state **place = &traffic->tables; *place;) {
        tv_traffic_table_state *table = *place;

        if (!table->is_unused || atomic_load(&table->table.refs)) {
            place = &table->next;
            continue;
        }
        *place = table->next;
        tv_traffic_free_table(traffic, table);
    }
}

void tv_traffic_step(tv_traffic *traffic)
{
    pthread_mutex_lock(&traffic->lock);
    for (tv_traffic_table_state *table = traffic->tables; table; table = table->next)
        fold(traffic, table);
    for (tv_traffic_table_state *table = traffic->tables; table; table = table->next) {
        if (table->live.count < TV_LIVE_FEW)
            adapt(traffic, table);
    }
    pthread_mutex_unlock(&traffic->lock);
}

static bool is_idle(const tv_traffic_table_state *table, size_t count)
{
    static const tv_counts none;

    for (size_t i = 0; i < count; i++) {
        if (memcmp(&table->minute[i], &none, sizeof none) != 0)
            return false;
    }
    return true;
}

/* The tables' parts of the column.  The bounds are left out where the file has them. */
static void write_tables(tv_traffic *traffic, uint64_t file, tv_column_writer *writer,
                         tv_column_head *head)
{
    for (tv_traffic_table_state *table = traffic->tables; table; table = table->next) {
        tv_axis *axis = map_of(table)->axis;
        bool has_bounds = table->written == NULL || table->written_file != file ||
                          !tv_axis_eq(table->written, axis);

        if (is_idle(table, axis->count))
            continue;
        tv_column_add(writer, table->account, table->id, axis, has_bounds, table->minute);
        memset(table->minute, 0, axis->count * sizeof *table->minute);
        tv_axis_unref(table->written);
        table->written = tv_axis_ref(axis);
        table->written_file = file;
        if (table->is_divided)
            head->flags |= TV_COLUMN_APPROXIMATE;
        table->is_divided = false;
    }
}

/* No axis that was written before can be relied on. */
static void forget_written(tv_traffic *traffic)
{
    for (tv_traffic_table_state *table = traffic->tables; table; table = table->next)
        table->written_file = 0;
}

/* The column of a minute.  Requests of tables that are new to the recorder take the lock, so it is
 * not held while the disk is waited for. */
static tv_err close_minute(tv_traffic *traffic, uint32_t minute)
{
    tv_column_head head = {.minute = minute, .grain = TV_GRAIN_MINUTE};
    tv_column_writer writer = {0};
    tv_buf out = TV_BUF_EMPTY;
    uint64_t file = tv_traffic_store_file(traffic->store, 0, minute);
    tv_err err;

    if (traffic->is_first)
        head.flags |= TV_COLUMN_RESTARTED;
    pthread_mutex_lock(&traffic->lock);
    for (tv_traffic_table_state *table = traffic->tables; table; table = table->next) {
        table->is_unused = atomic_load(&table->table.refs) == 0;
        fold(traffic, table);
    }
    write_tables(traffic, file, &writer, &head);
    pthread_mutex_unlock(&traffic->lock);

    tv_column_finish(&writer, &head, &out);
    err = tv_traffic_store_append(traffic->store, 0, minute, tv_buf_slice(&out));
    tv_column_writer_done(&writer);
    tv_buf_done(&out);

    pthread_mutex_lock(&traffic->lock);
    if (err)
        forget_written(traffic);
    else
        traffic->is_first = false;
    forget_tables(traffic);
    for (tv_traffic_table_state *table = traffic->tables; table; table = table->next)
        adapt(traffic, table);
    pthread_mutex_unlock(&traffic->lock);
    return err;
}

tv_err tv_traffic_close_minute(tv_traffic *traffic, uint32_t minute)
{
    tv_fold_filter filter = {traffic->options.is_dropped, traffic->options.ctx};
    uint32_t before;
    bool has_before = tv_traffic_store_last(traffic->store, &before);
    tv_err err;

    if (tv_traffic_store_has(traffic->store, 0, minute))
        return TV_OK; /* what was counted meanwhile goes to the next one */

    err = close_minute(traffic, minute);
    if (err)
        return err;

    err = tv_layers_fold(traffic->store, has_before ? before : minute, minute, &filter);
    if (!err && minute % SYNC_MINUTES == SYNC_MINUTES - 1)
        err = tv_traffic_store_sync(traffic->store);
    return err;
}
