/*
 * The two metadata properties of an encrypted entity: the envelope (metadata 1, JSON: the wrapped
 * content key and how it was used) and the list of the encrypted properties' names (metadata 2).
 * Both come from the service, so anything may be in them.
 */
#ifndef TVC_CRYPTO_METADATA_H
#define TVC_CRYPTO_METADATA_H

#include "base/arena.h"
#include "client/crypto/key.h"

enum { TVC_ENVELOPE_IV_BYTES = 16 };

typedef struct tvc_envelope {
    tvc_format format;
    tvc_wrapped_key key;
    uint8_t iv[TVC_ENVELOPE_IV_BYTES]; /* version 1 */
    bool is_java;                      /* version 1: written by Java, which orders keys its way */
    tv_arena arena;                    /* of the texts of `key` */
} tvc_envelope;

/**
 * Read metadata 1.  CRYPTO when it is not one, or of a protocol or algorithm that we do not know;
 * NO_MEMORY.  After OK it has to be done.
 */
tavola_err tvc_envelope_read(tv_slice json, tvc_envelope *ret_envelope);
void tvc_envelope_done(tvc_envelope *envelope);

/** Write metadata 1 of an entity of our own. */
void tvc_envelope_write(tvc_text *text, const tvc_envelope *envelope);

/**
 * Write metadata 1 with another wrapped key and all else as it is in `json`, which has been read
 * well before.
 */
tavola_err tvc_envelope_rewrite(tvc_text *text, tv_slice json, const tvc_wrapped_key *key);

/** Begin, continue and end a list of names: metadata 2 of either version. */
void tvc_name_list_add(tvc_text *text, tv_slice name);
void tvc_name_list_end(tvc_text *text);

/**
 * Call `found` for each name in a list, in any of the forms that the libraries for .NET, Python
 * and Java write.  CRYPTO when it is not a list, perhaps after some names; NO_MEMORY.
 */
tavola_err tvc_name_list_read(tv_slice list, void (*found)(void *user, tv_slice name), void *user);

#endif
