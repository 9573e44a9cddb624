/*
 * Encryption in Azure's version 1, as the old libraries for .NET, Java and Python write and read
 * it, and the rules of both versions.
 */
#include "client/crypto/crypto.h"

#include "client/crypto_tools.h"

#define ENVELOPE_OF(kid, encrypted_key, algorithm, agent, iv, rest)                                \
    "{\"WrappedContentKey\":{\"KeyId\":\"" kid "\",\"EncryptedKey\":\"" encrypted_key              \
    "\",\"Algorithm\":\"" algorithm "\"},\"EncryptionAgent\":" agent                               \
    ",\"ContentEncryptionIV\":\"" iv "\"" rest "}"
#define AGENT_1 "{\"Protocol\":\"1.0\",\"EncryptionAlgorithm\":\"AES_CBC_256\"}"
#define OWN_KEY "vSonaujHRkx+izlmdKxuDpVYyExgCbP6QTzwameiAII+TXIN8kGfqQ=="
#define OWN_IV "oKGio6SlpqeoqaqrrK2urw=="
#define LIBRARY(name) ",\"KeyWrappingMetadata\":{\"EncryptionLibrary\":\"" name "\"}"
#define OWN_ENVELOPE(rest) ENVELOPE_OF("local:key1", OWN_KEY, "A256KW", AGENT_1, OWN_IV, rest)

/* What Microsoft's own tests publish: written by .NET and by Java, and what they must say. */
TEST(reads_what_other_libraries_published)
{
    static const struct {
        const char *what, *row_key, *envelope, *values[3], *names;
    } cases[] = {
        {"written by .NET",
         "netUp",
         ENVELOPE_OF("key1", "pwSKxpJkwCS2zCaykh0m8e4OApeLuQ4FiahZ9zdwxaLL1HsWqQ4DSw==", "A256KW",
                     AGENT_1, "obTAQcYeFQ3IU7Jfcema7Q==", ",\"KeyWrappingMetadata\":{}"),
         {"27cLSlSFqy9C0xUCr57XAA==", "pZR6Ln/DwbwyyOCEezL/hg==", "JOix4N8eX/WuCtIvlD2QxQ=="},
         "MWA7LlvXSJnKhf8f7MVhfjWECkxrCyCXGIlYY6ucpr34IVDU7fN6IHvKxV15WiXp"},
        {"written by Java",
         "javaUp",
         ENVELOPE_OF("key1", "2F4rIuDmGPgEmhpvTtE7x6281BetKz80EsgRwGxTjL8rRt7Z7GrOgg==", "A256KW",
                     AGENT_1, "8st/uXffG+6DxBhw4D1URw==", ""),
         {"sa3bCvXq79ImSPveChS+cg==", "KXjuBNn9DesCmMcdVpamJw==", "wykVEni1rV+H6oNjoNml6A=="},
         "WznUoytxkvl9KhZ4mNlqkBvRTUHN/D5IgJmNl7kQBOtFBOSgZZrTfZXKH8GjmvKA"},
    };
    static const char *const names[] = {"sampleProp", "sampleProp2", "sampleProp3"};
    uint8_t kek[33];

    CHECK_INT(from_base64("rFz7+tv4hRiWdWUJMFlxl1xxtU/qFUeTriGaxwEcxjU=", kek, sizeof kek), 32);

    tavola_crypto *crypto = new_aes("key1", kek);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_entity *entity = tavola_entity_new("pk", cases[i].row_key);

        t_row = cases[i].what;
        for (int j = 0; j < 3; j++)
            set_base64(entity, names[j], cases[i].values[j]);
        tavola_entity_set_int32(entity, "Open", 7);
        tavola_entity_set_string(entity, TVC_CRYPTO_METADATA1, cases[i].envelope);
        set_base64(entity, TVC_CRYPTO_METADATA2, cases[i].names);
        CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), TAVOLA_OK);
        CHECK_INT(tavola_entity_count(entity), 4);
        for (int j = 0; j < 3; j++)
            check_string(entity, names[j], "sampleValue");
        tavola_entity_free(entity);
    }
    tavola_crypto_free(crypto);
}

