/*
 * Committers, their lanes and what feeds them.  (n) refers to the invariants
 * in README.md.
 *
 * A committer is a set of lanes and of threads that serve them.  A local engine has
 * committers of one lane and one thread each: a partition belongs to one of them, by
 * hash.  An engine with ranges has a single committer with a lane for each range and
 * as many threads as lanes are to be served at once: a thread has one lane at a time,
 * and blocks while the engine reads and writes for it.
 *
 * A committer's `lock` guards its lanes, its counters and its metrics, and is
 * never held while a function runs, the engine writes or a message is posted.
 * No two locks of this file are held at once.
 */
#include "store/commit/pipeline.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "store/commit/group.h"
#include "store/commit/lane.h"
#include "store/commit/reply.h"

enum {
    LANE_PLACES = 256,     /* of a lane among many: see tv_write_queue_new */
    WATCH_MS = 500,        /* how often old writes and idle lanes are looked for */
    MOVE_BACKOFF_US = 500, /* before a write is dealt out a second time, and doubled from then on */
    MOVE_BACKOFF_STEPS = 5,
    AGES = 6, /* the ages of the writes of a group differ by this part of what they may wait */
};

int64_t tv_lane_idle_max_ns = INT64_C(10) * 1000000000;
int64_t tv_write_wait_max_ns = INT64_C(30) * 1000000000;

struct committer {
    tv_pipeline *pipeline;
    tv_txn_tally *tally; /* of a local engine, or NULL */
    int thread_count;
    pthread_t *threads;
    pthread_t watcher; /* of an engine with ranges */

    pthread_mutex_t lock;
    pthread_cond_t ready;    /* a lane is, or it is the end */
    pthread_cond_t finished; /* some writes are */
    tv_lanes lanes;
    /* A drain waits for the writes of one parity, while those that come have the other. */
    size_t unfinished[2];
    bool is_odd, is_draining;
    bool is_stopping, is_over; /* the threads have ended: for the watcher */
    pthread_cond_t over;
    tv_err engine_err;    /* the engine's last result, logged when it changes */
    bool has_lost_engine; /* a local one: it has said TV_ERR_IO and refuses all writes since */
    bool clock_is_behind; /* as it was last logged */
    tv_pipeline_metrics metrics;
};

struct tv_pipeline {
    tv_engine *engine;
    size_t queue_max;
    atomic_size_t queued; /* writes that have been accepted and not been answered */
    int committer_count;
    struct committer committers[];
};

struct tv_outbox {
    tv_pipeline *pipeline;
    size_t count;
    tv_mail_chain chains[]; /* one for each committer */
};

/* What a thread of a committer has of its own. */
typedef struct worker {
    struct committer *committer;
    tv_txn *txn;
    tv_write **writes; /* taken of a lane */
    tv_replies replies;
} worker;

static tv_write *write_of(tv_mail *mail)
{
    return (tv_write *)mail; /* `mail` is its first member */
}

static bool has_ranges(const tv_pipeline *pipeline)
{
    return pipeline->engine->ops->range_of != NULL;
}

/*
 * One line when the engine begins to fail, one when it has recovered.  It
 * reports a full disk itself, and deletes go through meanwhile: that is no
 * recovery.
 */
static void note_engine(struct committer *committer, tv_err err)
{
    if (err == TV_ERR_DISK_FULL || err == TV_ERR_MOVED)
        return;

    pthread_mutex_lock(&committer->lock);
    bool is_news = err != committer->engine_err;
    committer->engine_err = err;
    pthread_mutex_unlock(&committer->lock);
    if (!is_news)
        return;

    if (err)
        tv_log(TV_LOG_ERROR, "commit_failed", "engine=%s err=%s",
               committer->pipeline->engine->ops->name, tv_err_name(err));
    else
        tv_log(TV_LOG_INFO, "commit_recovered", "engine=%s",
               committer->pipeline->engine->ops->name);
}

