/* A crypto: its key, its callbacks, its rules. */
#include "client/crypto/crypto.h"

#include "client/why.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/rand.h>

#include "client/crypto/key.h"
#include "client/crypto/policy.h"

const char *const tvc_crypto_metadata_names[] = {"PartitionKey", "RowKey", TVC_CRYPTO_METADATA1,
                                                 TVC_CRYPTO_METADATA2, NULL};

/* OpenSSL's, because it does not repeat itself in a process that has forked. */
static bool draw_random(void *user, void *ret_bytes, size_t len)
{
    (void)user;
    return len <= INT_MAX && RAND_bytes(ret_bytes, (int)len) == 1;
}

/* Takes over a key that has a key_free. */
static tavola_err make_crypto(const tavola_key_ops *ops, void *key, void (*key_free)(void *key),
                              tavola_crypto **ret_crypto)
{
    tavola_crypto *crypto = tvc_zalloc(sizeof *crypto);

    if (crypto == NULL) {
        if (key_free)
            key_free(key);
        return TAVOLA_ERR_NO_MEMORY;
    }
    crypto->ops = *ops;
    crypto->key = key;
    crypto->key_free = key_free;
    crypto->format = TVC_FORMAT_2_1;
    crypto->random = draw_random;
    *ret_crypto = crypto;
    return TAVOLA_OK;
}

static tavola_err refuse_place(void)
{
    return tvc_refuse(TAVOLA_ERR_INVALID, "there is no place for the crypto: it is NULL");
}

tavola_err tavola_crypto_new(const tavola_key_ops *ops, void *key, tavola_crypto **ret_crypto)
{
    if (ret_crypto == NULL)
        return refuse_place();
    if (ops == NULL || ops->struct_size < sizeof *ops)
        return tvc_refuse(TAVOLA_ERR_INVALID,
                          "there are no functions of the key, or their struct_size is not set");
    if (ops->kid == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "the key has no function kid");
    if (ops->wrap == NULL && ops->unwrap == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "the key has neither wrap nor unwrap");
    if (ops->wrap && ops->algorithm == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "the key has wrap, and no function algorithm");
    return make_crypto(ops, key, NULL, ret_crypto);
}

tavola_err tavola_crypto_new_aes(const char *kid, const void *kek, size_t size,
                                 tavola_crypto **ret_crypto)
{
    void *key = NULL;
    tavola_err err = ret_crypto ? tvc_aes_key_new(kid, kek, size, &key) : refuse_place();

    return err ? err : make_crypto(&tvc_aes_key_ops, key, tvc_aes_key_free, ret_crypto);
}

tavola_err tavola_crypto_new_rsa(const char *kid, const char *pem, size_t size,
                                 tavola_crypto **ret_crypto)
{
    void *key = NULL;

    if (ret_crypto == NULL)
        return refuse_place();
    ERR_set_mark();

    tavola_err err = tvc_rsa_key_new(kid, pem, size, &key);

    ERR_pop_to_mark();
    return err ? err : make_crypto(&tvc_rsa_key_ops, key, tvc_rsa_key_free, ret_crypto);
}

void tavola_crypto_free(tavola_crypto *crypto)
{
    if (crypto == NULL)
        return;
    if (crypto->key_free)
        crypto->key_free(crypto->key);
    tvc_release(crypto->account);
    tvc_release(crypto->table);
    tvc_release(crypto);
}

void tavola_crypto_set_resolver(tavola_crypto *crypto, tavola_resolve_fn resolve, void *user)
{
    if (crypto == NULL)
        return;
    crypto->resolve = resolve;
    crypto->resolve_user = user;
}

void tavola_crypto_set_properties(tavola_crypto *crypto, tavola_encrypt_fn encrypt, void *user)
{
    if (crypto == NULL)
        return;
    crypto->encrypt = encrypt;
    crypto->encrypt_user = user;
}

void tavola_crypto_set_required(tavola_crypto *crypto, bool required)
{
    if (crypto)
        crypto->is_required = required;
}

void tavola_crypto_set_protocol(tavola_crypto *crypto, int version)
{
    if (crypto)
        crypto->format = version == 1    ? TVC_FORMAT_1
                         : version == 2  ? TVC_FORMAT_2_1
                         : version == 20 ? TVC_FORMAT_2_0
                                         : TVC_FORMAT_NONE;
}

tavola_err tavola_crypto_set_place(tavola_crypto *crypto, const char *account, const char *table)
{
    char *account_copy = NULL, *table_copy = NULL;

    if (crypto == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "there is no crypto: it is NULL");
    if ((account && (account_copy = tvc_dup_text(account)) == NULL) ||
        (table && (table_copy = tvc_dup_text(table)) == NULL)) {
        tvc_release(account_copy);
        return TAVOLA_ERR_NO_MEMORY;
    }
    tvc_release(crypto->account);
    tvc_release(crypto->table);
    crypto->account = account_copy;
    crypto->table = table_copy;
    return TAVOLA_OK;
}

bool tvc_crypto_allows(const tavola_crypto *crypto, tavola_write write)
{
    return crypto == NULL || (write != TAVOLA_MERGE && write != TAVOLA_INSERT_OR_MERGE);
}

const char *tvc_crypto_text(tavola_err err)
{
    switch (err) {
    case TAVOLA_ERR_UNSUPPORTED:
        return "An encrypted entity cannot be merged; replace it.";
    case TAVOLA_ERR_INVALID:
        return "The entity cannot be encrypted: it has more than 250 properties or metadata of "
               "encryption already, or the protocol does not know the type of a property.";
    case TAVOLA_ERR_TOO_LARGE:
        return "A property is too large to be encrypted.";
    case TAVOLA_ERR_NO_MEMORY:
        return "There is no memory left.";
    default:
        return "The entity cannot be encrypted or decrypted with this key.";
    }
}
