/*
 * What rules judge: plain numbers about the traffic and the data of tables, over one window.
 * Whoever records makes it (the server from its recorder and the facts, lint from a trace), the
 * rules only read it.
 *
 *  (1) All of it, slices included, lies in the arena that it was made with; nothing points into
 *      anything that still changes.
 *  (2) What is not known is 0, or an empty slice; a rule that needs it stays silent.
 *  (3) Counts are of the window, unless the name says otherwise (`_now`: as it is at its end;
 *      `_day`: of the last 24 hours, or of the run).
 *  (4) What must not be judged is not in it: the page and the command line tool, explained
 *      queries, 401 and 403, $Metrics tables, requests that were refused for overload.
 *  (5) No value of a property is in it.  Keys are.
 *  (6) A sampled number has its error beside it: half of the 95 % interval, 0 when it is exact.
 */
#ifndef TV_INSIGHT_ADVICE_EVIDENCE_H
#define TV_INSIGHT_ADVICE_EVIDENCE_H

#include <stdint.h>

#include "base/arena.h"
#include "insight/advice/language.h"
#include "model/odata/plan.h"

enum {
    TV_EVIDENCE_SOURCES_MAX = 4, /* x-tavola-source values of a shape */
    TV_EVIDENCE_KEYS_MAX = 256,  /* keys of a table's sample that come along */
    TV_EVIDENCE_BATCH_SLOTS = 5, /* operations in a batch: 1, 2-9, 10-49, 50-99, 100 */
    TV_EVIDENCE_TYPES = 9,       /* by tv_edm_type; 0 is not used */
    TV_EVIDENCE_MINUTES = 61,    /* those of a live window, the first and the last not whole */
    TV_EVIDENCE_ATTEMPTS = 16,   /* attempts of one request id: slot n for n, the last for more */
};

typedef enum tv_evidence_mode {
    TV_EVIDENCE_LIVE, /* the last 50 to 60 minutes of a server, or all since its start */
    TV_EVIDENCE_RUN,  /* everything since a mark, or of a trace: smaller thresholds */
} tv_evidence_mode;

/** Rates of units (entities of 1 KiB) per second, in slots of 10 s. */
typedef struct tv_evidence_rate {
    double units;                /* in the window */
    double units_error;          /* of that */
    double peak_per_second;      /* of the busiest slot of the window */
    double sustained_per_second; /* the greatest rate that three slots in a row all had */
} tv_evidence_rate;

/** Walks over the pages of a shape. */
typedef struct tv_evidence_walks {
    uint64_t to_end; /* of >= 2 pages, that came to the last one */
    /* The same and scans of the table that had one page, by the one client that has most. */
    uint64_t to_end_client;
    uint64_t left;                      /* of >= 2 pages, left before the end (silent for 60 s) */
    uint64_t left_pages, left_returned; /* sums over `left` */
    uint64_t left_by_person;            /* of `left`: gaps of >= 2 s between pages */
    uint64_t left_by_top;               /* of `left`: pages were as large as a $top asked */
    /* First pages with a token that nobody came back with, not because $top was filled; of the
     * client (user agent and address) that did it most. */
    uint64_t ignored;
    uint64_t ignored_paged;     /* first pages with such a token that this client had */
    uint64_t ignored_returned;  /* sum of entities on `ignored` pages */
    uint64_t ignored_empty;     /* of `ignored`: ended by time without any entity */
    uint64_t ignored_below_top; /* of `ignored`: less than the $top it had */
    tv_page_end ignored_end;    /* why the last of them ended */
    tv_slice ignored_client;    /* its user agent */
} tv_evidence_walks;

