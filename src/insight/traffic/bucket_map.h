/*
 * A published map: an axis in a form that is searched in nanoseconds, and for each shard
 * counters of every bucket.  The bounds never change.  A counter has one writer, the thread of
 * its shard; whoever reads it keeps what it has read, so nothing is ever reset.
 */
#ifndef TV_INSIGHT_TRAFFIC_BUCKET_MAP_H
#define TV_INSIGHT_TRAFFIC_BUCKET_MAP_H

#include "insight/traffic/axis.h"

/** The counters of one bucket and shard.  Those of 32 bits wrap; differences are taken in time. */
typedef struct tv_traffic_bucket {
    _Atomic uint64_t bytes, scanned;
    _Atomic uint32_t reads, writes, deletes, conflicts, throttled, inserts;
} tv_traffic_bucket;

typedef struct tv_traffic_bucket_map {
    size_t count;
    tv_slice common;       /* what all bounds but the first begin with */
    const uint64_t *heads; /* the eight bytes of each bound behind it; 0 for the first */
    tv_axis *axis;
    char *rows; /* of tv_traffic_bucket, one for each shard */
    size_t row_bytes;
    int shard_count;
    tv_counts *last; /* the reader's: sums of all shards when they were last read */
} tv_traffic_bucket_map;

/** Takes a reference of the axis. */
tv_traffic_bucket_map *tv_traffic_bucket_map_new(tv_axis *axis, int shard_count);

/** Nobody counts in it any more.  Accepts NULL. */
void tv_traffic_bucket_map_free(tv_traffic_bucket_map *map);

/** What it takes. */
size_t tv_traffic_bucket_map_bytes(const tv_traffic_bucket_map *map);

/** The bucket of a key: as tv_axis_find, faster. */
size_t tv_traffic_bucket_map_find(const tv_traffic_bucket_map *map, tv_slice key);

/** Add what was counted since the last call to `to`, which has a place for each bucket. */
void tv_traffic_bucket_map_fold(tv_traffic_bucket_map *map, tv_counts *to);

static inline tv_traffic_bucket *tv_traffic_bucket_map_at(tv_traffic_bucket_map *map, int shard,
                                                          size_t bucket)
{
    return (tv_traffic_bucket *)(void *)(map->rows + (size_t)shard * map->row_bytes) + bucket;
}

/** One writer, so load and store are enough. */
#define TV_BUCKET_ADD_TO(counter, count)                                                           \
    atomic_store_explicit(&(counter),                                                              \
                          atomic_load_explicit(&(counter), memory_order_relaxed) + (count),        \
                          memory_order_relaxed)

static inline void tv_traffic_bucket_add(tv_traffic_bucket *bucket, tv_traffic_measure measure,
                                         uint64_t count)
{
    switch (measure) {
    case TV_MEASURE_READS:
        TV_BUCKET_ADD_TO(bucket->reads, (uint32_t)count);
        break;
    case TV_MEASURE_WRITES:
        TV_BUCKET_ADD_TO(bucket->writes, (uint32_t)count);
        break;
    case TV_MEASURE_DELETES:
        TV_BUCKET_ADD_TO(bucket->deletes, (uint32_t)count);
        break;
    case TV_MEASURE_BYTES:
        TV_BUCKET_ADD_TO(bucket->bytes, count);
        break;
    case TV_MEASURE_SCANNED:
        TV_BUCKET_ADD_TO(bucket->scanned, count);
        break;
    case TV_MEASURE_CONFLICTS:
        TV_BUCKET_ADD_TO(bucket->conflicts, (uint32_t)count);
        break;
    case TV_MEASURE_THROTTLED:
        TV_BUCKET_ADD_TO(bucket->throttled, (uint32_t)count);
        break;
    case TV_MEASURE_INSERTS:
        TV_BUCKET_ADD_TO(bucket->inserts, (uint32_t)count);
        break;
    case TV_MEASURES:
        break;
    }
}

#endif