TEST(writes_the_documented_bytes)
{
    tavola_crypto *crypto = known_crypto(1);
    tavola_entity *plain = plain_entity();

    tavola_entity_set_etag(plain, "W/\"x\"");

    tavola_entity *made = encrypted_free(crypto, plain);

    CHECK_INT(tavola_entity_count(made), 5);
    CHECK_TEXT(tv_slice_of(tavola_entity_partition_key(made)), "Sales");
    CHECK_TEXT(tv_slice_of(tavola_entity_row_key(made)), "000223");
    CHECK_TEXT(tv_slice_of(tavola_entity_etag(made)), "W/\"x\"");
    check_hex(made, "Email", "b4ab53edabc66b298b7cfd757898941f06f40518ec59de05dd0a50dd17998d93");
    check_hex(made, "Note", "37e48232c20c3a3c721f7815a4cd1af4");
    check_hex(made, "City", "9b5e091d33ce47197e601427eb43fdc9");
    check_string(made, TVC_CRYPTO_METADATA1, OWN_ENVELOPE(LIBRARY("tavola 0.1.0")));
    check_hex(made, TVC_CRYPTO_METADATA2,
              "bd3428fb57d6c4799ddeb05a0904203daf429c66ec1bea23680e89d274c6256e");
    tavola_entity_free(made);

    /* Nothing encrypted is written as encrypted, too: an empty list. */
    tavola_crypto_set_properties(crypto, NULL, NULL);
    made = encrypted_free(crypto, tavola_entity_new("Sales", "000223"));
    CHECK_INT(tavola_entity_count(made), 2);
    check_hex(made, TVC_CRYPTO_METADATA2, "5c3a7c3d7bdac849c01f43a3e1a8a929");
    tavola_entity_free(made);
    tavola_crypto_free(crypto);
}

TEST(reads_three_dialects)
{
    static const char net[] = "bd3428fb57d6c4799ddeb05a0904203daf429c66ec1bea23680e89d274c6256e";
    static const char python[] = "d9eefcb85dcc8a16f256c94db49c065689f2b861c6ccf696c4a71e6038252df1";
    static const char java[] = "6ef037ae33abfb1ed935184b894c2c407f8ddf2b99310e7f67393afc5f2ec6c5";
    static const char *const values[] = {
        "b4ab53edabc66b298b7cfd757898941f06f40518ec59de05dd0a50dd17998d93",
        "37e48232c20c3a3c721f7815a4cd1af4", "9b5e091d33ce47197e601427eb43fdc9"};
    static const char *const java_values[] = {
        "80e7a8f9c6caf98c6fb81865f297bb8d0ec33f052fae822b7e7cb50b46164247",
        "6dea2799b18a3d5b5d07d74768611bba", "3ebd1e2f3df9170e1f217084addaeb7e"};
    static const struct {
        const char *what, *envelope, *names;
        const char *const *values;
        tavola_err err;
    } cases[] = {
        {".NET", OWN_ENVELOPE(LIBRARY(".NET 8.7.0")), net, values, TAVOLA_OK},
        {"old .NET", OWN_ENVELOPE(",\"KeyWrappingMetadata\":{}"), net, values, TAVOLA_OK},
        {"Python", OWN_ENVELOPE(LIBRARY("Python 1.4.2")), python, values, TAVOLA_OK},
        {"Java", OWN_ENVELOPE(LIBRARY("Java 8.6.6")), java, java_values, TAVOLA_OK},
        {"old Java", OWN_ENVELOPE(""), java, java_values, TAVOLA_OK},
        {"null", OWN_ENVELOPE(",\"KeyWrappingMetadata\":null"), java, java_values, TAVOLA_OK},
        {"the name may be anywhere", OWN_ENVELOPE(LIBRARY("My Java")), java, java_values,
         TAVOLA_OK},
        {"library null", OWN_ENVELOPE(",\"KeyWrappingMetadata\":{\"EncryptionLibrary\":null}"), net,
         values, TAVOLA_OK},
        {"unknown members are skipped",
         OWN_ENVELOPE(",\"More\":[{\"a\":1}],\"KeyWrappingMetadata\":{\"Other\":true}"), net,
         values, TAVOLA_OK},
        {"Java's order by .NET", OWN_ENVELOPE(LIBRARY(".NET 8.7.0")), java, java_values,
         TAVOLA_ERR_CRYPTO},
        {".NET's order by Java", OWN_ENVELOPE(LIBRARY("Java 8.6.6")), net, values,
         TAVOLA_ERR_CRYPTO},
    };
    tavola_crypto *crypto = known_crypto(1);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_entity *entity = tavola_entity_new("Sales", "000223");

        t_row = cases[i].what;
        set_hex(entity, "Email", cases[i].values[0]);
        set_hex(entity, "Note", cases[i].values[1]);
        set_hex(entity, "City", cases[i].values[2]);
        tavola_entity_set_string(entity, TVC_CRYPTO_METADATA1, cases[i].envelope);
        set_hex(entity, TVC_CRYPTO_METADATA2, cases[i].names);
        if (cases[i].err == TAVOLA_OK) {
            CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), TAVOLA_OK);
            check_plain_entity(entity);
        } else {
            check_refused(crypto, entity);
        }
        tavola_entity_free(entity);
    }
    tavola_crypto_free(crypto);
}

