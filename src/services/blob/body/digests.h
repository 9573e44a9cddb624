/*
 * Digests of the bytes that a request brings or reads: MD5, and the CRC-64 of
 * the newer versions of the service.  Private to this folder.
 */
#ifndef TV_BLOB_DIGESTS_H
#define TV_BLOB_DIGESTS_H

#include "base/crc64.h"
#include "base/md5.h"
#include "wire/http/request.h"

/** Digests of a body; those that were requested. */
typedef struct tv_digests {
    bool has_md5, has_crc64;
    unsigned char md5[TV_MD5_BYTES];
    unsigned char crc64[TV_CRC64_BYTES]; /* as on the wire */
} tv_digests;

/** Fill in the digests of `bytes` for which the flags are set. */
void tv_digests_of(tv_digests *digests, tv_slice bytes);

/** What a client says the digests are. */
typedef struct tv_digest_claims {
    tv_digests digests; /* those that were sent */
} tv_digest_claims;

/**
 * Read Content-MD5 and x-ms-content-crc64, and with `has_blob_md5` also
 * x-ms-blob-content-md5, which then has precedence over Content-MD5.
 * TV_ERR_BOTH_CHECKSUMS for a CRC together with an MD5, TV_ERR_MD5_INVALID,
 * TV_ERR_CRC64_MISMATCH for a CRC that is too long; for one that is not valid
 * in another way TV_ERR_INVALID_HEADER, and *reterr_header its name.
 */
tv_err tv_digest_claims_read(tv_request *req, bool has_blob_md5, tv_digest_claims *ret_claims,
                             tv_slice *reterr_header) TV_WARN_UNUSED;

/**
 * Compare what was claimed with what came: TV_ERR_MD5_MISMATCH,
 * TV_ERR_CRC64_MISMATCH.  Then reterr_info->details, in the arena, has both.
 */
tv_err tv_digest_claims_check(const tv_digest_claims *claims, const tv_digests *digests,
                              tv_arena *arena, tv_error_info *reterr_info) TV_WARN_UNUSED;

#endif
