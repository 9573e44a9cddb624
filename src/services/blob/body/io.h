/*
 * What uploads and downloads share: where large data is, the threads that may
 * wait for the disk, and the memory that is on its way between disk and network.
 *
 * That memory is buffers, charged to their users (base/budget.h).  A transfer
 * may keep its buffer for as long as its client likes to be slow, so none waits
 * for another's: one whose share is used up goes on with less, and more slowly.
 */
#ifndef TV_BLOB_IO_H
#define TV_BLOB_IO_H

#include "base/budget.h"
#include "base/turns.h"
#include "base/workers.h"
#include "services/blob/body/hasher.h"
#include "store/extent/extent.h"

/** Buffers of one size, up to a number of them; some are kept for the next.  Any thread. */
typedef struct tv_buffers tv_buffers;

tv_buffers *tv_buffers_new(size_t buffer_bytes, size_t count_max);

/** When all have come back.  Accepts NULL. */
void tv_buffers_free(tv_buffers *buffers);

size_t tv_buffers_size(const tv_buffers *buffers);

/** A buffer, or NULL when all are in use or the charge does not have that much left. */
char *tv_buffers_take(tv_buffers *buffers, tv_charge *charge);

/** Give one back, and the charge what it paid for it.  Accepts NULL. */
void tv_buffers_give(tv_buffers *buffers, char *buffer, tv_charge *charge);

/** How many are in use, and the most that ever were; for metrics and tests. */
size_t tv_buffers_used(tv_buffers *buffers);
size_t tv_buffers_used_max(tv_buffers *buffers);

/** All of it. */
typedef struct tv_blob_io {
    tv_extents *extents;
    tv_workers *workers;
    tv_turns *scanners;   /* for what takes long; the server's */
    tv_hasher *hasher;    /* of uploads; NULL when the processor does not hash several at once */
    tv_buffers *in, *out; /* of uploads, of downloads */
} tv_blob_io;

enum {
    TV_BLOB_BUFFER_BYTES = 256 * 1024,
    TV_BLOB_WORKERS = 4,
    TV_BLOB_JOBS_MAX = 16 * 1024,
};

/** Make the threads and the buffers; the store and the scanners are the caller's. */
void tv_blob_io_init(tv_blob_io *io, tv_extents *extents, tv_turns *scanners, int worker_count);

/** Stop the threads, the hasher first.  Before the loops are freed that get their completions. */
void tv_blob_io_stop(tv_blob_io *io);

/** Free the rest.  After the loops, whose last uploads give buffers back. */
void tv_blob_io_done(tv_blob_io *io);

#endif
