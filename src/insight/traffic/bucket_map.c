#include "insight/traffic/bucket_map.h"

#include <stdlib.h>

#include "base/assert.h"

/* The first eight bytes as a number that sorts as they do. */
static uint64_t head_of(tv_slice bytes)
{
    unsigned char head[8] = {0};
    uint64_t number;

    if (bytes.len >= sizeof head)
        memcpy(&number, bytes.data, sizeof number);
    else {
        tv_slice_put((char *)head, bytes);
        memcpy(&number, head, sizeof number);
    }
    return __builtin_bswap64(number);
}

static tv_slice common_of(const tv_axis *axis)
{
    if (axis->count < 2)
        return TV_LIT("");

    /* Bounds ascend, so what the first and the last have in common, all have. */
    tv_slice first = axis->bounds[1], last = axis->bounds[axis->count - 1];
    size_t len = 0;

    while (len < first.len && len < last.len && first.data[len] == last.data[len])
        len++;
    return tv_slice_take(first, len);
}

tv_traffic_bucket_map *tv_traffic_bucket_map_new(tv_axis *axis, int shard_count)
{
    tv_traffic_bucket_map *map = tv_calloc(1, sizeof *map);
    uint64_t *heads = tv_malloc(axis->count * sizeof *heads);

    map->axis = tv_axis_ref(axis);
    map->count = axis->count;
    map->common = common_of(axis);
    heads[0] = 0;
    for (size_t i = 1; i < axis->count; i++)
        heads[i] = head_of(tv_slice_skip(axis->bounds[i], map->common.len));
    map->heads = heads;

    /* Whole lines of the cache, so that no two shards write to the same one. */
    map->row_bytes = (axis->count * sizeof(tv_traffic_bucket) + 63) / 64 * 64;
    map->shard_count = shard_count;
    map->rows = aligned_alloc(64, map->row_bytes * (size_t)shard_count);
    tv_assert(map->rows);
    memset(map->rows, 0, map->row_bytes * (size_t)shard_count);
    map->last = tv_calloc(axis->count, sizeof *map->last);
    return map;
}

void tv_traffic_bucket_map_free(tv_traffic_bucket_map *map)
{
    if (map == NULL)
        return;

    tv_axis_unref(map->axis);
    free((void *)map->heads);
    free(map->rows);
    free(map->last);
    free(map);
}

size_t tv_traffic_bucket_map_bytes(const tv_traffic_bucket_map *map)
{
    size_t bytes = sizeof *map + map->row_bytes * (size_t)map->shard_count;

    bytes += map->count * (sizeof *map->heads + sizeof *map->last + sizeof map->axis->bounds[0]);
    for (size_t i = 0; i < map->count; i++)
        bytes += map->axis->bounds[i].len;
    return bytes;
}

/* The last of the bounds [0, at] that is not after the key. */
static size_t last_not_after(const tv_axis *axis, size_t at, tv_slice key)
{
    size_t low = 0, high = at + 1;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (tv_slice_cmp(axis->bounds[middle], key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

size_t tv_traffic_bucket_map_find(const tv_traffic_bucket_map *map, tv_slice key)
{
    if (map->count == 1)
        return 0;

    /* Keys that do not begin as all bounds do lie before the second bound, or in the last bucket.
     */
    size_t common = map->common.len, compared = key.len < common ? key.len : common;
    int order = compared ? memcmp(key.data, map->common.data, compared) : 0;

    if (order != 0 || key.len < common)
        return order > 0 ? map->count - 1 : 0;

    const uint64_t *base = map->heads;
    uint64_t head = head_of(tv_slice_skip(key, common));
    size_t left = map->count;

    /* The last bound whose head is not greater; without branches that cannot be predicted. */
    while (left > 1) {
        size_t half = left / 2;

        base = base[half] <= head ? base + half : base;
        left -= half;
    }

    /* Bounds with the same head differ further behind; all that come before are smaller. */
    size_t at = (size_t)(base - map->heads);

    return map->heads[at] == head ? last_not_after(map->axis, at, key) : at;
}

static uint32_t read32(_Atomic uint32_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Sums of all shards; those of 32 bits wrap. */
static tv_counts sums_of(tv_traffic_bucket_map *map, size_t bucket)
{
    tv_counts sums = {{0}};

    for (int shard = 0; shard < map->shard_count; shard++) {
        tv_traffic_bucket *from = tv_traffic_bucket_map_at(map, shard, bucket);

        sums.by[TV_MEASURE_READS] += read32(&from->reads);
        sums.by[TV_MEASURE_WRITES] += read32(&from->writes);
        sums.by[TV_MEASURE_DELETES] += read32(&from->deletes);
        sums.by[TV_MEASURE_CONFLICTS] += read32(&from->conflicts);
        sums.by[TV_MEASURE_THROTTLED] += read32(&from->throttled);
        sums.by[TV_MEASURE_INSERTS] += read32(&from->inserts);
        sums.by[TV_MEASURE_BYTES] += atomic_load_explicit(&from->bytes, memory_order_relaxed);
        sums.by[TV_MEASURE_SCANNED] += atomic_load_explicit(&from->scanned, memory_order_relaxed);
    }
    return sums;
}

void tv_traffic_bucket_map_fold(tv_traffic_bucket_map *map, tv_counts *to)
{
    for (size_t i = 0; i < map->count; i++) {
        tv_counts sums = sums_of(map, i);

        for (int k = 0; k < TV_MEASURES; k++) {
            bool is_long = k == TV_MEASURE_BYTES || k == TV_MEASURE_SCANNED;
            uint64_t more = sums.by[k] - map->last[i].by[k];

            to[i].by[k] += is_long ? more : (uint32_t)more;
        }
        map->last[i] = sums;
    }
}