/* One line when the wall clock falls behind the time of the store, one when it has caught up. */
static void note_clock(struct committer *committer)
{
    bool is_behind = tv_clock_lead_ticks() > TV_TICKS_PER_SECOND;

    pthread_mutex_lock(&committer->lock);
    bool is_news = is_behind != committer->clock_is_behind;
    committer->clock_is_behind = is_behind;
    pthread_mutex_unlock(&committer->lock);
    if (!is_news)
        return;

    if (is_behind)
        tv_log(TV_LOG_WARN, "clock_behind",
               "behind_s=%lld note=\"the clock was set back; stored times go on from where they "
               "were\"",
               (long long)(tv_clock_lead_ticks() / TV_TICKS_PER_SECOND));
    else
        tv_log(TV_LOG_INFO, "clock_caught_up", "note=\"stored times are the clock's again\"");
}

static void add_metrics(tv_pipeline_metrics *sum, const tv_pipeline_metrics *more)
{
    sum->groups += more->groups;
    sum->writes += more->writes;
    sum->retries += more->retries;
    sum->failed_groups += more->failed_groups;
    sum->moved += more->moved;
    sum->timed_out += more->timed_out;
    sum->commit_us_sum += more->commit_us_sum;
    sum->function_us_sum += more->function_us_sum;
    if (more->function_us_max > sum->function_us_max)
        sum->function_us_max = more->function_us_max;
    for (int i = 0; i < TV_PIPELINE_SLOTS; i++) {
        sum->group_size_slots[i] += more->group_size_slots[i];
        sum->commit_us_slots[i] += more->commit_us_slots[i];
        sum->function_us_slots[i] += more->function_us_slots[i];
    }
}

static struct timespec after_ns(int64_t ns)
{
    return tv_clock_system_time(tv_clock_mono_ns() + ns);
}

/* It has waited for all the time that it may. */
static bool is_old(const tv_write *write, int64_t now_ns)
{
    return now_ns - write->since_ns >= tv_write_wait_max_ns;
}

static bool is_all_finished(const struct committer *committer)
{
    return committer->unfinished[0] + committer->unfinished[1] == 0;
}

/* --- taking writes out of a lane --- */

/*
 * Wait a moment for more writes to batch (see gather.h); take up to a group of them,
 * in order.  There may be none left: those that waited too long are gone.
 */
static size_t take_writes(struct committer *committer, tv_lane *lane, tv_write **ret_writes,
                          size_t wanted)
{
    if (tv_write_queue_count(lane->queue) < wanted) {
        struct timespec until = after_ns(tv_gather_patience_ns(&lane->gather));

        lane->wanted = wanted;
        while (tv_write_queue_count(lane->queue) < wanted && !committer->is_stopping) {
            if (pthread_cond_timedwait(&lane->filled, &committer->lock, &until) != 0)
                break;
        }
        lane->wanted = 0;
    }
    return tv_write_queue_take(lane->queue, TV_GROUP_WRITES_MAX, ret_writes);
}

/* How many writes it pays to wait for, now that the last group has been answered. */
static size_t wanted_of(const tv_lane *lane)
{
    size_t wanted = tv_gather_wanted(&lane->gather, tv_write_queue_count(lane->queue));

    return wanted < TV_GROUP_WRITES_MAX ? wanted : TV_GROUP_WRITES_MAX;
}

/* Wait for a lane that has writes.  NULL is the end.  Under the lock. */
static tv_lane *wait_for_lane(struct committer *committer)
{
    tv_lane *lane;

    while ((lane = tv_lanes_take_ready(&committer->lanes)) == NULL) {
        if (committer->is_stopping && is_all_finished(committer))
            return NULL;
        pthread_cond_wait(&committer->ready, &committer->lock);
    }
    return lane;
}

/* --- answering --- */

/*
 * What a failed write was made of may go only if no later start can find the write:
 * (12).  An engine that had refused all writes before has not written this one.
 */
static void undo(tv_write *write, bool was_refused)
{
    if (write->undo && (write->result != TV_ERR_IO || was_refused))
        write->undo(write);
}

