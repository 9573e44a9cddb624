/*
 * The commit pipeline turns many small writes into few durable ones.  A write
 * is an update function over one partition.  It is queued to the committer
 * thread that owns the partition or, where the engine has ranges, to the lane of
 * its range, which any committer thread serves; a committer drains the queue, runs
 * the functions in order in one transaction, makes them durable with one engine
 * write and mails all results back with one wake-up per asker.  README.md next
 * to this file numbers the invariants.
 */
#ifndef TV_STORE_COMMIT_PIPELINE_H
#define TV_STORE_COMMIT_PIPELINE_H

#include <stdint.h>

#include "base/mailbox.h"
#include "store/engine/txn.h"

typedef struct tv_pipeline tv_pipeline;

/** One write.  The submitter owns it and keeps it and all it points to alive until `deliver`. */
typedef struct tv_write {
    tv_mail mail;       /* its `deliver` is called on the submitter's thread when all is done */
    tv_slice partition; /* key prefix; decides the committer and bounds the function */
    tv_update_fn *run;  /* called on the committer's thread, perhaps more than once */
    void *ctx;          /* its argument */
    tv_mailbox *reply_to;
    /**
     * Called on the committer's thread when the write has succeeded and is
     * durable, in the order of the writes and before any answer of its group or
     * a later one goes out: for what must be known to all before anybody can
     * have heard of it.  Short; it delays the committer.  May be NULL.
     */
    void (*settle)(struct tv_write *write);
    /**
     * The counterpart: called when it is certain that the write has left nothing on
     * the disk and never will.  Whatever was made for a write that failed is taken
     * back here and nowhere else, because after TV_ERR_IO it is not called: the
     * write may be durable or not, only the next start can tell, and until then all
     * that it may refer to stays.  (Those that the engine refuses after it are
     * certain.)  On the committer's thread, or on the submitter's, within the flush,
     * when the queue is full.  Short.  May be NULL.
     */
    void (*undo)(struct tv_write *write);
    size_t bytes; /* about what it writes; 0 when that is little.  See queue.h */
    /**
     * Rows that the function will ask for, as far as that is known: they are fetched for the
     * whole group at once where reading one by one would cost a round trip each.  A row that
     * is not among them is read when it is asked for.  May be NULL.
     */
    const tv_slice *reads;
    size_t read_count;
    bool expects_none; /* of them to be there: see tv_txn_announce */
    tv_err result;     /* the function's own error, or that of the engine */
    /* For commit/ alone. */
    uint64_t range;   /* in which it was when it was queued */
    int64_t since_ns; /* when it was submitted; 0 for a local engine */
    uint16_t share, place;
    uint8_t moves; /* how often it has changed lanes */
    bool is_odd;   /* which of two runs of writes it belongs to: see tv_pipeline_drain */
} tv_write;

/** Metrics of the pipeline.  Histogram slot i counts values v with 2^(i-1) < v <= 2^i (slot 0: v <=
 * 1). */
enum { TV_PIPELINE_SLOTS = 24 };
typedef struct tv_pipeline_metrics {
    uint64_t groups, writes, retries, failed_groups;
    uint64_t moved;     /* writes that were dealt to lanes again, because ranges have changed */
    uint64_t timed_out; /* writes that have waited too long, and were not run */
    uint64_t group_size_slots[TV_PIPELINE_SLOTS]; /* writes per group */
    uint64_t commit_us_slots[TV_PIPELINE_SLOTS];  /* duration of the engine write, fsync included */
    uint64_t commit_us_sum;
    uint64_t function_us_slots[TV_PIPELINE_SLOTS]; /* duration of an update function */
    uint64_t function_us_sum;
    uint64_t function_us_max; /* the longest since the start */
    size_t queued;            /* writes waiting or under way now */
    size_t lanes;             /* there are now */
} tv_pipeline_metrics;

/**
 * A write to shared storage that has waited this long and has not been run is answered
 * TV_ERR_TIMED_OUT; one that was run, but found its rows in other ranges again and again,
 * TV_ERR_OVERLOADED.  A variable for tests alone.
 */
extern int64_t tv_write_wait_max_ns;

/** A lane keeps what it has learned (gather.h) over pauses up to this one.  Likewise. */
extern int64_t tv_lane_idle_max_ns;

/**
 * `committer_count`: threads.  `queue_max`: more writes than that waiting or under way are
 * refused with TV_ERR_OVERLOADED.
 */
tv_pipeline *tv_pipeline_new(tv_engine *engine, int committer_count, size_t queue_max);

/** The tally of a committer's transactions, by its number from 0 on; lives as long as `ctx`. */
typedef tv_txn_tally *tv_tally_of_fn(void *ctx, int committer);

/** The same for a local engine, with sums that are written with the rows they are of. */
tv_pipeline *tv_pipeline_new_tallied(tv_engine *engine, int committer_count, size_t queue_max,
                                     tv_tally_of_fn *tally_of, void *ctx);

/** Finish what was submitted, then end the committers.  Accepts NULL. */
void tv_pipeline_free(tv_pipeline *pipeline);

/**
 * Return when every write submitted before this call has been made durable or
 * has failed.  Blocks; not for network threads.
 */
void tv_pipeline_drain(tv_pipeline *pipeline);

void tv_pipeline_read_metrics(tv_pipeline *pipeline, tv_pipeline_metrics *ret_metrics);

/**
 * Collects the writes of one event-loop round, so that a round costs one lock
 * and one wake-up per committer.  Belongs to one thread.
 */
typedef struct tv_outbox tv_outbox;

tv_outbox *tv_outbox_new(tv_pipeline *pipeline);
void tv_outbox_free(tv_outbox *outbox); /* must have been flushed */

/** Add one write.  It goes out with the next flush. */
void tv_outbox_add(tv_outbox *outbox, tv_write *write);

/** Hand everything over.  Cheap when there is nothing. */
void tv_outbox_flush(tv_outbox *outbox);

#endif
