/* MD5 by OpenSSL's general interface; the algorithm is looked up once, which costs more than the
 * MD5 of a small body. */
#include "base/md5.h"

#include <openssl/evp.h>
#include <pthread.h>

#include "base/assert.h"

static EVP_MD *algorithm;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fetch(void)
{
    /* A system set up for FIPS prefers providers that have no MD5; this one protects nothing. */
    algorithm = EVP_MD_fetch(NULL, "MD5", "-fips");
    tv_assert(algorithm != NULL);
}

void tv_md5_init(tv_md5 *md5)
{
    pthread_once(&once, fetch);
    if (md5->ctx == NULL)
        md5->ctx = EVP_MD_CTX_new();
    tv_assert(md5->ctx != NULL && EVP_DigestInit_ex2(md5->ctx, algorithm, NULL) == 1);
}

void tv_md5_update(tv_md5 *md5, tv_slice bytes)
{
    tv_assert(EVP_DigestUpdate(md5->ctx, bytes.data, bytes.len) == 1);
}

void tv_md5_final(tv_md5 *md5, unsigned char ret_bytes[TV_MD5_BYTES])
{
    tv_assert(EVP_DigestFinal_ex(md5->ctx, ret_bytes, NULL) == 1);
}

void tv_md5_done(tv_md5 *md5)
{
    EVP_MD_CTX_free(md5->ctx);
    md5->ctx = NULL;
}

void tv_md5_of(tv_slice bytes, unsigned char ret_bytes[TV_MD5_BYTES])
{
    tv_md5 md5 = {0};

    tv_md5_init(&md5);
    tv_md5_update(&md5, bytes);
    tv_md5_final(&md5, ret_bytes);
    tv_md5_done(&md5);
}
