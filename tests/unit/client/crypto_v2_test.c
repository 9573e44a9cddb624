/*
 * Encryption in libtavola's version 2: authenticated, and of every type.
 */
#include <openssl/crypto.h>

#include "client/crypto/crypto.h"
#include "client/crypto_tools.h"

#define ENVELOPE(protocol, wrapped)                                                                \
    "{\"WrappedContentKey\":{\"KeyId\":\"local:key1\",\"EncryptedKey\":\"" wrapped                 \
    "\",\"Algorithm\":\"A256KW\"},\"EncryptionAgent\":{\"Protocol\":\"" protocol                   \
    "\",\"EncryptionAlgorithm\":\"AES_GCM_256\"},\"KeyWrappingMetadata\":{\"EncryptionLibrary\":"  \
    "\"tavola 0.1.0\"}}"
#define WRAPPED_2_0 "kWC+nzTOUdnZoos1loRMAuZI90TWijESE5fp/hK0o5yPgQbpJc4MLVVcZEmIfJJC"
#define WRAPPED_2_1 "SHzw7yspUwPKg1k5vV2NRw6qYfYF9GzpuqiivETPocq500Yb4gr20kivh5En6h9X"

/* Those of docs/encryption.md, which another implementation has computed. */
TEST(writes_the_documented_bytes)
{
    static const struct {
        const char *what;
        int protocol;
        const char *envelope, *email;
    } cases[] = {
        {"2.0", 20, ENVELOPE("2.0", WRAPPED_2_0),
         "b0b1b2b3b4b5b6b7b8b9babb036aefeba43981d95881498c828523e5dd67e9b555e0ef58ba6cef12f247da02"
         "986845"},
        {"2.1", 2, ENVELOPE("2.1", WRAPPED_2_1),
         "b0b1b2b3b4b5b6b7b8b9babb036aefeba43981d95881498c828523e5dd67e982d9bb0977069005b6f13cdfc2"
         "0a3635"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_crypto *crypto = known_crypto(cases[i].protocol);
        tavola_entity *made = encrypted_free(crypto, plain_entity());

        t_row = cases[i].what;
        CHECK_INT(tavola_entity_count(made), 5);
        check_hex(made, "Email", cases[i].email);
        check_string(made, TVC_CRYPTO_METADATA1, cases[i].envelope);
        CHECK_TVC(tvc_crypto_decrypt(crypto, here, made), TAVOLA_OK);
        check_plain_entity(made);
        tavola_entity_free(made);
        tavola_crypto_free(crypto);
    }
}

TEST(is_what_a_new_crypto_writes)
{
    tavola_crypto *crypto = new_aes("k", (const uint8_t[32]){1});
    tavola_entity *plain = plain_entity(), *a, *b;
    const char *envelope = NULL;
    const void *a_data = NULL, *b_data = NULL;
    size_t a_size = 0, b_size = 0;

    tavola_crypto_set_properties(crypto, choose_all, NULL);
    a = encrypted(crypto, plain);
    b = encrypted(crypto, plain);
    CHECK(tavola_entity_get_string(a, TVC_CRYPTO_METADATA1, &envelope));
    CHECK(strstr(envelope, "\"Protocol\":\"2.1\""));

    /* The same entity twice: all is different, because the keys are new for each write. */
    CHECK(tavola_entity_get_binary(a, "Email", &a_data, &a_size));
    CHECK(tavola_entity_get_binary(b, "Email", &b_data, &b_size));
    CHECK(a_size == b_size && memcmp(a_data, b_data, a_size) != 0);
    tavola_entity_free(a);
    tavola_entity_free(b);
    tavola_entity_free(plain);
    tavola_crypto_free(crypto);
}

TEST(every_type_comes_back)
{
    static const struct {
        const char *what;
        tavola_value value;
    } cases[] = {
        {"String", {.type = TAVOLA_STRING, .size = 5, .as.ptr = "hello"}},
        {"String, empty", {.type = TAVOLA_STRING, .size = 0, .as.ptr = ""}},
        {"String with NUL", {.type = TAVOLA_STRING, .size = 3, .as.ptr = "a\0b"}},
        {"Binary", {.type = TAVOLA_BINARY, .size = 3, .as.ptr = "\xff\x00\x01"}},
        {"Binary, empty", {.type = TAVOLA_BINARY, .size = 0, .as.ptr = ""}},
        {"true", {.type = TAVOLA_BOOLEAN, .as.boolean = true}},
        {"false", {.type = TAVOLA_BOOLEAN, .as.boolean = false}},
        {"Int32", {.type = TAVOLA_INT32, .as.int32 = -2}},
        {"Int32, least", {.type = TAVOLA_INT32, .as.int32 = INT32_MIN}},
        {"Int32, most", {.type = TAVOLA_INT32, .as.int32 = INT32_MAX}},
        {"Int64", {.type = TAVOLA_INT64, .as.int64 = 1}},
        {"Int64, least", {.type = TAVOLA_INT64, .as.int64 = INT64_MIN}},
        {"Int64, most", {.type = TAVOLA_INT64, .as.int64 = INT64_MAX}},
        {"Double", {.type = TAVOLA_DOUBLE, .as.real = -0.1}},
        {"Double, infinite", {.type = TAVOLA_DOUBLE, .as.real = __builtin_inf()}},
        {"DateTime", {.type = TAVOLA_DATETIME, .as.ticks = INT64_C(639000000000000001)}},
        {"DateTime, last", {.type = TAVOLA_DATETIME, .as.ticks = INT64_C(3155378975999999999)}},
        {"Guid",
         {.type = TAVOLA_GUID,
          .as.guid = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255}}}},
    };
    tavola_crypto *crypto = new_aes("k", (const uint8_t[32]){1});

    tavola_crypto_set_properties(crypto, choose_all, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_entity *plain = tavola_entity_new("pk", "rk");

        t_row = cases[i].what;
        set_value(plain, "Before", tavola_int32(1));
        set_value(plain, "Value", cases[i].value);
        set_value(plain, "After", tavola_string("end"));

        tavola_entity *entity = encrypted(crypto, plain);
        tavola_value value;

        CHECK(tavola_entity_get(entity, "Value", &value) && value.type == TAVOLA_BINARY);
        CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), TAVOLA_OK);
        CHECK(tvc_entity_same(plain, entity));
        CHECK(tavola_entity_get(entity, "Value", &value));
        CHECK_INT(value.type, cases[i].value.type);
        if (value.type == TAVOLA_STRING)
            CHECK_INT(((const char *)value.as.ptr)[value.size], 0);
        tavola_entity_free(entity);
        tavola_entity_free(plain);
    }
    tavola_crypto_free(crypto);
}

