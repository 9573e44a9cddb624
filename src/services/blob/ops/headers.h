/*
 * The content headers of a blob on the wire, and the other headers that answers
 * about blobs have in common.  Private to this folder.
 */
#ifndef TV_BLOB_HEADERS_H
#define TV_BLOB_HEADERS_H

#include "services/blob/call.h"

/**
 * The x-ms-blob-* headers of a request.  With `is_put` the plain ones, such as
 * Content-Type, count where they are missing, and the MD5 must be valid; else
 * it is kept for the client, whatever its length.  TV_ERR_MD5_INVALID; for a
 * header that is not text, or too long, TV_ERR_INVALID_HEADER.
 */
tv_err tv_blob_headers_read(tv_blob_call *call, bool is_put,
                            tv_blob_headers *ret_headers) TV_WARN_UNUSED;

/** The type that a new blob has when the client gives none.  It can lose it later. */
void tv_blob_headers_set_type(tv_blob_headers *headers);

/**
 * Everything an answer says about the blob whose head is in the transfer, but
 * Content-MD5: for Get Blob and Get Blob Properties.
 */
void tv_blob_add_properties(tv_blob_call *call);

/** A digest, in base 64. */
void tv_blob_add_digest(tv_blob_call *call, tv_slice name, tv_slice bytes);

/** Content-MD5 or x-ms-content-crc64 of the body, whichever was computed. */
void tv_blob_add_digests(tv_blob_call *call);

/** x-ms-request-server-encrypted: clients expect it of everything that stores data. */
void tv_blob_add_encrypted(tv_blob_call *call);

/** A header with a number. */
void tv_blob_add_number(tv_blob_call *call, tv_slice name, uint64_t number);

/** A header with a time of seven digits after the second. */
void tv_blob_add_ticks(tv_blob_call *call, tv_slice name, int64_t ticks);

#endif
