/*
 * The thread that hashes for uploads.
 *
 * By themselves, requests seldom hand in their pieces at the same moment: a thread
 * that takes what it finds keeps a core busy with three lanes of eight, a core
 * that would otherwise bring the next pieces.  So it waits for uploads that have
 * been here and are not done: for a millisecond, which is three times what hashing
 * a buffer takes, and less and less often while none comes.
 */
#include "services/blob/body/hasher.h"

#include "base/assert.h"
#include "base/background.h"
#include "base/clock.h"
#include "base/md5_lanes.h"

enum {
    PATIENCE_NS = 1000 * 1000,
    SKIPS_MAX = 63,
};

struct tv_hasher {
    tv_workers *workers;
    tv_background thread; /* its lock guards what follows, and is_coming of the jobs */
    tv_mail_chain queue;
    size_t joined;
    size_t coming; /* jobs that are */
    size_t wanted; /* the thread sleeps until this many wait; 0 when it is awake */
    uint64_t batches, pieces;
    bool is_held; /* by a test */

    /* The thread's. */
    int skips, skips_left; /* batches that begin without a wait, since waits have brought nothing */
};

/* --- on the hasher's thread, locked --- */

/* Sleep until `wanted` jobs wait, or until a time. */
static void sleep_until(tv_hasher *hasher, size_t wanted, int64_t until_ns)
{
    hasher->wanted = wanted;
    while (hasher->queue.count < wanted && tv_background_wait(&hasher->thread, until_ns))
        ;
    hasher->wanted = 0;
}

/* Give those that are about to come a moment.  Several that wait already show that it pays. */
static void gather(tv_hasher *hasher)
{
    size_t before = hasher->queue.count, wanted = before + hasher->coming;

    wanted = wanted < TV_MD5_LANES ? wanted : TV_MD5_LANES;
    if (before >= wanted)
        return;
    if (hasher->skips_left > 0 && before == 1) {
        hasher->skips_left--;
        return;
    }

    sleep_until(hasher, wanted, tv_clock_mono_ns() + PATIENCE_NS);

    bool has_paid = hasher->queue.count > 1;

    hasher->skips = has_paid ? 0 : hasher->skips * 2 + 1;
    hasher->skips = hasher->skips < SKIPS_MAX ? hasher->skips : SKIPS_MAX;
    hasher->skips_left = hasher->skips;
}

/* --- on the hasher's thread --- */

/* The next batch; 0 when it is time to end. */
static size_t take(tv_hasher *hasher, tv_hash_job *ret_jobs[TV_MD5_LANES])
{
    size_t count = 0;

    tv_background_lock(&hasher->thread);
    sleep_until(hasher, 1, TV_BACKGROUND_NEVER);
    while (hasher->is_held && tv_background_wait(&hasher->thread, TV_BACKGROUND_NEVER))
        ;
    gather(hasher);
    while (count < TV_MD5_LANES && hasher->queue.first) {
        tv_hash_job *job = (tv_hash_job *)tv_mail_chain_take(&hasher->queue);

        job->is_coming = !job->is_last;
        hasher->coming += job->is_coming;
        ret_jobs[count++] = job;
    }
    hasher->batches += count > 0;
    hasher->pieces += count;
    tv_background_unlock(&hasher->thread);
    return count;
}

static void hand_on(tv_hasher *hasher, tv_hash_job *job)
{
    tv_mailbox *reply_to = job->job.reply_to;
    tv_mail_chain refused = {0};

    if (tv_workers_submit(hasher->workers, &job->job))
        return;

    job->is_refused = true;
    tv_mail_chain_add(&refused, &job->job.mail);
    tv_mailbox_post(reply_to, &refused);
}

static void run(tv_background *thread, void *ctx)
{
    tv_hasher *hasher = ctx;
    tv_hash_job *jobs[TV_MD5_LANES];
    tv_md5_lane lanes[TV_MD5_LANES];
    size_t count;

    (void)thread;
    while ((count = take(hasher, jobs)) > 0) {
        for (size_t i = 0; i < count; i++)
            lanes[i] = (tv_md5_lane){jobs[i]->md5, jobs[i]->bytes};
        tv_md5_update_lanes(lanes, count);
        for (size_t i = 0; i < count; i++)
            hand_on(hasher, jobs[i]);
    }
}

/* --- on any thread --- */

tv_hasher *tv_hasher_new(tv_workers *workers)
{
    tv_hasher *hasher = tv_calloc(1, sizeof *hasher);

    hasher->workers = workers;
    tv_background_start(&hasher->thread,
                        &(tv_background_options){.name = "tv-md5", .run = run, .ctx = hasher});
    return hasher;
}

void tv_hasher_stop(tv_hasher *hasher)
{
    if (hasher == NULL)
        return;

    tv_background_stop(&hasher->thread);
    hasher->workers = NULL;
}

void tv_hasher_free(tv_hasher *hasher)
{
    if (hasher == NULL)
        return;

    tv_assert(hasher->workers == NULL && hasher->joined == 0 && hasher->coming == 0);
    tv_background_done(&hasher->thread);
    free(hasher);
}

/* Locked.  The job is here, or will not come. */
static void expect_no_more(tv_hasher *hasher, tv_hash_job *job)
{
    hasher->coming -= job->is_coming;
    job->is_coming = false;
}

void tv_hasher_join(tv_hasher *hasher)
{
    if (hasher == NULL)
        return;

    tv_background_lock(&hasher->thread);
    hasher->joined++;
    tv_background_unlock(&hasher->thread);
}

void tv_hasher_leave(tv_hasher *hasher, tv_hash_job *job)
{
    if (hasher == NULL)
        return;

    tv_background_lock(&hasher->thread);
    tv_assert(hasher->joined > 0);
    hasher->joined--;
    expect_no_more(hasher, job);
    tv_background_unlock(&hasher->thread);
}

bool tv_hasher_submit(tv_hasher *hasher, tv_hash_job *job)
{
    if (hasher == NULL)
        return false;

    tv_background_lock(&hasher->thread);
    tv_assert(!tv_background_is_stopping(&hasher->thread));
    expect_no_more(hasher, job);
    bool is_taken = job->bytes.len > 0 && hasher->joined > 1;

    if (is_taken) {
        tv_mail_chain_add(&hasher->queue, &job->job.mail);
        if (hasher->wanted > 0 && hasher->queue.count >= hasher->wanted) {
            hasher->wanted = 0;
            tv_background_wake(&hasher->thread);
        }
    }
    tv_background_unlock(&hasher->thread);
    return is_taken;
}

void tv_hasher_hold(tv_hasher *hasher, bool is_held)
{
    tv_background_lock(&hasher->thread);
    hasher->is_held = is_held;
    tv_background_wake(&hasher->thread);
    tv_background_unlock(&hasher->thread);
}

void tv_hasher_metrics(tv_hasher *hasher, uint64_t *ret_batches, uint64_t *ret_pieces)
{
    tv_background_lock(&hasher->thread);
    *ret_batches = hasher->batches;
    *ret_pieces = hasher->pieces;
    tv_background_unlock(&hasher->thread);
}
