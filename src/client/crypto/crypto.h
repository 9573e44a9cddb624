/*
 * Client-side encryption, as the operations on tables use it.  An operation's crypto is that of its
 * call, else that of its table, else there is none.
 *
 *     writing: if (!tvc_crypto_allows(crypto, write)) refuse with UNSUPPORTED;
 *              encrypt, send the copy;
 *     reading: add tvc_crypto_metadata_names to a $select; decrypt each entity that came.
 *
 * An error of these functions is final: the operation is not repeated, and its message is
 * tvc_crypto_text.  Deletes, and operations on whole tables, have nothing to do with encryption.
 */
#ifndef TVC_CRYPTO_H
#define TVC_CRYPTO_H

#include "client/entity/entity.h"

#define TVC_CRYPTO_METADATA1 "_ClientEncryptionMetadata1"
#define TVC_CRYPTO_METADATA2 "_ClientEncryptionMetadata2"

/** Where an entity is; version 2.1 binds it to that.  Letters of both cases are the same. */
typedef struct tvc_place {
    tv_slice account, table;
} tvc_place;

/** What decryption needs, ending with NULL: for a $select.  The keys are part of it. */
extern const char *const tvc_crypto_metadata_names[];

/**
 * Whether an entity may be written so: with a crypto not by a merge, which would leave properties
 * of different content keys in one entity.  A NULL crypto allows everything.
 */
bool tvc_crypto_allows(const tavola_crypto *crypto, tavola_write write);

/**
 * An entity to be sent in place of `entity`: *ret_encrypted is a new one, with the same keys and
 * etag.  The error of the entity itself, INVALID, TOO_LARGE, CRYPTO, NO_MEMORY.
 */
tavola_err tvc_crypto_encrypt(tavola_crypto *crypto, tvc_place place, const tavola_entity *entity,
                              tavola_entity **ret_encrypted);

/**
 * Decrypt an entity that was read, in place; its plain values lie where the encrypted ones were,
 * so this works for views of a page, too.  What was encrypted is marked is_secret.  One that is not
 * encrypted is left as it is, unless the crypto requires encryption: CRYPTO.  After an error the
 * entity is unchanged.  CRYPTO, NO_MEMORY.
 */
tavola_err tvc_crypto_decrypt(tavola_crypto *crypto, tvc_place place, tavola_entity *entity);

/** One line for people about an error of these functions; the same for all causes of one. */
const char *tvc_crypto_text(tavola_err err);

#endif