static void join_names(void *user, tv_slice name)
{
    tvc_text *text = user;

    tvc_text_add(text, name);
    tvc_text_add_char(text, '|');
}

TEST(reads_lists_of_names)
{
    static const struct {
        const char *what, *list, *names;
        tavola_err err;
    } cases[] = {
        {"nothing", "[]", "", TAVOLA_OK},
        {"nothing with a blank", "[ ]", "", TAVOLA_OK},
        {"compact", "[\"A\",\"B\"]", "A|B|", TAVOLA_OK},
        {"with blanks", " [ \"A\" , \"B\" ] ", "A|B|", TAVOLA_OK},
        {"escapes, as Python writes", "[\"\\u00e9t\\u00e9\"]", "\xc3\xa9t\xc3\xa9|", TAVOLA_OK},
        {"an escaped quote", "[\"a\\\"b\"]", "a\"b|", TAVOLA_OK},
        {"Java", "[A, B]", "A|B|", TAVOLA_OK},
        {"Java, one", "[A]", "A|", TAVOLA_OK},
        {"Java without blanks", "[A,B]", "A|B|", TAVOLA_OK},
        {"Java with a hole", "[A,,B]", "A|", TAVOLA_ERR_CRYPTO},
        {"empty", "", "", TAVOLA_ERR_CRYPTO},
        {"half", "[", "", TAVOLA_ERR_CRYPTO},
        {"not closed", "[\"A\"", "", TAVOLA_ERR_CRYPTO},
        {"not opened", "\"A\"]", "", TAVOLA_ERR_CRYPTO},
        {"a comma at the end", "[\"A\",]", "", TAVOLA_ERR_CRYPTO},
        {"no comma", "[\"A\" \"B\"]", "", TAVOLA_ERR_CRYPTO},
        {"a number", "[\"A\",1]", "", TAVOLA_ERR_CRYPTO},
        {"an object", "{\"A\":0}", "", TAVOLA_ERR_CRYPTO},
        {"a member", "[\"A\":0]", "", TAVOLA_ERR_CRYPTO},
        {"nested", "[\"A\",[\"B\"]]", "", TAVOLA_ERR_CRYPTO},
        {"an open string", "[\"A]", "", TAVOLA_ERR_CRYPTO},
        {"a backslash at the end", "[\"A\\]", "", TAVOLA_ERR_CRYPTO},
        {"something after it", "[\"A\"]]", "", TAVOLA_ERR_CRYPTO},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tvc_text text = {0};

        t_row = cases[i].what;
        CHECK_TVC(tvc_name_list_read(tv_slice_of(cases[i].list), join_names, &text), cases[i].err);
        if (cases[i].err == TAVOLA_OK)
            CHECK_TEXT(tvc_text_slice(&text), cases[i].names);
        tvc_text_done(&text);
    }
}

#define TURNED(kid, algorithm, agent, iv)                                                          \
    ENVELOPE_OF(kid, "v76/v76/v76/v76/v76/v76/v76/v76/v76/v76/v78=", algorithm, agent, iv,         \
                LIBRARY("x"))

