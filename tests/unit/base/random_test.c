/* Bytes that nobody can guess. */
#include "base/random.h"

#include "check.h"

TEST(every_byte_asked_for_is_filled_and_none_after_it)
{
    static unsigned char bytes[2048];

    for (size_t len = 0; len < sizeof bytes; len = len * 2 + 1) {
        bool is_touched = len < 32;

        memset(bytes, 0, sizeof bytes);
        tv_random_bytes(bytes, len);
        /* Runs of zeros this long do not happen. */
        for (size_t i = 0; i + 16 <= len; i++) {
            static const unsigned char zeros[16];

            CHECK(memcmp(bytes + i, zeros, sizeof zeros) != 0);
            is_touched = true;
        }
        CHECK(is_touched);
        for (size_t i = len; i < sizeof bytes; i++)
            CHECK_INT(bytes[i], 0);
    }
}

TEST(numbers_have_every_bit_and_do_not_come_twice)
{
    uint64_t numbers[1000], ones = 0, zeros = 0;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        numbers[i] = tv_random_u64();
        ones |= numbers[i];
        zeros |= ~numbers[i];
        for (size_t k = 0; k < i; k++)
            CHECK(numbers[k] != numbers[i]);
    }
    CHECK(ones == UINT64_MAX && zeros == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_asked_for_is_filled_and_none_after_it),
        cmocka_unit_test(numbers_have_every_bit_and_do_not_come_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
