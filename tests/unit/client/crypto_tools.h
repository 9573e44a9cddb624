/*
 * What the tests of encryption share: known keys and randomness, values in hexadecimal and base64,
 * and the entity of the documented vectors.
 */
#ifndef TEST_CRYPTO_TOOLS_H
#define TEST_CRYPTO_TOOLS_H

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/base64.h"
#include "base/hex.h"
#include "check.h"
#include "client/crypto/cipher.h"
#include "client/crypto/crypto.h"
#include "client/memory_faults.h"

#define CHECK_TVC(got, want)                                                                       \
    do {                                                                                           \
        tavola_err got_tvc = (got), want_tvc = (want);                                             \
        if (got_tvc != want_tvc)                                                                   \
            CHECK_FAIL("%s: got %s, want %s", #got, tavola_err_name(got_tvc),                      \
                       tavola_err_name(want_tvc));                                                 \
    } while (0)

/* Cryptos; NULL when they are refused, or memory is short. */
static inline tavola_crypto *new_aes_size(const char *kid, const void *kek, size_t size)
{
    tavola_crypto *crypto = NULL;
    tavola_err err = tavola_crypto_new_aes(kid, kek, size, &crypto);

    return err ? NULL : crypto;
}

static inline tavola_crypto *new_aes(const char *kid, const void *kek)
{
    return new_aes_size(kid, kek, 32);
}

static inline tavola_crypto *new_rsa(const char *kid, const char *pem, size_t size)
{
    tavola_crypto *crypto = NULL;
    tavola_err err = tavola_crypto_new_rsa(kid, pem, size, &crypto);

    return err ? NULL : crypto;
}

static inline tavola_crypto *new_own(const tavola_key_ops *ops, void *key)
{
    tavola_crypto *crypto = NULL;
    tavola_err err = tavola_crypto_new(ops, key, &crypto);

    return err ? NULL : crypto;
}

/* Where the entities of the tests are. */
static const tvc_place here = {{"account", 7}, {"People", 6}};

/* The bytes first, first + 1, ... */
static inline void fill_counting(uint8_t *to, size_t len, uint8_t first)
{
    for (size_t i = 0; i < len; i++)
        to[i] = (uint8_t)(first + i);
}

/* Randomness of the vectors: content key 40..5f, IV a0..af, nonces b0..bb. */
static inline bool known_random(void *user, void *ret_bytes, size_t len)
{
    (void)user;
    fill_counting(ret_bytes, len, len == 32 ? 0x40 : len == 16 ? 0xa0 : 0xb0);
    return true;
}

static inline bool no_random(void *user, void *ret_bytes, size_t len)
{
    (void)user, (void)ret_bytes, (void)len;
    return false;
}

static inline bool choose_all(void *user, const char *partition_key, const char *row_key,
                              const char *name)
{
    (void)user, (void)partition_key, (void)row_key, (void)name;
    return true;
}

/* The key 00..1f, encrypting everything with known randomness.  NULL when memory is short. */
static inline tavola_crypto *known_crypto(int protocol)
{
    uint8_t kek[32];

    fill_counting(kek, sizeof kek, 0);

    tavola_crypto *crypto = new_aes("local:key1", kek);

    tavola_crypto_set_protocol(crypto, protocol);
    tavola_crypto_set_properties(crypto, choose_all, NULL);
    if (crypto)
        crypto->random = known_random;
    return crypto;
}

static inline size_t from_base64(const char *text, uint8_t *ret_bytes, size_t room)
{
    size_t len = 0;

    CHECK(tv_base64_decoded_max(strlen(text)) <= room);
    CHECK(tv_base64_decode((char *)ret_bytes, tv_slice_of(text), &len));
    return len;
}

static inline void set_base64(tavola_entity *entity, const char *name, const char *text)
{
    uint8_t bytes[1024];

    tavola_entity_set_binary(entity, name, bytes, from_base64(text, bytes, sizeof bytes));
}

static inline void set_hex(tavola_entity *entity, const char *name, const char *text)
{
    uint8_t bytes[1024];
    size_t len = strlen(text) / 2;

    CHECK(len <= sizeof bytes);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(tv_hex_value(text[2 * i]) << 4 | tv_hex_value(text[2 * i + 1]));
    tavola_entity_set_binary(entity, name, bytes, len);
}

