/* The clocks. */
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

static int64_t start = TV_TICKS_UNIX_EPOCH + INT64_C(1767225600) * TV_TICKS_PER_SECOND;

static int64_t pass_seconds(int64_t mono, int64_t wall)
{
    static int64_t ticks;

    ticks = (mono || wall ? ticks : start) + wall * TV_TICKS_PER_SECOND;
    tv_clock_set_fake_ticks(ticks);
    tv_clock_pass_fake_ns(mono * 1000000000);
    return (tv_clock_steady_ticks() - start) / TV_TICKS_PER_SECOND;
}

static int64_t ns_of(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

TEST(who_waits_by_the_system_waits_no_longer_after_a_jump)
{
    struct timespec before, after;

    clock_gettime(CLOCK_MONOTONIC, &before);
    tv_clock_skip_ns(INT64_C(3600) * 1000000000);
    int64_t now = ns_of(tv_clock_system_time(tv_clock_mono_ns()));
    clock_gettime(CLOCK_MONOTONIC, &after);
    CHECK(ns_of(before) <= now && now <= ns_of(after));
    CHECK_INT(ns_of(tv_clock_system_time(1)), 0);
}

TEST(the_steady_clock_goes_on_when_the_wall_clock_is_set_back)
{
    CHECK_INT(pass_seconds(0, 0), 0);
    CHECK_INT(pass_seconds(5, 5), 5);
    CHECK_INT(tv_clock_lead_ticks(), 0);
    CHECK_INT(pass_seconds(0, -600), 5);
    CHECK_INT(pass_seconds(1, 1), 6);
    CHECK_INT(pass_seconds(100, 100), 106);
    CHECK_INT(tv_clock_lead_ticks(), 600 * TV_TICKS_PER_SECOND);
    /* Set forward again, by less than it is behind and then by more. */
    CHECK_INT(pass_seconds(1, 500), 107);
    CHECK_INT(pass_seconds(1, 200), 206);
    CHECK_INT(tv_clock_lead_ticks(), 0);
    CHECK_INT(pass_seconds(4, 4), 210);
    tv_clock_set_fake_ticks(0);
}

TEST(the_steady_clock_goes_on_from_where_it_was_raised_to)
{
    CHECK_INT(pass_seconds(0, 0), 0);
    tv_clock_raise(start + 30 * TV_TICKS_PER_SECOND);
    CHECK_INT(pass_seconds(2, 2), 32);
    tv_clock_raise(start + 10 * TV_TICKS_PER_SECOND);
    CHECK_INT(pass_seconds(1, 1), 33);
    tv_clock_set_fake_ticks(0);
}

TEST(a_wall_clock_that_cannot_be_right_is_not_followed)
{
    const int64_t too_far = (TV_CLOCK_WALL_MAX - start) / TV_TICKS_PER_SECOND + 10;

    CHECK_INT(pass_seconds(0, 0), 0);
    CHECK_INT(pass_seconds(5, too_far), 5);
    CHECK_INT(pass_seconds(5, 5), 10);
    CHECK_INT(pass_seconds(1, 11 - 5 - too_far), 11);
    tv_clock_set_fake_ticks(0);

    /* From the start on there is no better one; time passes all the same. */
    CHECK_INT(pass_seconds(0, 0), 0);
    tv_clock_set_fake_ticks(0);
    tv_clock_set_fake_ticks(TV_CLOCK_WALL_MAX + 77);
    int64_t first = tv_clock_steady_ticks();

    CHECK_INT(first, TV_CLOCK_WALL_MAX);
    tv_clock_pass_fake_ns(3000000000);
    CHECK_INT(tv_clock_steady_ticks() - first, 3 * TV_TICKS_PER_SECOND);
    tv_clock_set_fake_ticks(0);
}

TEST(the_steady_clock_is_the_wall_clock_while_that_goes_forward)
{
    int64_t last = 0;

    for (int i = 0; i < 10000; i++) {
        int64_t now = tv_clock_steady_ticks();

        CHECK(now >= last);
        last = now;
    }
    CHECK(tv_clock_lead_ticks() < TV_TICKS_PER_SECOND / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wall_clock_is_that_of_the_c_library),
        cmocka_unit_test(a_test_can_set_the_wall_clock),
        cmocka_unit_test(the_monotonic_clock_does_not_step_back),
        cmocka_unit_test(who_waits_by_the_system_waits_no_longer_after_a_jump),
        cmocka_unit_test(the_steady_clock_goes_on_when_the_wall_clock_is_set_back),
        cmocka_unit_test(the_steady_clock_goes_on_from_where_it_was_raised_to),
        cmocka_unit_test(a_wall_clock_that_cannot_be_right_is_not_followed),
        cmocka_unit_test(the_steady_clock_is_the_wall_clock_while_that_goes_forward),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
