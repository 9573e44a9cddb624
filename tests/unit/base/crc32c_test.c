/* The checksum of RocksDB's files. */
#include "base/crc32c.h"

#include "check.h"
#include "random.h"

TEST(the_check_value_of_the_definition)
{
    CHECK(tv_crc32c(0, TV_LIT("123456789")) == UINT32_C(0xE3069283));
    CHECK(tv_crc32c(0, TV_NONE) == 0);
}

TEST(every_length_and_both_ways_give_the_same_and_parts_add_up)
{
    static char bytes[300];

    t_random_seed(32);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)t_random();
    for (size_t len = 0; len <= sizeof bytes; len++) {
        tv_slice all = {bytes, len};
        size_t cut = len ? t_random() % len : 0;
        uint32_t want = tv_crc32c_portable(0, all);

        CHECK(tv_crc32c(0, all) == want);
        CHECK(tv_crc32c(tv_crc32c(0, tv_slice_take(all, cut)), tv_slice_skip(all, cut)) == want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_check_value_of_the_definition),
        cmocka_unit_test(every_length_and_both_ways_give_the_same_and_parts_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
