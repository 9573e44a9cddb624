/* What the files of facts/ share: a table in memory. */
#ifndef TV_INSIGHT_FACTS_INTERNAL_H
#define TV_INSIGHT_FACTS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/background.h"
#include "insight/facts/estimate.h"
#include "insight/facts/facts.h"
#include "insight/facts/rows.h"
#include "insight/facts/sample.h"
#include "store/commit/waiter.h"

/** A table.  `lock` guards what follows it; it is held for moments. */
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
    tv_sample *sample; /* the last one, or NULL */
    uint64_t sampled;  /* changes that the table had then, or at the start */
    tv_extremes extremes;
    bool wants_count;    /* of the background, */
    bool wants_it_soon;  /* because somebody has said so */
    bool is_counting;    /* it is at it */
    bool has_old_sketch; /* a row of a server before this one, which is to go */
    int64_t counted_ticks;
    int64_t used_ns;                        /* the sample, last; by the monotonic clock */
    int64_t count_after_ns;                 /* not to be sampled for those who ask before, */
    int64_t retry_ns;                       /* nor counted, after that has failed */
    struct tv_facts_properties *properties; /* the last look at them, or NULL */
} tv_fact;

enum { TV_FACTS_MAP_SLOTS = 4096, TV_FACTS_ERROR_SLOTS = 12 };

struct tv_facts {
    tv_engine *engine;
    const tv_facts_format *format;
    int committer_count, round_ms;
    bool is_shared;
    tv_pipeline *pipeline;
    tv_waiter waiter; /* of the background thread */
    tv_background thread;
    bool is_started;
    bool is_woken;             /* under the thread's lock */
    pthread_rwlock_t map_lock; /* guards `map` and `fact_count` */
    tv_fact *map[TV_FACTS_MAP_SLOTS];
    size_t fact_count;
    _Atomic uint64_t seed; /* of the next sample; 0: of any */
    atomic_size_t sample_count;
    atomic_size_t name_count; /* of properties that are remembered */
    /* Estimates that were off by a factor of up to 2^slot, by basis. */
    _Atomic uint64_t errors[TV_ESTIMATE_BASES][TV_FACTS_ERROR_SLOTS];
    _Atomic uint64_t counts_done, differences;
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

/** What has been done to the table since a sample was taken. */
typedef struct tv_facts_since {
    bool is_known; /* else the counts are not exact, so nothing that was found then is now */
    uint64_t created, replaced, deleted;
} tv_facts_since;

tv_facts_since tv_fact_since(const tv_facts *facts, const tv_fact *fact, const tv_sample *sample);

static inline uint64_t tv_facts_since_changes(const tv_facts_since *since)
{
    return since->created + since->replaced + since->deleted;
}

/** Whether a sample is of the table as it is now, so that what it says is exact. */
static inline bool tv_facts_since_is_nothing(const tv_facts_since *since)
{
    return since->is_known && tv_facts_since_changes(since) == 0;
}

/** Put a sample in the place of the one before, unless that is newer.  Takes a reference. */
void tv_fact_set_sample(tv_facts *facts, tv_fact *fact, tv_sample *sample,
                        const tv_extremes *extremes);

/** Let go of what memory the sample has, and what is remembered of properties. */
void tv_fact_forget_sample(tv_facts *facts, tv_fact *fact);

/** Whether so much has changed since the last sample that there is to be another. */
bool tv_fact_is_due(const tv_fact *fact);

/** A table's part of what all samples of the server may have, which is at most `most`. */
size_t tv_facts_share(const tv_facts *facts, size_t all, size_t most);

/**
 * The sample of a table, for the caller to let go of; NULL: there is none yet.  A small table is
 * walked over now if it has changed, in no longer than `wait_ns`.  So is a large one if that is
 * more than TV_FACTS_WAIT_LEAST_NS, unless its last walk was just now; else it is the last sample
 * that there is, and the background takes another.  Without the table's lock.
 */
tv_sample *tv_fact_take_sample(tv_facts *facts, tv_fact *fact, int64_t wait_ns);

/** Wake the background: something is wanted.  Without a table's lock. */
void tv_facts_wake(tv_facts *facts);

/** The tally of a committer (tally.c). */
struct tv_committer_tally *tv_committer_tally_new(tv_facts *facts, int committer);
void tv_committer_tally_free(struct tv_committer_tally *tally);

/** The work of the background thread (background.c). */
void tv_facts_run(tv_background *thread, void *facts);

/** Frees what properties.c keeps. */
void tv_facts_properties_free(struct tv_facts_properties *properties);

#endif