/* Answer what has been added to `replies`: `finished` writes of each parity. */
static void answer(struct committer *committer, tv_replies *replies, const size_t finished[2],
                   const tv_pipeline_metrics *metrics)
{
    /* Before the answers, so that a client that has heard one has room for the next. */
    atomic_fetch_sub(&committer->pipeline->queued, finished[0] + finished[1]);
    tv_replies_post(replies);

    pthread_mutex_lock(&committer->lock);
    for (int i = 0; i < 2; i++)
        committer->unfinished[i] -= finished[i];
    add_metrics(&committer->metrics, metrics);
    pthread_cond_broadcast(&committer->finished);
    if (committer->is_stopping && is_all_finished(committer))
        pthread_cond_broadcast(&committer->ready);
    pthread_mutex_unlock(&committer->lock);
}

/* Put a write into its lane; true if that makes the lane ready.  Under the lock. */
static bool enqueue(struct committer *committer, tv_write *write)
{
    tv_lane *lane = tv_lanes_find(&committer->lanes, write->range);

    tv_write_queue_add(lane->queue, write);
    if (!lane->is_served) {
        tv_lanes_add_ready(&committer->lanes, lane);
        return true;
    }
    if (lane->wanted && tv_write_queue_count(lane->queue) >= lane->wanted) {
        lane->wanted = 0; /* one wake-up is enough */
        pthread_cond_signal(&lane->filled);
    }
    return false;
}

/* Wake a thread for each lane that has become ready.  Without the lock. */
static void wake_for(struct committer *committer, size_t lanes)
{
    for (size_t i = 0; i < lanes; i++)
        pthread_cond_signal(&committer->ready);
}

/* --- when ranges change --- */

static void deal_out(struct committer *committer, tv_mail_chain *writes)
{
    tv_engine *engine = committer->pipeline->engine;
    size_t ready = 0;
    tv_mail *mail;

    for (mail = writes->first; mail; mail = mail->next)
        write_of(mail)->range = engine->ops->range_of(engine, write_of(mail)->partition);

    pthread_mutex_lock(&committer->lock);
    while ((mail = tv_mail_chain_take(writes)))
        ready += enqueue(committer, write_of(mail));
    pthread_mutex_unlock(&committer->lock);
    wake_for(committer, ready);
}

/* Let a write go to the lane where its partition is now, unless it has done so for too long. */
static bool may_move(tv_write *write, int64_t now_ns)
{
    if (is_old(write, now_ns)) {
        write->result = TV_ERR_OVERLOADED; /* nothing was written */
        return false;
    }
    if (write->moves < UINT8_MAX)
        write->moves++;
    return true;
}

/*
 * Deal those that have moved to their lanes, and those that wait behind them, too: they
 * would find the same.  The engine has a newer map by now.  If it has moved again, what
 * moves the ranges about may need a moment.
 */
static void move_writes(struct committer *committer, tv_lane *lane, tv_mail_chain *moved)
{
    int steps = write_of(moved->first)->moves - 2;
    tv_write *next;

    if (steps >= 0) {
        int64_t wait_ns = INT64_C(1000) * MOVE_BACKOFF_US
                          << (steps < MOVE_BACKOFF_STEPS ? steps : MOVE_BACKOFF_STEPS);

        nanosleep(&(struct timespec){.tv_nsec = wait_ns}, NULL);
    }
    pthread_mutex_lock(&committer->lock);
    while (tv_write_queue_take(lane->queue, 1, &next))
        tv_mail_chain_add(moved, &next->mail);
    pthread_mutex_unlock(&committer->lock);
    deal_out(committer, moved);
}

/* --- what has waited too long --- */

/* Answer writes that have waited too long, and were not run. */
static void answer_old(struct committer *committer, tv_replies *replies, tv_mail_chain *old)
{
    tv_pipeline_metrics metrics = {.timed_out = old->count};
    size_t finished[2] = {0};
    tv_mail *mail;

    if (old->first == NULL)
        return;

    tv_log(TV_LOG_WARN, "commit_timed_out", "writes=%zu", old->count);
    while ((mail = tv_mail_chain_take(old))) {
        tv_write *write = write_of(mail);

        write->result = TV_ERR_TIMED_OUT;
        undo(write, true);
        finished[write->is_odd]++;
        tv_replies_add(replies, write);
    }
    answer(committer, replies, finished, &metrics);
}

