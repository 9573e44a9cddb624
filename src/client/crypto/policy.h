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

/** How entities are encrypted: what is stored, and what tavola_crypto_set_protocol takes. */
typedef enum tvc_format {
    TVC_FORMAT_NONE = 0,
    TVC_FORMAT_1 = 1,
    TVC_FORMAT_2_0 = 20,
    TVC_FORMAT_2_1 = 21, /* bound to account and table */
} tvc_format;

struct tavola_crypto {
    tavola_key_ops ops; /* of the own key */
    void *key;
    void (*key_free)(void *key); /* NULL: the key is the application's */
    tavola_resolve_fn resolve;   /* or NULL */
    void *resolve_user;
    tavola_encrypt_fn encrypt; /* or NULL */
    void *encrypt_user;
    bool is_required;
    tvc_format format;     /* to write; with NONE all writes are refused */
    char *account, *table; /* in place of those where an entity is; or NULL */

    /* Where content keys, IVs and nonces come from; false when there are none.  Tests change it. */
    bool (*random)(void *user, void *ret_bytes, size_t len);
    void *random_user;
};

#endif
