/*
 * The MD5 of uploads, of several at once.
 *
 * A thread of its own takes all pieces that wait, each of another upload, hashes
 * them together (base/md5_lanes.h) and hands every job on to the workers.  While
 * it hashes, the next pieces gather.  Eight take hardly longer than one, so it
 * waits a moment for uploads that are about to bring another piece, as long as
 * such waits pay.
 *
 * Any thread.  All but tv_hasher_new and tv_hasher_metrics accept NULL: a hasher
 * that takes no jobs.
 */
#ifndef TV_BLOB_HASHER_H
#define TV_BLOB_HASHER_H

#include "base/err.h"
#include "base/md5.h"
#include "base/workers.h"

typedef struct tv_hasher tv_hasher;

/** A job for a worker, before which `bytes` are added to `md5`.  One of each upload. */
typedef struct tv_hash_job {
    tv_job job;
    tv_md5 *md5;
    tv_slice bytes;
    bool is_last;    /* no more bytes will come */
    bool is_refused; /* set when it comes back without having run: the workers have too much */
    bool is_coming;  /* the hasher's: it has been here, and will be again */
} tv_hash_job;

/** The workers are the caller's, and stay until after tv_hasher_stop. */
tv_hasher *tv_hasher_new(tv_workers *workers);

/** Hash all that waits and hand it on, then stop the thread.  Once; nothing is
 * submitted after it.
 */
void tv_hasher_stop(tv_hasher *hasher);

/** When it has stopped and all uploads have left. */
void tv_hasher_free(tv_hasher *hasher);

/** An upload that has an MD5 begins, and ends; its job, all zeros first, is not under way. */
void tv_hasher_join(tv_hasher *hasher);
void tv_hasher_leave(tv_hasher *hasher, tv_hash_job *job);

/**
 * Queue a job.  The caller leaves it, the MD5 and the bytes alone until its
 * completion is delivered.  False when it is better to hash on a worker,
 * because there is no other upload to hash together with, or nothing to hash:
 * the job is the caller's.
 */
bool tv_hasher_submit(tv_hasher *hasher, tv_hash_job *job) TV_WARN_UNUSED;

/** For tests: while it is held, no batch begins. */
void tv_hasher_hold(tv_hasher *hasher, bool is_held);

/** Batches that were hashed, and the pieces in them; for tests. */
void tv_hasher_metrics(tv_hasher *hasher, uint64_t *ret_batches, uint64_t *ret_pieces);

#endif
