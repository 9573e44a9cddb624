/*
 * HMAC-SHA256 with the key's half of the work done once.  Signatures are on the
 * path of every request; OpenSSL's general interface costs more per call than
 * the hashing itself.
 */
#ifndef TV_MODEL_AUTH_HMAC_H
#define TV_MODEL_AUTH_HMAC_H

#include <openssl/sha.h>

#include "base/slice.h"

enum { TV_HMAC_BYTES = 32 };

/** A key ready for use.  Holds secrets: wipe it with tv_hmac_key_done. */
typedef struct tv_hmac_key {
    SHA256_CTX inner, outer; /* after the padded key */
} tv_hmac_key;

void tv_hmac_key_init(tv_hmac_key *key, tv_slice secret);
void tv_hmac_key_done(tv_hmac_key *key);

/** Sign `text`.  Any thread: the key is only read. */
void tv_hmac_sign(const tv_hmac_key *key, tv_slice text, unsigned char ret_mac[TV_HMAC_BYTES]);

#endif
