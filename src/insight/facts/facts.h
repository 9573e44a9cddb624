/*
 * Facts about the data of tables: how many entities and bytes a table has, in which
 * partitions, what its keys and its properties look like.
 *
 * Counts are exact.  The committer adds up what a group changes and writes the sums with the
 * group's rows, in one batch (rows.h), so that they are right after any crash.  All else is known
 * from a sample of bounded size: a small table is walked over when somebody asks, a large one in
 * the background when much of it has changed, and what is given says how old it is.  README.md
 * next to this file numbers what holds.
 *
 * A shared engine cannot write counts and entities in one batch: there facts are those of the
 * last background count, and say so.
 *
 * Functions may be called from any thread unless they say otherwise.
 */
#ifndef TV_INSIGHT_FACTS_FACTS_H
#define TV_INSIGHT_FACTS_FACTS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "insight/advice/evidence.h"
#include "model/odata/edm.h"
#include "store/commit/pipeline.h"

typedef struct tv_facts tv_facts;

enum {
    TV_FACTS_PARTITIONS_MAX = 256, /* of a table that are counted exactly */
    TV_FACTS_SAMPLE_MAX = 1024,    /* keys in the sample of a table */
    TV_FACTS_LARGEST_MAX = 8,      /* entities of a table */
    TV_FACTS_PROPERTIES_MAX = 512, /* names of a table */
    TV_FACTS_CLASSES_MAX = 16,     /* of PartitionKeys, and of RowKeys */
    TV_FACTS_COMMITTERS_MAX = 32,  /* that can have counts of their own */
    TV_FACTS_SERVER_PARTITIONS_MAX = 16384,
    TV_FACTS_SERVER_NAMES_MAX = 16384, /* of properties, that are remembered */
    TV_FACTS_SERVER_SAMPLE_MAX = 262144,
};

/** Where counts come from. */
typedef enum tv_facts_basis {
    TV_FACTS_EXACT,   /* kept at commit */
    TV_FACTS_COUNTED, /* of the last background count, and changes that this node knows of */
    TV_FACTS_UNKNOWN, /* not counted yet */
} tv_facts_basis;

/** "exact", "counted", "unknown". */
const char *tv_facts_basis_name(tv_facts_basis basis);

/** How many, and how large: bytes are those of keys and values as they are stored. */
typedef struct tv_facts_count {
    tv_facts_basis basis;
    uint64_t entities, bytes;
    /* Since the table was made, by groups of the commit pipeline: a row that a group makes and
     * deletes is none of these. */
    uint64_t created, replaced, deleted;
} tv_facts_count;

/** One partition of a table. */
typedef struct tv_facts_partition {
    tv_slice partition_key;
    uint64_t entities, bytes;
    bool is_exact;  /* else it was so when the sample was taken, */
    uint64_t error; /* and may have so many entities more or fewer by now */
} tv_facts_partition;

typedef struct tv_facts_entity {
    tv_evidence_key key;
    uint64_t bytes;
} tv_facts_entity;

/** Keys that look alike: digits are 9{n}, letters a or A, a GUID is G. */
typedef struct tv_facts_class {
    tv_slice text;
    uint64_t count;                  /* of the sample */
    uint32_t length_min, length_max; /* in bytes */
    uint64_t leading_zeros;          /* keys with a run of digits that begins with 0 */
    uint64_t month_names;
} tv_facts_class;

/** All that is known of a table; it lies in the arena it was taken with. */
typedef struct tv_facts_table {
    tv_facts_count count;
    bool has_sample;                        /* else nothing below is known */
    double partitions;                      /* distinct PartitionKeys */
    double partitions_error;                /* at most; 0: exact, HUGE_VAL: not known */
    tv_facts_partition *largest_partitions; /* by entities, greatest first */
    size_t largest_partition_count;
    tv_facts_entity largest[TV_FACTS_LARGEST_MAX]; /* by bytes */
    size_t largest_count;
    tv_evidence_key *sample; /* uniform over the stored keys, in key order */
    size_t sample_count;
    bool sample_is_all; /* it has every key */
    /* How old what came from the sample is: seconds and changes of the table, if `is_aged`. */
    bool is_aged;
    uint64_t sample_seconds, sample_changes;
    tv_facts_class *partition_classes, *row_classes;
    size_t partition_class_count, row_class_count;
    tv_evidence_property *properties; /* as the entities of the sample have them */
    size_t property_count;
    uint64_t property_samples; /* entities that were looked at for them */
    /* Bytes of all entities by the service's formula, which its bill goes by. */
    double billed, billed_error;   /* at most; 0: exact, HUGE_VAL: not known */
    uint32_t key_units_max;        /* longest PartitionKey or RowKey of the sample, UTF-16 units */
    tv_evidence_extremes extremes; /* stored, or written since the start; nothing of refusals */
    int64_t counted_ticks;         /* when the background last counted it; 0: it did not need to */
} tv_facts_table;

