/*
 * The thread that hashes for uploads.
 *
 * Requests seldom hand in their pieces at the same moment by themselves: a thread
 * that takes what it finds keeps a core busy with three lanes of eight, a core
 * that would otherwise bring the next pieces.  So it waits for uploads that have
 * been here and are not done: for a millisecond, which is three times what hashing
 * a buffer takes, and less and less often while nobody comes.
 */
#include "blob/body/hasher.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/assert.h"
#include "base/md5_lanes.h"

enum {
    PATIENCE_NS = 1000 * 1000,
    SKIPS_MAX = 63,
    NS_PER_S = 1000 * 1000 * 1000,
};

struct tv_hasher {
    tv_workers *workers;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows, and is_coming of the jobs */
    pthread_cond_t filled;
    tv_mail_chain queue;
    size_t joined;
    size_t coming; /* jobs that are */
    size_t wanted; /* the thread sleeps until so many wait; 0 when it is awake */
    bool is_stopping;
    uint64_t batches, pieces;

    /* The thread's. */
    int skips, skips_left; /* batches that begin without a wait, since waits have been in vain */
};

/* --- on the hasher's thread, locked --- */

/* Sleep until `wanted` jobs wait, or until a time unless it is NULL. */
static void sleep_until(tv_hasher *hasher, size_t wanted, const struct timespec *until)
{
    int err = 0;

    hasher->wanted = wanted;
    while (hasher->queue.count < wanted && !hasher->is_stopping && err != ETIMEDOUT)
        err = until ? pthread_cond_timedwait(&hasher->filled, &hasher->lock, until)
                    : pthread_cond_wait(&hasher->filled, &hasher->lock);
    hasher->wanted = 0;
}

/* Give those that are about to come a moment.  Several that wait already show that it pays. */
static void gather(tv_hasher *hasher)
{
    size_t before = hasher->queue.count, wanted = before + hasher->coming;
    struct timespec until;

    wanted = wanted < TV_MD5_LANES ? wanted : TV_MD5_LANES;
    if (before >= wanted)
        return;
    if (hasher->skips_left > 0 && before == 1) {
        hasher->skips_left--;
        return;
    }

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PATIENCE_NS;
    until.tv_sec += until.tv_nsec / NS_PER_S;
    until.tv_nsec %= NS_PER_S;
    sleep_until(hasher, wanted, &until);

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

    pthread_mutex_lock(&hasher->lock);
    sleep_until(hasher, 1, NULL);
    gather(hasher);
    while (count < TV_MD5_LANES && hasher->queue.first) {
        tv_hash_job *job = (tv_hash_job *)tv_mail_chain_take(&hasher->queue);

        job->is_coming = !job->is_last;
        hasher->coming += job->is_coming;
        ret_jobs[count++] = job;
    }
    hasher->batches += count > 0;
    hasher->pieces += count;
    pthread_mutex_unlock(&hasher->lock);
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

static void *run(void *arg)
{
    tv_hasher *hasher = arg;
    tv_hash_job *jobs[TV_MD5_LANES];
    tv_md5_lane lanes[TV_MD5_LANES];
    size_t count;

    while ((count = take(hasher, jobs)) > 0) {
        for (size_t i = 0; i < count; i++)
            lanes[i] = (tv_md5_lane){jobs[i]->md5, jobs[i]->bytes};
        tv_md5_update_lanes(lanes, count);
        for (size_t i = 0; i < count; i++)
            hand_on(hasher, jobs[i]);
    }
    return NULL;
}

/* --- on any thread --- */

tv_hasher *tv_hasher_new(tv_workers *workers)
{
    tv_hasher *hasher = tv_calloc(1, sizeof *hasher);
    pthread_condattr_t monotonic;

    hasher->workers = workers;
    tv_assert(pthread_condattr_init(&monotonic) == 0);
    tv_assert(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    tv_assert(pthread_mutex_init(&hasher->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&hasher->filled, &monotonic) == 0);
    pthread_condattr_destroy(&monotonic);
    tv_assert(pthread_create(&hasher->thread, NULL, run, hasher) == 0);
    pthread_setname_np(hasher->thread, "tv-md5");
    return hasher;
}

void tv_hasher_stop(tv_hasher *hasher)
{
    if (hasher == NULL)
        return;

    pthread_mutex_lock(&hasher->lock);
    hasher->is_stopping = true;
    pthread_cond_signal(&hasher->filled);
    pthread_mutex_unlock(&hasher->lock);
    pthread_join(hasher->thread, NULL);
    hasher->workers = NULL;
}

void tv_hasher_free(tv_hasher *hasher)
{
    if (hasher == NULL)
        return;

    tv_assert(hasher->workers == NULL && hasher->joined == 0 && hasher->coming == 0);
    pthread_cond_destroy(&hasher->filled);
    pthread_mutex_destroy(&hasher->lock);
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

    pthread_mutex_lock(&hasher->lock);
    hasher->joined++;
    pthread_mutex_unlock(&hasher->lock);
}

void tv_hasher_leave(tv_hasher *hasher, tv_hash_job *job)
{
    if (hasher == NULL)
        return;

    pthread_mutex_lock(&hasher->lock);
    tv_assert(hasher->joined > 0);
    hasher->joined--;
    expect_no_more(hasher, job);
    pthread_mutex_unlock(&hasher->lock);
}

bool tv_hasher_submit(tv_hasher *hasher, tv_hash_job *job)
{
    if (hasher == NULL)
        return false;

    pthread_mutex_lock(&hasher->lock);
    tv_assert(!hasher->is_stopping);
    expect_no_more(hasher, job);
    bool is_taken = job->bytes.len > 0 && hasher->joined > 1;

    if (is_taken) {
        tv_mail_chain_add(&hasher->queue, &job->job.mail);
        if (hasher->wanted > 0 && hasher->queue.count >= hasher->wanted) {
            hasher->wanted = 0;
            pthread_cond_signal(&hasher->filled);
        }
    }
    pthread_mutex_unlock(&hasher->lock);
    return is_taken;
}

void tv_hasher_figures(tv_hasher *hasher, uint64_t *ret_batches, uint64_t *ret_pieces)
{
    pthread_mutex_lock(&hasher->lock);
    *ret_batches = hasher->batches;
    *ret_pieces = hasher->pieces;
    pthread_mutex_unlock(&hasher->lock);
}
