/* CRC-32C. */
#include "base/crc32c.h"

#include "check.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Those of RFC 3720, B.4, and the check value of the catalogues. */
static const struct {
    const char *what;
    char first, step;
    size_t len;
    uint32_t value;
} vectors[] = {
    {"nothing", 0, 0, 0, 0},
    {"zeros", 0, 0, 32, 0x8A9136AA},
    {"ones", (char)0xFF, 0, 32, 0x62A8AB43},
    {"rising", 0, 1, 32, 0x46DD794E},
    {"falling", 31, -1, 32, 0x113FDB5C},
    {"the check value", '1', 1, 9, 0xE3069283},
};

TEST(known_values)
{
    for (size_t i = 0; i < COUNT(vectors); i++) {
        char bytes[32];

        t_row = vectors[i].what;
        for (size_t k = 0; k < vectors[i].len; k++)
            bytes[k] = (char)(vectors[i].first + (int)k * vectors[i].step);
        CHECK_INT(tv_crc32c(0, (tv_slice){bytes, vectors[i].len}), vectors[i].value);
    }
}

/* Bit by bit, as the definition has it. */
static uint32_t naive(tv_slice bytes)
{
    uint32_t v = UINT32_MAX;

    for (size_t i = 0; i < bytes.len; i++) {
        v ^= (unsigned char)bytes.data[i];
        for (int bit = 0; bit < 8; bit++)
            v = v & 1 ? v >> 1 ^ UINT32_C(0x82F63B78) : v >> 1;
    }
    return ~v;
}

static void fill(char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)t_random();
}

static void check(tv_slice bytes)
{
    uint32_t want = naive(bytes);

    if (tv_crc32c(0, bytes) != want || tv_crc32c_portable(0, bytes) != want)
        CHECK_FAIL("%zu bytes: fast %08x, portable %08x, want %08x", bytes.len,
                   tv_crc32c(0, bytes), tv_crc32c_portable(0, bytes), want);
}

TEST(every_length_and_alignment_gives_the_value_of_the_definition)
{
    static char bytes[20 * 1024 + 16];

    t_random_seed(32);
    fill(bytes, sizeof bytes);
    for (size_t len = 0; len <= 300; len++)
        check((tv_slice){bytes + t_random() % 16, len});
    for (size_t len = 3000; len <= 20 * 1024; len += 1 + t_random() % 200)
        check((tv_slice){bytes + t_random() % 16, len});
}

TEST(parts_of_any_size_give_the_value_of_the_whole)
{
    static char bytes[1 << 16];

    t_random_seed(33);
    fill(bytes, sizeof bytes);
    for (int round = 0; round < 200; round++) {
        tv_slice whole = {bytes, t_random() % sizeof bytes}, rest = whole;
        uint32_t crc = 0;

        while (rest.len) {
            size_t len = t_random() % (((size_t)1 << t_random() % 15) + 1);

            len = len < rest.len ? len : rest.len;
            crc = tv_crc32c(crc, tv_slice_take(rest, len));
            rest = tv_slice_skip(rest, len);
        }
        CHECK_INT(crc, tv_crc32c(0, whole));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(every_length_and_alignment_gives_the_value_of_the_definition),
        cmocka_unit_test(parts_of_any_size_give_the_value_of_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
