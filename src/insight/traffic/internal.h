/* What traffic.c and step.c share. */
#ifndef TV_INSIGHT_TRAFFIC_INTERNAL_H
#define TV_INSIGHT_TRAFFIC_INTERNAL_H

#include <pthread.h>

#include "insight/traffic/adapt.h"
#include "insight/traffic/store.h"
#include "insight/traffic/traffic.h"

enum { TV_TRAFFIC_SAMPLES_MAX = 2048 }; /* of buckets, in all tables: 2 MiB */

/* A map that was replaced, and where the shards were then. */
typedef struct tv_retired_map {
    tv_traffic_bucket_map *map;
    struct tv_retired_map *next;
    uint64_t epochs[];
} tv_retired_map;

typedef struct tv_traffic_table_state {
    tv_traffic_table table;
    tv_traffic *traffic;
    tv_slice account;
    int64_t id;
    tv_live live;      /* its bounds are those of the published map but during a step */
    tv_counts *minute; /* of the open minute, for each bucket of the published map */
    tv_counts *fresh;  /* since the last step, likewise */
    bool is_unused;    /* nobody counted it any more when the minute was closed */
    bool is_divided;   /* counts of this minute were divided between new buckets */
    tv_retired_map *retired;
    tv_axis *written;      /* the last axis in the file `written_file`, or NULL */
    uint64_t written_file; /* see tv_traffic_store_file */
    struct tv_traffic_table_state *next;
} tv_traffic_table_state;

struct tv_traffic {
    tv_traffic_options options;
    tv_traffic_store *store;
    tv_epoch *epochs;               /* of the shards */
    pthread_mutex_t lock;           /* of all that follows */
    tv_traffic_table_state *tables; /* by (account, id) */
    size_t table_count, retired_bytes;
    tv_live_pool pool;
    bool is_first; /* no column was written since the start */
};

/**
 * Merge the lightest settled neighbours of all tables, if they weigh less than `below` together.
 * False when there are none.  With the lock.
 */
bool tv_traffic_make_room(tv_traffic *traffic, double below);

/** With all it has given back.  Nobody counts in it any more; it is in no list.  With the lock. */
void tv_traffic_free_table(tv_traffic *traffic, tv_traffic_table_state *table);

#endif
