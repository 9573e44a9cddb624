/*
 * Committers, their queues and what feeds them.  (n) refers to the invariants
 * in README.md.
 *
 * A committer's `lock` guards its queue, its counters and its metrics, and is
 * never held while a function runs, the engine writes or a message is posted.
 * No two locks are held at once.
 */
#include "commit/pipeline.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "commit/gather.h"
#include "commit/group.h"
#include "commit/queue.h"

struct committer {
    tv_pipeline *pipeline;
    tv_txn *txn; /* the thread's own */
    pthread_t thread;
    /* The thread's own, too. */
    tv_gather gather;
    tv_err engine_err;    /* the engine's last result, logged when it changes */
    bool has_lost_engine; /* it has said TV_ERR_IO, and refuses all writes from then on */
    bool clock_is_behind; /* as it was last logged */

    pthread_mutex_t lock;
    pthread_cond_t filled;
    pthread_cond_t finished;
    tv_write_queue *queue;
    size_t wanted; /* wake the committer when this many are queued */
    /* A drain waits for the writes of one parity, while those that come have the other. */
    size_t unfinished[2];
    bool is_odd, is_draining;
    bool is_stopping;
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

/* Answers on their way, sorted by mailbox so that each is woken once. */
struct replies {
    struct {
        tv_mailbox *box;
        tv_mail_chain chain;
    } * list;
    size_t count, size;
};

static tv_write *write_of(tv_mail *mail)
{
    return (tv_write *)mail; /* `mail` is its first member */
}

static void replies_add(struct replies *replies, tv_write *write)
{
    size_t i = 0;

    /* As many boxes as network threads: a handful. */
    while (i < replies->count && replies->list[i].box != write->reply_to)
        i++;
    if (i == replies->count) {
        if (replies->count == replies->size) {
            replies->size = replies->size ? replies->size * 2 : 16;
            replies->list = tv_realloc(replies->list, replies->size * sizeof *replies->list);
        }
        replies->list[i].box = write->reply_to;
        replies->list[i].chain = (tv_mail_chain){0};
        replies->count++;
    }
    tv_mail_chain_add(&replies->list[i].chain, &write->mail);
}

/* Post everything.  From here on the writes are their submitters' again and may be gone. */
static void replies_post(struct replies *replies)
{
    for (size_t i = 0; i < replies->count; i++)
        tv_mailbox_post(replies->list[i].box, &replies->list[i].chain);
    replies->count = 0;
}

/*
 * One line when the engine begins to fail, one when it has recovered.  It
 * reports a full disk itself, and deletes go through meanwhile: that is no
 * recovery.
 */
static void note_engine(struct committer *committer, tv_err err)
{
    if (err == committer->engine_err || err == TV_ERR_DISK_FULL)
        return;

    if (err)
        tv_log(TV_LOG_ERROR, "commit_failed", "engine=%s err=%s",
               committer->pipeline->engine->ops->name, tv_err_name(err));
    else
        tv_log(TV_LOG_INFO, "commit_recovered", "engine=%s",
               committer->pipeline->engine->ops->name);
    committer->engine_err = err;
}

/* One line when the wall clock falls behind the time of the store, one when it has caught up. */
static void note_clock(struct committer *committer)
{
    bool is_behind = tv_clock_lead_ticks() > TV_TICKS_PER_SECOND;

    if (is_behind == committer->clock_is_behind)
        return;

    if (is_behind)
        tv_log(TV_LOG_WARN, "clock_behind",
               "behind_s=%lld note=\"the clock was set back; stored times go on from where they "
               "were\"",
               (long long)(tv_clock_lead_ticks() / TV_TICKS_PER_SECOND));
    else
        tv_log(TV_LOG_INFO, "clock_caught_up", "note=\"stored times are the clock's again\"");
    committer->clock_is_behind = is_behind;
}

static void add_metrics(tv_pipeline_metrics *sum, const tv_pipeline_metrics *more)
{
    sum->groups += more->groups;
    sum->writes += more->writes;
    sum->retries += more->retries;
    sum->failed_groups += more->failed_groups;
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

/* Wait until `wanted` writes are queued, for ever or until a time of the monotonic clock. */
static void wait_for(struct committer *committer, size_t wanted, const struct timespec *until)
{
    committer->wanted = wanted;
    while (tv_write_queue_count(committer->queue) < wanted && !committer->is_stopping) {
        if (until == NULL)
            pthread_cond_wait(&committer->filled, &committer->lock);
        else if (pthread_cond_timedwait(&committer->filled, &committer->lock, until) != 0)
            break;
    }
}

static struct timespec after_ns(int64_t ns)
{
    int64_t at = tv_clock_mono_ns() + ns;

    return (struct timespec){.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};
}

/*
 * Wait for writes, and for more of them to batch (see gather.h); take up to a
 * group of them, in order.  0 is the end.
 */
static size_t take_writes(struct committer *committer, tv_write **ret_writes, size_t *ret_wanted)
{
    pthread_mutex_lock(&committer->lock);
    size_t wanted = tv_gather_wanted(&committer->gather, tv_write_queue_count(committer->queue));
    if (wanted > TV_GROUP_WRITES_MAX)
        wanted = TV_GROUP_WRITES_MAX;
    wait_for(committer, 1, NULL);
    if (tv_write_queue_count(committer->queue) < wanted) {
        struct timespec until = after_ns(tv_gather_patience_ns(&committer->gather));

        wait_for(committer, wanted, &until);
    }
    size_t count = tv_write_queue_take(committer->queue, TV_GROUP_WRITES_MAX, ret_writes);
    pthread_mutex_unlock(&committer->lock);
    *ret_wanted = wanted;
    return count;
}

/*
 * What a failed write was made of may go only if no later start can find the write:
 * (12).  An engine that had refused all writes before has not written this one.
 */
static void undo(tv_write *write, bool was_refused)
{
    if (write->undo && (write->result != TV_ERR_IO || was_refused))
        write->undo(write);
}

/* Run one group and answer it.  The answers go out only after the engine's result (1). */
static size_t commit_group(struct committer *committer, tv_write *const *writes, size_t count,
                           struct replies *replies)
{
    tv_pipeline_metrics metrics = {0};
    bool was_lost = committer->has_lost_engine;
    size_t finished[2] = {0};
    tv_err err;
    size_t done = tv_group_commit(committer->txn, writes, count, &metrics, &err);

    committer->has_lost_engine = was_lost || err == TV_ERR_IO;
    note_engine(committer, err);
    note_clock(committer);
    for (size_t i = 0; i < done; i++) {
        if (writes[i]->result)
            undo(writes[i], was_lost);
        else if (writes[i]->settle)
            writes[i]->settle(writes[i]);
        finished[writes[i]->is_odd]++;
        replies_add(replies, writes[i]);
    }

    /* Before the answers, so that a client that has heard one has room for the next. */
    atomic_fetch_sub(&committer->pipeline->queued, done);
    replies_post(replies);

    pthread_mutex_lock(&committer->lock);
    for (int i = 0; i < 2; i++)
        committer->unfinished[i] -= finished[i];
    add_metrics(&committer->metrics, &metrics);
    pthread_cond_broadcast(&committer->finished);
    pthread_mutex_unlock(&committer->lock);
    return done;
}

static void *run_committer(void *arg)
{
    struct committer *committer = arg;
    tv_write **writes = tv_malloc(TV_GROUP_WRITES_MAX * sizeof *writes);
    struct replies replies = {0};
    size_t count, wanted;

    tv_thread_take_short_slices();
    while ((count = take_writes(committer, writes, &wanted)) > 0) {
        int64_t start_ns = tv_clock_mono_ns();

        for (size_t done = 0; done < count;)
            done += commit_group(committer, writes + done, count - done, &replies);
        tv_gather_learn(&committer->gather, wanted, count, tv_clock_mono_ns() - start_ns);
    }
    free(replies.list);
    free(writes);
    return NULL;
}

tv_pipeline *tv_pipeline_new(tv_engine *engine, int committer_count, size_t queue_max)
{
    tv_assert(committer_count > 0 && queue_max > 0);

    size_t committers_size = (size_t)committer_count * sizeof(struct committer);
    tv_pipeline *pipeline = tv_calloc(1, sizeof *pipeline + committers_size);

    pthread_condattr_t monotonic;

    tv_assert(pthread_condattr_init(&monotonic) == 0);
    tv_assert(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    pipeline->engine = engine;
    pipeline->queue_max = queue_max;
    pipeline->committer_count = committer_count;
    for (int i = 0; i < committer_count; i++) {
        struct committer *committer = &pipeline->committers[i];

        committer->pipeline = pipeline;
        committer->txn = tv_txn_new(engine);
        committer->queue = tv_write_queue_new();
        tv_txn_keep_time(committer->txn);
        tv_assert(pthread_mutex_init(&committer->lock, NULL) == 0);
        tv_assert(pthread_cond_init(&committer->filled, &monotonic) == 0);
        tv_assert(pthread_cond_init(&committer->finished, NULL) == 0);
        tv_assert(pthread_create(&committer->thread, NULL, run_committer, committer) == 0);
        pthread_setname_np(committer->thread, "tv-commit");
    }
    pthread_condattr_destroy(&monotonic);
    return pipeline;
}

void tv_pipeline_free(tv_pipeline *pipeline)
{
    if (pipeline == NULL)
        return;

    for (int i = 0; i < pipeline->committer_count; i++) {
        struct committer *committer = &pipeline->committers[i];

        pthread_mutex_lock(&committer->lock);
        committer->is_stopping = true;
        pthread_cond_signal(&committer->filled);
        pthread_mutex_unlock(&committer->lock);
    }
    for (int i = 0; i < pipeline->committer_count; i++) {
        struct committer *committer = &pipeline->committers[i];

        pthread_join(committer->thread, NULL);
        tv_write_queue_free(committer->queue);
        tv_txn_free(committer->txn);
        pthread_cond_destroy(&committer->finished);
        pthread_cond_destroy(&committer->filled);
        pthread_mutex_destroy(&committer->lock);
    }
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

/* A partition has one committer for the life of the process: that orders its writes (3). */
static size_t committer_of(const tv_pipeline *pipeline, tv_slice partition)
{
    return pipeline->committer_count == 1 ? 0
                                          : tv_hash(partition) % (size_t)pipeline->committer_count;
}

void tv_outbox_add(tv_outbox *outbox, tv_write *write)
{
    tv_assert(write->partition.len > 0 && write->run && write->reply_to && write->mail.deliver);
    tv_write_queue_place(write);
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
        pthread_mutex_lock(&committer->lock);
        committer->unfinished[committer->is_odd] += accepted.count;
        while ((mail = tv_mail_chain_take(&accepted))) {
            write_of(mail)->is_odd = committer->is_odd;
            tv_write_queue_add(committer->queue, write_of(mail));
        }
        bool is_enough = tv_write_queue_count(committer->queue) >= committer->wanted;
        pthread_mutex_unlock(&committer->lock);
        if (is_enough)
            pthread_cond_signal(&committer->filled);
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
