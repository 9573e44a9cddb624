/* What the recorder keeps.  Private to watch/. */
#ifndef TV_INSIGHT_WATCH_INTERNAL_H
#define TV_INSIGHT_WATCH_INTERNAL_H

#include "insight/traffic/traffic.h"
#include "insight/watch/direction.h"
#include "insight/watch/retries.h"
#include "insight/watch/shard.h"
#include "insight/watch/sketch.h"
#include "insight/watch/walks.h"

#define TV_WATCH_SECOND_NS INT64_C(1000000000)

enum {
    TV_WATCH_TABLES_MAX = 4096, /* with 64 MiB, as the next */
    TV_WATCH_SHAPES_MAX = 4096,
    TV_WATCH_TABLE_SHAPES_MAX = 256,
    TV_WATCH_CONFLICTS_MAX = 16, /* rows that writers collide on, of a table */
    TV_WATCH_SHARES = 16,        /* seconds that are remembered of a shape */
    TV_WATCH_SCANS_MAX = 8,      /* clients whose last query of a table is remembered */
    TV_WATCH_DAY_HOURS = 24,
    TV_WATCH_MINUTES = 61, /* of which writes are known one by one */
    TV_WATCH_RUN_IDLE_S = 5, /* a run is over: its walks are left after that */
};

typedef enum tv_client_sum {
    TV_CLIENT_TO_END,
    TV_CLIENT_PAGED, /* first pages with a token, not because of $top */
    TV_CLIENT_IGNORED,
    TV_CLIENT_IGNORED_RETURNED,
    TV_CLIENT_IGNORED_EMPTY,
    TV_CLIENT_IGNORED_BELOW_TOP,
    TV_CLIENT_SUMS,
} tv_client_sum;

/** How one client walks over the pages of a shape. */
typedef struct tv_walker {
    uint64_t client;
    char agent[TV_WATCH_AGENT_BYTES];
    uint8_t last_end; /* tv_page_end of the last page whose token was ignored */
    tv_tally tally;
} tv_walker;

typedef struct tv_share_range {
    float low, high;
} tv_share_range;

typedef struct tv_shape_entry {
    struct tv_shape_entry *next; /* in its slot of the hash table */
    struct tv_shape_entry *next_of_table;
    uint32_t table;
    uint64_t fingerprint; /* 0: all that found no room */
    uint32_t flags, comparisons;
    bool has_select, has_top, select_differs, selects_keys;
    tv_tally tally;
    /* What pages returned of what they examined, in the last seconds in which there were any. */
    tv_share_range shares[TV_WATCH_SHARES];
    size_t share_count; /* ever; the next one goes to this, modulo TV_WATCH_SHARES */
    /* Latencies of this hour of the clock, and of the one before. */
    uint32_t latencies[2][TV_WATCH_LATENCIES];
    int64_t first_ns, last_ns;
    char *text, *example, *select;
    uint64_t select_hash;
    char *sources[TV_WATCH_SOURCES];
    uint64_t partitions[4];
    uint64_t largest_looked;
    tv_kept_key largest;
    tv_kept_key span_first, span_last, looked_first, looked_last;
    char *literal;
    uint32_t literal_at, literal_hits, literal_tries;
    tv_walker *walkers; /* TV_WATCH_CLIENTS, or NULL */
    size_t walker_count;
} tv_shape_entry;

typedef enum tv_conflict_sum {
    TV_CONFLICT_CONDITIONAL, /* writes with an ETag */
    TV_CONFLICT_CONFLICTS,   /* of these, 412 */
    TV_CONFLICT_GONE,        /* of these, 404 */
    TV_CONFLICT_REPLAYED,    /* 412 of a request that was sent again */
    TV_CONFLICT_SUMS,
} tv_conflict_sum;

/** A row that writers collide on; sums by minute, of which the last five count, and in all. */
typedef struct tv_conflict {
    uint64_t hash;
    tv_kept_key key;
    int64_t last_ns;
    int64_t minute; /* of slot 0 */
    uint32_t minutes[6][TV_CONFLICT_SUMS];
    uint64_t all[TV_CONFLICT_SUMS]; /* since it is known */
    uint64_t at_mark[TV_TALLY_MARKS][TV_CONFLICT_SUMS];
    tv_few_clients clients;
    uint32_t changed_count, changed_numbers;
    char changed[4][32];
} tv_conflict;

/** The last page of a query that a client had of a table. */
typedef struct tv_recent_scan {
    uint64_t client, fingerprint, examined;
    int64_t time_ns;
} tv_recent_scan;

/** The worst minute of a slot of the window. */
typedef struct tv_worst_minute {
    int64_t end_ns;
    tv_retry_minute minute;
} tv_worst_minute;