/*
 * Those at the front that were taken out of their lane behind a group that took long.
 * Returns how many there are.
 */
static size_t refuse_old(worker *self, tv_write *const *writes, size_t count)
{
    int64_t now_ns = tv_clock_mono_ns();
    tv_mail_chain old = {0};

    while (old.count < count && is_old(writes[old.count], now_ns))
        tv_mail_chain_add(&old, &writes[old.count]->mail);

    size_t refused = old.count;

    answer_old(self->committer, &self->replies, &old);
    return refused;
}

/* --- a thread --- */

/*
 * How many of them, from the first on, can wait for the storage together: until the first of them
 * has waited as long as it may, when none of the others has waited much less.  A group ends as
 * a whole, and who has come just now has its time.
 */
static size_t of_an_age(tv_write *const *writes, size_t count, int64_t *ret_oldest_ns)
{
    int64_t oldest = writes[0]->since_ns, newest = oldest;
    size_t fitting = 0;

    for (; fitting < count; fitting++) {
        int64_t since = writes[fitting]->since_ns;
        int64_t from = since < oldest ? since : oldest, to = since > newest ? since : newest;

        if (to - from > tv_write_wait_max_ns / AGES)
            break;
        oldest = from;
        newest = to;
    }
    *ret_oldest_ns = oldest;
    return fitting;
}

/* Whatever a group of shared storage waits for ends in time, counted from when its writes came. */
static size_t commit_in_time(worker *self, tv_write *const *writes, size_t count,
                             tv_pipeline_metrics *metrics, tv_err *ret_err)
{
    int64_t oldest_ns, before;
    size_t done;

    if (!has_ranges(self->committer->pipeline))
        return tv_group_commit(self->txn, writes, count, metrics, ret_err);

    count = of_an_age(writes, count, &oldest_ns);
    before = tv_deadline_set(oldest_ns + tv_write_wait_max_ns);
    done = tv_group_commit(self->txn, writes, count, metrics, ret_err);
    (void)tv_deadline_set(before);
    return done;
}

/* Run one group and answer it.  The answers go out only after the engine's result (1). */
static size_t commit_group(worker *self, tv_lane *lane, tv_write *const *writes, size_t count)
{
    struct committer *committer = self->committer;
    tv_engine *engine = committer->pipeline->engine;
    tv_pipeline_metrics metrics = {0};
    bool was_lost = committer->has_lost_engine;
    size_t finished[2] = {0};
    tv_mail_chain moved = {0};
    tv_err err;
    size_t done = commit_in_time(self, writes, count, &metrics, &err);
    int64_t now_ns = has_ranges(committer->pipeline) ? tv_clock_mono_ns() : 0;

    /* Shared storage refuses one batch: the next may find everything in order. */
    if (err == TV_ERR_IO && !engine->ops->is_shared)
        committer->has_lost_engine = true;
    note_engine(committer, err);
    note_clock(committer);
    for (size_t i = 0; i < done; i++) {
        if (writes[i]->result == TV_ERR_MOVED && now_ns && may_move(writes[i], now_ns)) {
            tv_mail_chain_add(&moved, &writes[i]->mail);
            continue;
        }
        if (writes[i]->result)
            undo(writes[i], was_lost);
        else if (writes[i]->settle)
            writes[i]->settle(writes[i]);
        finished[writes[i]->is_odd]++;
        tv_replies_add(&self->replies, writes[i]);
    }
    metrics.moved = moved.count;
    answer(committer, &self->replies, finished, &metrics);
    if (moved.first)
        move_writes(committer, lane, &moved);
    return done;
}

/* Commit all that was taken of a lane, in as many groups as it makes. */
static void commit_all(worker *self, tv_lane *lane, size_t count, size_t wanted)
{
    int64_t start_ns = tv_clock_mono_ns();

    for (size_t done = 0; done < count;) {
        if (done && has_ranges(self->committer->pipeline))
            done += refuse_old(self, self->writes + done, count - done);
        if (done < count)
            done += commit_group(self, lane, self->writes + done, count - done);
    }
    tv_gather_learn(&lane->gather, wanted, count, tv_clock_mono_ns() - start_ns);
}

