/*
 * What uploads and downloads share: where large data lies, the threads that may
 * wait for the disk, and the memory that is on its way between disk and network.
 *
 * That memory is a fixed number of buffers for the whole server.  An upload or a
 * download goes on with one buffer, so whoever has one comes to an end and gives
 * it back; whoever has none waits for one, and nobody waits while it has one.
 */
#ifndef TV_BLOB_IO_H
#define TV_BLOB_IO_H

#include "base/workers.h"
#include "extent/extent.h"

/** Buffers of one size, up to a number of them.  Any thread. */
typedef struct tv_buffers tv_buffers;

tv_buffers *tv_buffers_new(size_t buffer_bytes, size_t count_max, size_t waiting_max);

/** When all have come back.  Accepts NULL. */
void tv_buffers_free(tv_buffers *buffers);

size_t tv_buffers_size(const tv_buffers *buffers);

/** A buffer, or NULL when all are in use or others wait already. */
char *tv_buffers_take(tv_buffers *buffers);

/** Somebody who waits for a buffer, until its letter is delivered. */
typedef struct tv_buffer_wait {
    tv_mail mail; /* its `deliver` is called when `buffer` is there */
    tv_mailbox *reply_to;
    char *buffer;
    struct tv_buffer_wait *next;
} tv_buffer_wait;

/** Wait in turn.  False when too many wait already. */
bool tv_buffers_wait(tv_buffers *buffers, tv_buffer_wait *wait) TV_WARN_UNUSED;

/** Give one back: to who waits longest, or for later.  Accepts NULL. */
void tv_buffers_give(tv_buffers *buffers, char *buffer);

/** How many are in use, and how many were at most; for figures and tests. */
size_t tv_buffers_used(tv_buffers *buffers);
size_t tv_buffers_used_max(tv_buffers *buffers);

/** All of it.  Two sets of buffers, so that slow readers do not hold up writers. */
typedef struct tv_blob_io {
    tv_extents *extents;
    tv_workers *workers;
    tv_buffers *in, *out; /* of uploads, of downloads */
} tv_blob_io;

enum {
    TV_BLOB_BUFFER_BYTES = 256 * 1024,
    TV_BLOB_BUFFERS_IN = 256,
    TV_BLOB_BUFFERS_OUT = 512,
    /* An upload that waits holds the piece that has come, of up to 64 KiB. */
    TV_BLOB_WAITING_IN_MAX = 512,
    TV_BLOB_WAITING_OUT_MAX = 64 * 1024,
    TV_BLOB_WORKERS = 4,
    TV_BLOB_JOBS_MAX = 16 * 1024,
};

/** Make the threads and the buffers; the store is the caller's. */
void tv_blob_io_init(tv_blob_io *io, tv_extents *extents);

/** End the threads.  Before the loops end that get their letters. */
void tv_blob_io_stop(tv_blob_io *io);

/** Free the buffers.  After the loops. */
void tv_blob_io_done(tv_blob_io *io);

#endif