static tavola_entity *sealed_entity(tavola_crypto *crypto)
{
    return encrypted_free(crypto, plain_entity());
}

/* Flip one bit of a property at a time. */
static void flip_bits(tavola_crypto *crypto, const char *name)
{
    tavola_entity *entity = sealed_entity(crypto);
    tavola_value value = {0};
    char row[80];

    CHECK(tavola_entity_get(entity, name, &value));

    uint8_t *bytes = malloc(value.size);

    for (size_t bit = 0; bit < value.size * 8; bit++) {
        snprintf(row, sizeof row, "%s, bit %zu", name, bit);
        t_row = row;
        CHECK(tavola_entity_get(entity, name, &value));
        memcpy(bytes, value.as.ptr, value.size);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        tavola_entity_set_binary(entity, name, bytes, value.size);
        check_refused(crypto, entity);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        tavola_entity_set_binary(entity, name, bytes, value.size);
    }
    CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), TAVOLA_OK);
    check_plain_entity(entity);
    free(bytes);
    tavola_entity_free(entity);
}

TEST(every_changed_bit_is_noticed)
{
    tavola_crypto *crypto = known_crypto(2);

    flip_bits(crypto, "Email");
    flip_bits(crypto, "Note");
    flip_bits(crypto, TVC_CRYPTO_METADATA2);
    tavola_crypto_free(crypto);
}

/* Every length shorter than the true one. */
TEST(every_cut_is_noticed)
{
    tavola_crypto *crypto = known_crypto(2);
    tavola_value value = {0};

    for (size_t size = 0;; size++) {
        tavola_entity *entity = sealed_entity(crypto);

        CHECK(tavola_entity_get(entity, "Email", &value));
        if (size == value.size) {
            tavola_entity_free(entity);
            break;
        }
        tavola_entity_set_binary(entity, "Email", value.as.ptr, size);
        check_refused(crypto, entity);
        tavola_entity_free(entity);
    }
    tavola_crypto_free(crypto);
}