TEST(refuses_hostile_envelopes_before_it_asks_a_key)
{
    static const struct {
        const char *what, *envelope;
        int unwraps;
    } cases[] = {
        {"a good one, but for the data", TURNED("k", "TURN", AGENT_1, OWN_IV), 1},
        {"an unknown way to wrap: the key decides", TURNED("k", "ROT13", AGENT_1, OWN_IV), 1},
        {"another key", TURNED("K", "TURN", AGENT_1, OWN_IV), 0},
        {"another key with the same beginning", TURNED("k2", "TURN", AGENT_1, OWN_IV), 0},
        {"an empty kid", TURNED("", "TURN", AGENT_1, OWN_IV), 0},
        {"a kid with NUL", TURNED("k\\u0000x", "TURN", AGENT_1, OWN_IV), 0},
        {"protocol 1.1",
         TURNED("k", "TURN", "{\"Protocol\":\"1.1\",\"EncryptionAlgorithm\":\"AES_CBC_256\"}",
                OWN_IV),
         0},
        {"protocol 3.0",
         TURNED("k", "TURN", "{\"Protocol\":\"3.0\",\"EncryptionAlgorithm\":\"AES_GCM_256\"}",
                OWN_IV),
         0},
        {"protocol as a number",
         TURNED("k", "TURN", "{\"Protocol\":1.0,\"EncryptionAlgorithm\":\"AES_CBC_256\"}", OWN_IV),
         0},
        {"protocol twice",
         TURNED("k", "TURN",
                "{\"Protocol\":\"1.0\",\"EncryptionAlgorithm\":\"AES_CBC_256\","
                "\"Protocol\":\"1.0\"}",
                OWN_IV),
         0},
        {"version 1 with the algorithm of 2",
         TURNED("k", "TURN", "{\"Protocol\":\"1.0\",\"EncryptionAlgorithm\":\"AES_GCM_256\"}",
                OWN_IV),
         0},
        {"version 2 with the algorithm of 1",
         TURNED("k", "TURN", "{\"Protocol\":\"2.0\",\"EncryptionAlgorithm\":\"AES_CBC_256\"}",
                OWN_IV),
         0},
        {"no algorithm", TURNED("k", "TURN", "{\"Protocol\":\"1.0\"}", OWN_IV), 0},
        {"no agent", TURNED("k", "TURN", "null", OWN_IV), 0},
        {"an agent that is a list", TURNED("k", "TURN", "[\"1.0\"]", OWN_IV), 0},
        {"a short IV", TURNED("k", "TURN", AGENT_1, "oKGio6SlpqeoqaqrrK2u"), 0},
        {"a long IV", TURNED("k", "TURN", AGENT_1, "oKGio6SlpqeoqaqrrK2ur7Cx"), 0},
        {"an IV that is not base64", TURNED("k", "TURN", AGENT_1, "oKGi"), 0},
        {"nothing", "", 0},
        {"not an object", "[]", 0},
        {"empty object", "{}", 0},
        {"no key", "{\"EncryptionAgent\":" AGENT_1 ",\"ContentEncryptionIV\":\"" OWN_IV "\"}", 0},
        {"a library that is a number",
         ENVELOPE_OF("k", "v78=", "TURN", AGENT_1, OWN_IV,
                     ",\"KeyWrappingMetadata\":{\"EncryptionLibrary\":1}"),
         0},
        {"something after it", TURNED("k", "TURN", AGENT_1, OWN_IV) "x", 0},
        {"a wrapped key that is not base64",
         ENVELOPE_OF("k", "v7*=", "TURN", AGENT_1, OWN_IV, LIBRARY("x")), 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        counting_key key = {.kid = "k", .algorithm = "TURN"};
        tavola_crypto *crypto = new_own(&counting_ops, &key);
        tavola_entity *entity = tavola_entity_new("Sales", "000223");

        t_row = cases[i].what;
        tavola_entity_set_string(entity, TVC_CRYPTO_METADATA1, cases[i].envelope);
        set_hex(entity, TVC_CRYPTO_METADATA2, "00112233445566778899aabbccddeeff");
        check_refused(crypto, entity);
        CHECK_INT(key.unwraps, cases[i].unwraps);
        tavola_entity_free(entity);
        tavola_crypto_free(crypto);
    }
}

TEST(refuses_a_wrapped_key_that_is_too_long)
{
    counting_key key = {.kid = "k", .algorithm = "TURN"};
    tavola_crypto *crypto = new_own(&counting_ops, &key);
    tavola_entity *entity = tavola_entity_new("Sales", "000223");
    char wrapped[1405], envelope[2000];

    memset(wrapped, 'A', sizeof wrapped - 1);
    wrapped[sizeof wrapped - 1] = '\0';
    snprintf(envelope, sizeof envelope,
             ENVELOPE_OF("k", "%s", "TURN", AGENT_1, OWN_IV, LIBRARY("x")), wrapped);
    tavola_entity_set_string(entity, TVC_CRYPTO_METADATA1, envelope);
    set_hex(entity, TVC_CRYPTO_METADATA2, "00112233445566778899aabbccddeeff");
    check_refused(crypto, entity);
    CHECK_INT(key.unwraps, 0);
    tavola_entity_free(entity);
    tavola_crypto_free(crypto);
}

/* One block of CBC, with the padding as it is, under the known key for the property "Note". */
static void seal_block(const uint8_t block[16], uint8_t ret_sealed[16])
{
    uint8_t key[32], iv[16];
    int size = 0;
    tavola_entity *holder = tavola_entity_new("a", "b");
    const void *bytes = NULL;
    size_t iv_size = 0;

    fill_counting(key, sizeof key, 0x40);
    set_hex(holder, "Iv", "65cd67ca88305de9e570eb3f4892ab53");
    CHECK(tavola_entity_get_binary(holder, "Iv", &bytes, &iv_size) && iv_size == sizeof iv);
    memcpy(iv, bytes, sizeof iv);
    tavola_entity_free(holder);

    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();

    CHECK(EVP_EncryptInit_ex(context, EVP_aes_256_cbc(), NULL, key, iv) == 1);
    CHECK(EVP_CIPHER_CTX_set_padding(context, 0) == 1);
    CHECK(EVP_EncryptUpdate(context, ret_sealed, &size, block, 16) == 1 && size == 16);
    EVP_CIPHER_CTX_free(context);
}

/* Every last byte, over two kinds of bytes before it: only true paddings pass. */
TEST(checks_the_padding)
{
    tavola_crypto *crypto = known_crypto(1);
    char row[40];

    for (int all_same = 0; all_same < 2; all_same++) {
        for (int last = 0; last < 256; last++) {
            tavola_entity *entity = encrypted_free(crypto, plain_entity());
            bool is_good = last == 1 || (all_same && last > 0 && last <= 16);
            uint8_t block[16], sealed[16];

            snprintf(row, sizeof row, "padding %d, %s", last, all_same ? "all" : "last byte");
            t_row = row;
            memset(block, 'x', sizeof block);
            if (all_same && last <= 16)
                memset(block + 16 - last, last, (size_t)last);
            block[15] = (uint8_t)last;
            seal_block(block, sealed);
            tavola_entity_set_binary(entity, "Note", sealed, sizeof sealed);
            if (is_good) {
                char want[17] = "xxxxxxxxxxxxxxxx";

                want[16 - last] = '\0';
                CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), TAVOLA_OK);
                check_string(entity, "Note", want);
            } else {
                check_refused(crypto, entity);
            }
            tavola_entity_free(entity);
        }
    }
    tavola_crypto_free(crypto);
}