typedef struct tv_table_entry {
    uint32_t number;  /* 0: a free place */
    uint32_t tenants; /* that the place has had */
    size_t next_free; /* of free places; 0 ends them */
    int64_t known_ns, dropped_ns;
    char *account, *name;
    int64_t id; /* of the catalogue; 0: none, and no traffic by key */
    tv_tally tally;
    uint64_t day[TV_WATCH_DAY_HOURS]
                [TV_WATCH_TABLE_DAY_SUMS]; /* what the sums were as hours began */
    tv_rate_slots slots;
    int64_t first_ns, last_ns;
    tv_few_clients read_clients, write_clients;
    tv_kept_key read_first, read_last, write_first, write_last;
    tv_watch_sketch partitions, rows;
    tv_conflict *conflicts; /* TV_WATCH_CONFLICTS_MAX, or NULL */
    size_t conflict_count;
    tv_direction *inserts; /* NULL until there is one */
    tv_recent_scan scans[TV_WATCH_SCANS_MAX];
    uint64_t scan_fingerprint;
    int64_t deleting_ns, deleting_before_ns; /* when the last such scan began, and the one before */
    int64_t deleting_last_ns;
    uint64_t minute_requests;  /* the sum when the minute began */
    uint32_t writes[TV_WATCH_MINUTES]; /* by minutes of the clock, to writes_minute */
    int64_t writes_minute;
    tv_worst_minute *retries;  /* TV_TALLY_SLOTS, or NULL */
    tv_retry_minute retry_now; /* of the minute at hand, for a snapshot */
    tv_shape_entry *shapes;
    size_t shape_count;
} tv_table_entry;

/** What network threads look at of a table; see tables.c. */
typedef struct tv_watch_place_entry {
    _Atomic uint32_t number;
    _Atomic(tv_traffic_table *) traffic; /* or NULL; a reference */
} tv_watch_place_entry;

typedef struct tv_watch_mark_entry {
    uint64_t number; /* 0: none */
    int64_t time_ns;
    uint64_t requests;
} tv_watch_mark_entry;

struct tv_watch {
    tv_watch_options options;
    tv_watch_shard *shards;
    size_t samples_max; /* of a sheet */
    size_t tables_max, places_max, shapes_max, bytes_max;
    tv_watch_place_entry *places;
    tv_epoch *epochs; /* of the shards, unless traffic by key has them */
    tv_walks walks;
    tv_retries retries;
    _Atomic int64_t manual_ns;
    _Atomic int64_t offset_ns; /* from the monotonic clock to this one */

    pthread_mutex_t lock;   /* all below, and what a shard has for who folds */
    int64_t stepped_ns;     /* up to here all has been done that was due */
    int64_t slot;           /* of tallies */
    tv_table_entry *tables; /* by place, from 1 on */
    size_t table_count;
    size_t bytes; /* of tables and their shapes, as of the last fold */
    size_t place_count, place_size, free_place;
    tv_traffic_table **leaving; /* that threads may be counting in still, until sheets are taken */
    size_t leaving_count, leaving_size;
    uint32_t *table_index; /* numbers, by hash of account and name */
    size_t table_index_size;
    tv_shape_entry **shapes; /* a hash table */
    size_t shape_slots, shape_count;
    tv_watch_mark_entry marks[TV_TALLY_MARKS];
    uint64_t mark_count;
    uint64_t requests, dropped, evicted;
    uint64_t forgotten;                     /* tables that made room */
    uint64_t slot_requests[TV_TALLY_SLOTS]; /* as slots began */
    int64_t started_ns, first_ns, last_ns;
    uint32_t period; /* the greatest of the last fold */
};

/** Entries of a sketch: fewer where there are many tables. */
size_t tv_watch_sketch_size(const tv_watch *watch);

/** How many places it takes to keep so many tables. */
size_t tv_watch_places(size_t tables_max);

/** The table with this number, NULL when it has left; with the lock, as all that follow. */
tv_table_entry *tv_watch_entry(const tv_watch *watch, uint32_t number);

/** The next table behind `after`, or the first; NULL at the end. */
tv_table_entry *tv_watch_next_table(const tv_watch *watch, const tv_table_entry *after);

/** When there are too many tables, or they take too much, let some go; before sheets are taken. */
void tv_watch_make_room(tv_watch *watch);

/** Give back the traffic by key of tables that have left; when sheets were taken. */
void tv_watch_release_traffic(tv_watch *watch);

/** Traffic by key of tables that are used and have none: when they came there was no room. */
void tv_watch_find_traffic(tv_watch *watch);

void tv_watch_forget_shape(tv_watch *watch, tv_shape_entry *shape);

/** Call `fn` for each tally of the watch. */
void tv_watch_each_tally(tv_watch *watch, void (*fn)(tv_tally *tally, int64_t number),
                         int64_t number);

/**
 * The shape, made if it is not there; the one for all others when there is no room, NULL when the
 * table has left.
 */
tv_shape_entry *tv_watch_find_shape(tv_watch *watch, uint32_t table, uint64_t fingerprint,
                                    bool makes_it);

/** The tally's number of a mark, "m3"; of NULL it is TV_TALLY_LIVE.  With the lock. */
bool tv_watch_find_mark(tv_watch *watch, const char *text, int *ret_mark);

/** What is due at the ends of minutes, ten minutes and hours; with the lock. */
void tv_watch_end_minute(tv_watch *watch, int64_t time_ns);
void tv_watch_begin_slots(tv_watch *watch, int64_t time_ns);
void tv_watch_end_hour(tv_watch *watch, int64_t hour);

/**
 * The sheets that were taken of all shards: their sums, then their samples in the order in which the
 * requests were done.  One client's requests come over several connections, and so over several
 * threads.  With the lock.
 */
void tv_watch_fold_taken(tv_watch *watch);

/** A walk that has ended; with the lock. */
void tv_watch_fold_walk(void *watch, const tv_walk *walk);

/** The sum of the last five minutes. */
uint64_t tv_conflict_recent(const tv_conflict *conflict, tv_conflict_sum which, int64_t time_ns);

void tv_shape_entry_free(tv_shape_entry *shape);
void tv_table_entry_done(tv_table_entry *table);

#endif