/** One shape of QueryEntities on one table. */
typedef struct tv_evidence_shape {
    uint64_t fingerprint;
    tv_slice text;    /* `PartitionKey eq ?s and Email eq ?s`; `*` without a filter */
    tv_slice example; /* the last filter, with its literals redacted */
    bool has_select, has_top;
    uint64_t executions; /* a walk over pages is one */
    uint64_t pages;
    uint64_t languages[TV_LANGUAGES]; /* pages by the language of the client's SDK */
    uint64_t plans[TV_PLAN_KINDS]; /* executions by plan */
    uint64_t residual;             /* executions whose plan left something to test on the rows */
    uint64_t ranges_sum, ranges_max;
    uint64_t list_sum, list_max; /* parts that any() and all() stand for */
    uint64_t comparisons_max;
    uint64_t examined, examined_max; /* sum, and the largest of one execution */
    uint64_t returned, returned_max;
    uint64_t bytes_out;
    double p50_ms, p99_ms;
    int64_t first_ticks, last_ticks;
    tv_slice sources[TV_EVIDENCE_SOURCES_MAX];
    size_t source_count;
    tv_slice select;     /* of the last execution, as `A,B`; empty without one */
    bool select_differs; /* not all executions had that one */
    tv_evidence_walks walks;

    /* Partition scans: how close together what they return lies. */
    uint64_t spans;            /* executions that returned >= 2 */
    uint64_t span_rows;        /* sum over them: rows from the first to the last returned one */
    uint64_t span_returned;    /* sum over them of returned */
    tv_slice returned_prefix;  /* what the RowKeys returned by the last of them begin with */
    tv_slice partition_prefix; /* what all RowKeys it examined begin with */
    /* The property whose literal's text stands behind `literal_at` bytes of that prefix, in so many
     * of the last 16 of them; empty when there is none. */
    tv_slice literal_property;
    size_t literal_at;
    uint32_t literal_hits, literal_tries;

    tv_slice largest_partition;      /* PartitionKey of the one that most was examined of */
    double partitions_asked;         /* distinct PartitionKeys in the filters, estimated */
    uint64_t partition_entities_max; /* of the largest partition asked; 0: not known */
    bool partition_entities_known;   /* that of all partitions asked */

    /* Ranges on a key. */
    uint64_t prefix_ranges; /* executions whose upper bound is the successor of the lower one */
    uint64_t walks_by_key;  /* whose lower bound equals the last key returned before */
    uint64_t upper_bounds;  /* whose bounds begin with letters of upper case only */
    uint64_t lower_bounds;  /* of lower case only */
} tv_evidence_shape;

/** A partition that takes much of the traffic, the heaviest first. */
typedef struct tv_evidence_partition {
    tv_slice partition_key;
    tv_evidence_rate rate;
    double share; /* of the table's units */
    uint64_t reads, writes, throttled;
    int64_t first_throttled_ticks;
    double rate_at_throttle;
    int64_t first_seen_ticks; /* of its traffic */
    double active_seconds;    /* from the first to the last of its traffic in the window */
    bool is_new;              /* its first traffic was in the window */
    /* Partitions that are large are here too, whatever their traffic. */
    uint64_t entities_now, bytes_now; /* 0: not known */
    bool is_exact;
    uint64_t scans, scan_examined_max; /* partition scans of it */
} tv_evidence_partition;

/** An entity that takes much of the traffic, or that writers collide on. */
typedef struct tv_evidence_row {
    tv_slice partition_key, row_key;
    tv_evidence_rate rate;
    double share; /* of the table's units */
    uint64_t reads, writes;
    double active_seconds; /* as a partition's */
    /* Of the last 5 minutes (a run: all). */
    uint64_t conditional_writes; /* with If-Match of an etag, those that failed included */
    uint64_t conflicts;          /* 412 */
    uint64_t conflicts_gone;     /* of these: the entity was deleted meanwhile */
    uint64_t conflicts_replayed; /* of these: the same client request id again */
    uint32_t conflict_clients;   /* distinct, up to 4 are told apart */
    tv_slice changed[4];         /* names of properties that these writes set */
    uint32_t changed_count;      /* how many, which may be more */
    uint32_t changed_numbers;    /* of these: Int32, Int64, Double */
} tv_evidence_row;

