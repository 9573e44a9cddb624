/*
 * The buckets of a table as the advisor's thread sees them, and how they follow the load.
 *
 * A bucket has a weight, W = 0.8 W + w at each step, and perhaps a sample of the keys that
 * were asked for in it.  With T = max(sum of W / (buckets_max / 2), 8) a step
 *
 *   (1) merges neighbours that weigh less than T / 4 together and have not changed for three steps;
 *   (2) splits buckets that weigh more than T, the heaviest first, at keys of their samples: one
 *       key that is a quarter of its sample gets a bucket of its own, [key, key 01); a partition
 *       that is a quarter gets buckets of its own, from PartitionKey to PartitionKey 01 FF; other
 *       samples are cut into equal parts, eight at most.
 *
 * So a uniform load ends with buckets of about the same weight, a hot key stands alone after a
 * step or two, and what has become cold is given back.  Not for several threads.
 */
#ifndef TV_INSIGHT_TRAFFIC_ADAPT_H
#define TV_INSIGHT_TRAFFIC_ADAPT_H

#include "insight/traffic/axis.h"

enum {
    TV_LIVE_KEY_BYTES_MAX = 64,                          /* of a sampled key; longer ones are cut */
    TV_LIVE_BOUND_BYTES_MAX = TV_LIVE_KEY_BYTES_MAX + 1, /* and 01, or FF behind one that was cut */
    TV_LIVE_SAMPLE_KEYS = 16,
    TV_LIVE_PARTS_MAX = 8,
    TV_LIVE_FEW = 32, /* a table with fewer buckets adapts more often, and samples all of them */
};

/** A bound or a sampled key. */
typedef struct tv_live_key {
    uint8_t len;
    char bytes[TV_LIVE_BOUND_BYTES_MAX];
} tv_live_key;

/** Up to sixteen keys of a bucket, each request as likely as any other. */
typedef struct tv_live_sample {
    uint64_t seen; /* requests they were taken from; halved at each step, so that it follows */
    size_t count;
    tv_live_key keys[TV_LIVE_SAMPLE_KEYS];
} tv_live_sample;

typedef struct tv_live_bucket {
    double weight;
    unsigned age;           /* steps since it was made or merged */
    tv_live_sample *sample; /* or NULL */
    tv_live_key bound;
} tv_live_bucket;

/** What all tables share. */
typedef struct tv_live_pool {
    size_t buckets_left, samples_left;
    uint64_t random;
} tv_live_pool;

/** All buckets of a table, at least one. */
typedef struct tv_live {
    tv_live_bucket *buckets;
    size_t count;
    double threshold;  /* T of the last step */
    double weight_sum; /* likewise */
} tv_live;

/** One bucket, taken from the pool: it has one left. */
void tv_live_init(tv_live *live, tv_live_pool *pool);
/** Give all back. */
void tv_live_done(tv_live *live, tv_live_pool *pool);

/** A key that stands for `weight` requests. */
void tv_live_add_key(tv_live *live, tv_live_pool *pool, tv_slice key, unsigned weight);

/** Begin a step: what was counted in each bucket since the last one. */
void tv_live_weigh(tv_live *live, const tv_counts *counts, size_t buckets_max);

/** (1).  Returns whether anything was merged. */
bool tv_live_merge(tv_live *live, tv_live_pool *pool);

/** (2), as far as the pool has buckets.  Returns whether anything was split. */
bool tv_live_split(tv_live *live, tv_live_pool *pool, size_t buckets_max);

/** How many buckets the table would like to have more: those that are too heavy. */
size_t tv_live_wants(const tv_live *live);

/**
 * The weight of the lightest neighbours that may be merged whatever T is; false when there are
 * none.  When the pool is empty the lightest of all tables are merged first.
 */
bool tv_live_lightest(const tv_live *live, size_t *ret_left, double *ret_weight);

/** Merge a bucket with the one after it. */
void tv_live_merge_at(tv_live *live, tv_live_pool *pool, size_t left);

/** The bounds now. */
tv_axis *tv_live_axis(const tv_live *live);

#endif
