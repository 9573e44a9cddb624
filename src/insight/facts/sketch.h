/*
 * What is kept of a table beside its counts, in bounded memory: a sample of its keys, its
 * partitions, its largest entities.  Kept up to date change by change.  No threads and no I/O.
 *
 * A key is here what follows the table's prefix in the key of a row: PartitionKey 01 RowKey, as
 * stored.
 *
 *  (1) The sample has every key whose hash is at most `sample_reach`, and no other: so it is
 *      uniform over the stored keys, whatever was inserted and deleted.  Too many keys lower the
 *      reach, deletes leave it.  A reach of all hashes means that every key is there.
 *  (2) `largest` has every entity of more than `largest_floor` bytes, perhaps some of just that
 *      size, and no other.
 *  (3) A partition in `partitions` has exactly its entities and bytes.
 */
#ifndef TV_INSIGHT_FACTS_SKETCH_H
#define TV_INSIGHT_FACTS_SKETCH_H

#include "base/arena.h"
#include "base/buf.h"
#include "insight/facts/distinct.h"
#include "insight/facts/facts.h"

typedef struct tv_sketch_key {
    uint64_t hash;
    uint64_t bytes; /* of the entity: key and value */
    char *key;
    size_t len;
} tv_sketch_key;

typedef struct tv_sketch_partition {
    uint64_t hash; /* of the PartitionKey; 0 with key NULL: a free slot */
    char *key;     /* PartitionKey, as stored */
    size_t len;
    uint64_t entities, bytes;
} tv_sketch_partition;

enum {
    TV_SKETCH_SAMPLE_BYTES_MAX = 256 * 1024,   /* of keys: with long ones the sample is smaller */
    TV_SKETCH_PARTITION_BYTES_MAX = 64 * 1024, /* likewise */
    TV_SKETCH_PARTITION_SLOTS = 2 * TV_FACTS_PARTITIONS_MAX,
    TV_SKETCH_PROMOTED = 8, /* keys of the sample in one partition that make it worth counting */
};

/** The widest entities written; keys as above. */
typedef struct tv_sketch_extreme {
    uint64_t value;
    char *name; /* a key, or the name of a property; NULL: none */
    size_t len;
} tv_sketch_extreme;

typedef enum tv_sketch_extreme_kind {
    TV_EXTREME_PROPERTIES, /* by key */
    TV_EXTREME_COST,
    TV_EXTREME_STRING, /* by property */
    TV_EXTREME_BINARY,
    TV_EXTREME_KINDS,
} tv_sketch_extreme_kind;

typedef struct tv_sketch {
    uint64_t seed;
    tv_distinct partition_keys; /* of all entities that were ever there */
    uint64_t created, deleted;  /* since `partition_keys` was begun */
    tv_sketch_key *sample;      /* by hash */
    size_t sample_count, sample_max, sample_bytes;
    uint64_t sample_reach;
    /* TV_SKETCH_PARTITION_SLOTS, by hash, linear probing; NULL while none is counted: most tables
     * of a store with very many have few entities, and need none of this. */
    tv_sketch_partition *partitions;
    size_t partition_count, partition_bytes;
    tv_sketch_key largest[TV_FACTS_LARGEST_MAX]; /* greatest first; hash is not used */
    size_t largest_count;
    uint64_t largest_floor;
    tv_sketch_extreme extremes[TV_EXTREME_KINDS];
    uint64_t long_strings, long_binaries;
} tv_sketch;

/** Of an empty table. */
tv_sketch *tv_sketch_new(uint64_t seed, size_t sample_max);
void tv_sketch_free(tv_sketch *sketch); /* accepts NULL */

/** An entity has come, gone or changed: bytes of its key and value together. */
void tv_sketch_created(tv_sketch *sketch, tv_slice key, uint64_t bytes);
void tv_sketch_deleted(tv_sketch *sketch, tv_slice key, uint64_t bytes);
void tv_sketch_replaced(tv_sketch *sketch, tv_slice key, uint64_t old_bytes, uint64_t bytes);

/** From now on the sample has at most so many keys. */
void tv_sketch_limit_sample(tv_sketch *sketch, size_t sample_max);

/** Whether the sample has every key of the table. */
static inline bool tv_sketch_has_all(const tv_sketch *sketch)
{
    return sketch->sample_reach == UINT64_MAX;
}

/** The PartitionKey of a key, as stored. */
tv_slice tv_sketch_partition_of(tv_slice key);

/** A partition that is counted; NULL when it is not. */
tv_sketch_partition *tv_sketch_find_partition(tv_sketch *sketch, tv_slice partition_key);

/** One that was not: it has these now.  False when there is no room. */
bool tv_sketch_add_partition(tv_sketch *sketch, tv_slice partition_key, uint64_t entities,
                             uint64_t bytes);
void tv_sketch_remove_partition(tv_sketch *sketch, tv_slice partition_key);
void tv_sketch_clear_partitions(tv_sketch *sketch);

/** Keep a value that is greater than the one before, with its name. */
void tv_sketch_note_extreme(tv_sketch *sketch, tv_sketch_extreme_kind kind, uint64_t value,
                            tv_slice name);

/** Take over what `old` has that is greater. */
void tv_sketch_keep_extremes(tv_sketch *sketch, const tv_sketch *old);

/** The last entity has gone: begin anew, but for the extremes. */
void tv_sketch_emptied(tv_sketch *sketch);

/** Append all of it as the value of a row. */
void tv_sketch_save(const tv_sketch *sketch, uint64_t changes, tv_buf *out);

/** The reverse; `changes` as it was given.  TV_ERR_CORRUPT. */
tv_err tv_sketch_load(tv_slice value, size_t sample_max, tv_sketch **ret_sketch,
                      uint64_t *ret_changes) TV_WARN_UNUSED;

/** The hash of bytes under a seed: good for samples, not against who knows the seed. */
uint64_t tv_sketch_hash(uint64_t seed, tv_slice bytes);

#endif
