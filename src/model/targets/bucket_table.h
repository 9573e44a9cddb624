/*
 * Buckets by the hash of what they are for: partitions, queues, blobs.  The table has a
 * fixed size.  A hash belongs to one set of eight slots; a bucket that is empty again
 * gives its slot to the next that needs one.  When all eight are in use the newcomer has
 * none: it is let in and counted.  Any thread.
 */
#ifndef TV_MODEL_TARGETS_BUCKET_TABLE_H
#define TV_MODEL_TARGETS_BUCKET_TABLE_H

#include "model/targets/bucket.h"

enum { TV_BUCKET_SLOTS = 64 * 1024, TV_BUCKET_WAYS = 8 };

typedef struct tv_bucket_table tv_bucket_table;

tv_bucket_table *tv_bucket_table_new(void);
void tv_bucket_table_free(tv_bucket_table *table);

/**
 * The bucket of a hash, for the caller alone until tv_bucket_table_unlock of the same
 * hash; NULL, and nothing to unlock, when its set is full.
 */
tv_bucket *tv_bucket_table_lock(tv_bucket_table *table, uint64_t hash, int64_t now_ns);
void tv_bucket_table_unlock(tv_bucket_table *table, uint64_t hash);

/** How often a set was full. */
uint64_t tv_bucket_table_untracked(const tv_bucket_table *table);

#endif
