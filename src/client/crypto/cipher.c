/*
 * Version 1: AES-256-CBC with PKCS#7 padding, the IV made of the entity's IV, keys and name.
 * Version 2: AES-256-GCM; sealed are a nonce, the encrypted type and value, and the tag, with keys
 * and name as associated data, and since 2.1 with the account and the table.
 */
#include "client/crypto/cipher.h"

#include <endian.h>
#include <openssl/crypto.h>

#include "base/assert.h"
#include "base/utf8.h"

enum {
    BLOCK_BYTES = 16,
    NONCE_BYTES = 12,
    TAG_BYTES = 16,
    TYPE_BYTES = 1,
    SMALL_BYTES_MAX = 16, /* of all types that are not String or Binary */
};

#define TICKS_MAX UINT64_C(3155378975999999999) /* the end of the year 9999 */

/* The types as version 2 numbers them. */
static const tavola_type types[] = {TAVOLA_STRING, TAVOLA_BINARY, TAVOLA_BOOLEAN,  TAVOLA_INT32,
                                    TAVOLA_INT64,  TAVOLA_DOUBLE, TAVOLA_DATETIME, TAVOLA_GUID};
enum { TYPES = sizeof types / sizeof *types };

void tvc_cipher_set_place(tvc_cipher *cipher, const tavola_crypto *crypto, tvc_place place)
{
    cipher->place = place;
    if (crypto->account)
        cipher->place.account = tv_slice_of(crypto->account);
    if (crypto->table)
        cipher->place.table = tv_slice_of(crypto->table);
}

/* The key goes in once, for all values: only IVs and nonces differ. */
tavola_err tvc_cipher_init(tvc_cipher *cipher)
{
    const EVP_CIPHER *kind = cipher->format == TVC_FORMAT_1 ? EVP_aes_256_cbc() : EVP_aes_256_gcm();

    tv_assert(cipher->format != TVC_FORMAT_NONE);
    cipher->context = EVP_CIPHER_CTX_new();
    return cipher->context && EVP_CipherInit_ex(cipher->context, kind, NULL, cipher->key, NULL,
                                                cipher->crypto != NULL) == 1
               ? TAVOLA_OK
               : TAVOLA_ERR_CRYPTO;
}

static bool set_iv(const tvc_cipher *cipher, const uint8_t *iv)
{
    return EVP_CipherInit_ex(cipher->context, NULL, NULL, NULL, iv, -1) == 1;
}

void tvc_cipher_done(tvc_cipher *cipher)
{
    EVP_CIPHER_CTX_free(cipher->context);
    cipher->context = NULL;
    OPENSSL_cleanse(cipher->key, sizeof cipher->key);
}

/* ---- values as bytes ---------------------------------------------------------------------- */

static tv_slice put_big_endian(uint8_t small[SMALL_BYTES_MAX], uint64_t bits, size_t size)
{
    for (size_t i = size; i-- > 0; bits >>= 8)
        small[i] = (uint8_t)bits;
    return (tv_slice){(const char *)small, size};
}

static uint64_t take_big_endian(tv_slice bytes)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < bytes.len; i++)
        bits = bits << 8 | (uint8_t)bytes.data[i];
    return bits;
}

/* The bytes of a value: its own, or of a number in `small`. */
static tv_slice encode(const tavola_value *value, uint8_t small[SMALL_BYTES_MAX])
{
    uint64_t bits;

    switch (value->type) {
    case TAVOLA_BOOLEAN:
        return put_big_endian(small, value->as.boolean, 1);
    case TAVOLA_INT32:
        return put_big_endian(small, (uint32_t)value->as.int32, 4);
    case TAVOLA_INT64:
        return put_big_endian(small, (uint64_t)value->as.int64, 8);
    case TAVOLA_DOUBLE:
        memcpy(&bits, &value->as.real, sizeof bits);
        return put_big_endian(small, bits, 8);
    case TAVOLA_DATETIME:
        return put_big_endian(small, (uint64_t)value->as.ticks, 8);
    case TAVOLA_GUID:
        memcpy(small, value->as.guid.bytes, 16);
        return (tv_slice){(const char *)small, 16};
    default:
        return (tv_slice){value->as.ptr, value->size};
    }
}

