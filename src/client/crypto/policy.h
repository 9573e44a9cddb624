/*
 * What a tavola_crypto is made of, for the files of this folder.
 */
#ifndef TVC_CRYPTO_POLICY_H
#define TVC_CRYPTO_POLICY_H

#include "client/crypto/crypto.h"

enum {
    TVC_CONTENT_KEY_BYTES = 32,
    TVC_WRAPPED_BYTES_MAX = 1024, /* room for a wrapped key: RSA of 8,192 bits */
    TVC_CRYPTO_PROPERTIES_MAX = TVC_PROPERTIES_MAX - 2, /* the metadata are two more */
};

struct tavola_crypto {
    tavola_key_ops ops; /* of the own key */
    void *key;
    void (*key_free)(void *key); /* NULL: the key is the application's */
    tavola_resolve_fn resolve;   /* or NULL */
    void *resolve_user;
    tavola_encrypt_fn encrypt; /* or NULL */
    void *encrypt_user;
    bool is_required;
    int protocol; /* to write: 1, 2; others are refused then */

    /* Where content keys, IVs and nonces come from; false when there are none.  Tests change it. */
    bool (*random)(void *user, void *ret_bytes, size_t len);
    void *random_user;
};

#endif
