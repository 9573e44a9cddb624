/*
 * Encrypted entities of a hostile service.  The input is two lines and a rest: metadata 1, metadata
 * 2 and the value of a property, each taken as it is and, under a key that the service does not
 * have, as what is inside of the encryption.
 */
#include "base/assert.h"
#include "base/utf8.h"
#include "client/crypto/cipher.h"
#include "client/crypto/crypto.h"
#include "fuzz.h"

typedef struct input {
    tv_slice envelope, names, value;
} input;

/* A key that wraps nothing: what is "wrapped" by it is the content key itself. */
static const char *get_kid(void *key)
{
    (void)key;
    return "k";
}

static int copy(void *key, const uint8_t *in, size_t in_size, uint8_t *ret_out,
                size_t *ret_out_size)
{
    (void)key;
    tv_assert(in_size <= *ret_out_size);
    memcpy(ret_out, in, in_size);
    *ret_out_size = in_size;
    return 0;
}

static int copy_back(void *key, const char *algorithm, const uint8_t *in, size_t in_size,
                     uint8_t *ret_out, size_t *ret_out_size)
{
    tv_assert(tv_utf8_is_valid(tv_slice_of(algorithm)));
    return copy(key, in, in_size, ret_out, ret_out_size);
}

static const tavola_key_ops ops = {sizeof ops, get_kid, get_kid, copy, copy_back};

static const tvc_place here = {{"account", 7}, {"People", 6}};

static bool known_random(void *user, void *ret_bytes, size_t len)
{
    (void)user;
    memset(ret_bytes, 7, len);
    return true;
}

static bool choose_all(void *user, const char *partition_key, const char *row_key, const char *name)
{
    (void)user, (void)partition_key, (void)row_key, (void)name;
    return true;
}

static tavola_value text_value(tv_slice text)
{
    return (tavola_value){.type = TAVOLA_STRING, .size = text.len, .as.ptr = text.data};
}

static tavola_value bytes_value(tv_slice bytes)
{
    return (tavola_value){.type = TAVOLA_BINARY, .size = bytes.len, .as.ptr = bytes.data};
}

/* Decrypt, and be left alone when that does not work. */
static void try_decrypt(tavola_crypto *crypto, tavola_entity *entity)
{
    tavola_entity *before = tavola_entity_copy(entity);
    tavola_err err = tvc_crypto_decrypt(crypto, here, entity);

    tv_assert(err == TAVOLA_OK || err == TAVOLA_ERR_CRYPTO);
    if (err == TAVOLA_OK)
        tv_assert(tvc_entity_find(entity, TV_LIT(TVC_CRYPTO_METADATA1)) < 0 ||
                  tvc_entity_find(entity, TV_LIT(TVC_CRYPTO_METADATA2)) < 0);
    else
        tv_assert(tvc_entity_same(before, entity));
    tavola_entity_free(before);
    tavola_entity_free(entity);
}

static void check_raw(tavola_crypto *crypto, const input *in)
{
    tavola_entity *entity = tavola_entity_new("p", "r");

    tavola_entity_set(entity, "A", bytes_value(in->value));
    tavola_entity_set(entity, TVC_CRYPTO_METADATA1, text_value(in->envelope));
    tavola_entity_set(entity, TVC_CRYPTO_METADATA2, bytes_value(in->names));
    try_decrypt(crypto, entity);
}

/* An envelope that can be read can be given another key, and stays what it was otherwise. */
static void check_envelope(tv_slice json)
{
    tvc_envelope old, new;
    tvc_wrapped_key key = {.kid = "n\"", .algorithm = "x", .size = 1};
    tvc_text text = {0};

    if (tvc_envelope_read(json, &old) != TAVOLA_OK)
        return;

    tv_assert(tvc_envelope_rewrite(&text, json, &key) == TAVOLA_OK);
    tv_assert(tvc_envelope_read(tvc_text_slice(&text), &new) == TAVOLA_OK);
    tv_assert(old.format == new.format &&old.is_java == new.is_java);
    tv_assert(memcmp(old.iv, new.iv, sizeof old.iv) == 0);
    tv_assert(strcmp(new.key.kid, "n\"") == 0 && new.key.size == 1);
    tvc_envelope_done(&old);
    tvc_envelope_done(&new);
    tvc_text_done(&text);
}