static int type_number(tavola_type type)
{
    for (int i = 0; i < TYPES; i++) {
        if (types[i] == type)
            return i;
    }
    tv_assert(!"a value of a type");
    return 0;
}

/* The value that bytes stand for; of a String and Binary they are the value.  False: none. */
static bool decode(tavola_type type, tv_slice bytes, tavola_value *ret_value)
{
    static const size_t sizes[] = {[TAVOLA_BOOLEAN] = 1, [TAVOLA_INT32] = 4,    [TAVOLA_INT64] = 8,
                                   [TAVOLA_DOUBLE] = 8,  [TAVOLA_DATETIME] = 8, [TAVOLA_GUID] = 16};
    tavola_value value = {.type = type};

    if (type == TAVOLA_STRING || type == TAVOLA_BINARY) {
        value.size = bytes.len;
        value.as.ptr = bytes.data;
        *ret_value = value;
        return type == TAVOLA_BINARY || tv_utf8_is_valid(bytes);
    }
    if (bytes.len != sizes[type])
        return false;

    uint64_t bits = type == TAVOLA_GUID ? 0 : take_big_endian(bytes);

    switch (type) {
    case TAVOLA_BOOLEAN:
        if (bits > 1)
            return false;
        value.as.boolean = bits == 1;
        break;
    case TAVOLA_INT32:
        value.as.int32 = (int32_t)(uint32_t)bits;
        break;
    case TAVOLA_DOUBLE:
        memcpy(&value.as.real, &bits, sizeof bits);
        break;
    case TAVOLA_GUID:
        memcpy(value.as.guid.bytes, bytes.data, 16);
        break;
    case TAVOLA_DATETIME:
        if (bits > TICKS_MAX)
            return false;
        value.as.ticks = (tavola_ticks)bits;
        break;
    default:
        value.as.int64 = (int64_t)bits;
        break;
    }
    *ret_value = value;
    return true;
}

/* ---- version 1 ------------------------------------------------------------------------------ */

