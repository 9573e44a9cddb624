/*
 * Traffic by key: how much of a table's reads, writes and so on fell on which part of
 * its keys, and when.  GET /traffic and the heat map show it.
 *
 * The keys of a table are divided into buckets, whose bounds follow the load: what is
 * hot has many, what is cold few (adapt.h).  The buckets of a table are a map that never
 * changes once it is published (bucket_map.h); each thread that counts, a shard, has
 * counters of its own in it.  Every minute the sums become a column; columns go to files,
 * ten of them become one of ten minutes, and six of those one of an hour (store.h, layers.h):
 *
 *     1 minute   360 columns (6 hours)    up to 512 buckets a table
 *     10 minutes 576 columns (4 days)     up to 256
 *     1 hour     672 columns (28 days)    up to 128
 *
 * Here a key is what follows the table's prefix in the engine's key:
 * PartitionKey 01 RowKey in CESU-8, or the beginning of one.
 *
 * Threads: counting is for the thread of the shard, inside its epoch, and neither waits nor
 * allocates.  tv_traffic_step and _close_minute are for one thread at a time, the advisor's.  All
 * else is for any thread.
 */
#ifndef TV_INSIGHT_TRAFFIC_TRAFFIC_H
#define TV_INSIGHT_TRAFFIC_TRAFFIC_H

#include <stdatomic.h>

#include "base/epoch.h"
#include "base/err.h"
#include "insight/traffic/bucket_map.h"
#include "insight/traffic/measure.h"
#include "insight/traffic/view.h"

typedef struct tv_traffic tv_traffic;

/** A table whose traffic is counted; from tv_traffic_table_get. */
typedef struct tv_traffic_table {
    _Atomic(tv_traffic_bucket_map *) map; /* the published one, never NULL */
    atomic_int refs;                      /* of those who count */
    struct tv_traffic_table_state *state; /* the advisor's */
} tv_traffic_table;

enum {
    TV_TRAFFIC_BUCKETS_MAX = 512, /* of a table */
    TV_TRAFFIC_POOL_MAX = 16384,  /* of all tables */
    TV_TRAFFIC_SHARDS_MAX = 256,
};

typedef struct tv_traffic_options {
    const char *dir; /* the data folder, in which `watch` is made; NULL: keep it in memory */
    int shard_count;
    int buckets_max;     /* of a table; 0: TV_TRAFFIC_BUCKETS_MAX */
    int pool_max;        /* of all tables; 0: TV_TRAFFIC_POOL_MAX */
    uint32_t now_minute; /* since 1970 */

    /** Whether a table is gone: its columns are left out when longer ones are made.  NULL: never.
     */
    bool (*is_dropped)(void *ctx, tv_slice account, int64_t table_id);
    void *ctx;
} tv_traffic_options;

/**
 * Read what earlier starts have left; a torn end of a file is cut.  The caller has locked the
 * folder.  Nothing in it is a reason to fail: `ret_trouble` is one line that says what is lost, or
 * empty.
 */
tv_traffic *tv_traffic_open(const tv_traffic_options *options, char *ret_trouble,
                            size_t trouble_size);

/** What was not closed with tv_traffic_close_minute is lost.  Nobody counts any more.  Accepts
 * NULL. */
void tv_traffic_free(tv_traffic *traffic);

/** Of the shard `index`, below shard_count: its thread counts inside of it. */
tv_epoch *tv_traffic_epoch(tv_traffic *traffic, int index);

/**
 * The table, counted for the caller, new with one bucket if it was not known.  NULL when all
 * buckets are in use: its traffic is not counted.  Takes a lock.
 */
tv_traffic_table *tv_traffic_table_get(tv_traffic *traffic, tv_slice account, int64_t table_id);

/** What it has counted is in the next column still.  Accepts NULL. */
void tv_traffic_table_unref(tv_traffic_table *table);

/**
 * Counting: enter the shard's epoch, find and add as often as needed for any tables, leave.  Here
 * are the counters of the bucket that a key lies in, for tv_traffic_bucket_add until then.
 */
static inline tv_traffic_bucket *tv_traffic_find(tv_traffic_table *table, int shard, tv_slice key)
{
    tv_traffic_bucket_map *map = atomic_load(&table->map);

    return tv_traffic_bucket_map_at(map, shard, tv_traffic_bucket_map_find(map, key));
}

/* The advisor's. */

/**
 * A key out of the traffic, whole or its beginning: bounds are chosen among them.  It stands for
 * `weight` requests.
 */
void tv_traffic_sample(tv_traffic *traffic, tv_traffic_table *table, tv_slice key, unsigned weight);

/** Every 10 seconds: fold the shards, and adapt the buckets of tables that have few. */
void tv_traffic_step(tv_traffic *traffic);

/**
 * The minute is over: fold, write its column and those of ten minutes and an hour that end with it,
 * adapt all tables.  `minute` is its number since 1970.  When its column is there,
 * because the clock was set back, it is not closed, and its counts are those of the next.  A longer
 * column that was made before that is not made again.  TV_ERR_IO and TV_ERR_DISK_FULL when the
 * column could not be written, which is lost then.
 */
tv_err tv_traffic_close_minute(tv_traffic *traffic, uint32_t minute) TV_WARN_UNUSED;

/** Make all columns durable: every ten minutes by itself, and when the server stops. */
tv_err tv_traffic_sync(tv_traffic *traffic) TV_WARN_UNUSED;

/** What it takes, for /metrics and tests. */
typedef struct tv_traffic_usage {
    size_t tables, buckets; /* of the published maps */
    size_t memory_bytes;    /* maps, counters, samples, directory of columns */
    uint64_t disk_bytes;
    uint64_t columns;
    uint64_t damaged_bytes; /* cut or skipped when the files were opened */
} tv_traffic_usage;

tv_traffic_usage tv_traffic_read_usage(tv_traffic *traffic);

/** The minute behind the newest column, 0 when there is none. */
uint32_t tv_traffic_newest(tv_traffic *traffic);

/**
 * A table's traffic over a time and a range of keys, on one row of bounds: view.h.  Reads files, so
 * it may wait for the disk.  TV_OK also when there is none.
 */
tv_err tv_traffic_read(tv_traffic *traffic, const tv_view_query *query,
                       tv_view *ret_view) TV_WARN_UNUSED;

#endif
