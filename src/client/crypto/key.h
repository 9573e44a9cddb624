/*
 * Key-encryption keys: those of AES and RSA that the library has itself, and whoever wraps and
 * unwraps with a crypto's key.
 */
#ifndef TVC_CRYPTO_KEY_H
#define TVC_CRYPTO_KEY_H

#include "client/crypto/policy.h"

/** Whether a text can be the id of a key: valid UTF-8, and not empty. */
bool tvc_kid_is_valid(const char *kid);

/** INVALID, with tavola_error_text, when it cannot. */
tavola_err tvc_kid_check(const char *kid);

/** Keys behind tavola_key_ops.  INVALID, with tavola_error_text, and NO_MEMORY. */
tavola_err tvc_aes_key_new(const char *kid, const void *bytes, size_t size, void **ret_key);
void tvc_aes_key_free(void *key);
extern const tavola_key_ops tvc_aes_key_ops;

tavola_err tvc_rsa_key_new(const char *kid, const char *pem, size_t size, void **ret_key);
void tvc_rsa_key_free(void *key);
extern const tavola_key_ops tvc_rsa_key_ops;

/** A content key as it is stored: wrapped, and by which key. */
typedef struct tvc_wrapped_key {
    const char *kid, *algorithm; /* NUL-terminated, valid UTF-8 */
    uint8_t bytes[TVC_WRAPPED_BYTES_MAX];
    size_t size;
} tvc_wrapped_key;

/** Whether a kid is that of the crypto's own key. */
bool tvc_crypto_has_kid(const tavola_crypto *crypto, const char *kid);

/**
 * Wrap a format's content key by the crypto's own key.  Texts of *ret_wrapped are the
 * key's.  CRYPTO.
 */
tavola_err tvc_key_wrap(const tavola_crypto *crypto, tvc_format format,
                        const uint8_t content_key[TVC_CONTENT_KEY_BYTES],
                        tvc_wrapped_key *ret_wrapped);

/**
 * Unwrap a format's content key by the own key if it has the kid, else by the one that the
 * resolver knows.  A key that was wrapped for another is refused.  CRYPTO.
 */
tavola_err tvc_key_unwrap(const tavola_crypto *crypto, tvc_format format,
                          const tvc_wrapped_key *wrapped,
                          uint8_t ret_content_key[TVC_CONTENT_KEY_BYTES]);

#endif
