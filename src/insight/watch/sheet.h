/*
 * What one shard has recorded since it was last taken: exact sums for each table and each
 * shape that it met, and samples of keys.  A sheet is plain memory with one owner at a time.  The
 * shard's thread fills one; a fold gives it another in its place (shard.h) and then reads
 * this one.
 */
#ifndef TV_INSIGHT_WATCH_SHEET_H
#define TV_INSIGHT_WATCH_SHEET_H

#include <stddef.h>
#include <string.h>

#include "insight/advice/language.h"
#include "insight/watch/event.h"
#include "insight/watch/tally.h"

/**
 * Sums of a table.  Those up to TV_WATCH_TABLE_DAY_SUMS are also asked for over the last 24 hours.
 * What every request adds to stands together, so that it takes few lines of the cache.
 */
typedef enum tv_table_sum {
    TV_WATCH_TABLE_INSERTS, /* entities that are new */
    TV_WATCH_TABLE_UPDATES, /* entities that were written over */
    TV_WATCH_TABLE_POINT_READS,
    TV_WATCH_TABLE_EXECUTIONS, /* of queries that are no point read */
    TV_WATCH_TABLE_DELETES_SINGLE,
    TV_WATCH_TABLE_DELETES_BATCHED,
    TV_WATCH_TABLE_AFTER_SCAN,    /* deletes that a query of the same client has found: by the fold
                                   */
    TV_WATCH_TABLE_SCAN_EXAMINED, /* rows that such queries examined: by the fold */
    TV_WATCH_TABLE_DAY_SUMS,
    TV_WATCH_TABLE_REQUESTS = TV_WATCH_TABLE_DAY_SUMS,
    TV_WATCH_TABLE_UNITS, /* of 1 KiB */
    TV_WATCH_TABLE_POINT_MISSES,
    TV_WATCH_TABLE_POINT_WHOLE, /* point reads without $select that found something, */
    TV_WATCH_TABLE_POINT_BYTES, /* and their bodies */
    TV_WATCH_TABLE_STATUS_2XX,
    TV_WATCH_TABLE_STATUS_4XX,
    TV_WATCH_TABLE_STATUS_5XX,
    TV_WATCH_TABLE_OPS, /* requests by tv_entity_op */
    TV_WATCH_TABLE_WRITES = TV_WATCH_TABLE_OPS + TV_ENTITY_OP_COUNT,
    TV_WATCH_TABLE_BATCHED_WRITES, /* of these, in batches of two and more */
    TV_WATCH_TABLE_CONDITIONAL,    /* of these, with an ETag */
    TV_WATCH_TABLE_CONFLICTS,      /* 412 */
    TV_WATCH_TABLE_THROTTLED,
    TV_WATCH_TABLE_THROTTLED_ACCOUNT, /* of these, for the sake of the account */
    TV_WATCH_TABLE_REFUSED_PROPERTIES,
    TV_WATCH_TABLE_REFUSED_ENTITY,
    TV_WATCH_TABLE_REFUSED_VALUE,
    TV_WATCH_TABLE_BATCH_SIZES, /* 1, 2-9, 10-49, 50-99, 100 */
    TV_WATCH_TABLE_BATCH_CHANGES = TV_WATCH_TABLE_BATCH_SIZES + 5,
    TV_WATCH_TABLE_ACROSS, /* batches over several partitions */
    TV_WATCH_TABLE_READ_RUNS,
    TV_WATCH_TABLE_READ_RUN_REQUESTS,
    TV_WATCH_TABLE_READ_RUN_SAME,    /* runs of one key */
    TV_WATCH_TABLE_READ_RUN_ORDERED, /* runs of ascending keys */
    TV_WATCH_TABLE_READ_RUN_NS,
    TV_WATCH_TABLE_WRITE_RUNS,
    TV_WATCH_TABLE_WRITE_RUN_REQUESTS,
    TV_WATCH_TABLE_WRITE_RUN_NS,
    TV_WATCH_TABLE_DELETE_RUNS, /* single deletes of one partition in a row count as one */
    TV_WATCH_TABLE_LANGUAGES,   /* requests without a known SDK, and by tv_language */
    TV_WATCH_TABLE_AGES = TV_WATCH_TABLE_LANGUAGES + TV_LANGUAGES +
                          1, /* deleted entities by their age, 2^n hours; below one hour first */
    TV_WATCH_TABLE_SUMS = TV_WATCH_TABLE_AGES + 24,
} tv_table_sum;

