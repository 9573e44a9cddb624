/*
 * Keys that wrap content keys: of AES, of RSA, and the application's own; and what happens when
 * they, or OpenSSL, fail.
 */
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rsa.h>
#include <pthread.h>

#include "client/crypto/crypto.h"
#include "client/crypto_tools.h"

/* ---- OpenSSL's memory, which can run out, too ----------------------------------------------- */

static struct {
    long countdown; /* the allocation that fails; 0: none */
    bool was_hit;
} openssl_fault;

static bool openssl_memory_fails(void)
{
    if (openssl_fault.countdown == 0 || --openssl_fault.countdown > 0)
        return false;
    openssl_fault.was_hit = true;
    return true;
}

static void *openssl_alloc(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return openssl_memory_fails() ? NULL : malloc(size);
}

static void *openssl_resize(void *old, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return openssl_memory_fails() ? NULL : realloc(old, size);
}

static void openssl_release(void *memory, const char *file, int line)
{
    (void)file, (void)line;
    free(memory);
}

/* ---- keys in PEM ------------------------------------------------------------------------------
 */

typedef struct pem_text {
    char text[4096];
    size_t size;
} pem_text;

static pem_text take_pem(BIO *bio)
{
    pem_text pem;
    char *data;
    long size = BIO_get_mem_data(bio, &data);

    CHECK(size > 0 && (size_t)size < sizeof pem.text);
    memcpy(pem.text, data, (size_t)size);
    pem.text[size] = '\0';
    pem.size = (size_t)size;
    BIO_free(bio);
    return pem;
}

static pem_text private_pem(EVP_PKEY *pkey)
{
    BIO *bio = BIO_new(BIO_s_mem());

    CHECK(PEM_write_bio_PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL) == 1);
    return take_pem(bio);
}

static pem_text traditional_pem(EVP_PKEY *pkey)
{
    BIO *bio = BIO_new(BIO_s_mem());

    CHECK(PEM_write_bio_PrivateKey_traditional(bio, pkey, NULL, NULL, 0, NULL, NULL) == 1);
    return take_pem(bio);
}

static pem_text locked_pem(EVP_PKEY *pkey)
{
    BIO *bio = BIO_new(BIO_s_mem());

    CHECK(PEM_write_bio_PrivateKey(bio, pkey, EVP_aes_128_cbc(), (const unsigned char *)"secret", 6,
                                   NULL, NULL) == 1);
    return take_pem(bio);
}

static pem_text public_pem(EVP_PKEY *pkey)
{
    BIO *bio = BIO_new(BIO_s_mem());

    CHECK(PEM_write_bio_PUBKEY(bio, pkey) == 1);
    return take_pem(bio);
}

static EVP_PKEY *rsa_key; /* made once */

static tavola_crypto *rsa_crypto(pem_text pem)
{
    tavola_crypto *crypto = new_rsa("rsa", pem.text, pem.size);

    tavola_crypto_set_properties(crypto, choose_all, NULL);
    return crypto;
}

/* ---- tests --------------------------------------------------------------------------------------
 */

static void check_round_trip(tavola_crypto *writer, tavola_crypto *reader)
{
    for (int protocol = 1; protocol <= 2; protocol++) {
        tavola_crypto_set_protocol(writer, protocol);
        tavola_crypto_set_properties(writer, choose_all, NULL);

        tavola_entity *entity = encrypted_free(writer, plain_entity());

        CHECK_TVC(tvc_crypto_decrypt(reader, here, entity), TAVOLA_OK);
        check_plain_entity(entity);
        tavola_entity_free(entity);
    }
}

TEST(aes_keys_of_three_sizes)
{
    static const struct {
        size_t size;
        const char *algorithm;
    } cases[] = {{16, "\"A128KW\""}, {24, "\"A192KW\""}, {32, "\"A256KW\""}, {0, NULL}, {15, NULL},
                 {17, NULL},         {33, NULL},         {48, NULL},         {64, NULL}};
    uint8_t kek[64];

    fill_counting(kek, sizeof kek, 7);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_crypto *crypto = new_aes_size("k", kek, cases[i].size);
        const char *envelope = NULL;

        CHECK((crypto != NULL) == (cases[i].algorithm != NULL));
        if (crypto == NULL)
            continue;

        tavola_entity *entity = encrypted_free(crypto, plain_entity());

        CHECK(tavola_entity_get_string(entity, TVC_CRYPTO_METADATA1, &envelope));
        CHECK(strstr(envelope, cases[i].algorithm));
        check_round_trip(crypto, crypto);
        tavola_entity_free(entity);
        tavola_crypto_free(crypto);
    }
}

