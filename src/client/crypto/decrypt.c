/*
 * An encrypted entity in, the plain one out.
 *
 * Whoever can change stored data and sees whether they could be decrypted can use that to find out
 * what they say: version 1 is not authenticated.  So all failures look the same, and everything is
 * decrypted before the first one is reported.  That makes it harder, not impossible.
 */
#include <openssl/crypto.h>
#include <openssl/err.h>

#include "base/assert.h"
#include "client/crypto/cipher.h"
#include "client/crypto/crypto.h"

/* One property's part of a decryption. */
typedef struct part {
    bool is_sealed;
    tavola_value plain; /* its bytes lie in the room */
} part;

typedef struct decryption {
    tavola_entity *entity;
    int metadata1, metadata2; /* indexes of properties */
    tvc_cipher cipher;
    part *parts;   /* one for each property */
    uint8_t *room; /* for the plain values of all */
    size_t room_size, room_used;
} decryption;

static tv_slice bytes_of(const tvc_property *property)
{
    return (tv_slice){property->value.as.ptr, property->value.size};
}

static void mark_sealed(void *user, tv_slice name)
{
    decryption *work = user;
    int i = tvc_entity_find(work->entity, name);

    /* One that was not asked for, or is never encrypted, is no error. */
    if (i >= 0 && i != work->metadata1 && i != work->metadata2)
        work->parts[i].is_sealed = true;
}

static tavola_err make_room(decryption *work)
{
    const tavola_entity *entity = work->entity;

    for (uint32_t i = 0; i < entity->count; i++) {
        if (entity->properties[i].value.type == TAVOLA_BINARY)
            work->room_size += entity->properties[i].value.size;
    }
    work->parts = tvc_calloc(entity->count, sizeof *work->parts);
    work->room = tvc_alloc(work->room_size);
    return work->parts && work->room ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
}

static tavola_err unwrap_key(decryption *work, const tavola_crypto *crypto)
{
    tvc_cipher *cipher = &work->cipher;
    tvc_envelope envelope;
    tavola_err err;

    err = tvc_envelope_read(bytes_of(&work->entity->properties[work->metadata1]), &envelope);
    if (err)
        return err;

    cipher->format = envelope.format;
    cipher->is_java = envelope.is_java;
    cipher->partition_key = tv_slice_of(work->entity->partition_key);
    cipher->row_key = tv_slice_of(work->entity->row_key);
    memcpy(cipher->iv, envelope.iv, sizeof cipher->iv);
    err = tvc_key_unwrap(crypto, envelope.format, &envelope.key, cipher->key);
    tvc_envelope_done(&envelope);
    return err ? err : tvc_cipher_init(cipher);
}

static tavola_err open_property(decryption *work, int i, tavola_value *ret_plain)
{
    const tvc_property *property = &work->entity->properties[i];
    tv_slice name = {property->name, property->name_len};
    tv_slice sealed = bytes_of(property);

    if (property->value.type != TAVOLA_BINARY)
        return TAVOLA_ERR_CRYPTO;

    uint8_t *room = work->room + work->room_used;

    work->room_used += sealed.len;
    tv_assert(work->room_used <= work->room_size);
    return tvc_cipher_open(&work->cipher, name, sealed, room, ret_plain) ? TAVOLA_OK
                                                                         : TAVOLA_ERR_CRYPTO;
}

/* Read the list of encrypted properties. */
static tavola_err open_list(decryption *work)
{
    tavola_value list;
    tavola_err err = open_property(work, work->metadata2, &list);

    if (err == TAVOLA_OK && list.type != TAVOLA_STRING)
        err = TAVOLA_ERR_CRYPTO;
    if (err == TAVOLA_OK)
        err = tvc_name_list_read((tv_slice){list.as.ptr, list.size}, mark_sealed, work);
    if (err == TAVOLA_ERR_CRYPTO) {
        /* Not faster than if one of them were wrong. */
        for (uint32_t i = 0; i < work->entity->count; i++)
            work->parts[i].is_sealed = work->entity->properties[i].value.type == TAVOLA_BINARY &&
                                       (int)i != work->metadata2;
    }
    return err;
}

static tavola_err open_all(decryption *work)
{
    tavola_err err = open_list(work);

    for (uint32_t i = 0; i < work->entity->count && err != TAVOLA_ERR_NO_MEMORY; i++) {
        if (!work->parts[i].is_sealed)
            continue;

        tavola_err failure = open_property(work, (int)i, &work->parts[i].plain);

        if (err == TAVOLA_OK)
            err = failure;
    }
    return err;
}

/* Put the plain value where the sealed one is: it is smaller, even with a NUL. */
static void replace_value(tvc_property *property, const tavola_value *plain)
{
    tavola_value value = *plain;

    if (value.type == TAVOLA_STRING || value.type == TAVOLA_BINARY) {
        /* An entity that was read is in memory of its own, or of its page. */
        char *bytes = (char *)property->value.as.ptr;

        tv_assert(value.size < property->value.size);
        memcpy(bytes, value.as.ptr, value.size);
        bytes[value.size] = '\0';
        value.as.ptr = bytes;
    }
    property->value = value;
    property->is_secret = true;
}

/* Nothing can fail any more: make the entity the plain one, without metadata. */
static void replace_all(decryption *work)
{
    tavola_entity *entity = work->entity;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < entity->count; i++) {
        if ((int)i == work->metadata1 || (int)i == work->metadata2)
            continue;
        if (work->parts[i].is_sealed)
            replace_value(&entity->properties[i], &work->parts[i].plain);
        entity->properties[kept++] = entity->properties[i];
    }
    entity->count = kept;
}

static tavola_err decrypt(decryption *work, const tavola_crypto *crypto)
{
    tavola_err err = make_room(work);

    if (err == TAVOLA_OK)
        err = unwrap_key(work, crypto);
    if (err == TAVOLA_OK)
        err = open_all(work);
    if (err == TAVOLA_OK)
        replace_all(work);

    if (work->room)
        OPENSSL_cleanse(work->room, work->room_size);
    tvc_release(work->room);
    tvc_release(work->parts);
    tvc_cipher_done(&work->cipher);
    return err;
}

tavola_err tvc_crypto_decrypt(tavola_crypto *crypto, tvc_place place, tavola_entity *entity)
{
    decryption work = {
        .entity = entity,
        .metadata1 = tvc_entity_find(entity, TV_LIT(TVC_CRYPTO_METADATA1)),
        .metadata2 = tvc_entity_find(entity, TV_LIT(TVC_CRYPTO_METADATA2)),
    };

    if (work.metadata1 < 0 || work.metadata2 < 0)
        return crypto->is_required ? TAVOLA_ERR_CRYPTO : TAVOLA_OK;
    if (entity->properties[work.metadata1].value.type != TAVOLA_STRING)
        return TAVOLA_ERR_CRYPTO;

    tvc_cipher_set_place(&work.cipher, crypto, place);
    ERR_set_mark();

    tavola_err err = decrypt(&work, crypto);

    ERR_pop_to_mark();
    return err;
}
