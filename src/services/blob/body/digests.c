/* Digests of bodies, and what clients claim they are. */
#include "services/blob/body/digests.h"

#include "base/assert.h"
#include "base/base64.h"

/* Of an MD5 or a CRC-64. */
enum { TEXT_MAX = 24 };

void tv_digests_of(tv_digests *digests, tv_slice bytes)
{
    if (digests->has_md5)
        tv_md5_of(bytes, digests->md5);
    if (digests->has_crc64)
        tv_crc64_encode(tv_crc64_of(bytes), digests->crc64);
}

/* Base 64 of exactly TV_MD5_BYTES. */
static bool read_md5(tv_slice text, unsigned char to[TV_MD5_BYTES])
{
    char decoded[TV_MD5_BYTES + 2];
    size_t len;

    if (text.len != tv_base64_encoded_len(TV_MD5_BYTES) || !tv_base64_decode(decoded, text, &len) ||
        len != TV_MD5_BYTES)
        return false;

    memcpy(to, decoded, TV_MD5_BYTES);
    return true;
}

/* The cloud service refuses what is too short, and treats what is too long as a mismatch. */
static tv_err read_crc64(tv_arena *arena, tv_slice text, unsigned char to[TV_CRC64_BYTES])
{
    char *decoded = tv_arena_bytes(arena, tv_base64_decoded_max(text.len) + 1);
    size_t len;

    if (!tv_base64_decode(decoded, text, &len) || len < TV_CRC64_BYTES)
        return TV_ERR_INVALID_HEADER;
    if (len > TV_CRC64_BYTES)
        return TV_ERR_CRC64_MISMATCH;

    memcpy(to, decoded, TV_CRC64_BYTES);
    return TV_OK;
}

tv_err tv_digest_claims_read(tv_request *req, bool has_blob_md5, tv_digest_claims *ret_claims,
                             tv_slice *reterr_header)
{
    static const tv_slice crc64_name = {"x-ms-content-crc64", sizeof "x-ms-content-crc64" - 1};
    tv_slice md5 = tv_request_header(req, TV_LIT("Content-MD5"));
    tv_slice blob_md5 =
        has_blob_md5 ? tv_request_header(req, TV_LIT("x-ms-blob-content-md5")) : TV_NONE;
    tv_slice crc64 = tv_request_header(req, crc64_name);
    tv_digest_claims claims = {
        .digests = {.has_md5 = md5.len + blob_md5.len > 0, .has_crc64 = crc64.len > 0}};
    tv_err err;

    if (claims.digests.has_md5 && claims.digests.has_crc64)
        return TV_ERR_BOTH_CHECKSUMS;
    if (md5.len && !read_md5(md5, claims.digests.md5))
        return TV_ERR_MD5_INVALID;
    if (blob_md5.len && !read_md5(blob_md5, claims.digests.md5))
        return TV_ERR_MD5_INVALID;
    if (crc64.len) {
        err = read_crc64(&req->arena, crc64, claims.digests.crc64);
        if (err) {
            *reterr_header = crc64_name;
            return err;
        }
    }
    *ret_claims = claims;
    return TV_OK;
}

/* The elements that the service adds to the error. */
static tv_slice mismatch(tv_arena *arena, const char *what, const unsigned char *claimed,
                         const unsigned char *computed, size_t size)
{
    char ours[TEXT_MAX], theirs[TEXT_MAX];
    int len = (int)tv_base64_encoded_len(size);

    tv_assert(len <= TEXT_MAX);
    tv_base64_encode(theirs, (tv_slice){(const char *)claimed, size});
    tv_base64_encode(ours, (tv_slice){(const char *)computed, size});
    return tv_arena_printf(arena,
                           "<UserSpecified%s>%.*s</UserSpecified%s>"
                           "<ServerCalculated%s>%.*s</ServerCalculated%s>",
                           what, len, theirs, what, what, len, ours, what);
}

tv_err tv_digest_claims_check(const tv_digest_claims *claims, const tv_digests *digests,
                              tv_arena *arena, tv_error_info *reterr_info)
{
    const tv_digests *claimed = &claims->digests;

    tv_assert(!claimed->has_md5 || digests->has_md5);
    tv_assert(!claimed->has_crc64 || digests->has_crc64);
    if (claimed->has_md5 && memcmp(claimed->md5, digests->md5, TV_MD5_BYTES) != 0) {
        reterr_info->details = mismatch(arena, "Md5", claimed->md5, digests->md5, TV_MD5_BYTES);
        return TV_ERR_MD5_MISMATCH;
    }
    if (claimed->has_crc64 && memcmp(claimed->crc64, digests->crc64, TV_CRC64_BYTES) != 0) {
        reterr_info->details =
            mismatch(arena, "Crc", claimed->crc64, digests->crc64, TV_CRC64_BYTES);
        return TV_ERR_CRC64_MISMATCH;
    }
    return TV_OK;
}