TEST(refuses_values_that_cannot_be)
{
    static const struct {
        const char *what, *name, *hex;
    } cases[] = {
        {"an empty value", "Email", ""},
        {"half a block", "Email", "b4ab53edabc66b29"},
        {"one byte too many", "Note", "37e48232c20c3a3c721f7815a4cd1af400"},
        {"an empty list", TVC_CRYPTO_METADATA2, ""},
        {"a list that is no list", TVC_CRYPTO_METADATA2, "00112233445566778899aabbccddeeff"},
    };
    tavola_crypto *crypto = known_crypto(1);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_entity *entity = encrypted_free(crypto, plain_entity());

        t_row = cases[i].what;
        set_hex(entity, cases[i].name, cases[i].hex);
        check_refused(crypto, entity);
        tavola_entity_free(entity);
    }

    /* Bytes that are not UTF-8, with a good padding. */
    uint8_t block[16] = {0xff, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15};
    uint8_t sealed[16];
    tavola_entity *entity = encrypted_free(crypto, plain_entity());

    t_row = "not UTF-8";
    seal_block(block, sealed);
    tavola_entity_set_binary(entity, "Note", sealed, sizeof sealed);
    check_refused(crypto, entity);
    tavola_entity_free(entity);

    t_row = "a value that is not encrypted";
    entity = encrypted_free(crypto, plain_entity());
    tavola_entity_set_string(entity, "Note", "plain");
    check_refused(crypto, entity);
    tavola_entity_free(entity);

    t_row = "an envelope that is no text";
    entity = encrypted_free(crypto, plain_entity());
    tavola_entity_set_int32(entity, TVC_CRYPTO_METADATA1, 1);
    check_refused(crypto, entity);
    tavola_entity_free(entity);

    t_row = "a list that is no binary";
    entity = encrypted_free(crypto, plain_entity());
    tavola_entity_set_string(entity, TVC_CRYPTO_METADATA2, "[]");
    check_refused(crypto, entity);
    tavola_entity_free(entity);
    tavola_crypto_free(crypto);
}

