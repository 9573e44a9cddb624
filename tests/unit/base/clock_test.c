/* The two clocks. */
#include "base/clock.h"

#include "check.h"

TEST(the_wall_clock_is_that_of_the_c_library)
{
    int64_t before = (int64_t)time(NULL);
    int64_t ticks = tv_clock_ticks();
    int64_t after = (int64_t)time(NULL);
    int64_t seconds = (ticks - TV_TICKS_UNIX_EPOCH) / TV_TICKS_PER_SECOND;

    /* time() may lag behind by one tick of the kernel. */
    CHECK(seconds >= before && seconds <= after + 1);
}

TEST(a_test_can_set_the_wall_clock)
{
    tv_clock_set_fake_ticks(TV_TICKS_MIN);
    CHECK_INT(tv_clock_ticks(), TV_TICKS_MIN);
    tv_clock_set_fake_ticks(0);
    CHECK(tv_clock_ticks() > TV_TICKS_UNIX_EPOCH);
}

TEST(the_monotonic_clock_does_not_step_back)
{
    int64_t last = tv_clock_mono_ns();

    for (int i = 0; i < 10000; i++) {
        int64_t now = tv_clock_mono_ns();

        CHECK(now >= last);
        last = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wall_clock_is_that_of_the_c_library),
        cmocka_unit_test(a_test_can_set_the_wall_clock),
        cmocka_unit_test(the_monotonic_clock_does_not_step_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
