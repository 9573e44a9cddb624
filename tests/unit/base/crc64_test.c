/* The CRC-64 of Azure Storage. */
#include "base/crc64.h"

#include "base/base64.h"
#include "check.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct {
    const char *what, *bytes, *wire;
    uint64_t value;
} vectors[] = {
    {"nothing", "", "AAAAAAAAAAA=", 0},
    {"the check value of CRC-64/NVME", "123456789", "iJh5CoYUi64=", UINT64_C(0xAE8B14860A799888)},
    {"the vector of Azure's SDK for C++", "Hello Azure!",
     "DtjZpL9/o8c=", UINT64_C(0xC7A37FBFA4D9D80E)},
};

TEST(known_values_and_their_form_on_the_wire)
{
    for (size_t i = 0; i < COUNT(vectors); i++) {
        unsigned char bytes[TV_CRC64_BYTES];
        char text[16];
        uint64_t value = tv_crc64_of(tv_slice_of(vectors[i].bytes));
        size_t len = tv_base64_encoded_len(sizeof bytes);

        t_row = vectors[i].what;
        if (value != vectors[i].value)
            CHECK_FAIL("got 0x%llx", (unsigned long long)value);
        tv_crc64_encode(value, bytes);
        tv_base64_encode(text, (tv_slice){(char *)bytes, sizeof bytes});
        CHECK_TEXT(((tv_slice){text, len}), vectors[i].wire);
    }
}

/* Bit by bit, as the definition has it. */
static uint64_t naive(tv_slice bytes)
{
    uint64_t v = UINT64_MAX;

    for (size_t i = 0; i < bytes.len; i++) {
        v ^= (unsigned char)bytes.data[i];
        for (int bit = 0; bit < 8; bit++)
            v = v & 1 ? v >> 1 ^ UINT64_C(0x9A6C9329AC4BC9B5) : v >> 1;
    }
    return ~v;
}

TEST(every_length_and_alignment_gives_the_value_of_the_definition)
{
    static char bytes[600 + 16];

    t_random_seed(64);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)t_random();
    for (size_t len = 0; len <= 600; len++) {
        tv_slice part = {bytes + t_random() % 16, len};
        uint64_t want = naive(part);
        tv_crc64 portable;

        tv_crc64_init(&portable);
        tv_crc64_update_portable(&portable, part);
        if (tv_crc64_final(&portable) != want || tv_crc64_of(part) != want)
            CHECK_FAIL("%zu bytes: portable 0x%llx, fast 0x%llx, want 0x%llx", len,
                       (unsigned long long)tv_crc64_final(&portable),
                       (unsigned long long)tv_crc64_of(part), (unsigned long long)want);
    }
}

TEST(pieces_of_any_size_give_the_value_of_the_whole)
{
    static char bytes[1 << 16];

    t_random_seed(65);
    for (int round = 0; round < 200; round++) {
        tv_slice rest = {bytes, t_random() % sizeof bytes};
        tv_crc64 whole, pieces;

        for (size_t i = 0; i < rest.len; i++)
            bytes[i] = (char)t_random();
        tv_crc64_init(&whole);
        tv_crc64_init(&pieces);
        tv_crc64_update_portable(&whole, rest);
        while (rest.len) {
            size_t most = (size_t)1 << t_random() % 15;
            size_t len = t_random() % (most + 1);

            len = len < rest.len ? len : rest.len;
            tv_crc64_update(&pieces, tv_slice_take(rest, len));
            rest = tv_slice_skip(rest, len);
        }
        CHECK(tv_crc64_final(&pieces) == tv_crc64_final(&whole));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values_and_their_form_on_the_wire),
        cmocka_unit_test(every_length_and_alignment_gives_the_value_of_the_definition),
        cmocka_unit_test(pieces_of_any_size_give_the_value_of_the_whole),
    };

    return cmocka_run_group_tests_name("base/crc64", tests, NULL, NULL);
}