TEST(decrypts_what_a_projection_left)
{
    tavola_crypto *crypto = known_crypto(1);
    tavola_entity *entity = encrypted_free(crypto, plain_entity());

    tavola_entity_unset(entity, "Email");
    tavola_entity_unset(entity, "City");
    CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), TAVOLA_OK);
    CHECK_INT(tavola_entity_count(entity), 1);
    check_string(entity, "Note", "");
    tavola_entity_free(entity);
    tavola_crypto_free(crypto);
}

TEST(reads_plain_entities_unless_encryption_is_required)
{
    static const char *const removed[] = {TVC_CRYPTO_METADATA1, TVC_CRYPTO_METADATA2};
    tavola_crypto *crypto = known_crypto(2);

    for (int i = 0; i < 2; i++) {
        tavola_entity *entity = encrypted_free(crypto, plain_entity());

        t_row = removed[i];
        tavola_entity_unset(entity, removed[i]);
        tavola_crypto_set_required(crypto, false);
        CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), TAVOLA_OK);
        CHECK_INT(tavola_entity_count(entity), 4);
        tavola_crypto_set_required(crypto, true);
        check_refused(crypto, entity);
        tavola_entity_free(entity);
    }
    tavola_crypto_free(crypto);
}

static bool choose_email(void *user, const char *partition_key, const char *row_key,
                         const char *name)
{
    CHECK_TEXT(tv_slice_of(partition_key), "Sales");
    CHECK_TEXT(tv_slice_of(row_key), "000223");
    CHECK(strcmp(name, "PartitionKey") != 0 && strcmp(name, "RowKey") != 0);
    ++*(int *)user;
    return strcmp(name, "Email") == 0;
}

TEST(encrypts_what_is_chosen)
{
    tavola_crypto *crypto = known_crypto(2);
    tavola_entity *plain = plain_entity();
    int asked = 0;

    tavola_crypto_set_properties(crypto, choose_email, &asked);

    tavola_entity *entity = encrypted(crypto, plain);

    CHECK_INT(asked, 3);
    check_string(entity, "Note", "");
    CHECK(!tavola_entity_get_string(entity, "Email", &(const char *){NULL}));
    CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), TAVOLA_OK);
    check_plain_entity(entity);

    /* What was encrypted when it was read is encrypted when it is written, also when changed. */
    tavola_crypto_set_properties(crypto, NULL, NULL);
    tavola_entity_set_string(entity, "Email", "new@contoso.com");
    entity = encrypted_free(crypto, entity);
    check_string(entity, "Note", "");
    CHECK(!tavola_entity_get_string(entity, "Email", &(const char *){NULL}));
    CHECK_TVC(tvc_crypto_decrypt(crypto, here, entity), TAVOLA_OK);
    check_string(entity, "Email", "new@contoso.com");
    tavola_entity_free(entity);

    /* By the mark of a field. */
    plain->properties[1].is_secret = true;
    entity = encrypted_free(crypto, plain);
    CHECK(!tavola_entity_get_string(entity, "Note", &(const char *){NULL}));
    check_string(entity, "Email", "jonesj@contoso.com");
    tavola_entity_free(entity);
    tavola_crypto_free(crypto);
}

/* An entity with so many properties. */
static tavola_entity *wide_entity(int count)
{
    tavola_entity *entity = tavola_entity_new("Sales", "000223");

    for (int i = 0; i < count; i++) {
        char name[8];

        snprintf(name, sizeof name, "P%d", i);
        tavola_entity_set_string(entity, name, "x");
    }
    return entity;
}

static tavola_entity *long_entity(size_t letters)
{
    tavola_entity *entity = tavola_entity_new("Sales", "000223");
    char *text = malloc(2 * letters + 2);

    for (size_t i = 0; i < letters; i++)
        memcpy(text + 2 * i, "\xc3\xb6", 2);
    text[2 * letters] = '\0';
    tavola_entity_set_string(entity, "Long", text);
    free(text);
    return entity;
}