TEST(another_aes_key_of_the_same_name_reads_nothing)
{
    uint8_t kek[32] = {1};
    tavola_crypto *writer = new_aes("k", kek);
    tavola_crypto *shorter = new_aes_size("k", kek, 16);
    tavola_entity *entity = encrypted_free(writer, plain_entity());

    kek[31] = 1;

    tavola_crypto *other = new_aes("k", kek);

    check_refused(other, entity);
    check_refused(shorter, entity);
    tavola_entity_free(entity);
    tavola_crypto_free(writer);
    tavola_crypto_free(shorter);
    tavola_crypto_free(other);
}

TEST(rsa_keys_in_all_forms_of_pem)
{
    tavola_crypto *whole = rsa_crypto(private_pem(rsa_key));
    tavola_crypto *traditional = rsa_crypto(traditional_pem(rsa_key));
    tavola_crypto *half = rsa_crypto(public_pem(rsa_key));
    tavola_entity *entity;

    assert_non_null(whole);
    assert_non_null(traditional);
    assert_non_null(half);
    check_round_trip(whole, whole);
    check_round_trip(half, whole);
    check_round_trip(half, traditional);

    /* Who has the public key alone cannot read. */
    entity = encrypted_free(half, plain_entity());
    check_refused(half, entity);
    tavola_entity_free(entity);
    tavola_crypto_free(whole);
    tavola_crypto_free(traditional);
    tavola_crypto_free(half);
}

TEST(rsa_wrapping_has_two_names)
{
    static const struct {
        const char *name;
        bool is_known;
    } cases[] = {{"RSA-OAEP", true}, {"RSA", true}, {"RSA1_5", false}, {"RSA-OAEP-256", false}};
    tavola_crypto *crypto = rsa_crypto(private_pem(rsa_key));

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_entity *entity = encrypted_free(crypto, plain_entity());
        const char *envelope = NULL;
        char changed[2048];

        t_row = cases[i].name;
        CHECK(tavola_entity_get_string(entity, TVC_CRYPTO_METADATA1, &envelope));

        const char *name = strstr(envelope, "RSA-OAEP");

        CHECK(name != NULL);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(name - envelope), envelope,
                 cases[i].name, name + strlen("RSA-OAEP"));
        tavola_entity_set_string(entity, TVC_CRYPTO_METADATA1, changed);
        if (cases[i].is_known)
            CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), TAVOLA_OK);
        else
            check_refused(crypto, entity);
        tavola_entity_free(entity);
    }
    tavola_crypto_free(crypto);
}

TEST(refuses_what_is_no_key)
{
    pem_text good = private_pem(rsa_key), locked = locked_pem(rsa_key);
    EVP_PKEY *curve = EVP_EC_gen("P-256");
    pem_text ec = private_pem(curve);
    uint8_t kek[32] = {0};
    tavola_key_ops ops = counting_ops;
    counting_key key = {.kid = "k"};

    assert_null(new_rsa("k", NULL, 0));
    assert_null(new_rsa(NULL, good.text, good.size));
    assert_null(new_rsa("", good.text, good.size));
    assert_null(new_rsa("k", good.text, 0));
    assert_null(new_rsa("k", good.text, good.size / 2));
    assert_null(new_rsa("k", "nonsense", 8));
    assert_null(new_rsa("k", ec.text, ec.size));
    /* One with a password would make OpenSSL ask for it on the terminal. */
    assert_null(new_rsa("k", locked.text, locked.size));
    CHECK_INT(ERR_peek_error(), 0);
    EVP_PKEY_free(curve);

    assert_null(new_aes(NULL, kek));
    assert_null(new_aes("", kek));
    assert_null(new_aes("\xff", kek));
    assert_null(new_aes("k", NULL));
    assert_null(new_own(NULL, &key));
    ops.struct_size = 8;
    assert_null(new_own(&ops, &key));
    ops = counting_ops;
    ops.kid = NULL;
    assert_null(new_own(&ops, &key));
    ops = counting_ops;
    ops.algorithm = NULL;
    assert_null(new_own(&ops, &key));
    ops = counting_ops;
    ops.wrap = NULL;
    ops.unwrap = NULL;
    assert_null(new_own(&ops, &key));
}

