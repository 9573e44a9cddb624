/*
 * MD5, for Content-MD5 and similar headers: a checksum that clients ask for, here never
 * a protection against anybody.  OpenSSL does the work.
 *
 * Any thread; a state belongs to one thread at a time.
 */
#ifndef TV_BASE_MD5_H
#define TV_BASE_MD5_H

#include <openssl/md5.h>

#include "base/slice.h"

enum { TV_MD5_BYTES = 16 };

/** An MD5 under way.  It owns nothing: it may be dropped at any time. */
typedef struct tv_md5 {
    MD5_CTX ctx;
} tv_md5;

/** Begin, or start over. */
void tv_md5_init(tv_md5 *md5);
void tv_md5_update(tv_md5 *md5, tv_slice bytes);

/** The MD5 of all bytes so far.  Then only tv_md5_init is left. */
void tv_md5_final(tv_md5 *md5, unsigned char ret_bytes[TV_MD5_BYTES]);

/** The MD5 of one run of bytes. */
void tv_md5_of(tv_slice bytes, unsigned char ret_bytes[TV_MD5_BYTES]);

#endif
