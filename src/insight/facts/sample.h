/*
 * What one walk over a table has found: a sample of its keys, its largest partitions and entities.
 * It is made row by row in key order and never changes after that, so whoever holds a reference
 * reads it without a lock.  No I/O.
 *
 * A key is here what follows the table's prefix in the key of a row: PartitionKey 01 RowKey, as
 * stored.
 *
 *  (1) `keys` are chosen by chance alone, each row with the same, and are in the order of that
 *      chance: the first n of them are a sample, too.  `has_all` means that every key is there.
 *  (2) `partitions` are the largest by entities, of two that are alike the one that comes first.
 *      None that is left out has more than `partition_floor`.
 *  (3) All of it is of one snapshot of the store, in which the committers had these `sums`.
 */
#ifndef TV_INSIGHT_FACTS_SAMPLE_H
#define TV_INSIGHT_FACTS_SAMPLE_H

#include <stdatomic.h>

#include "base/buf.h"
#include "insight/facts/facts.h"
#include "insight/facts/rows.h"

typedef struct tv_sample_key {
    uint64_t chance;
    uint64_t bytes; /* of the entity: key and value */
    char *key;
    size_t len;
} tv_sample_key;

typedef struct tv_sample_partition {
    char *key; /* PartitionKey, as stored */
    size_t len;
    uint64_t entities, bytes;
} tv_sample_partition;

enum {
    TV_SAMPLE_KEY_BYTES_MAX = 256 * 1024,      /* with long keys the sample is smaller */
    TV_SAMPLE_PARTITION_BYTES_MAX = 64 * 1024, /* likewise */
};

/** The widest entities: a value, and whose it is. */
typedef struct tv_extreme {
    uint64_t value;
    char *name; /* a key, or the name of a property; NULL: none */
    size_t len;
} tv_extreme;

typedef enum tv_extreme_kind {
    TV_EXTREME_PROPERTIES, /* by key */
    TV_EXTREME_COST,
    TV_EXTREME_STRING, /* by property */
    TV_EXTREME_BINARY,
    TV_EXTREME_KINDS,
} tv_extreme_kind;

typedef struct tv_extremes {
    tv_extreme list[TV_EXTREME_KINDS];
    uint64_t long_strings, long_binaries;
} tv_extremes;

typedef struct tv_sample {
    atomic_int refs;
    uint64_t id;         /* no other sample has it */
    int64_t ticks;       /* when it was taken */
    tv_facts_sums *sums; /* of each committer, as many as the facts have */
    uint64_t changes;    /* of the table until then, by all of them */
    uint64_t entities, bytes, partition_total;
    uint64_t billed; /* bytes by the service's formula */
    tv_sample_key *keys;
    size_t key_count;
    bool has_all;
    tv_sample_partition *partitions; /* by key */
    size_t partition_count;
    tv_sample_key largest[TV_FACTS_LARGEST_MAX]; /* entities, greatest first; without `chance` */
    size_t largest_count;
    uint64_t partition_floor; /* entities of the largest partition that is left out; 0: none is */
    /* While it is made. */
    size_t key_max, partition_max, partition_bytes;
    uint64_t reach; /* keys of this chance or a greater one are not taken */
    uint64_t random;
    tv_buf partition; /* the PartitionKey at hand, and what was seen of it */
    uint64_t partition_rows, partition_row_bytes;
} tv_sample;

/** What a sample is made with. */
typedef struct tv_sample_options {
    size_t key_max, partition_max, committer_count;
    uint64_t seed; /* of its chances */
} tv_sample_options;

/** Of an empty table, so far.  NULL without memory. */
tv_sample *tv_sample_new(const tv_sample_options *options);

/** The next row: bytes of its key and value together, and those that it is billed for. */
void tv_sample_add(tv_sample *sample, tv_slice key, uint64_t bytes, uint64_t billed);

/** There are no more rows: from now on it does not change. */
void tv_sample_finish(tv_sample *sample);

tv_sample *tv_sample_ref(tv_sample *sample);
void tv_sample_unref(tv_sample *sample); /* accepts NULL */

static inline tv_slice tv_sample_key_text(const tv_sample_key *key)
{
    return (tv_slice){key->key, key->len};
}

/** One of the largest partitions; NULL when it is none. */
const tv_sample_partition *tv_sample_find_partition(const tv_sample *sample,
                                                    tv_slice partition_key);

/** Keep a value that is greater than the one before, with its name. */
void tv_extremes_note(tv_extremes *extremes, tv_extreme_kind kind, uint64_t value, tv_slice name);

/** Take over what `more` has that is greater. */
void tv_extremes_join(tv_extremes *extremes, const tv_extremes *more);
void tv_extremes_done(tv_extremes *extremes);

#endif