/*
 * Serve a lane until it has no more writes, or others wait for a thread.  `wanted` is
 * computed when answers have just gone out: those who got them are expected next.
 */
static void serve(worker *self, tv_lane *lane)
{
    struct committer *committer = self->committer;
    size_t count = take_writes(committer, lane, self->writes, lane->next_wanted);

    if (count > 0) {
        size_t wanted = lane->next_wanted;

        pthread_mutex_unlock(&committer->lock);
        commit_all(self, lane, count, wanted);
        pthread_mutex_lock(&committer->lock);
        lane->next_wanted = wanted_of(lane);
    }
    lane->is_served = false;
    if (tv_write_queue_count(lane->queue))
        tv_lanes_add_ready(&committer->lanes, lane);
    else
        lane->idle_since_ns = tv_clock_mono_ns();
}

static void *run_committer(void *arg)
{
    struct committer *committer = arg;
    worker self = {
        .committer = committer,
        .txn = tv_txn_new(committer->pipeline->engine),
        .writes = tv_malloc(TV_GROUP_WRITES_MAX * sizeof *self.writes),
    };
    tv_lane *lane;

    if (!committer->pipeline->engine->ops->is_shared)
        tv_txn_keep_time(self.txn); /* shared storage does that itself */
    if (committer->tally)
        tv_txn_set_tally(self.txn, committer->tally);
    tv_thread_take_short_slices();
    pthread_mutex_lock(&committer->lock);
    while ((lane = wait_for_lane(committer)))
        serve(&self, lane);
    pthread_mutex_unlock(&committer->lock);
    free(self.replies.list);
    free(self.writes);
    tv_txn_free(self.txn);
    return NULL;
}

/* A thread may be held up by the storage for any time, and those that wait for it with it. */
static void look_at_lanes(struct committer *committer, tv_replies *replies)
{
    int64_t now_ns = tv_clock_mono_ns();
    tv_mail_chain old = {0};

    pthread_mutex_lock(&committer->lock);
    tv_lanes_take_old(&committer->lanes, now_ns - tv_write_wait_max_ns, &old);
    tv_lanes_drop_idle(&committer->lanes, now_ns - tv_lane_idle_max_ns);
    pthread_mutex_unlock(&committer->lock);
    answer_old(committer, replies, &old);
}

static void *run_watcher(void *arg)
{
    struct committer *committer = arg;
    tv_replies replies = {0};

    pthread_mutex_lock(&committer->lock);
    while (!committer->is_over) {
        struct timespec until = after_ns(WATCH_MS * INT64_C(1000000));

        pthread_cond_timedwait(&committer->over, &committer->lock, &until);
        pthread_mutex_unlock(&committer->lock);
        look_at_lanes(committer, &replies);
        pthread_mutex_lock(&committer->lock);
    }
    pthread_mutex_unlock(&committer->lock);
    free(replies.list);
    return NULL;
}

/* --- the pipeline --- */

