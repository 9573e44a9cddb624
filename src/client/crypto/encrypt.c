/* An entity in, an encrypted entity out. */
#include <openssl/crypto.h>
#include <openssl/err.h>

#include "base/assert.h"
#include "client/crypto/cipher.h"
#include "client/crypto/crypto.h"

static tv_slice name_of(const tvc_property *property)
{
    return (tv_slice){property->name, property->name_len};
}

/* One encryption: the entity that is made, and what making it needs. */
typedef struct encryption {
    const tavola_crypto *crypto;
    const tavola_entity *entity;
    tavola_entity *made;
    tvc_envelope envelope; /* to be written: its arena is not used */
    tvc_cipher cipher;
    tvc_text names;
    uint8_t *sealed; /* room for one value */
} encryption;

static bool is_chosen(const tavola_crypto *crypto, const tavola_entity *entity,
                      const tvc_property *property)
{
    return property->is_secret ||
           (crypto->encrypt && crypto->encrypt(crypto->encrypt_user, entity->partition_key,
                                               entity->row_key, property->name));
}

/* What can be said before anything is made. */
static tavola_err check(const tavola_crypto *crypto, const tavola_entity *entity)
{
    if (entity->error)
        return entity->error;
    if (crypto->format == TVC_FORMAT_NONE || entity->count > TVC_CRYPTO_PROPERTIES_MAX ||
        tvc_entity_find(entity, TV_LIT(TVC_CRYPTO_METADATA1)) >= 0 ||
        tvc_entity_find(entity, TV_LIT(TVC_CRYPTO_METADATA2)) >= 0)
        return TAVOLA_ERR_INVALID;
    return TAVOLA_OK;
}

/* A content key for this one write, and the cipher and the envelope with it. */
static tavola_err make_key(encryption *work)
{
    const tavola_crypto *crypto = work->crypto;
    tvc_cipher *cipher = &work->cipher;

    cipher->format = work->envelope.format = crypto->format;
    cipher->crypto = crypto;
    cipher->partition_key = tv_slice_of(work->entity->partition_key);
    cipher->row_key = tv_slice_of(work->entity->row_key);
    if (!crypto->random(crypto->random_user, cipher->key, sizeof cipher->key))
        return TAVOLA_ERR_CRYPTO;
    if (cipher->format == TVC_FORMAT_1) {
        if (!crypto->random(crypto->random_user, cipher->iv, sizeof cipher->iv))
            return TAVOLA_ERR_CRYPTO;
        memcpy(work->envelope.iv, cipher->iv, sizeof cipher->iv);
    }

    tavola_err err = tvc_key_wrap(crypto, cipher->format, cipher->key, &work->envelope.key);

    return err ? err : tvc_cipher_init(cipher);
}

static tavola_err seal(encryption *work, tv_slice name, const tavola_value *value)
{
    size_t size = tvc_cipher_sealed_size(&work->cipher, value);

    if (size > TVC_VALUE_BYTES_MAX)
        return TAVOLA_ERR_TOO_LARGE;
    if (!tvc_cipher_seal(&work->cipher, name, value, work->sealed))
        return TAVOLA_ERR_CRYPTO;

    tavola_entity_set_binary(work->made, name.data, work->sealed, size);
    return TAVOLA_OK;
}

static tavola_err add_properties(encryption *work)
{
    for (uint32_t i = 0; i < work->entity->count; i++) {
        const tvc_property *property = &work->entity->properties[i];
        tavola_err err;

        if (!is_chosen(work->crypto, work->entity, property)) {
            tavola_entity_set(work->made, property->name, property->value);
            continue;
        }
        if (work->cipher.format == TVC_FORMAT_1 && property->value.type != TAVOLA_STRING)
            return TAVOLA_ERR_INVALID;
        tvc_name_list_add(&work->names, name_of(property));
        err = seal(work, name_of(property), &property->value);
        if (err)
            return err;
    }
    return TAVOLA_OK;
}

static tavola_err add_metadata(encryption *work)
{
    tvc_text json = {0};

    tvc_name_list_end(&work->names);
    tvc_envelope_write(&json, &work->envelope);

    char *envelope = tvc_text_take(&json);

    if (envelope == NULL || work->names.has_failed) {
        tvc_release(envelope);
        return TAVOLA_ERR_NO_MEMORY;
    }
    tavola_entity_set_string(work->made, TVC_CRYPTO_METADATA1, envelope);
    tvc_release(envelope);

    tv_slice names = tvc_text_slice(&work->names);
    tavola_value list = {.type = TAVOLA_STRING, .size = names.len, .as.ptr = names.data};

    return seal(work, TV_LIT(TVC_CRYPTO_METADATA2), &list);
}

static tavola_err encrypt(encryption *work)
{
    tavola_err err = make_key(work);

    if (err == TAVOLA_OK)
        err = add_properties(work);
    if (err == TAVOLA_OK)
        err = add_metadata(work);
    return err ? err : tavola_entity_error(work->made);
}

tavola_err tvc_crypto_encrypt(tavola_crypto *crypto, tvc_place place, const tavola_entity *entity,
                              tavola_entity **ret_encrypted)
{
    tavola_err err = check(crypto, entity);

    if (err)
        return err;

    encryption work = {.crypto = crypto, .entity = entity};

    tvc_cipher_set_place(&work.cipher, crypto, place);
    work.made = tavola_entity_new(entity->partition_key, entity->row_key);
    work.sealed = tvc_alloc(TVC_VALUE_BYTES_MAX);
    err = TAVOLA_ERR_NO_MEMORY;
    if (work.made && work.sealed) {
        if (entity->etag)
            tavola_entity_set_etag(work.made, entity->etag);
        ERR_set_mark();
        err = encrypt(&work);
        ERR_pop_to_mark();
    }
    if (err == TAVOLA_OK) {
        *ret_encrypted = work.made;
        work.made = NULL;
    }
    tavola_entity_free(work.made);
    tvc_release(work.sealed);
    tvc_text_done(&work.names);
    tvc_cipher_done(&work.cipher);
    return err;
}