/** What parts of tv_facts_table are wanted: those that read the engine cost milliseconds. */
typedef enum tv_facts_parts {
    TV_FACTS_COUNTS_ONLY = 0,
    TV_FACTS_KEYS = 1,       /* partitions, largest, sample, classes */
    TV_FACTS_PROPERTIES = 2, /* reads the entities of the sample; may wait for the disk */
} tv_facts_parts;

/** How long somebody waits at least and at most until a table is sampled that was not yet. */
#define TV_FACTS_WAIT_LEAST_NS (INT64_C(20) * 1000000)
#define TV_FACTS_WAIT_NS (INT64_C(2000) * 1000000)

struct tv_plan;

/** What facts have to be told about how entities are stored. */
typedef struct tv_facts_format {
    /** Call `fn` for each property of a stored entity.  TV_ERR_CORRUPT. */
    tv_err (*walk)(tv_slice value, void (*fn)(void *ctx, const tv_property *property), void *ctx);

    /** Begin to test entities against the residual of a plan; what that takes is in the arena. */
    void *(*test_begin)(tv_arena *arena, const struct tv_plan *plan);

    /** Whether a row of the table with this prefix passes.  TV_ERR_CORRUPT. */
    tv_err (*test)(void *test, tv_slice prefix, tv_slice key, tv_slice value, tv_arena *scratch,
                   bool *ret_passes);
} tv_facts_format;

typedef struct tv_facts_options {
    tv_engine *engine;
    const tv_facts_format *format;
    int committer_count; /* of the pipeline that is to keep them */
    int round_ms;        /* between looks of the background at all tables; 0: a second */
    uint64_t seed;       /* of samples, for tests; 0: any */
} tv_facts_options;

/**
 * Bring a store of the format before this one up to date: its tables are marked as not yet
 * counted.  In one write, before anything else writes.  Does nothing to any other store.
 */
tv_err tv_facts_upgrade(tv_engine *engine) TV_WARN_UNUSED;

/** Read the counts of all tables.  The engine outlives it. */
tv_err tv_facts_open(const tv_facts_options *options, tv_facts **ret_facts) TV_WARN_UNUSED;

/** What the committers are to call, for tv_pipeline_new_tallied; NULL on a shared engine. */
tv_tally_of_fn *tv_facts_tally(tv_facts *facts);

/** Begin to count and to sample in the background. */
void tv_facts_start(tv_facts *facts, tv_pipeline *pipeline);

/** End the thread; the pipeline is still there.  Accepts NULL. */
void tv_facts_stop(tv_facts *facts);

/** After the pipeline.  Accepts NULL. */
void tv_facts_free(tv_facts *facts);

/**
 * Forget a dropped table and remove its rows, which nobody writes any more: before its entities
 * are dropped.
 */
tv_err tv_facts_drop(tv_facts *facts, tv_slice account, int64_t table_id) TV_WARN_UNUSED;

/** Counts alone: a lookup in memory. */
tv_facts_count tv_facts_count_of(tv_facts *facts, tv_slice account, int64_t table_id);

/**
 * Everything in `parts`, which is a set of tv_facts_parts.  It may wait so long until the table is
 * sampled, so not on a network thread unless only counts are wanted.  What could not be sampled in
 * that time has counts alone, or what an older sample says.  Fails as the engine does.
 */
tv_err tv_facts_take(tv_facts *facts, tv_slice account, int64_t table_id, int parts,
                     int64_t wait_ns, tv_arena *arena, tv_facts_table *ret_table) TV_WARN_UNUSED;

/** What a key, without the table's prefix, adds to what its entity is billed for. */
uint64_t tv_facts_key_cost(tv_slice key);

/** An entity was written, `row` is its key: its properties may be the widest so far.  Cheap. */
void tv_facts_note_entity(tv_facts *facts, tv_slice account, int64_t table_id, tv_slice row,
                          const tv_property *properties, size_t property_count);

/** Count a table again in the background. */
void tv_facts_recount(tv_facts *facts, tv_slice account, int64_t table_id);

/** How many tables wait for the background count or are being counted. */
size_t tv_facts_counting(tv_facts *facts);

/** Append metrics in Prometheus' text format. */
void tv_facts_write_metrics(void *facts, tv_buf *out);

#endif