typedef struct tv_evidence_key {
    tv_slice partition_key, row_key;
} tv_evidence_key;

/** Where new entities go. */
typedef struct tv_evidence_direction {
    uint32_t windows;                  /* judged, the last 5 of them at most */
    uint32_t windows_up, windows_down; /* that move */
    double row;                        /* D_row of the newest window, -1..1 */
    double partition;                  /* D_pk of it */
    bool has_partition;                /* D_pk is defined */
    uint64_t inserts;                  /* in these windows */
    double first_share, last_share; /* of these: before, and behind, keys inserted before them */
    double hot_share; /* of inserts: into the partition that had most of its minute */
    uint32_t hot_changes, hot_changes_up; /* of that partition, the last 64 */
    uint32_t clients;                     /* that inserted, up to 4 are told apart */
    double seconds;                       /* from the first to the last insert of the window */
    double silent_seconds;                /* since the last insert */
    tv_evidence_key least, greatest;      /* of some that were inserted last */
} tv_evidence_direction;

/** Deletes of entities. */
typedef struct tv_evidence_deletes {
    uint64_t single, batched; /* in the window */
    uint64_t single_day, batched_day;
    double run_per_partition; /* mean run of single deletes in one partition */
    double age_p10_hours, age_p50_hours, age_p90_hours; /* of what was deleted */
    uint64_t aged;                                      /* deletes whose age is known */
    uint64_t after_scan_day;    /* within 60 s of a page for that client on that table */
    uint64_t scan_fingerprint;  /* the shape of these pages, of the last */
    uint64_t scan_examined_day; /* rows that these scans examined */
    double every_hours;         /* between the starts of such scans; 0: one */
} tv_evidence_deletes;

typedef struct tv_evidence_batches {
    uint64_t count;
    uint64_t sizes[TV_EVIDENCE_BATCH_SLOTS];
    uint64_t operations;
    uint64_t across_partitions;     /* refused: CommandsInBatchActOnDifferentPartitions */
    uint32_t across_partitions_max; /* PartitionKeys in one of these */
} tv_evidence_batches;

/** Runs of point reads, or of single writes, of one partition on one connection, of >= 10. */
typedef struct tv_evidence_runs {
    uint64_t runs;
    uint64_t requests;   /* in them */
    uint64_t same_key;   /* of `runs`: all of one key */
    uint64_t contiguous; /* of `runs`: reads with at most as many other rows between */
    uint64_t longest;
    double ms;                    /* mean length */
    uint32_t clients;             /* up to 4 are told apart */
    tv_slice first_key, last_key; /* RowKeys that the last run lay between */
} tv_evidence_runs;

/** Repeated requests after 408, 429 and 5xx, in the worst minute of the window. */
typedef struct tv_evidence_retries {
    uint64_t retries;
    uint64_t requests;                       /* all, of that minute */
    uint64_t attempts[TV_EVIDENCE_ATTEMPTS]; /* ids by how often they were sent */
    uint32_t attempts_max;
    double gap_p50_ms;
    bool gaps_grow; /* the second gap of an id is mostly >= 1.5 times its first */
    uint64_t status_408, status_429, status_500, status_503;
    tv_slice client; /* user agent that retried most */
} tv_evidence_retries;

/** One property name of a table. */
typedef struct tv_evidence_property {
    tv_slice name;
    uint64_t count;                    /* samples that had it */
    uint64_t types[TV_EVIDENCE_TYPES]; /* of these, by tv_edm_type */
    uint64_t bytes;                    /* sum over these */
    uint64_t max_bytes;
    double distinct;                    /* values of `count` samples */
    bool types_by_class;                /* each type has RowKey classes of its own */
    double distinct_low, distinct_high; /* values in the table, with a certainty of 95 % */
} tv_evidence_property;