static void copy_value(tavola_entity *to, const char *to_name, const tavola_entity *from,
                       const char *from_name)
{
    tavola_value value;

    CHECK(tavola_entity_get(from, from_name, &value));
    tavola_entity_set(to, to_name, value);
}

/* The whole of an encrypted entity under other keys. */
static tavola_entity *moved(const tavola_entity *from, const char *partition_key,
                            const char *row_key)
{
    tavola_entity *to = tavola_entity_new(partition_key, row_key);
    tavola_value value;
    const char *name;

    for (size_t i = 0; (name = tavola_entity_name_at(from, i, &value)); i++)
        tavola_entity_set(to, name, value);
    return to;
}

TEST(a_value_stays_where_it_was_written)
{
    static const struct {
        const char *what, *partition_key, *row_key;
        bool is_readable;
    } cases[] = {
        {"where it was", "Sales", "000223", true},
        {"another row", "Sales", "000224", false},
        {"another partition", "sales", "000223", false},
        {"keys with the same letters", "Sale", "s000223", false},
        {"keys turned around", "000223", "Sales", false},
    };
    tavola_crypto *crypto = known_crypto(2);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_entity *from = sealed_entity(crypto);
        tavola_entity *to = moved(from, cases[i].partition_key, cases[i].row_key);

        t_row = cases[i].what;
        if (cases[i].is_readable)
            CHECK_TVC(tvc_crypto_decrypt(crypto, here, to), TAVOLA_OK);
        else
            check_refused(crypto, to);
        tavola_entity_free(to);
        tavola_entity_free(from);
    }

    t_row = "another property of the same entity";
    tavola_entity *entity = sealed_entity(crypto);

    copy_value(entity, "City", entity, "Email");
    check_refused(crypto, entity);
    tavola_entity_free(entity);

    t_row = "an older value of the same property";
    tavola_crypto *fresh = new_aes("k", (const uint8_t[32]){1});
    tavola_crypto_set_properties(fresh, choose_all, NULL);
    tavola_entity *old = sealed_entity(fresh);
    entity = sealed_entity(fresh);
    copy_value(entity, "Email", old, "Email");
    check_refused(fresh, entity);
    tavola_entity_free(entity);
    tavola_entity_free(old);
    tavola_crypto_free(fresh);
    tavola_crypto_free(crypto);
}

/* A whole entity, in another table or account than it was written in. */
TEST(an_entity_stays_in_its_table_and_account)
{
    static const struct {
        const char *what;
        tvc_place place;
        bool is_readable; /* of version 2.1 */
    } cases[] = {
        {"where it was", {{"account", 7}, {"People", 6}}, true},
        {"letters of another case", {{"ACCOUNT", 7}, {"PEOPLE", 6}}, true},
        {"another table", {{"account", 7}, {"People2", 7}}, false},
        {"another account", {{"other", 5}, {"People", 6}}, false},
        {"names with the same letters", {{"accountP", 8}, {"eople", 5}}, false},
        {"nowhere", {{"", 0}, {"", 0}}, false},
    };
    tavola_crypto *crypto = known_crypto(2), *old = known_crypto(20), *there = known_crypto(2);

    CHECK_TVC(tavola_crypto_set_place(there, "Account", "People"), TAVOLA_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_entity *entity = sealed_entity(crypto);
        tavola_entity *before = tavola_entity_copy(entity);
        tavola_err err = cases[i].is_readable ? TAVOLA_OK : TAVOLA_ERR_CRYPTO;

        t_row = cases[i].what;
        CHECK_TVC(tvc_crypto_decrypt(crypto, cases[i].place, entity), err);
        CHECK(cases[i].is_readable || tvc_entity_same(before, entity));
        tavola_entity_free(entity);

        /* Who knows where it was written can read it anywhere, and write for there. */
        CHECK_TVC(tvc_crypto_decrypt(there, cases[i].place, before), TAVOLA_OK);
        CHECK_TVC(tvc_crypto_encrypt(there, cases[i].place, before, &entity), TAVOLA_OK);
        CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), TAVOLA_OK);
        tavola_entity_free(before);
        tavola_entity_free(entity);

        /* What was written before is bound to no place, and read anywhere. */
        entity = sealed_entity(old);
        CHECK_TVC(tvc_crypto_decrypt(crypto, cases[i].place, entity), TAVOLA_OK);
        tavola_entity_free(entity);
    }
    CHECK_TVC(tavola_crypto_set_place(there, NULL, NULL), TAVOLA_OK);
    CHECK_TVC(tavola_crypto_set_place(NULL, "a", "b"), TAVOLA_ERR_INVALID);

    tavola_entity *entity = sealed_entity(crypto);

    CHECK_TVC(tvc_crypto_decrypt(there, cases[2].place, entity), TAVOLA_ERR_CRYPTO);
    tavola_entity_free(entity);
    tavola_crypto_free(there);
    tavola_crypto_free(old);
    tavola_crypto_free(crypto);
}

