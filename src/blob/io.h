/*
 * What uploads and downloads share: where large data lies, the threads that may
 * wait for the disk, and the memory that is on its way between disk and network.
 *
 * That memory is a fixed number of buffers for the whole server.  Who has one may
 * keep it for as long as its client likes to be slow, so nobody waits for another's:
 * while all are in use, uploads and downloads go on with less, and more slowly.
 */
#ifndef TV_BLOB_IO_H
#define TV_BLOB_IO_H

#include "base/workers.h"
#include "blob/hasher.h"
#include "extent/extent.h"

/** Buffers of one size, up to a number of them.  Any thread. */
typedef struct tv_buffers tv_buffers;

tv_buffers *tv_buffers_new(size_t buffer_bytes, size_t count_max, size_t spills_max);

/** When all have come back.  Accepts NULL. */
void tv_buffers_free(tv_buffers *buffers);

size_t tv_buffers_size(const tv_buffers *buffers);

/** A buffer, or NULL when all are in use. */
char *tv_buffers_take(tv_buffers *buffers);

/** Give one back.  Accepts NULL. */
void tv_buffers_give(tv_buffers *buffers, char *buffer);

/**
 * Leave to keep a piece of a body in memory of its own while a worker writes it,
 * which no client can draw out.  False when too many do.
 */
bool tv_buffers_spill_begin(tv_buffers *buffers) TV_WARN_UNUSED;
void tv_buffers_spill_end(tv_buffers *buffers);

/** How many are in use, and how many were at most; for figures and tests. */
size_t tv_buffers_used(tv_buffers *buffers);
size_t tv_buffers_used_max(tv_buffers *buffers);

/** All of it.  Two sets of buffers, so that slow readers do not hold up writers. */
typedef struct tv_blob_io {
    tv_extents *extents;
    tv_workers *workers;
    tv_hasher *hasher;    /* of uploads; NULL when the processor does not hash several at once */
    tv_buffers *in, *out; /* of uploads, of downloads */
} tv_blob_io;

enum {
    TV_BLOB_BUFFER_BYTES = 256 * 1024,
    TV_BLOB_BUFFERS_IN = 256,
    TV_BLOB_BUFFERS_OUT = 512,
    TV_BLOB_SPILLS_IN_MAX = 512, /* of up to 64 KiB each */
    TV_BLOB_WORKERS = 4,
    TV_BLOB_JOBS_MAX = 16 * 1024,
};

/** Make the threads and the buffers; the store is the caller's. */
void tv_blob_io_init(tv_blob_io *io, tv_extents *extents);

/** End the threads, the hasher first.  Before the loops are freed that get their letters. */
void tv_blob_io_stop(tv_blob_io *io);

/** Free the rest.  After the loops, whose last uploads give buffers back. */
void tv_blob_io_done(tv_blob_io *io);

#endif
