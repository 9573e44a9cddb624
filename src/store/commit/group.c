/*
 * Groups and what happens when one fails as a whole.  (n) refers to the
 * invariants in README.md.
 */
#include "store/commit/group.h"

#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/random.h"

enum {
    TOGETHER_ATTEMPTS_MAX = 4, /* of a group that meets conflicts, before its members go alone */
    ALONE_ATTEMPTS_MAX = 64,   /* several nodes may want the same row all the time */
    BACKOFF_US_MAX = 8000,
};

static size_t slot_of(uint64_t value)
{
    size_t slot = value <= 1 ? 0 : 64 - (size_t)__builtin_clzll(value - 1);

    return slot < TV_PIPELINE_SLOTS ? slot : TV_PIPELINE_SLOTS - 1;
}

/* The engine write of a group, timed. */
static tv_err commit(tv_txn *txn, tv_pipeline_metrics *metrics)
{
    int64_t start_ns = tv_clock_mono_ns();
    tv_err err = tv_txn_commit(txn);
    uint64_t took_us = (uint64_t)(tv_clock_mono_ns() - start_ns) / 1000;

    metrics->commit_us_slots[slot_of(took_us)]++;
    metrics->commit_us_sum += took_us;
    return err;
}

/* An update function has run since `start_ns`: all other writes have waited for it. */
static void note_function(tv_pipeline_metrics *metrics, int64_t start_ns, int64_t end_ns)
{
    uint64_t took_us = (uint64_t)(end_ns - start_ns) / 1000;

    metrics->function_us_slots[slot_of(took_us)]++;
    metrics->function_us_sum += took_us;
    if (took_us > metrics->function_us_max)
        metrics->function_us_max = took_us;
}

/*
 * Fetch what the functions of the first writes will ask for.  `count` is how many there
 * are, and then how many of them make a group.
 */
static tv_err fetch(tv_txn *txn, tv_write *const *writes, size_t *count)
{
    size_t fitting = 0;

    while (fitting < *count &&
           tv_txn_announce(txn, writes[fitting]->reads, writes[fitting]->read_count,
                           writes[fitting]->expects_none))
        fitting++;
    *count = fitting;
    return tv_txn_fetch(txn);
}

/*
 * Run writes until the group is full, then commit.  `ret_count` is how many
 * took part.  On TV_OK their results stand; on an error none of them does,
 * because even a function that failed by itself may have judged by what an
 * earlier one of the group had written, and that is not durable (2).
 */
static tv_err run_together(tv_txn *txn, tv_write *const *writes, size_t count,
                           tv_pipeline_metrics *metrics, size_t *ret_count)
{
    bool is_shared = tv_txn_engine(txn)->ops->is_shared;
    size_t ran = 0, rows_max = is_shared ? TV_GROUP_ROWS_MAX : SIZE_MAX;

    tv_txn_begin(txn);
    if (is_shared) {
        tv_err err = fetch(txn, writes, &count);

        *ret_count = count;
        if (err)
            return err;
    }
    int64_t start_ns = tv_clock_mono_ns();
    do {
        tv_write *write = writes[ran++];

        write->result = tv_txn_run(txn, write->partition, write->run, write->ctx);

        int64_t end_ns = tv_clock_mono_ns();

        note_function(metrics, start_ns, end_ns);
        start_ns = end_ns;
    } while (ran < count && ran < TV_GROUP_WRITES_MAX && tv_txn_bytes(txn) < TV_GROUP_BYTES_MAX &&
             tv_txn_rows(txn) < rows_max);
    *ret_count = ran;
    return commit(txn, metrics);
}

/* Wait a little longer each time, so that two nodes that race for a row drift apart. */
static void back_off(int attempt)
{
    int64_t wait_us = INT64_C(50) << (attempt < 10 ? attempt : 10);
    int64_t wait_ns = (wait_us < BACKOFF_US_MAX ? wait_us : BACKOFF_US_MAX) * 1000;
    struct timespec span = {.tv_nsec =
                                wait_ns / 2 + (int64_t)(tv_random_u64() % (uint64_t)wait_ns) / 2};

    nanosleep(&span, NULL);
}

/* Run one write as a group of its own, again after conflicts.  Returns the engine's last error. */
static tv_err run_alone(tv_txn *txn, tv_write *write, tv_pipeline_metrics *metrics)
{
    tv_err err = TV_ERR_CONFLICT;

    for (int i = 0; err == TV_ERR_CONFLICT && i < ALONE_ATTEMPTS_MAX; i++) {
        size_t ignored;

        if (i > 0)
            back_off(i);
        metrics->retries++;
        err = run_together(txn, &write, 1, metrics, &ignored);
    }
    if (err)
        write->result = err;
    return err;
}

static void set_results(tv_write *const *writes, size_t count, tv_err err)
{
    for (size_t i = 0; i < count; i++)
        writes[i]->result = err;
}

size_t tv_group_commit(tv_txn *txn, tv_write *const *writes, size_t count,
                       tv_pipeline_metrics *metrics, tv_err *ret_err)
{
    size_t ran;
    tv_err err;

    tv_assert(count > 0);
    err = run_together(txn, writes, count, metrics, &ran);
    for (int i = 1; err == TV_ERR_CONFLICT && i < TOGETHER_ATTEMPTS_MAX; i++) {
        metrics->retries++;
        back_off(i);
        /* Just those that ran before: a rerun must not pull in others and grow for ever. */
        err = run_together(txn, writes, ran, metrics, &ran);
    }
    if (err != TV_ERR_MOVED) {
        metrics->groups++;
        metrics->writes += ran;
        metrics->group_size_slots[slot_of(ran)]++;
        metrics->failed_groups += err != TV_OK;
    }

    if (err == TV_ERR_IO || err == TV_ERR_MOVED) {
        /*
         * What the disk holds is unknown, so no client may be told more than that (1).  Or the
         * rows are in different ranges by now, and none of them was written.
         */
        set_results(writes, ran, err);
    } else if (err) {
        size_t alone = 0;

        /* Nothing was written: each goes alone, in order, so that one that cannot succeed does not
         * fail the others, and one that fails by itself hears its own reason (3), (5), (6).
         * Except that nobody waits again for storage that has not answered in all the time that
         * a write may take. */
        while (alone < ran && err != TV_ERR_TIMED_OUT)
            err = run_alone(txn, writes[alone++], metrics);
        set_results(writes + alone, ran - alone, err);
    }
    *ret_err = err;
    return ran;
}
