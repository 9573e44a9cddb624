/*
 * One download: a range of a blob on its way to a client, in bounded memory.
 *
 * What is in memory is read on the network thread, a buffer for each pull of the
 * connection; what is not is read by a worker, which from then on reads ahead:
 * while one buffer goes out the next is filled.  A content of very many small pieces
 * is read in turns with the queries of its account (base/turns.h) and not by workers.
 * A download has at most two buffers.
 *
 * It is one consistent view of the blob: no extent goes while it is being read
 * (it is a visit, see extent/extent.h), chunks of a short content are read
 * before the response begins, and a long content is read through a reader.
 *
 * A download lives on the network thread of its request, which may lend it to
 * a worker, and outlives the request when that ends while a worker reads ahead.
 */
#ifndef TV_BLOB_DOWNLOAD_H
#define TV_BLOB_DOWNLOAD_H

#include "services/blob/body/io.h"
#include "services/blob/body/upload.h"
#include "services/blob/store/reader.h"
#include "wire/http/request.h"

typedef struct tv_blob_download tv_blob_download;

/**
 * A download of a blob or a snapshot; the visit begins.  End it with
 * tv_blob_download_end in any case.  `partition` lives as long as the request,
 * `account`, whose turns it may take, as long as the server.
 *
 * `fail` is called on the loop instead of giving the connection a piece, when it
 * cannot be read; it answers with an error (tv_response_is_unsent) or aborts.
 */
tv_blob_download *tv_blob_download_new(const tv_blob_io *io, tv_engine *engine, tv_request *req,
                                       tv_slice account, tv_slice partition, int64_t snapshot,
                                       void (*fail)(tv_request *req, tv_err err));

/**
 * Read the head into the request's arena.  See tv_blob_get_head.  This and the
 * next may run on a worker, if nobody else uses the download meanwhile.
 */
tv_err tv_blob_download_head(tv_blob_download *download, tv_read_mode mode,
                             tv_blob_head *ret_head) TV_WARN_UNUSED;

/** When the head is known: whether a range of it is many small pieces, and so long work. */
bool tv_blob_download_is_piecemeal(const tv_blob_download *download);

/**
 * Get ready to send `length` bytes (at least one) from `offset` on of the blob
 * with this head.  TV_ERR_CONFLICT: the blob has been replaced since the head
 * was read, begin again.  TV_ERR_WOULD_BLOCK with TV_READ_CACHED.
 */
tv_err tv_blob_download_prepare(tv_blob_download *download, tv_read_mode mode,
                                const tv_blob_head *head, uint64_t offset,
                                uint64_t length) TV_WARN_UNUSED;

/**
 * Read all of the range, which has been prepared, and fill in the digests for
 * which the flags are set; then it can be sent.  Waits for the disk.
 */
tv_err tv_blob_download_digest(tv_blob_download *download, tv_digests *digests) TV_WARN_UNUSED;

/** For the source's `pull`. */
void tv_blob_download_pull(tv_blob_download *download);

/** After an error, on the loop: the extent that is damaged, if that is the reason. */
bool tv_blob_download_damage(const tv_blob_download *download, tv_extent_id *ret_id);

/** For on_done: the request is gone.  Accepts NULL. */
void tv_blob_download_end(tv_blob_download *download);

#endif