/* 250 names of 100 letters that are three bytes each: a list that no property can hold. */
static tavola_entity *verbose_entity(void)
{
    tavola_entity *entity = tavola_entity_new("Sales", "000223");

    for (int i = 0; i < 250; i++) {
        char name[320];
        int len = snprintf(name, sizeof name, "P%d", i);

        for (int j = 0; j < 100; j++)
            len += snprintf(name + len, sizeof name - (size_t)len, "\xe2\x84\xa6"); /* ohm */
        tavola_entity_set_string(entity, name, "x");
    }
    return entity;
}

static tavola_entity *with(const char *name, tavola_value value)
{
    tavola_entity *entity = plain_entity();

    set_value(entity, name, value);
    return entity;
}

static tavola_entity *failed_entity(void)
{
    tavola_entity *entity = plain_entity();

    tvc_entity_fail(entity, TAVOLA_ERR_TOO_LARGE, "as if");
    return entity;
}

TEST(refuses_what_cannot_be_encrypted)
{
    struct {
        const char *what;
        int protocol;
        tavola_entity *entity;
        tavola_err err;
    } cases[] = {
        {"250 properties", 1, wide_entity(250), TAVOLA_OK},
        {"250 properties, version 2", 2, wide_entity(250), TAVOLA_OK},
        {"251 properties", 1, wide_entity(251), TAVOLA_ERR_INVALID},
        {"251 properties, version 2", 2, wide_entity(251), TAVOLA_ERR_INVALID},
        {"65,534 bytes", 1, long_entity(32767), TAVOLA_OK},
        {"65,536 bytes", 1, long_entity(32768), TAVOLA_ERR_TOO_LARGE},
        {"65,506 bytes, version 2", 2, long_entity(32753), TAVOLA_OK},
        {"65,508 bytes, version 2", 2, long_entity(32754), TAVOLA_ERR_TOO_LARGE},
        {"a list of names that is too long", 2, verbose_entity(), TAVOLA_ERR_TOO_LARGE},
        {"a number, version 1", 1, with("N", tavola_int32(1)), TAVOLA_ERR_INVALID},
        {"a binary, version 1", 1, with("N", tavola_binary("x", 1)), TAVOLA_ERR_INVALID},
        {"metadata 1", 2, with(TVC_CRYPTO_METADATA1, tavola_string("x")), TAVOLA_ERR_INVALID},
        {"metadata 2", 2, with(TVC_CRYPTO_METADATA2, tavola_string("x")), TAVOLA_ERR_INVALID},
        {"protocol 0", 0, plain_entity(), TAVOLA_ERR_INVALID},
        {"protocol 3", 3, plain_entity(), TAVOLA_ERR_INVALID},
        {"an entity with an error", 2, failed_entity(), TAVOLA_ERR_TOO_LARGE},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_crypto *crypto = known_crypto(cases[i].protocol);
        tavola_entity *made = NULL;

        t_row = cases[i].what;
        CHECK_TVC(tvc_crypto_encrypt(crypto, here, cases[i].entity, &made), cases[i].err);
        CHECK((made != NULL) == (cases[i].err == TAVOLA_OK));
        if (made) {
            CHECK_TVC(tvc_crypto_decrypt(crypto, here, made), TAVOLA_OK);
            CHECK(tvc_entity_same(made, cases[i].entity));
        }
        tavola_entity_free(made);
        tavola_entity_free(cases[i].entity);
        tavola_crypto_free(crypto);
    }
}

TEST(merges_are_not_allowed)
{
    static const struct {
        tavola_write write;
        bool is_allowed;
    } cases[] = {
        {TAVOLA_INSERT, true},           {TAVOLA_INSERT_OR_REPLACE, true},
        {TAVOLA_INSERT_OR_MERGE, false}, {TAVOLA_REPLACE, true},
        {TAVOLA_MERGE, false},           {TAVOLA_DELETE, true},
    };
    tavola_crypto *crypto = known_crypto(2);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(tvc_crypto_allows(crypto, cases[i].write) == cases[i].is_allowed);
        CHECK(tvc_crypto_allows(NULL, cases[i].write));
    }
    tavola_crypto_free(crypto);
}

