/*
 * HMAC (RFC 2104) over SHA-256.  The low-level SHA functions are marked as
 * deprecated in OpenSSL 3 but remain the only ones whose state is a plain
 * struct that can be copied without an allocation.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "model/auth/hmac.h"

#include <openssl/crypto.h>

enum { BLOCK_BYTES = 64 };

static void init_half(SHA256_CTX *half, const unsigned char key[BLOCK_BYTES], unsigned char pad)
{
    unsigned char block[BLOCK_BYTES];

    for (int i = 0; i < BLOCK_BYTES; i++)
        block[i] = key[i] ^ pad;
    SHA256_Init(half);
    SHA256_Update(half, block, sizeof block);
    OPENSSL_cleanse(block, sizeof block);
}

void tv_hmac_key_init(tv_hmac_key *key, tv_slice secret)
{
    unsigned char block[BLOCK_BYTES] = {0};

    if (secret.len > BLOCK_BYTES)
        SHA256((const unsigned char *)secret.data, secret.len, block);
    else if (secret.len)
        memcpy(block, secret.data, secret.len);
    init_half(&key->inner, block, 0x36);
    init_half(&key->outer, block, 0x5c);
    OPENSSL_cleanse(block, sizeof block);
}

void tv_hmac_key_done(tv_hmac_key *key)
{
    OPENSSL_cleanse(key, sizeof *key);
}

void tv_hmac_sign(const tv_hmac_key *key, tv_slice text, unsigned char ret_mac[TV_HMAC_BYTES])
{
    unsigned char inner_hash[SHA256_DIGEST_LENGTH];
    SHA256_CTX state = key->inner;

    SHA256_Update(&state, text.data, text.len);
    SHA256_Final(inner_hash, &state);
    state = key->outer;
    SHA256_Update(&state, inner_hash, sizeof inner_hash);
    SHA256_Final(ret_mac, &state);
}