static void check_name(void *user, tv_slice name)
{
    (void)user;
    tv_assert(tv_utf8_is_valid(name));
}

/* The list and the value of somebody who has the key. */
static void check_inside(tavola_crypto *crypto, const input *in, int version)
{
    tvc_cipher cipher = {.partition_key = TV_LIT("p"), .row_key = TV_LIT("r"), .crypto = crypto};
    tavola_value names = text_value(in->names), value = text_value(in->value);
    tavola_entity *plain = tavola_entity_new("p", "r"), *entity = NULL;
    uint8_t *sealed = tvc_alloc(TVC_VALUE_BYTES_MAX);

    tavola_crypto_set_protocol(crypto, version);
    cipher.format = crypto->format;
    tvc_cipher_set_place(&cipher, crypto, here);
    known_random(NULL, cipher.key, sizeof cipher.key);
    known_random(NULL, cipher.iv, sizeof cipher.iv);
    tv_assert(tvc_cipher_init(&cipher) == TAVOLA_OK);
    tv_assert(tvc_crypto_encrypt(crypto, here, plain, &entity) == TAVOLA_OK);
    tv_assert(tvc_cipher_seal(&cipher, TV_LIT("A"), &value, sealed));
    tavola_entity_set_binary(entity, "A", sealed, tvc_cipher_sealed_size(&cipher, &value));
    tv_assert(tvc_cipher_seal(&cipher, TV_LIT(TVC_CRYPTO_METADATA2), &names, sealed));
    tavola_entity_set_binary(entity, TVC_CRYPTO_METADATA2, sealed,
                             tvc_cipher_sealed_size(&cipher, &names));
    try_decrypt(crypto, entity);
    tvc_cipher_done(&cipher);
    tavola_entity_free(plain);
    tvc_release(sealed);
}

/* What can be encrypted comes back. */
static void check_round_trip(tavola_crypto *crypto, const input *in, int version)
{
    tavola_entity *plain = tavola_entity_new("p", "r"), *entity = NULL;
    char *name = tvc_dup(in->names);

    tavola_crypto_set_protocol(crypto, version);
    tavola_entity_set(plain, name, text_value(in->value));
    if (version != 1)
        tavola_entity_set(plain, "Other", bytes_value(in->envelope));
    if (tvc_crypto_encrypt(crypto, here, plain, &entity) == TAVOLA_OK) {
        tv_assert(tvc_crypto_decrypt(crypto, here, entity) == TAVOLA_OK);
        tv_assert(tvc_entity_same(plain, entity));
    }
    tavola_entity_free(entity);
    tavola_entity_free(plain);
    tvc_release(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int versions[] = {1, 2, 20};
    tv_slice rest = {(const char *)data, size};
    input in = {0};

    if (size > 8192 || !tv_slice_next(&rest, '\n', &in.envelope) ||
        !tv_slice_next(&rest, '\n', &in.names) || rest.data == NULL)
        return 0;
    in.value = rest;

    tavola_crypto *crypto = NULL;

    if (tavola_crypto_new(&ops, NULL, &crypto) != TAVOLA_OK)
        crypto = NULL;

    crypto->random = known_random;
    tavola_crypto_set_properties(crypto, choose_all, NULL);
    check_raw(crypto, &in);
    check_envelope(in.envelope);
    if (tv_utf8_is_valid(in.names))
        (void)tvc_name_list_read(in.names, check_name, NULL);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        check_inside(crypto, &in, versions[i]);
        check_round_trip(crypto, &in, versions[i]);
    }
    tavola_crypto_free(crypto);
    return 0;
}
