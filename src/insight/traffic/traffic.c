/* Tables and their maps, and who may have them.  step.c has what the advisor has done with them. */
#include "insight/traffic/traffic.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/random.h"
#include "insight/traffic/internal.h"
#include "insight/traffic/read.h"

tv_traffic *tv_traffic_open(const tv_traffic_options *options, char *ret_trouble,
                            size_t trouble_size)
{
    tv_traffic *traffic;

    tv_assert(options->shard_count > 0 && options->shard_count <= TV_TRAFFIC_SHARDS_MAX);
    tv_assert(options->buckets_max <= TV_TRAFFIC_BUCKETS_MAX);
    tv_assert(options->pool_max <= TV_TRAFFIC_POOL_MAX);

    traffic = tv_calloc(1, sizeof *traffic);
    traffic->options = *options;
    if (options->buckets_max == 0)
        traffic->options.buckets_max = TV_TRAFFIC_BUCKETS_MAX;
    if (options->pool_max == 0)
        traffic->options.pool_max = TV_TRAFFIC_POOL_MAX;
    traffic->store =
        tv_traffic_store_open(options->dir, options->now_minute, ret_trouble, trouble_size);
    traffic->epochs = aligned_alloc(64, (size_t)options->shard_count * sizeof *traffic->epochs);
    tv_assert(traffic->epochs);
    memset(traffic->epochs, 0, (size_t)options->shard_count * sizeof *traffic->epochs);
    pthread_mutex_init(&traffic->lock, NULL);
    traffic->pool = (tv_live_pool){.buckets_left = (size_t)traffic->options.pool_max,
                                   .samples_left = TV_TRAFFIC_SAMPLES_MAX,
                                   .random = tv_random_u64() | 1};
    traffic->is_first = true;
    return traffic;
}

static void free_retired(tv_traffic_table_state *table)
{
    while (table->retired) {
        tv_retired_map *next = table->retired->next;

        tv_traffic_bucket_map_free(table->retired->map);
        free(table->retired);
        table->retired = next;
    }
}

void tv_traffic_free_table(tv_traffic *traffic, tv_traffic_table_state *table)
{
    free_retired(table);
    tv_traffic_bucket_map_free(atomic_load(&table->table.map));
    tv_live_done(&table->live, &traffic->pool);
    tv_axis_unref(table->written);
    free(table->minute);
    free(table->fresh);
    free((void *)table->account.data);
    free(table);
    traffic->table_count--;
}

void tv_traffic_free(tv_traffic *traffic)
{
    if (traffic == NULL)
        return;

    while (traffic->tables) {
        tv_traffic_table_state *next = traffic->tables->next;

        tv_traffic_free_table(traffic, traffic->tables);
        traffic->tables = next;
    }
    tv_traffic_store_close(traffic->store);
    pthread_mutex_destroy(&traffic->lock);
    free(traffic->epochs);
    free(traffic);
}

tv_epoch *tv_traffic_epoch(tv_traffic *traffic, int index)
{
    tv_assert(index >= 0 && index < traffic->options.shard_count);
    return &traffic->epochs[index];
}

static int compare(const tv_traffic_table_state *table, tv_slice account, int64_t id)
{
    int order = tv_slice_cmp(table->account, account);

    return order ? order : (table->id > id) - (table->id < id);
}

/* A table with one bucket, at its place in the list. */
static tv_traffic_table_state *new_table(tv_traffic *traffic, tv_traffic_table_state **place,
                                         tv_slice account, int64_t id)
{
    tv_traffic_table_state *table = tv_calloc(1, sizeof *table);
    char *name = tv_malloc(account.len + 1);
    tv_axis *axis;

    tv_slice_put(name, account);
    table->traffic = traffic;
    table->account = (tv_slice){name, account.len};
    table->id = id;
    table->table.state = table;
    tv_live_init(&table->live, &traffic->pool);
    axis = tv_live_axis(&table->live);
    atomic_init(&table->table.map, tv_traffic_bucket_map_new(axis, traffic->options.shard_count));
    tv_axis_unref(axis);
    table->minute = tv_calloc(1, sizeof *table->minute);
    table->fresh = tv_calloc(1, sizeof *table->fresh);
    table->next = *place;
    *place = table;
    traffic->table_count++;
    return table;
}

tv_traffic_table *tv_traffic_table_get(tv_traffic *traffic, tv_slice account, int64_t table_id)
{
    tv_traffic_table_state **place, *table = NULL;

    pthread_mutex_lock(&traffic->lock);
    for (place = &traffic->tables; *place && compare(*place, account, table_id) < 0;)
        place = &(*place)->next;
    if (*place && compare(*place, account, table_id) == 0)
        table = *place;
    else if (traffic->pool.buckets_left > 0 || tv_traffic_make_room(traffic, INFINITY))
        table = new_table(traffic, place, account, table_id);
    if (table)
        atomic_fetch_add(&table->table.refs, 1);
    pthread_mutex_unlock(&traffic->lock);
    return table ? &table->table : NULL;
}

void tv_traffic_table_unref(tv_traffic_table *table)
{
    if (table)
        tv_assert(atomic_fetch_sub(&table->refs, 1) > 0);
}

void tv_traffic_sample(tv_traffic *traffic, tv_traffic_table *table, tv_slice key, unsigned weight)
{
    pthread_mutex_lock(&traffic->lock);
    tv_live_add_key(&table->state->live, &traffic->pool, key, weight);
    pthread_mutex_unlock(&traffic->lock);
}

tv_err tv_traffic_sync(tv_traffic *traffic)
{
    return tv_traffic_store_sync(traffic->store);
}

tv_traffic_usage tv_traffic_read_usage(tv_traffic *traffic)
{
    tv_traffic_store_usage store = tv_traffic_store_read_usage(traffic->store);
    tv_traffic_usage usage = {
        .disk_bytes = store.bytes, .columns = store.columns, .damaged_bytes = store.damaged_bytes};

    pthread_mutex_lock(&traffic->lock);
    usage.tables = traffic->table_count;
    usage.buckets = (size_t)traffic->options.pool_max - traffic->pool.buckets_left;
    usage.memory_bytes =
        sizeof *traffic + traffic->retired_bytes +
        (TV_TRAFFIC_SAMPLES_MAX - traffic->pool.samples_left) * sizeof(tv_live_sample);
    for (tv_traffic_table_state *table = traffic->tables; table; table = table->next)
        usage.memory_bytes += sizeof *table + table->account.len +
                              tv_traffic_bucket_map_bytes(atomic_load(&table->table.map)) +
                              table->live.count * (sizeof(tv_live_bucket) + 2 * sizeof(tv_counts));
    pthread_mutex_unlock(&traffic->lock);
    return usage;
}

uint32_t tv_traffic_newest(tv_traffic *traffic)
{
    uint32_t minute;

    return tv_traffic_store_last(traffic->store, &minute) ? minute + 1 : 0;
}

tv_err tv_traffic_read(tv_traffic *traffic, const tv_view_query *query, tv_view *ret_view)
{
    return tv_view_read(traffic->store, query, ret_view);
}
