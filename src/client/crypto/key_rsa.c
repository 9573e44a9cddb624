/* A key-encryption key of RSA: OAEP with SHA-1, MGF1 with SHA-1 and an empty label. */
#include <openssl/decoder.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "client/crypto/key.h"
#include "client/why.h"

typedef struct rsa_key {
    char *kid;
    EVP_PKEY *pkey;
} rsa_key;

/* OpenSSL would ask on the terminal. */
static int have_no_password(char *ret_password, int size, int rwflag, void *user)
{
    (void)ret_password, (void)size, (void)rwflag, (void)user;
    return -1;
}

/* A private or public key, in any of the forms of PEM; NULL when it is not one. */
static EVP_PKEY *read_pem(const char *pem, size_t size)
{
    EVP_PKEY *pkey = NULL;
    OSSL_DECODER_CTX *context =
        OSSL_DECODER_CTX_new_for_pkey(&pkey, "PEM", NULL, "RSA", 0, NULL, NULL);
    const unsigned char *data = (const unsigned char *)pem;

    if (context == NULL)
        return NULL;

    if (OSSL_DECODER_CTX_set_pem_password_cb(context, have_no_password, NULL) != 1 ||
        OSSL_DECODER_from_data(context, &data, &size) != 1) {
        EVP_PKEY_free(pkey);
        pkey = NULL;
    }
    OSSL_DECODER_CTX_free(context);
    return pkey;
}

static tavola_err fill(rsa_key *key, const char *kid, const char *pem, size_t size)
{
    key->kid = tvc_dup_text(kid);
    if (key->kid == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    key->pkey = read_pem(pem, size);
    if (key->pkey == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "the PEM has no key of RSA, or one with a password");
    if (EVP_PKEY_get_size(key->pkey) > TVC_WRAPPED_BYTES_MAX)
        return tvc_refuse(TAVOLA_ERR_INVALID, "the key has more than 8,192 bits");
    return TAVOLA_OK;
}

tavola_err tvc_rsa_key_new(const char *kid, const char *pem, size_t size, void **ret_key)
{
    tavola_err err = tvc_kid_check(kid);

    if (err)
        return err;
    if (pem == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "there is no PEM: it is NULL");

    rsa_key *key = tvc_zalloc(sizeof *key);

    if (key == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    err = fill(key, kid, pem, size);
    if (err)
        tvc_rsa_key_free(key);
    else
        *ret_key = key;
    return err;
}

void tvc_rsa_key_free(void *object)
{
    rsa_key *key = object;

    if (key == NULL)
        return;
    EVP_PKEY_free(key->pkey);
    tvc_release(key->kid);
    tvc_release(key);
}

static const char *get_kid(void *object)
{
    return ((const rsa_key *)object)->kid;
}

static const char *get_algorithm(void *object)
{
    (void)object;
    return "RSA-OAEP";
}

static bool use_oaep(EVP_PKEY_CTX *context)
{
    return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_oaep_md(context, EVP_sha1()) == 1 &&
           EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha1()) == 1;
}

static int wrap(void *object, const uint8_t *in, size_t in_size, uint8_t *ret_out,
                size_t *ret_out_size)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, ((rsa_key *)object)->pkey, NULL);
    bool ok = context && EVP_PKEY_encrypt_init(context) == 1 && use_oaep(context) &&
              EVP_PKEY_encrypt(context, ret_out, ret_out_size, in, in_size) == 1;

    EVP_PKEY_CTX_free(context);
    return ok ? 0 : -1;
}

static int unwrap(void *object, const char *algorithm, const uint8_t *in, size_t in_size,
                  uint8_t *ret_out, size_t *ret_out_size)
{
    /* The samples for Python call it "RSA", and mean the same. */
    if (strcmp(algorithm, "RSA-OAEP") != 0 && strcmp(algorithm, "RSA") != 0)
        return -1;

    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, ((rsa_key *)object)->pkey, NULL);
    bool ok = context && EVP_PKEY_decrypt_init(context) == 1 && use_oaep(context) &&
              EVP_PKEY_decrypt(context, ret_out, ret_out_size, in, in_size) == 1;

    EVP_PKEY_CTX_free(context);
    return ok ? 0 : -1;
}

const tavola_key_ops tvc_rsa_key_ops = {
    .struct_size = sizeof(tavola_key_ops),
    .kid = get_kid,
    .algorithm = get_algorithm,
    .wrap = wrap,
    .unwrap = unwrap,
};