static void committer_start(struct committer *committer, tv_pipeline *pipeline, int thread_count,
                            tv_txn_tally *tally)
{
    pthread_condattr_t monotonic;

    committer->pipeline = pipeline;
    committer->tally = tally;
    committer->thread_count = thread_count;
    committer->threads = tv_calloc((size_t)thread_count, sizeof *committer->threads);
    tv_lanes_init(&committer->lanes, has_ranges(pipeline) ? LANE_PLACES : TV_WRITE_PLACES_MAX,
                  pipeline->engine->ops->is_shared);
    tv_assert(pthread_mutex_init(&committer->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&committer->ready, NULL) == 0);
    tv_assert(pthread_cond_init(&committer->finished, NULL) == 0);
    tv_assert(pthread_condattr_init(&monotonic) == 0);
    tv_assert(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    tv_assert(pthread_cond_init(&committer->over, &monotonic) == 0);
    pthread_condattr_destroy(&monotonic);
    for (int i = 0; i < thread_count; i++) {
        tv_assert(pthread_create(&committer->threads[i], NULL, run_committer, committer) == 0);
        pthread_setname_np(committer->threads[i], "tv-commit");
    }
    if (has_ranges(pipeline)) {
        tv_assert(pthread_create(&committer->watcher, NULL, run_watcher, committer) == 0);
        pthread_setname_np(committer->watcher, "tv-commit-watch");
    }
}

tv_pipeline *tv_pipeline_new_tallied(tv_engine *engine, int committer_count, size_t queue_max,
                                     tv_tally_of_fn *tally_of, void *ctx)
{
    tv_assert(committer_count > 0 && queue_max > 0);
    tv_assert(tally_of == NULL || !engine->ops->is_shared);

    int threads_each = engine->ops->range_of ? committer_count : 1;
    int count = committer_count / threads_each;
    tv_pipeline *pipeline =
        tv_calloc(1, sizeof *pipeline + (size_t)count * sizeof(struct committer));

    pipeline->engine = engine;
    pipeline->queue_max = queue_max;
    pipeline->committer_count = count;
    for (int i = 0; i < count; i++)
        committer_start(&pipeline->committers[i], pipeline, threads_each,
                        tally_of ? tally_of(ctx, i) : NULL);
    return pipeline;
}

tv_pipeline *tv_pipeline_new(tv_engine *engine, int committer_count, size_t queue_max)
{
    return tv_pipeline_new_tallied(engine, committer_count, queue_max, NULL, NULL);
}

static void committer_stop(struct committer *committer)
{
    for (int i = 0; i < committer->thread_count; i++)
        pthread_join(committer->threads[i], NULL);
    if (has_ranges(committer->pipeline)) {
        pthread_mutex_lock(&committer->lock);
        committer->is_over = true;
        pthread_cond_signal(&committer->over);
        pthread_mutex_unlock(&committer->lock);
        pthread_join(committer->watcher, NULL);
    }
    tv_lanes_done(&committer->lanes);
    pthread_cond_destroy(&committer->over);
    pthread_cond_destroy(&committer->finished);
    pthread_cond_destroy(&committer->ready);
    pthread_mutex_destroy(&committer->lock);
    free(committer->threads);
}

void tv_pipeline_free(tv_pipeline *pipeline)
{
    if (pipeline == NULL)
        return;

    for (int i = 0; i < pipeline->committer_count; i++) {
        struct committer *committer = &pipeline->committers[i];

        pthread_mutex_lock(&committer->lock);
        committer->is_stopping = true;
        pthread_cond_broadcast(&committer->ready);
        pthread_mutex_unlock(&committer->lock);
    }
    for (int i = 0; i < pipeline->committer_count; i++)
        committer_stop(&pipeline->committers[i]);
    free(pipeline);
}

void tv_pipeline_drain(tv_pipeline *pipeline)
{
    for (int i = 0; i < pipeline->committer_count; i++) {
        struct committer *committer = &pipeline->committers[i];

        pthread_mutex_lock(&committer->lock);
        while (committer->is_draining)
            pthread_cond_wait(&committer->finished, &committer->lock);
        bool is_odd = committer->is_odd;
        committer->is_draining = true;
        committer->is_odd = !is_odd;
        while (committer->unfinished[is_odd])
            pthread_cond_wait(&committer->finished, &committer->lock);
        committer->is_draining = false;
        pthread_cond_broadcast(&committer->finished);
        pthread_mutex_unlock(&committer->lock);
    }
}

void tv_pipeline_read_metrics(tv_pipeline *pipeline, tv_pipeline_metrics *ret_metrics)
{
    tv_pipeline_metrics sum = {0};

    for (int i = 0; i < pipeline->committer_count; i++) {
        struct committer *committer = &pipeline->committers[i];

        pthread_mutex_lock(&committer->lock);
        add_metrics(&sum, &committer->metrics);
        sum.lanes += committer->lanes.count;
        pthread_mutex_unlock(&committer->lock);
    }
    sum.queued = atomic_load(&pipeline->queued);
    *ret_metrics = sum;
}

tv_outbox *tv_outbox_new(tv_pipeline *pipeline)
{
    size_t chains_size = (size_t)pipeline->committer_count * sizeof(tv_mail_chain);
    tv_outbox *outbox = tv_calloc(1, sizeof *outbox + chains_size);

    outbox->pipeline = pipeline;
    return outbox;
}

void tv_outbox_free(tv_outbox *outbox)
{
    if (outbox == NULL)
        return;

    tv_assert(outbox->count == 0);
    free(outbox);
}

/*
 * With a local engine a partition has one committer for the life of the process: that
 * orders its writes (3).
 */
static size_t committer_of(const tv_pipeline *pipeline, tv_slice partition)
{
    return pipeline->committer_count == 1 ? 0
                                          : tv_hash(partition) % (size_t)pipeline->committer_count;
}

void tv_outbox_add(tv_outbox *outbox, tv_write *write)
{
    tv_assert(write->partition.len > 0 && write->run && write->reply_to && write->mail.deliver);
    tv_write_queue_place(write);
    write->moves = 0;
    write->range = 0;
    tv_mail_chain_add(&outbox->chains[committer_of(outbox->pipeline, write->partition)],
                      &write->mail);
    outbox->count++;
}

/* Take room in the queue for up to `wanted` writes; returns for how many there was room. */
static size_t reserve(tv_pipeline *pipeline, size_t wanted)
{
    size_t queued = atomic_load(&pipeline->queued), room;

    do {
        size_t left = queued < pipeline->queue_max ? pipeline->queue_max - queued : 0;

        room = wanted < left ? wanted : left;
    } while (!atomic_compare_exchange_weak(&pipeline->queued, &queued, queued + room));
    return room;
}

/* Note the range of each write, and when it came: with what its thread works for, if it does. */
static void locate(tv_engine *engine, tv_mail_chain *writes)
{
    int64_t now_ns = tv_clock_mono_ns();

    if (tv_deadline() && tv_deadline() - tv_write_wait_max_ns < now_ns)
        now_ns = tv_deadline() - tv_write_wait_max_ns;

    for (tv_mail *mail = writes->first; mail; mail = mail->next) {
        write_of(mail)->since_ns = now_ns;
        write_of(mail)->range = engine->ops->range_of(engine, write_of(mail)->partition);
    }
}

/*
 * Hand one chain over.  What the queue has no room for is refused: the last
 * ones, and as a message like every other answer, never from within this call.
 */
static void flush_chain(tv_pipeline *pipeline, struct committer *committer, tv_mail_chain *chain)
{
    size_t room = reserve(pipeline, chain->count);
    tv_mail_chain accepted = {0};
    tv_mail *mail;

    if (room == chain->count) {
        accepted = *chain;
        *chain = (tv_mail_chain){0};
    } else {
        while (accepted.count < room)
            tv_mail_chain_add(&accepted, tv_mail_chain_take(chain));
    }

    if (accepted.first) {
        size_t ready = 0;

        if (has_ranges(pipeline))
            locate(pipeline->engine, &accepted);
        pthread_mutex_lock(&committer->lock);
        committer->unfinished[committer->is_odd] += accepted.count;
        while ((mail = tv_mail_chain_take(&accepted))) {
            write_of(mail)->is_odd = committer->is_odd;
            ready += enqueue(committer, write_of(mail));
        }
        pthread_mutex_unlock(&committer->lock);
        wake_for(committer, ready);
    }

    while ((mail = tv_mail_chain_take(chain))) {
        tv_mail_chain refused = {0};

        write_of(mail)->result = TV_ERR_OVERLOADED;
        undo(write_of(mail), true);
        tv_mail_chain_add(&refused, mail);
        tv_mailbox_post(write_of(mail)->reply_to, &refused);
    }
}

void tv_outbox_flush(tv_outbox *outbox)
{
    if (outbox->count == 0)
        return;

    for (int i = 0; i < outbox->pipeline->committer_count; i++) {
        if (outbox->chains[i].first)
            flush_chain(outbox->pipeline, &outbox->pipeline->committers[i], &outbox->chains[i]);
    }
    outbox->count = 0;
}
