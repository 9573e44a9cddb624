/*
 * A small pool of threads for work that may wait for the disk: reads that are
 * not in memory, scans, backups.  A job runs on some worker and then goes back,
 * as a message, to the mailbox of the thread that asked.
 */
#ifndef TV_BASE_WORKERS_H
#define TV_BASE_WORKERS_H

#include "base/mailbox.h"

typedef struct tv_workers tv_workers;

typedef struct tv_job {
    tv_mail mail;                    /* its `deliver` is called on the asker's thread when done */
    void (*run)(struct tv_job *job); /* called on a worker */
    tv_mailbox *reply_to;
} tv_job;

/** More than `queue_max` jobs waiting are refused. */
tv_workers *tv_workers_new(int thread_count, size_t queue_max);

/** Finish all submitted jobs, then end the threads.  Accepts NULL. */
void tv_workers_free(tv_workers *workers);

/**
 * Queue a job; false when too many wait already.  The caller keeps its memory
 * alive until `deliver`.  Any thread.
 */
bool tv_workers_submit(tv_workers *workers, tv_job *job) __attribute__((warn_unused_result));

#endif