/* Nobody can have data of one version decrypted in the way of another. */
TEST(a_version_cannot_be_taken_for_another)
{
    static const struct {
        const char *what;
        int protocol; /* of the data */
        const char *envelope;
        tavola_err err;
    } cases[] = {
        {"2.0 as 1", 20,
         "{\"WrappedContentKey\":{\"KeyId\":\"local:key1\",\"EncryptedKey\":\"" WRAPPED_2_0
         "\",\"Algorithm\":\"A256KW\"},\"EncryptionAgent\":{\"Protocol\":\"1.0\","
         "\"EncryptionAlgorithm\":\"AES_CBC_256\"},\"ContentEncryptionIV\":"
         "\"oKGio6SlpqeoqaqrrK2urw==\",\"KeyWrappingMetadata\":{}}",
         TAVOLA_ERR_CRYPTO},
        {"the wrapped key of 1 with data of 2.0", 20,
         ENVELOPE("2.0", "vSonaujHRkx+izlmdKxuDpVYyExgCbP6QTzwameiAII+TXIN8kGfqQ=="),
         TAVOLA_ERR_CRYPTO},
        {"2.1 as 2.0", 2, ENVELOPE("2.0", WRAPPED_2_1), TAVOLA_ERR_CRYPTO},
        {"2.0 as 2.1", 20, ENVELOPE("2.1", WRAPPED_2_0), TAVOLA_ERR_CRYPTO},
        {"the wrapped key of 2.0 with data of 2.1", 2, ENVELOPE("2.1", WRAPPED_2_0),
         TAVOLA_ERR_CRYPTO},
        {"the key of 2.0 to read 2.1 as 2.0", 2, ENVELOPE("2.0", WRAPPED_2_0), TAVOLA_ERR_CRYPTO},
        {"2.2", 2, ENVELOPE("2.2", WRAPPED_2_1), TAVOLA_ERR_CRYPTO},
        {"the true one of 2.0", 20, ENVELOPE("2.0", WRAPPED_2_0), TAVOLA_OK},
        {"the true one of 2.1", 2, ENVELOPE("2.1", WRAPPED_2_1), TAVOLA_OK},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_crypto *crypto = known_crypto(cases[i].protocol);
        tavola_entity *entity = sealed_entity(crypto);

        t_row = cases[i].what;
        tavola_entity_set_string(entity, TVC_CRYPTO_METADATA1, cases[i].envelope);
        CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), cases[i].err);
        tavola_entity_free(entity);
        tavola_crypto_free(crypto);
    }
}

/* Seal bytes as they are, type byte included, under the known key for the property "Note". */
static size_t seal_raw(const uint8_t *plain, size_t size, uint8_t *ret_sealed)
{
    static const uint8_t associated[] = "tavola-table-v2\0\0\0\0\5Sales\0\0\0\6"
                                        "000223\0\0\0\4Note";
    uint8_t key[32];
    int ignored, written = 0, rest = 0;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();

    fill_counting(key, sizeof key, 0x40);
    fill_counting(ret_sealed, 12, 0xb0);
    CHECK(EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), NULL, key, ret_sealed) == 1);
    CHECK(EVP_EncryptUpdate(context, NULL, &ignored, associated, sizeof associated - 1) == 1);
    CHECK(EVP_EncryptUpdate(context, ret_sealed + 12, &written, plain, (int)size) == 1);
    CHECK(EVP_EncryptFinal_ex(context, ret_sealed + 12 + written, &rest) == 1);
    CHECK(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, 16, ret_sealed + 12 + size) == 1);
    EVP_CIPHER_CTX_free(context);
    return 12 + size + 16;
}