static inline void check_hex(const tavola_entity *entity, const char *name, const char *want)
{
    const void *data = NULL;
    size_t size = 0;
    char got[2048] = "";

    CHECK(tavola_entity_get_binary(entity, name, &data, &size));
    CHECK(size * 2 < sizeof got);
    for (size_t i = 0; i < size; i++)
        snprintf(got + 2 * i, 3, "%02x", ((const uint8_t *)data)[i]);
    CHECK_TEXT(tv_slice_of(got), want);
}

static inline void check_string(const tavola_entity *entity, const char *name, const char *want)
{
    const char *text = NULL;

    CHECK(tavola_entity_get_string(entity, name, &text));
    CHECK_TEXT(tv_slice_of(text), want);
}

/* The entity of the vectors before it is encrypted. */
static inline tavola_entity *plain_entity(void)
{
    tavola_entity *entity = tavola_entity_new("Sales", "000223");

    tavola_entity_set_string(entity, "Email", "jonesj@contoso.com");
    tavola_entity_set_string(entity, "Note", "");
    tavola_entity_set_string(entity, "City", "Malm\xc3\xb6 \xf0\x9f\x98\x80");
    return entity;
}

static inline void check_plain_entity(const tavola_entity *entity)
{
    CHECK_INT(tavola_entity_count(entity), 3);
    check_string(entity, "Email", "jonesj@contoso.com");
    check_string(entity, "Note", "");
    check_string(entity, "City", "Malm\xc3\xb6 \xf0\x9f\x98\x80");
}

/* A crypto's encryption of an entity that can be encrypted. */
static inline tavola_entity *encrypted(tavola_crypto *crypto, const tavola_entity *entity)
{
    tavola_entity *made = NULL;

    CHECK_TVC(tvc_crypto_encrypt(crypto, here, entity, &made), TAVOLA_OK);
    return made;
}

/* The same for an entity that is not needed any longer. */
static inline tavola_entity *encrypted_free(tavola_crypto *crypto, tavola_entity *entity)
{
    tavola_entity *made = encrypted(crypto, entity);

    tavola_entity_free(entity);
    return made;
}

static inline void set_value(tavola_entity *entity, const char *name, tavola_value value)
{
    tavola_entity_set(entity, name, value);
    CHECK_TVC(tavola_entity_error(entity), TAVOLA_OK);
}

/* That decryption fails and leaves the entity as it was. */
static inline void check_refused(tavola_crypto *crypto, tavola_entity *entity)
{
    tavola_entity *before = tavola_entity_copy(entity);

    CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), TAVOLA_ERR_CRYPTO);
    CHECK(tvc_entity_same(before, entity));
    tavola_entity_free(before);
}

/* A key of the application's, which counts what it is asked. */
typedef struct counting_key {
    const char *kid, *algorithm;
    int wraps, unwraps;
    int result;    /* of wrap and unwrap */
    size_t excess; /* bytes more than are true */
} counting_key;

static inline const char *counting_kid(void *key)
{
    return ((counting_key *)key)->kid;
}

static inline const char *counting_algorithm(void *key)
{
    return ((counting_key *)key)->algorithm;
}

/* Not a cipher: every byte is turned around. */
static inline int counting_turn(counting_key *key, const uint8_t *in, size_t in_size,
                                uint8_t *ret_out, size_t *ret_out_size)
{
    CHECK(*ret_out_size >= 1024);
    for (size_t i = 0; i < in_size; i++)
        ret_out[i] = in[i] ^ 0xff;
    *ret_out_size = in_size + key->excess;
    return key->result;
}

static inline int counting_wrap(void *key, const uint8_t *in, size_t in_size, uint8_t *ret_out,
                                size_t *ret_out_size)
{
    ((counting_key *)key)->wraps++;
    return counting_turn(key, in, in_size, ret_out, ret_out_size);
}

static inline int counting_unwrap(void *key, const char *algorithm, const uint8_t *in,
                                  size_t in_size, uint8_t *ret_out, size_t *ret_out_size)
{
    ((counting_key *)key)->unwraps++;
    if (strcmp(algorithm, "TURN") != 0)
        return -1;
    return counting_turn(key, in, in_size, ret_out, ret_out_size);
}

static const tavola_key_ops counting_ops = {
    .struct_size = sizeof(tavola_key_ops),
    .kid = counting_kid,
    .algorithm = counting_algorithm,
    .wrap = counting_wrap,
    .unwrap = counting_unwrap,
};

#endif
