/* What the files of facts/ share: a table in memory. */
#ifndef TV_INSIGHT_FACTS_INTERNAL_H
#define TV_INSIGHT_FACTS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/background.h"
#include "insight/facts/estimate.h"
#include "insight/facts/facts.h"
#include "insight/facts/rows.h"
#include "insight/facts/sketch.h"
#include "store/commit/waiter.h"

typedef struct tv_facts_job tv_facts_job;

/**
 * A table.  `lock` guards what follows it; it is held for moments, except that it is also held
 * while a sketch is read from the store, once.
 */
typedef struct tv_fact {
    atomic_int refs;
    struct tv_fact *next; /* in its slot of the map */
    tv_slice table;       /* account 01 table-id */
    tv_slice account;
    int64_t id;

    pthread_mutex_t lock;
    bool is_dropped;
    bool is_uncounted;
    tv_facts_sums base;
    tv_facts_sums others; /* sums of committers that there are no more */
    tv_facts_sums sums[TV_FACTS_COMMITTERS_MAX];
    tv_sketch *sketch; /* NULL: not read yet, or waiting to be counted */
    bool has_looked;   /* for a sketch in the store */
    bool wants_count;  /* of the background */
    uint64_t saved;    /* changes of the sketch in the store */
    int64_t counted_ticks;
    int64_t used_ns;           /* the sketch, last; by the monotonic clock */
    int64_t retry_ns;          /* not to be counted before */
    int64_t count_after_ns;    /* nor, because its sketch has worn out, before this */
    uint64_t looked, promoted; /* changes when the background looked at it, and for partitions */
    tv_facts_job *job;         /* a count under way, or NULL */
    tv_slice wanted_partition; /* to be counted: as stored, from malloc; or TV_NONE */
    struct tv_facts_properties *properties; /* the last look at them, or NULL */
} tv_fact;

enum { TV_FACTS_MAP_SLOTS = 4096, TV_FACTS_ERROR_SLOTS = 12 };

struct tv_facts {
    tv_engine *engine;
    const tv_facts_format *format;
    int committer_count, save_ms;
    bool is_shared;
    tv_pipeline *pipeline;
    tv_waiter waiter; /* of the background thread */
    tv_background thread;
    bool is_started;
    bool is_woken;             /* under the thread's lock */
    size_t round_partitions;   /* of the thread */
    pthread_rwlock_t map_lock; /* guards `map` and `fact_count` */
    tv_fact *map[TV_FACTS_MAP_SLOTS];
    size_t fact_count;
    atomic_size_t sketch_count, counting, partition_count;
    atomic_size_t name_count; /* of properties that are remembered */
    /* Estimates that were off by a factor of up to 2^slot, by basis. */
    _Atomic uint64_t errors[TV_ESTIMATE_BASES][TV_FACTS_ERROR_SLOTS];
    _Atomic uint64_t counts_done, differences, saves;
    struct tv_committer_tally *tallies[TV_FACTS_COMMITTERS_MAX];
};

/** A table by the part of its keys that all of them share, counted for the caller.  Made if it is
 * not there. */
tv_fact *tv_fact_find(tv_facts *facts, tv_slice table);
void tv_fact_unref(tv_fact *fact);

/** Take a table out of the map; what holds it lets go of it by and by. */
void tv_fact_remove(tv_facts *facts, tv_fact *fact);

/**
 * The same for one that says no more than a new one would, of a table that was asked for after it
 * was dropped, or that was never written to; unless somebody but the caller holds it.
 */
void tv_fact_forget_blank(tv_facts *facts, tv_fact *fact);

/** The same by account and id. */
tv_fact *tv_fact_find_id(tv_facts *facts, tv_slice account, int64_t id);

/** Base and sums together.  Under the lock, as all that follow. */
tv_facts_sums tv_fact_total(const tv_fact *fact);

/** What is said of it. */
tv_facts_count tv_fact_count(const tv_fact *fact);

/** The sketch, read from the store if need be; NULL when it has to be made by a count. */
tv_sketch *tv_fact_sketch(tv_facts *facts, tv_fact *fact);

/** How many keys the sample of one table may have now. */
size_t tv_facts_sample_max(const tv_facts *facts);

/** Wake the background: something is wanted.  Without a table's lock. */
void tv_facts_wake(tv_facts *facts);

/*
 * A count under way (job.c): the committers note in its log what they change, so that what was
 * found in a snapshot can be brought up to date.
 */

/** A change of the job's table; `number` is the committer's sum of changes after the group. */
void tv_facts_job_note(tv_facts_job *job, int committer, uint64_t number, tv_slice key,
                       uint64_t old_bytes, uint64_t bytes);

/** The tally of a committer (tally.c). */
struct tv_committer_tally *tv_committer_tally_new(tv_facts *facts, int committer);
void tv_committer_tally_free(struct tv_committer_tally *tally);

/** The work of the background thread (background.c). */
void tv_facts_run(tv_background *thread, void *facts);
void tv_facts_save_all(tv_facts *facts);

/** Frees what properties.c keeps. */
void tv_facts_properties_free(struct tv_facts_properties *properties);

#endif
