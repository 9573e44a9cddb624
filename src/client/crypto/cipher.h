/*
 * Values of one entity, sealed and opened with its content key.
 */
#ifndef TVC_CRYPTO_CIPHER_H
#define TVC_CRYPTO_CIPHER_H

#include <openssl/evp.h>

#include "client/crypto/metadata.h"

typedef struct tvc_cipher {
    tvc_format format;
    uint8_t key[TVC_CONTENT_KEY_BYTES];
    uint8_t iv[TVC_ENVELOPE_IV_BYTES]; /* version 1 */
    bool is_java;                      /* version 1: the partition key goes first into the IVs */
    tv_slice partition_key, row_key;   /* of the entity: a value cannot be moved to another one */
    tvc_place place;                   /* version 2.1: nor to another table or account */
    EVP_CIPHER_CTX *context;
    const tavola_crypto *crypto; /* to seal: nonces come from its random().  NULL: to open */
} tvc_cipher;

/** Where the entity is, unless the crypto says otherwise. */
void tvc_cipher_set_place(tvc_cipher *cipher, const tavola_crypto *crypto, tvc_place place);

/** Prepare a cipher whose other members are set.  CRYPTO. */
tavola_err tvc_cipher_init(tvc_cipher *cipher);

/** Wipe it. */
void tvc_cipher_done(tvc_cipher *cipher);

/** How large a value is when it is sealed. */
size_t tvc_cipher_sealed_size(const tvc_cipher *cipher, const tavola_value *value);

/**
 * Seal the value of a property.  Version 1 has Strings only.  `ret_sealed` has room for
 * tvc_cipher_sealed_size.  False when OpenSSL fails.
 */
bool tvc_cipher_seal(tvc_cipher *cipher, tv_slice name, const tavola_value *value,
                     uint8_t *ret_sealed);

/**
 * Open a sealed value into `ret_room`, which is as large as what is sealed; a String has a NUL
 * after it.  False when it was not sealed with this key for this property of this entity; in
 * version 1 only as far as one can tell.
 */
bool tvc_cipher_open(tvc_cipher *cipher, tv_slice name, tv_slice sealed, uint8_t *ret_room,
                     tavola_value *ret_value);

#endif