typedef enum tv_table_max {
    TV_WATCH_TABLE_READ_RUN_MAX,
    TV_WATCH_TABLE_WRITE_RUN_MAX,
    TV_WATCH_TABLE_ACROSS_MAX,
    TV_WATCH_TABLE_SHEET_MAXIMA,
    TV_WATCH_TABLE_PEAK = TV_WATCH_TABLE_SHEET_MAXIMA, /* units in 10 s: by the fold */
    TV_WATCH_TABLE_SUSTAINED,
    TV_WATCH_TABLE_MAXIMA,
} tv_table_max;

typedef enum tv_shape_sum {
    TV_SHAPE_EXECUTIONS,
    TV_SHAPE_PAGES,
    TV_SHAPE_LANGUAGES, /* pages without a known SDK, and by tv_language */
    TV_SHAPE_PLANS = TV_SHAPE_LANGUAGES + TV_LANGUAGES + 1, /* executions by tv_plan_kind */
    TV_SHAPE_RESIDUAL = TV_SHAPE_PLANS + 4,
    TV_SHAPE_RANGES,
    TV_SHAPE_LIST,
    TV_SHAPE_EXAMINED,
    TV_SHAPE_RETURNED,
    TV_SHAPE_BYTES_OUT,
    TV_SHAPE_FAILURES, /* answers other than 2xx */
    TV_SHAPE_SPANS,
    TV_SHAPE_SPAN_ROWS,
    TV_SHAPE_SPAN_RETURNED,
    TV_SHAPE_PREFIX_RANGES,
    TV_SHAPE_WALKS_BY_KEY,
    TV_SHAPE_UPPER_BOUNDS,
    TV_SHAPE_LOWER_BOUNDS,
    TV_SHAPE_SHEET_SUMS, /* the rest by the fold: how walks ended */
    TV_SHAPE_TO_END = TV_SHAPE_SHEET_SUMS,
    TV_SHAPE_LEFT,
    TV_SHAPE_LEFT_PAGES,
    TV_SHAPE_LEFT_RETURNED,
    TV_SHAPE_LEFT_BY_PERSON,
    TV_SHAPE_LEFT_BY_TOP,
    TV_SHAPE_SUMS,
} tv_shape_sum;

typedef enum tv_shape_max {
    TV_SHAPE_RANGES_MAX,
    TV_SHAPE_LIST_MAX,
    TV_SHAPE_EXAMINED_MAX, /* of one execution */
    TV_SHAPE_RETURNED_MAX,
    TV_SHAPE_MAXIMA,
} tv_shape_max;

enum {
    TV_WATCH_LATENCIES = 96, /* four slots for each power of two, from 1 us on */
    TV_WATCH_KEY_BYTES = 96, /* of a key that is kept */
    TV_WATCH_SOURCES = 4,    /* kept of a shape */
    TV_WATCH_SOURCE_BYTES = 128,
    TV_WATCH_CLIENTS = 4,      /* told apart */
    TV_WATCH_AGENT_BYTES = 64, /* kept of a User-Agent */
};

/** The beginning of a key. */
typedef struct tv_kept_key {
    uint16_t len;           /* that is kept */
    uint16_t partition_len; /* of the PartitionKey, at most len */
    char bytes[TV_WATCH_KEY_BYTES];
} tv_kept_key;

void tv_kept_key_set(tv_kept_key *kept, tv_slice key, size_t partition_len);
static inline void tv_kept_key_copy(tv_kept_key *to, const tv_kept_key *from)
{
    memcpy(to, from, offsetof(tv_kept_key, bytes) + from->len);
}
static inline tv_slice tv_kept_key_slice(const tv_kept_key *kept)
{
    return (tv_slice){kept->bytes, kept->len};
}

/** Distinct clients; above TV_WATCH_CLIENTS they are not told apart any more. */
typedef struct tv_few_clients {
    uint32_t count;
    uint64_t hashes[TV_WATCH_CLIENTS];
} tv_few_clients;
void tv_few_clients_add(tv_few_clients *clients, uint64_t hash);
void tv_few_clients_join(tv_few_clients *clients, const tv_few_clients *more);