/** The widest and the largest entities, exact at write. */
typedef struct tv_evidence_extremes {
    uint32_t properties_max;
    tv_evidence_key properties_key;
    uint64_t cost_max; /* bytes, by the service's formula */
    tv_evidence_key cost_key;
    uint32_t string_units_max;
    tv_slice string_property;
    uint64_t string_count; /* Strings of >= 24,576 units written */
    uint32_t binary_bytes_max;
    tv_slice binary_property;
    uint64_t binary_count;                                      /* Binaries of >= 48 KiB written */
    uint64_t refused_properties, refused_entity, refused_value; /* in the window */
} tv_evidence_extremes;

typedef struct tv_evidence_table {
    tv_slice account, name;

    /* Data, from the facts. */
    uint64_t entities_now, bytes_now;
    bool is_exact;         /* these two */
    double partitions_now; /* estimated */
    bool partitions_exact;
    double max_key_units;  /* longest key seen, in UTF-16 units; 0: not known */
    tv_evidence_key *keys; /* a uniform sample of those stored */
    size_t key_count;      /* at most TV_EVIDENCE_KEYS_MAX */
    tv_evidence_property *properties;
    size_t property_count;
    uint64_t property_samples; /* writes that were looked at for them */
    tv_evidence_extremes extremes;

    /* Traffic. */
    int64_t first_ticks; /* of the first request ever recorded */
    uint64_t requests;
    uint64_t languages[TV_LANGUAGES]; /* of these, by the language of the client's SDK */
    uint64_t point_reads, point_misses; /* QueryEntity and queries that are one; 404 among them */
    uint64_t point_bytes;               /* bytes out of point reads without $select */
    uint64_t point_whole;               /* point reads without $select that found something */
    uint64_t inserts, updates;          /* single and in batches; inserts: rows that are new */
    uint64_t writes, batched_writes;    /* changes, and those of batches of >= 2 */
    uint64_t query_executions;          /* of queries that are no point read */
    /* By minutes of the clock, to the one at hand; a run has none. */
    uint32_t writes_by_minute[TV_EVIDENCE_MINUTES];
    size_t minute_count;
    uint64_t inserts_day, updates_day, point_reads_day, query_executions_day;
    uint64_t throttled;         /* refused because of the scalability targets, */
    uint64_t throttled_account; /* and of these, for the sake of the account's */
    tv_evidence_rate rate;
    tv_evidence_shape *shapes;
    size_t shape_count;
    tv_evidence_partition *partitions;
    size_t partition_count;
    tv_evidence_row *rows;
    size_t row_count;
    /* How many were read and written, as far as they are in these lists. */
    uint32_t partitions_read, partitions_written, rows_read, rows_written;
    tv_evidence_direction direction;
    tv_evidence_deletes deletes;
    tv_evidence_batches batches;
    tv_evidence_runs read_runs, write_runs; /* write runs have no read and no repeated key */
    tv_evidence_retries retries;
} tv_evidence_table;

typedef struct tv_evidence {
    tv_evidence_mode mode;
    int64_t from_ticks, to_ticks; /* of the window */
    int64_t day_from_ticks;       /* where what is of 24 hours begins: 22 to 23 of them, or fewer */
    double seconds;               /* of it, in which there was traffic: first to last request */
    uint64_t requests;
    uint32_t sample_period; /* 1: nothing was sampled */
    uint64_t dropped, evicted_shapes;
    bool has_targets; /* scalability targets are emulated */
    tv_evidence_table *tables;
    size_t table_count;
} tv_evidence;

/** From some time of it to its end, in hours; an hour for what is less. */
static inline double tv_evidence_hours(const tv_evidence *evidence, int64_t from_ticks)
{
    double hours = (double)(evidence->to_ticks - from_ticks) / (3600.0 * 10000000.0 /* ticks */);

    return hours < 1 ? 1 : hours;
}

#endif