TEST(nothing_happens_to_no_crypto)
{
    tavola_crypto_set_resolver(NULL, NULL, NULL);
    tavola_crypto_set_properties(NULL, NULL, NULL);
    tavola_crypto_set_required(NULL, true);
    tavola_crypto_set_protocol(NULL, 1);
    tavola_crypto_free(NULL);
}

TEST(the_applications_key_may_fail)
{
    static const struct {
        const char *what;
        counting_key key;
        bool can_write, can_read;
    } cases[] = {
        {"a good one", {.kid = "k", .algorithm = "TURN"}, true, true},
        {"one that fails", {.kid = "k", .algorithm = "TURN", .result = 1}, false, false},
        {"a kid that is not UTF-8", {.kid = "\xff", .algorithm = "TURN"}, false, false},
        {"no kid", {.kid = NULL, .algorithm = "TURN"}, false, false},
        {"an empty kid", {.kid = "", .algorithm = "TURN"}, false, false},
        {"no algorithm", {.kid = "k", .algorithm = NULL}, false, true},
        {"more bytes than there is room for",
         {.kid = "k", .algorithm = "TURN", .excess = 2000},
         false,
         false},
        {"bytes that are too many", {.kid = "k", .algorithm = "TURN", .excess = 8}, true, false},
    };
    counting_key good_key = {.kid = "k", .algorithm = "TURN"};
    tavola_crypto *good = new_own(&counting_ops, &good_key);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        counting_key key = cases[i].key;
        tavola_crypto *crypto = new_own(&counting_ops, &key);
        tavola_entity *plain = plain_entity(), *made = NULL;
        tavola_entity *theirs = encrypted(good, plain);

        t_row = cases[i].what;
        CHECK_TVC(tvc_crypto_encrypt(crypto, here, plain, &made),
                  cases[i].can_write ? TAVOLA_OK : TAVOLA_ERR_CRYPTO);
        if (cases[i].can_read)
            CHECK_TVC(tvc_crypto_decrypt(crypto, here, theirs), TAVOLA_OK);
        else
            check_refused(crypto, theirs);
        tavola_entity_free(made);
        tavola_entity_free(theirs);
        tavola_entity_free(plain);
        tavola_crypto_free(crypto);
    }
    tavola_crypto_free(good);
}

TEST(a_key_may_only_read_or_only_write)
{
    counting_key key = {.kid = "k", .algorithm = "TURN"};
    tavola_key_ops read_ops = counting_ops, write_ops = counting_ops;

    read_ops.wrap = NULL;
    read_ops.algorithm = NULL;
    write_ops.unwrap = NULL;

    tavola_crypto *reader = new_own(&read_ops, &key);
    tavola_crypto *writer = new_own(&write_ops, &key);
    tavola_entity *plain = plain_entity(), *entity = NULL;

    CHECK_TVC(tvc_crypto_encrypt(reader, here, plain, &entity), TAVOLA_ERR_CRYPTO);
    entity = encrypted(writer, plain);
    check_refused(writer, entity);
    CHECK_TVC(tvc_crypto_decrypt(reader, here, entity), TAVOLA_OK);
    CHECK_INT(key.wraps, 1);
    CHECK_INT(key.unwraps, 1);
    tavola_entity_free(entity);
    tavola_entity_free(plain);
    tavola_crypto_free(reader);
    tavola_crypto_free(writer);
}

typedef struct key_ring {
    tavola_crypto *crypto;
    const char *kid; /* of it */
    int asked;
} key_ring;

static tavola_crypto *resolve(void *user, const char *kid)
{
    key_ring *ring = user;

    ring->asked++;
    return strcmp(kid, ring->kid) == 0 ? ring->crypto : NULL;
}

TEST(a_resolver_finds_other_keys)
{
    uint8_t kek[32] = {1};
    tavola_crypto *old = new_aes("old", kek);
    tavola_crypto *lost = new_aes("lost", kek);
    tavola_crypto *now = rsa_crypto(private_pem(rsa_key));
    key_ring ring = {.crypto = old, .kid = "old"};
    tavola_entity *entity = encrypted_free(old, plain_entity());

    check_refused(now, entity);
    tavola_crypto_set_resolver(now, resolve, &ring);
    CHECK_TVC(tvc_crypto_decrypt(now, here, entity), TAVOLA_OK);
    check_plain_entity(entity);
    CHECK_INT(ring.asked, 1);
    tavola_entity_free(entity);

    /* The own key needs no resolver. */
    check_round_trip(now, now);
    CHECK_INT(ring.asked, 1);

    entity = encrypted_free(lost, plain_entity());
    check_refused(now, entity);
    CHECK_INT(ring.asked, 2);
    tavola_entity_free(entity);
    tavola_crypto_free(old);
    tavola_crypto_free(lost);
    tavola_crypto_free(now);
}