/* As a scan meets it: a view into a page, in whose memory the plain values find room. */
TEST(decrypts_entities_of_a_page)
{
    static const char text[] =
        "{\"odata.metadata\":\"x\",\"value\":[{\"PartitionKey\":\"a\",\"RowKey\":\"b\","
        "\"Email\":\"open\"},{\"PartitionKey\":\"Sales\",\"RowKey\":\"000223\","
        "\"Email@odata.type\":\"Edm.Binary\","
        "\"Email\":\"tKtT7avGaymLfP11eJiUHwb0BRjsWd4F3QpQ3ReZjZM=\","
        "\"Note@odata.type\":\"Edm.Binary\",\"Note\":\"N+SCMsIMOjxyH3gVpM0a9A==\","
        "\"City@odata.type\":\"Edm.Binary\",\"City\":\"m14JHTPORxl+YBQn60P9yQ==\","
        "\"_ClientEncryptionMetadata2@odata.type\":\"Edm.Binary\",\"_ClientEncryptionMetadata2\":"
        "\"vTQo+1fWxHmd3rBaCQQgPa9CnGbsG+ojaA6J0nTGJW4=\",\"_ClientEncryptionMetadata1\":"
        "\"{\\\"WrappedContentKey\\\":{\\\"KeyId\\\":\\\"local:key1\\\",\\\"EncryptedKey\\\":"
        "\\\"" OWN_KEY "\\\",\\\"Algorithm\\\":\\\"A256KW\\\"},"
        "\\\"EncryptionAgent\\\":{\\\"Protocol\\\":\\\"1.0\\\",\\\"EncryptionAlgorithm\\\":"
        "\\\"AES_CBC_256\\\"},\\\"ContentEncryptionIV\\\":\\\"" OWN_IV "\\\","
        "\\\"KeyWrappingMetadata\\\":{\\\"EncryptionLibrary\\\":\\\"x\\\"}}\"}]}";
    tavola_crypto *crypto = known_crypto(1);
    char *json = tvc_alloc(sizeof text);
    tavola_page *page = NULL;

    memcpy(json, text, sizeof text);
    CHECK_TVC(tvc_page_read(json, sizeof text - 1, &page), TAVOLA_OK);
    CHECK_INT(page->count, 2);
    for (size_t i = 0; i < page->count; i++)
        CHECK_TVC(tvc_crypto_decrypt(crypto, here, &page->entities[i]), TAVOLA_OK);
    check_string(&page->entities[0], "Email", "open");
    check_plain_entity(&page->entities[1]);
    tvc_page_free(page);
    tavola_crypto_free(crypto);
}

TEST(survives_every_failing_allocation)
{
    for (int protocol = 1; protocol <= 2; protocol++) {
        MEMORY_FAULTS(fault)
        {
            tavola_crypto *crypto = known_crypto(protocol);
            tavola_entity *plain = plain_entity(), *made = NULL;
            tavola_err err = TAVOLA_ERR_NO_MEMORY;

            if (crypto && plain)
                err = tvc_crypto_encrypt(crypto, here, plain, &made);
            if (err == TAVOLA_OK)
                err = tvc_crypto_decrypt(crypto, here, made);
            if (err == TAVOLA_OK)
                check_plain_entity(made);
            else
                CHECK_TVC(err, TAVOLA_ERR_NO_MEMORY);
            CHECK(err == TAVOLA_OK || memory_fault_was_hit());
            tavola_entity_free(made);
            tavola_entity_free(plain);
            tavola_crypto_free(crypto);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_other_libraries_published),
        cmocka_unit_test(writes_the_documented_bytes),
        cmocka_unit_test(reads_three_dialects),
        cmocka_unit_test(reads_lists_of_names),
        cmocka_unit_test(refuses_hostile_envelopes_before_it_asks_a_key),
        cmocka_unit_test(refuses_a_wrapped_key_that_is_too_long),
        cmocka_unit_test(checks_the_padding),
        cmocka_unit_test(refuses_values_that_cannot_be),
        cmocka_unit_test(decrypts_what_a_projection_left),
        cmocka_unit_test(reads_plain_entities_unless_encryption_is_required),
        cmocka_unit_test(encrypts_what_is_chosen),
        cmocka_unit_test(refuses_what_cannot_be_encrypted),
        cmocka_unit_test(merges_are_not_allowed),
        cmocka_unit_test(decrypts_entities_of_a_page),
        cmocka_unit_test(survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
