/*
 * Client-side encryption, as the operations on tables use it.
 */
#ifndef TVC_CRYPTO_H
#define TVC_CRYPTO_H

#include "client/entity/entity.h"

/** The two properties that carry what decryption needs, ending with NULL: for a $select. */
extern const char *const tvc_crypto_metadata_names[];

/**
 * An entity to be sent in place of `entity`: *ret_encrypted is a new one.  INVALID, TOO_LARGE,
 * CRYPTO, NO_MEMORY.
 */
tavola_err tvc_crypto_encrypt(tavola_crypto *crypto, const tavola_entity *entity,
                              tavola_entity **ret_encrypted);

/**
 * Decrypt an entity that was read, in place.  One that is not encrypted is left as it is, unless
 * the crypto requires encryption: CRYPTO.  `memory` of a view's new values: a page keeps the
 * decrypted values in its entities' own memory.
 */
tavola_err tvc_crypto_decrypt(tavola_crypto *crypto, tavola_entity *entity);

/** Whether writes without encryption are refused. */
bool tvc_crypto_is_required(const tavola_crypto *crypto);

#endif