/* What is well sealed, but by someone who writes the format wrongly. */
TEST(refuses_values_that_are_no_values)
{
    static const struct {
        const char *what;
        size_t size;
        uint8_t plain[20];
        tavola_type type; /* NONE: refused */
    } cases[] = {
        {"no type", 0, {0}, TAVOLA_NONE},
        {"String", 2, {0, 'a'}, TAVOLA_STRING},
        {"not UTF-8", 2, {0, 0xff}, TAVOLA_NONE},
        {"Binary", 2, {1, 0xff}, TAVOLA_BINARY},
        {"Boolean", 2, {2, 1}, TAVOLA_BOOLEAN},
        {"Boolean 2", 2, {2, 2}, TAVOLA_NONE},
        {"Boolean without a value", 1, {2}, TAVOLA_NONE},
        {"Int32", 5, {3, 0, 0, 0, 1}, TAVOLA_INT32},
        {"Int32 of three bytes", 4, {3, 0, 0, 1}, TAVOLA_NONE},
        {"Int32 of five bytes", 6, {3, 0, 0, 0, 0, 1}, TAVOLA_NONE},
        {"Int64", 9, {4, 1}, TAVOLA_INT64},
        {"Int64 of four bytes", 5, {4, 0, 0, 0, 1}, TAVOLA_NONE},
        {"Double", 9, {5, 1}, TAVOLA_DOUBLE},
        {"Double of nine bytes", 10, {5, 1}, TAVOLA_NONE},
        {"DateTime", 9, {6, 1}, TAVOLA_DATETIME},
        {"DateTime after the year 9999", 9, {6, 0x7f}, TAVOLA_NONE},
        {"DateTime before the year 1", 9, {6, 0xff}, TAVOLA_NONE},
        {"Guid", 17, {7, 1}, TAVOLA_GUID},
        {"Guid of 15 bytes", 16, {7, 1}, TAVOLA_NONE},
        {"an unknown type", 2, {8, 1}, TAVOLA_NONE},
        {"a far type", 2, {255, 1}, TAVOLA_NONE},
    };
    tavola_crypto *crypto = known_crypto(20);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_entity *entity = sealed_entity(crypto);
        uint8_t sealed[64];
        tavola_value value;

        t_row = cases[i].what;
        tavola_entity_set_binary(entity, "Note", sealed,
                                 seal_raw(cases[i].plain, cases[i].size, sealed));
        if (cases[i].type == TAVOLA_NONE) {
            check_refused(crypto, entity);
        } else {
            CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), TAVOLA_OK);
            CHECK(tavola_entity_get(entity, "Note", &value));
            CHECK_INT(value.type, cases[i].type);
        }
        tavola_entity_free(entity);
    }
    tavola_crypto_free(crypto);
}

TEST(writes_nothing_without_randomness)
{
    for (int protocol = 1; protocol <= 2; protocol++) {
        tavola_crypto *crypto = known_crypto(protocol);
        tavola_entity *plain = plain_entity(), *made = NULL;

        crypto->random = no_random;
        CHECK_TVC(tvc_crypto_encrypt(crypto, here, plain, &made), TAVOLA_ERR_CRYPTO);
        assert_null(made);
        tavola_entity_free(plain);
        tavola_crypto_free(crypto);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_the_documented_bytes),
        cmocka_unit_test(is_what_a_new_crypto_writes),
        cmocka_unit_test(every_type_comes_back),
        cmocka_unit_test(every_changed_bit_is_noticed),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(a_value_stays_where_it_was_written),
        cmocka_unit_test(an_entity_stays_in_its_table_and_account),
        cmocka_unit_test(a_version_cannot_be_taken_for_another),
        cmocka_unit_test(refuses_values_that_are_no_values),
        cmocka_unit_test(writes_nothing_without_randomness),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
