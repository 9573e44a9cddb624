/*
 * MD5 by OpenSSL's low-level interface.  It is marked as deprecated in OpenSSL 3
 * but remains the only one whose state is a plain struct, which md5_lanes.c can
 * carry on; it needs no provider either, and those for FIPS have no MD5.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/md5.h"

#include "base/assert.h"

void tv_md5_init(tv_md5 *md5)
{
    tv_assert(MD5_Init(&md5->ctx) == 1);
}

void tv_md5_update(tv_md5 *md5, tv_slice bytes)
{
    tv_assert(MD5_Update(&md5->ctx, bytes.data, bytes.len) == 1);
}

void tv_md5_final(tv_md5 *md5, unsigned char ret_bytes[TV_MD5_BYTES])
{
    tv_assert(MD5_Final(ret_bytes, &md5->ctx) == 1);
}

void tv_md5_of(tv_slice bytes, unsigned char ret_bytes[TV_MD5_BYTES])
{
    tv_md5 md5;

    tv_md5_init(&md5);
    tv_md5_update(&md5, bytes);
    tv_md5_final(&md5, ret_bytes);
}