typedef struct tv_sheet_table {
    uint32_t table;
    int64_t first_ns, last_ns; /* of the requests */
    uint64_t sums[TV_WATCH_TABLE_SUMS];
    uint64_t maxima[TV_WATCH_TABLE_SHEET_MAXIMA];
    tv_few_clients read_clients, write_clients;
    tv_kept_key read_first, read_last; /* of the last run of reads; len is 0 without one */
    tv_kept_key write_first, write_last;
} tv_sheet_table;

/** Texts are malloc'ed, and the sheet's until a fold takes them. */
typedef struct tv_sheet_shape {
    uint32_t table;
    uint64_t fingerprint;
    uint32_t flags, comparisons;
    bool has_select, has_top, select_differs, selects_keys;
    uint64_t sums[TV_SHAPE_SHEET_SUMS];
    uint64_t maxima[TV_SHAPE_MAXIMA];
    uint32_t latencies[TV_WATCH_LATENCIES];
    float share_low, share_high; /* of examined rows that one page returned; low above high: none */
    int64_t first_ns, last_ns;
    uint64_t select_hash;
    char *text, *example, *select;
    char *sources[TV_WATCH_SOURCES];
    uint64_t source_hashes[TV_WATCH_SOURCES];
    uint64_t last_key;                     /* hash of the last key that was returned */
    uint64_t partitions[4];                /* of PartitionKeys asked for, a bit for each hash */
    uint64_t largest_looked;               /* most rows examined of one partition, */
    tv_kept_key largest;                   /* and its key */
    tv_kept_key span_first, span_last;     /* returned by the last partition scan of >= 2 */
    tv_kept_key looked_first, looked_last; /* examined by it */
    char *literal;       /* name of the property whose value stands in these RowKeys, */
    uint32_t literal_at; /* behind so many bytes, */
    uint32_t literal_hits, literal_tries; /* in so many of the last of them */
} tv_sheet_shape;

/** One entity of a request, or one page of a query; stands for `weight` of its kind. */
typedef struct tv_watch_sample {
    int64_t time_ns;
    uint64_t client;
    uint64_t key_hash;       /* of all of the key */
    uint64_t partition_hash; /* of all of the PartitionKey */
    uint64_t fingerprint;    /* of a query */
    int64_t age_s;
    uint32_t table, weight, units, examined, returned;
    uint16_t status;
    uint8_t op, outcome, condition, throttle;
    bool is_batched, is_replay;
    uint8_t changed_count, changed_numbers; /* properties that a refused write would have set */
    char changed[4][32];                    /* names of the first of these */
    tv_kept_key key;
} tv_watch_sample;

typedef struct tv_sheet {
    uint64_t requests;
    uint64_t dropped;         /* samples that found no room */
    uint64_t shape_overflows; /* executions of shapes that found none */
    tv_sheet_table *tables;
    size_t table_count, table_size;
    uint32_t *table_slots; /* by place: 1 + its index among these, or 0 */
    size_t table_slot_count;
    tv_sheet_shape **shapes; /* each allocated once, and used again */
    size_t shape_count, shape_size;
    uint16_t shape_slots[1024]; /* a hash table of 1 + index */
    tv_watch_sample *samples;
    size_t sample_count, sample_size;
} tv_sheet;

enum { TV_SHEET_SHAPES_MAX = 512 };

tv_sheet *tv_sheet_new(void);
void tv_sheet_free(tv_sheet *sheet);

/** Forget what was recorded; the memory stays. */
void tv_sheet_reset(tv_sheet *sheet);

/** The table's sums, zero at first. */
tv_sheet_table *tv_sheet_add_table(tv_sheet *sheet, uint32_t table);
static inline tv_sheet_table *tv_sheet_table_of(tv_sheet *sheet, uint32_t table)
{
    uint32_t place = tv_watch_place(table);

    if (place < sheet->table_slot_count && sheet->table_slots[place])
        return &sheet->tables[sheet->table_slots[place] - 1];
    return tv_sheet_add_table(sheet, table);
}

/** The shape's sums; NULL when there are too many.  `ret_is_new` when it is not filled in yet. */
tv_sheet_shape *tv_sheet_shape_of(tv_sheet *sheet, uint32_t table, uint64_t fingerprint,
                                  bool *ret_is_new);

/** Room for a sample, NULL when there are `count_max` already. */
tv_watch_sample *tv_sheet_add_sample(tv_sheet *sheet, size_t count_max);

/** Which of TV_WATCH_LATENCIES a duration belongs to, and the middle of a slot in ms. */
int tv_latency_slot(int64_t ns);
double tv_latency_ms(int slot);

#endif
