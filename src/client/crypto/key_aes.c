/* A key-encryption key of AES: RFC 3394 with its default initial value. */
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "client/crypto/key.h"
#include "client/why.h"

enum { KEK_BYTES_MAX = 32, BLOCK_BYTES = 8 };

typedef struct aes_key {
    char *kid;
    size_t size;
    uint8_t bytes[KEK_BYTES_MAX];
} aes_key;

tavola_err tvc_aes_key_new(const char *kid, const void *bytes, size_t size, void **ret_key)
{
    tavola_err err = tvc_kid_check(kid);

    if (err)
        return err;
    if (bytes == NULL || (size != 16 && size != 24 && size != 32))
        return tvc_refuse(TAVOLA_ERR_INVALID, "the key is not 16, 24 or 32 bytes");

    aes_key *key = tvc_zalloc(sizeof *key);

    if (key == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    key->kid = tvc_dup_text(kid);
    key->size = size;
    memcpy(key->bytes, bytes, size);
    if (key->kid == NULL) {
        tvc_aes_key_free(key);
        return TAVOLA_ERR_NO_MEMORY;
    }
    *ret_key = key;
    return TAVOLA_OK;
}

void tvc_aes_key_free(void *object)
{
    aes_key *key = object;

    if (key == NULL)
        return;
    OPENSSL_cleanse(key->bytes, sizeof key->bytes);
    tvc_release(key->kid);
    tvc_release(key);
}

static const char *get_kid(void *object)
{
    return ((const aes_key *)object)->kid;
}

static const char *get_algorithm(void *object)
{
    size_t size = ((const aes_key *)object)->size;

    return size == 32 ? "A256KW" : size == 24 ? "A192KW" : "A128KW";
}

/* Both directions; the answer is one block longer or shorter than what comes in. */
static bool transform(const aes_key *key, bool is_wrap, const uint8_t *in, size_t in_size,
                      uint8_t *ret_out, size_t *ret_out_size)
{
    const EVP_CIPHER *cipher = key->size == 32   ? EVP_aes_256_wrap()
                               : key->size == 24 ? EVP_aes_192_wrap()
                                                 : EVP_aes_128_wrap();

    if (in_size < 2 * BLOCK_BYTES || in_size % BLOCK_BYTES ||
        in_size > TVC_WRAPPED_BYTES_MAX - BLOCK_BYTES || *ret_out_size < in_size + BLOCK_BYTES)
        return false;

    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int size = 0, rest = 0;

    if (context == NULL)
        return false;

    EVP_CIPHER_CTX_set_flags(context, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);

    bool ok = EVP_CipherInit_ex(context, cipher, NULL, key->bytes, NULL, is_wrap) == 1 &&
              EVP_CipherUpdate(context, ret_out, &size, in, (int)in_size) == 1 &&
              EVP_CipherFinal_ex(context, ret_out + size, &rest) == 1;

    EVP_CIPHER_CTX_free(context);
    if (ok)
        *ret_out_size = (size_t)size + (size_t)rest;
    return ok;
}

static int wrap(void *object, const uint8_t *in, size_t in_size, uint8_t *ret_out,
                size_t *ret_out_size)
{
    return transform(object, true, in, in_size, ret_out, ret_out_size) ? 0 : -1;
}

static int unwrap(void *object, const char *algorithm, const uint8_t *in, size_t in_size,
                  uint8_t *ret_out, size_t *ret_out_size)
{
    if (strcmp(algorithm, get_algorithm(object)) != 0)
        return -1;
    return transform(object, false, in, in_size, ret_out, ret_out_size) ? 0 : -1;
}

const tavola_key_ops tvc_aes_key_ops = {
    .struct_size = sizeof(tavola_key_ops),
    .kid = get_kid,
    .algorithm = get_algorithm,
    .wrap = wrap,
    .unwrap = unwrap,
};
