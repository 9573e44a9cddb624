/*
 * One upload: a request's body on its way into an extent, in bounded memory.
 *
 * The body comes in pieces on the network thread and is gathered in a buffer.
 * Full buffers go to a worker, which writes them and computes the digests, the MD5
 * together with that of other uploads when there are some (blob/hasher.h); while
 * it does so the next buffer is filled.  When both are in use the client is made
 * to wait.  A body that is small enough for a row needs no upload: see
 * tv_digests_of.
 *
 * An upload lives on the network thread of its request, and outlives the request
 * when that ends while a worker has it.
 */
#ifndef TV_BLOB_UPLOAD_H
#define TV_BLOB_UPLOAD_H

#include "base/crc64.h"
#include "base/md5.h"
#include "services/blob/body/digests.h"
#include "services/blob/body/io.h"

typedef struct tv_blob_upload tv_blob_upload;

/** The result of an upload. */
typedef struct tv_blob_upload_result {
    tv_extent_id extent; /* durable, and the caller's */
    uint64_t length;
    tv_digests digests;
} tv_blob_upload_result;

/**
 * An upload for a request whose body, of at least one byte, is about to come.
 * The flags of `wanted` say which digests to compute.  `fail` is called on the
 * loop's thread, at most once, when the body cannot be stored: answer the
 * request.  End it with tv_blob_upload_end in any case.
 */
tv_blob_upload *tv_blob_upload_new(const tv_blob_io *io, tv_request *req, const tv_digests *wanted,
                                   void (*fail)(tv_request *req, tv_err err));

/** For the sink's `take`. */
bool tv_blob_upload_take(tv_blob_upload *upload, tv_slice piece);

/**
 * The body is complete: write the rest and make the extent durable.  `done` is
 * called on the loop's thread, later; with an error there is no extent.  `fail`
 * is not called any more.
 */
void tv_blob_upload_finish(tv_blob_upload *upload,
                           void (*done)(tv_request *req, tv_err err,
                                        const tv_blob_upload_result *result));

/** For on_done: the request is gone.  What is not finished is removed.  Accepts NULL. */
void tv_blob_upload_end(tv_blob_upload *upload);

#endif