/* The first half of SHA-256 over the entity's IV, the keys and the name. */
static bool make_iv(const tvc_cipher *cipher, tv_slice name, uint8_t ret_iv[BLOCK_BYTES])
{
    tv_slice first = cipher->is_java ? cipher->partition_key : cipher->row_key;
    tv_slice second = cipher->is_java ? cipher->row_key : cipher->partition_key;
    uint8_t digest[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool ok = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1 &&
              EVP_DigestUpdate(context, cipher->iv, sizeof cipher->iv) == 1 &&
              EVP_DigestUpdate(context, first.data, first.len) == 1 &&
              EVP_DigestUpdate(context, second.data, second.len) == 1 &&
              EVP_DigestUpdate(context, name.data, name.len) == 1 &&
              EVP_DigestFinal_ex(context, digest, NULL) == 1;

    EVP_MD_CTX_free(context);
    if (ok)
        memcpy(ret_iv, digest, BLOCK_BYTES);
    return ok;
}

static bool seal_cbc(tvc_cipher *cipher, tv_slice name, tv_slice text, uint8_t *ret_sealed)
{
    uint8_t iv[BLOCK_BYTES];
    int size = 0, rest = 0;

    return make_iv(cipher, name, iv) && set_iv(cipher, iv) &&
           (text.len == 0 || EVP_EncryptUpdate(cipher->context, ret_sealed, &size,
                                               (const uint8_t *)text.data, (int)text.len) == 1) &&
           EVP_EncryptFinal_ex(cipher->context, ret_sealed + size, &rest) == 1;
}

/* All bits when a < b, else none; both less than 2^31. */
static uint32_t mask_less(uint32_t a, uint32_t b)
{
    return 0 - ((a - b) >> 31);
}

/*
 * The length without the padding, in a time that depends on `size` alone: whoever can change what
 * is stored must not learn how a wrong padding is wrong.
 */
static bool remove_padding(const uint8_t *blocks, size_t size, size_t *ret_size)
{
    uint32_t padding = blocks[size - 1];
    uint32_t good = mask_less(0, padding) & mask_less(padding, BLOCK_BYTES + 1);

    for (uint32_t i = 0; i < BLOCK_BYTES; i++) {
        uint32_t difference = blocks[size - 1 - i] ^ padding;

        good &= ~(mask_less(i, padding) & mask_less(0, difference));
    }
    *ret_size = size - (padding & good);
    return good & 1;
}

static bool open_cbc(tvc_cipher *cipher, tv_slice name, tv_slice sealed, uint8_t *ret_room,
                     tavola_value *ret_value)
{
    uint8_t iv[BLOCK_BYTES];
    int size = 0, rest = 0;
    size_t plain_size;

    if (sealed.len == 0 || sealed.len % BLOCK_BYTES || !make_iv(cipher, name, iv) ||
        !set_iv(cipher, iv) || EVP_CIPHER_CTX_set_padding(cipher->context, 0) != 1 ||
        EVP_DecryptUpdate(cipher->context, ret_room, &size, (const uint8_t *)sealed.data,
                          (int)sealed.len) != 1 ||
        EVP_DecryptFinal_ex(cipher->context, ret_room + size, &rest) != 1)
        return false;
    tv_assert((size_t)size + (size_t)rest == sealed.len);
    if (!remove_padding(ret_room, sealed.len, &plain_size))
        return false;

    ret_room[plain_size] = '\0';
    return decode(TAVOLA_STRING, (tv_slice){(const char *)ret_room, plain_size}, ret_value);
}

/* ---- version 2 ------------------------------------------------------------------------------ */

/* A part of the associated data. */
static bool associate_bytes(EVP_CIPHER_CTX *context, const void *bytes, size_t size)
{
    int ignored;

    return size == 0 || EVP_CipherUpdate(context, NULL, &ignored, bytes, (int)size) == 1;
}

static bool associate_length(EVP_CIPHER_CTX *context, tv_slice text)
{
    uint32_t len = htobe32((uint32_t)text.len);

    return associate_bytes(context, &len, sizeof len);
}

/* Bytes with their length before them. */
static bool associate(EVP_CIPHER_CTX *context, tv_slice bytes)
{
    return associate_length(context, bytes) && associate_bytes(context, bytes.data, bytes.len);
}

/* The same of a name that is one in either case. */
static bool associate_name(EVP_CIPHER_CTX *context, tv_slice name)
{
    char lower[64];

    if (!associate_length(context, name))
        return false;
    while (name.len) {
        size_t size = name.len < sizeof lower ? name.len : sizeof lower;

        for (size_t i = 0; i < size; i++)
            lower[i] = tv_ascii_lower(name.data[i]);
        if (!associate_bytes(context, lower, size))
            return false;
        name = tv_slice_skip(name, size);
    }
    return true;
}

/* Begin a value with its nonce and all associated data. */
static bool begin_gcm(tvc_cipher *cipher, tv_slice name, const uint8_t nonce[NONCE_BYTES])
{
    /* With their NUL. */
    static const char purpose[] = "tavola-table-v2", bound_purpose[] = "tavola-table-v2.1";
    EVP_CIPHER_CTX *context = cipher->context;

    if (!set_iv(cipher, nonce))
        return false;
    if (cipher->format == TVC_FORMAT_2_0
            ? !associate_bytes(context, purpose, sizeof purpose)
            : !associate_bytes(context, bound_purpose, sizeof bound_purpose) ||
                  !associate_name(context, cipher->place.account) ||
                  !associate_name(context, cipher->place.table))
        return false;
    return associate(context, cipher->partition_key) && associate(context, cipher->row_key) &&
           associate(context, name);
}

static bool seal_gcm(tvc_cipher *cipher, tv_slice name, tavola_type type, tv_slice bytes,
                     uint8_t *ret_sealed)
{
    uint8_t type_byte = (uint8_t)type_number(type);
    uint8_t *nonce = ret_sealed, *to = ret_sealed + NONCE_BYTES;
    int type_size = 0, size = 0, rest = 0;

    return cipher->crypto->random(cipher->crypto->random_user, nonce, NONCE_BYTES) &&
           begin_gcm(cipher, name, nonce) &&
           EVP_EncryptUpdate(cipher->context, to, &type_size, &type_byte, TYPE_BYTES) == 1 &&
           (bytes.len == 0 ||
            EVP_EncryptUpdate(cipher->context, to + type_size, &size, (const uint8_t *)bytes.data,
                              (int)bytes.len) == 1) &&
           EVP_EncryptFinal_ex(cipher->context, to + type_size + size, &rest) == 1 &&
           EVP_CIPHER_CTX_ctrl(cipher->context, EVP_CTRL_GCM_GET_TAG, TAG_BYTES,
                               to + type_size + size + rest) == 1;
}

static bool open_gcm(tvc_cipher *cipher, tv_slice name, tv_slice sealed, uint8_t *ret_room,
                     tavola_value *ret_value)
{
    const uint8_t *nonce = (const uint8_t *)sealed.data;
    int size = 0, rest = 0;
    uint8_t tag[TAG_BYTES];

    if (sealed.len < NONCE_BYTES + TYPE_BYTES + TAG_BYTES)
        return false;

    size_t plain_size = sealed.len - NONCE_BYTES - TAG_BYTES;

    memcpy(tag, sealed.data + sealed.len - TAG_BYTES, TAG_BYTES);
    if (!begin_gcm(cipher, name, nonce) ||
        EVP_DecryptUpdate(cipher->context, ret_room, &size, nonce + NONCE_BYTES, (int)plain_size) !=
            1 ||
        EVP_CIPHER_CTX_ctrl(cipher->context, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, tag) != 1 ||
        EVP_DecryptFinal_ex(cipher->context, ret_room + size, &rest) != 1)
        return false;
    tv_assert((size_t)size + (size_t)rest == plain_size);
    if (ret_room[0] >= TYPES)
        return false;

    ret_room[plain_size] = '\0';
    return decode(types[ret_room[0]],
                  (tv_slice){(const char *)ret_room + TYPE_BYTES, plain_size - TYPE_BYTES},
                  ret_value);
}

/* ---- either --------------------------------------------------------------------------------- */

size_t tvc_cipher_sealed_size(const tvc_cipher *cipher, const tavola_value *value)
{
    uint8_t small[SMALL_BYTES_MAX];
    size_t size = encode(value, small).len;

    return cipher->format == TVC_FORMAT_1 ? (size / BLOCK_BYTES + 1) * BLOCK_BYTES
                                          : NONCE_BYTES + TYPE_BYTES + size + TAG_BYTES;
}

bool tvc_cipher_seal(tvc_cipher *cipher, tv_slice name, const tavola_value *value,
                     uint8_t *ret_sealed)
{
    uint8_t small[SMALL_BYTES_MAX];
    tv_slice bytes = encode(value, small);
    bool ok;

    tv_assert(bytes.len <= TVC_VALUE_BYTES_MAX);
    if (cipher->format == TVC_FORMAT_1) {
        tv_assert(value->type == TAVOLA_STRING);
        ok = seal_cbc(cipher, name, bytes, ret_sealed);
    } else {
        ok = seal_gcm(cipher, name, value->type, bytes, ret_sealed);
    }
    OPENSSL_cleanse(small, sizeof small);
    return ok;
}

bool tvc_cipher_open(tvc_cipher *cipher, tv_slice name, tv_slice sealed, uint8_t *ret_room,
                     tavola_value *ret_value)
{
    /* No sealed value is larger; a service that does not care must not make our ints overflow. */
    if (sealed.len > TVC_VALUE_BYTES_MAX)
        return false;
    return cipher->format == TVC_FORMAT_1 ? open_cbc(cipher, name, sealed, ret_room, ret_value)
                                          : open_gcm(cipher, name, sealed, ret_room, ret_value);
}
