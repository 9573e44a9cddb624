/*
 * Wrapping content keys, whatever the key-encryption key is.
 *
 * From 2.0 on the version is wrapped together with the content key, so that nobody can have data
 * read as if they were of an earlier one, which promises less: version 1, whose mode of decryption
 * tells an attacker more, or 2.0, which is bound to no table.
 */
#include "client/crypto/key.h"

#include <openssl/crypto.h>

#include "base/assert.h"
#include "base/utf8.h"
#include "client/why.h"

enum { VERSION_BYTES = 8, SECRET_BYTES_MAX = VERSION_BYTES + TVC_CONTENT_KEY_BYTES };

/* What is wrapped before the content key: the version, padded with NUL, or nothing. */
static size_t put_version(tvc_format format, uint8_t ret_text[VERSION_BYTES])
{
    static const uint8_t texts[][VERSION_BYTES] = {"2.0", "2.1"};

    tv_assert(format != TVC_FORMAT_NONE);
    if (format == TVC_FORMAT_1)
        return 0;
    memcpy(ret_text, texts[format == TVC_FORMAT_2_1], VERSION_BYTES);
    return VERSION_BYTES;
}

bool tvc_crypto_has_kid(const tavola_crypto *crypto, const char *kid)
{
    const char *own = crypto->ops.kid(crypto->key);

    return own && strcmp(own, kid) == 0;
}

bool tvc_kid_is_valid(const char *kid)
{
    return kid && *kid && tv_utf8_is_valid(tv_slice_of(kid));
}

tavola_err tvc_kid_check(const char *kid)
{
    return tvc_kid_is_valid(kid)
               ? TAVOLA_OK
               : tvc_refuse(TAVOLA_ERR_INVALID, "the key id is NULL, empty or not UTF-8");
}

tavola_err tvc_key_wrap(const tavola_crypto *crypto, tvc_format format,
                        const uint8_t content_key[TVC_CONTENT_KEY_BYTES],
                        tvc_wrapped_key *ret_wrapped)
{
    uint8_t secret[SECRET_BYTES_MAX];
    size_t secret_size = put_version(format, secret);

    if (crypto->ops.wrap == NULL || crypto->ops.algorithm == NULL)
        return TAVOLA_ERR_CRYPTO;

    memcpy(secret + secret_size, content_key, TVC_CONTENT_KEY_BYTES);
    secret_size += TVC_CONTENT_KEY_BYTES;

    size_t size = sizeof ret_wrapped->bytes;
    int failed = crypto->ops.wrap(crypto->key, secret, secret_size, ret_wrapped->bytes, &size);

    OPENSSL_cleanse(secret, sizeof secret);
    if (failed || size == 0 || size > sizeof ret_wrapped->bytes)
        return TAVOLA_ERR_CRYPTO;

    ret_wrapped->size = size;
    ret_wrapped->kid = crypto->ops.kid(crypto->key);
    ret_wrapped->algorithm = crypto->ops.algorithm(crypto->key);
    /* Of an application's key they may be anything; an algorithm is a text like a kid. */
    return tvc_kid_is_valid(ret_wrapped->kid) && tvc_kid_is_valid(ret_wrapped->algorithm)
               ? TAVOLA_OK
               : TAVOLA_ERR_CRYPTO;
}

/* The crypto with the key of that kid; NULL: there is none. */
static const tavola_crypto *find_key(const tavola_crypto *crypto, const char *kid)
{
    if (tvc_crypto_has_kid(crypto, kid))
        return crypto;
    return crypto->resolve ? crypto->resolve(crypto->resolve_user, kid) : NULL;
}

tavola_err tvc_key_unwrap(const tavola_crypto *crypto, tvc_format format,
                          const tvc_wrapped_key *wrapped,
                          uint8_t ret_content_key[TVC_CONTENT_KEY_BYTES])
{
    const tavola_crypto *owner = find_key(crypto, wrapped->kid);
    uint8_t secret[TVC_WRAPPED_BYTES_MAX], version[VERSION_BYTES];
    size_t version_size = put_version(format, version);
    size_t size = sizeof secret;
    tavola_err err = TAVOLA_ERR_CRYPTO;

    if (owner == NULL || owner->ops.unwrap == NULL)
        return TAVOLA_ERR_CRYPTO;

    if (owner->ops.unwrap(owner->key, wrapped->algorithm, wrapped->bytes, wrapped->size, secret,
                          &size) == 0 &&
        size == version_size + TVC_CONTENT_KEY_BYTES &&
        CRYPTO_memcmp(secret, version, version_size) == 0) {
        memcpy(ret_content_key, secret + version_size, TVC_CONTENT_KEY_BYTES);
        err = TAVOLA_OK;
    }
    OPENSSL_cleanse(secret, sizeof secret);
    return err;
}