enum { THREADS = 4, ROUNDS = 50 };

/* NULL when all went well: a check fails only on the main thread. */
static void *encrypt_and_decrypt(void *user)
{
    tavola_crypto *const *cryptos = user;
    tavola_entity *plain = plain_entity();
    bool is_well = true;

    for (int i = 0; i < ROUNDS; i++) {
        tavola_entity *entity = NULL;

        is_well &= tvc_crypto_encrypt(cryptos[i % 2], here, plain, &entity) == TAVOLA_OK &&
                   tvc_crypto_decrypt(cryptos[i % 2], here, entity) == TAVOLA_OK &&
                   tvc_entity_same(plain, entity);
        tavola_entity_free(entity);
    }
    tavola_entity_free(plain);
    return is_well ? NULL : user;
}

TEST(many_threads_use_one_crypto)
{
    tavola_crypto *cryptos[2] = {known_crypto(2), rsa_crypto(private_pem(rsa_key))};
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, encrypt_and_decrypt, cryptos) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *trouble = NULL;

        CHECK(pthread_join(threads[i], &trouble) == 0);
        assert_null(trouble);
    }
    tavola_crypto_free(cryptos[0]);
    tavola_crypto_free(cryptos[1]);
}

/* Whichever allocation of OpenSSL fails: CRYPTO or a right answer, and no value that is wrong. */
TEST(survives_openssl_without_memory)
{
    pem_text pem = private_pem(rsa_key);
    tavola_entity *plain = plain_entity();

    for (int kind = 0; kind < 4; kind++) {
        for (long n = 1;; n++) {
            tavola_crypto *crypto = kind < 2 ? known_crypto(kind + 1) : rsa_crypto(pem);
            tavola_entity *made = NULL;

            tavola_crypto_set_protocol(crypto, kind % 2 + 1);
            openssl_fault.was_hit = false;
            openssl_fault.countdown = n;

            tavola_err err = tvc_crypto_encrypt(crypto, here, plain, &made);

            if (err == TAVOLA_OK)
                err = tvc_crypto_decrypt(crypto, here, made);
            openssl_fault.countdown = 0;
            if (err == TAVOLA_OK)
                check_plain_entity(made);
            else
                CHECK_TVC(err, TAVOLA_ERR_CRYPTO);
            CHECK(err == TAVOLA_OK || openssl_fault.was_hit);
            tavola_entity_free(made);
            tavola_crypto_free(crypto);
            if (!openssl_fault.was_hit)
                break;
        }
    }
    tavola_entity_free(plain);
}

TEST(survives_every_failing_allocation)
{
    pem_text pem = private_pem(rsa_key);

    MEMORY_FAULTS(fault)
    {
        tavola_crypto *aes = new_aes("k", (const uint8_t[32]){1});
        tavola_crypto *rsa = new_rsa("k", pem.text, pem.size);

        CHECK((aes && rsa) || memory_fault_was_hit());
        tavola_crypto_free(aes);
        tavola_crypto_free(rsa);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aes_keys_of_three_sizes),
        cmocka_unit_test(another_aes_key_of_the_same_name_reads_nothing),
        cmocka_unit_test(rsa_keys_in_all_forms_of_pem),
        cmocka_unit_test(rsa_wrapping_has_two_names),
        cmocka_unit_test(refuses_what_is_no_key),
        cmocka_unit_test(nothing_happens_to_no_crypto),
        cmocka_unit_test(the_applications_key_may_fail),
        cmocka_unit_test(a_key_may_only_read_or_only_write),
        cmocka_unit_test(a_resolver_finds_other_keys),
        cmocka_unit_test(many_threads_use_one_crypto),
        cmocka_unit_test(survives_openssl_without_memory),
        cmocka_unit_test(survives_every_failing_allocation),
    };

    /* Before OpenSSL has allocated anything. */
    if (CRYPTO_set_mem_functions(openssl_alloc, openssl_resize, openssl_release) != 1)
        return 1;
    rsa_key = EVP_RSA_gen(2048);
    if (rsa_key == NULL)
        return 1;

    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    EVP_PKEY_free(rsa_key);
    return failed;
}
