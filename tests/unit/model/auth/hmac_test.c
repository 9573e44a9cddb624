/* HMAC-SHA256 against the vectors of RFC 4231. */
#include "model/auth/hmac.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* A run of one byte, or a text. */
typedef struct bytes {
    const char *text;
    unsigned char byte;
    size_t count;
} bytes;

static const struct {
    const char *what;
    bytes key, data;
    const char *mac; /* in hexadecimal */
} vectors[] = {
    {"case 1: a short key",
     {NULL, 0x0b, 20},
     {"Hi There", 0, 0},
     "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
    {"case 2: a key shorter than the mac",
     {"Jefe", 0, 0},
     {"what do ya want for nothing?", 0, 0},
     "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
    {"case 3: data as long as a block",
     {NULL, 0xaa, 20},
     {NULL, 0xdd, 50},
     "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
    {"case 4: a key of counting bytes",
     {"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16"
      "\x17\x18\x19",
      0, 0},
     {NULL, 0xcd, 50},
     "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
    {"case 6: a key longer than a block",
     {NULL, 0xaa, 131},
     {"Test Using Larger Than Block-Size Key - Hash Key First", 0, 0},
     "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    {"case 7: a key and data longer than a block",
     {NULL, 0xaa, 131},
     {"This is a test using a larger than block-size key and a larger than block-size data. The "
      "key needs to be hashed before being used by the HMAC algorithm.",
      0, 0},
     "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
};

static tv_slice expand(const bytes *source, char to[256])
{
    if (source->text)
        return tv_slice_of(source->text);

    memset(to, source->byte, source->count);
    return (tv_slice){to, source->count};
}

static tv_slice hex_of(const unsigned char mac[TV_HMAC_BYTES], char to[2 * TV_HMAC_BYTES + 1])
{
    for (int i = 0; i < TV_HMAC_BYTES; i++)
        snprintf(to + 2 * i, 3, "%02x", mac[i]);
    return (tv_slice){to, 2 * TV_HMAC_BYTES};
}

TEST(the_vectors_of_the_rfc_hold)
{
    char key_bytes[256], data_bytes[256], hex[2 * TV_HMAC_BYTES + 1];
    unsigned char mac[TV_HMAC_BYTES];

    for (size_t i = 0; i < COUNT(vectors); i++) {
        tv_hmac_key key;

        t_row = vectors[i].what;
        tv_hmac_key_init(&key, expand(&vectors[i].key, key_bytes));
        tv_hmac_sign(&key, expand(&vectors[i].data, data_bytes), mac);
        CHECK_TEXT(hex_of(mac, hex), vectors[i].mac);
        tv_hmac_key_done(&key);
    }
}

TEST(a_key_signs_again_and_again)
{
    char first_hex[2 * TV_HMAC_BYTES + 1], hex[2 * TV_HMAC_BYTES + 1];
    unsigned char mac[TV_HMAC_BYTES];
    tv_hmac_key key;

    tv_hmac_key_init(&key, TV_LIT("Jefe"));
    tv_hmac_sign(&key, TV_LIT("a"), mac);
    hex_of(mac, first_hex);
    tv_hmac_sign(&key, TV_LIT("b"), mac);
    CHECK(!tv_slice_eq(hex_of(mac, hex), tv_slice_of(first_hex)));
    tv_hmac_sign(&key, TV_LIT("a"), mac);
    CHECK_TEXT(hex_of(mac, hex), first_hex);
    tv_hmac_key_done(&key);
}

TEST(a_wiped_key_holds_nothing)
{
    tv_hmac_key key;
    static const tv_hmac_key nothing;

    tv_hmac_key_init(&key, TV_LIT("secret"));
    tv_hmac_key_done(&key);
    CHECK(memcmp(&key, &nothing, sizeof key) == 0);
}

TEST(an_empty_key_and_an_empty_text_are_legal)
{
    char hex[2 * TV_HMAC_BYTES + 1];
    unsigned char mac[TV_HMAC_BYTES];
    tv_hmac_key key;

    tv_hmac_key_init(&key, TV_NONE);
    tv_hmac_sign(&key, TV_NONE, mac);
    CHECK_TEXT(hex_of(mac, hex),
               "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
    tv_hmac_key_done(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_rfc_hold),
        cmocka_unit_test(a_key_signs_again_and_again),
        cmocka_unit_test(a_wiped_key_holds_nothing),
        cmocka_unit_test(an_empty_key_and_an_empty_text_are_legal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
