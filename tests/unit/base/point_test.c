/* Pressure points. */
#include "base/point.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"

static int reset(void **state)
{
    tv_points_are_on = false;
    tv_point_clear();
    return 0;
}

TEST(points_are_off_until_a_test_switches_them_on)
{
    CHECK(!tv_point_set(TV_LIT("here"), TV_POINT_FAIL, 0, 0));
    CHECK_OK(tv_point("here"));
}

TEST(a_point_fails_as_often_as_it_was_told)
{
    tv_points_enable();
    CHECK(tv_point_set(TV_LIT("here"), TV_POINT_FAIL, 0, 2));
    CHECK_OK(tv_point("there"));
    CHECK_ERR(tv_point("here"), TV_ERR_STOPPED);
    CHECK_ERR(tv_point("here"), TV_ERR_STOPPED);
    CHECK_OK(tv_point("here"));
    CHECK_INT(tv_point_met(TV_LIT("here")), 3);
    CHECK(tv_point_set(TV_LIT("here"), TV_POINT_FAIL, 0, 0));
    CHECK_ERR(tv_point("here"), TV_ERR_STOPPED);
}

TEST(a_star_stands_for_all_that_begin_so)
{
    tv_points_enable();
    CHECK(tv_point_set(TV_LIT("split.*"), TV_POINT_COUNT, 0, 0));
    CHECK_OK(tv_point("split.1"));
    CHECK_OK(tv_point("split.2"));
    CHECK_OK(tv_point("merge.1"));
    CHECK_INT(tv_point_met(TV_LIT("split.*")), 2);
    CHECK_INT(tv_point_met(TV_LIT("merge.1")), 0);
}

TEST(a_pause_takes_its_time)
{
    int64_t begin = tv_clock_mono_ns();

    tv_points_enable();
    CHECK(tv_point_set(TV_LIT("here"), TV_POINT_PAUSE, 20, 1));
    CHECK_OK(tv_point("here"));
    CHECK(tv_clock_mono_ns() - begin >= 20 * 1000000);
}

TEST(an_exit_ends_the_process_at_once)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        close(2);
        tv_points_enable();
        if (tv_point_set(TV_LIT("here"), TV_POINT_EXIT, 0, 1) && tv_point("here") == TV_OK)
            _exit(1);
        _exit(2);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 9);
}

static tv_err stop_all(const char *at)
{
    return TV_ERR_STOPPED;
}

TEST(a_simulation_decides_by_itself)
{
    tv_points_enable();
    tv_point_hook = stop_all;
    CHECK_ERR(tv_point("anywhere"), TV_ERR_STOPPED);
    tv_point_hook = NULL;
    CHECK_OK(tv_point("anywhere"));
}

TEST(actions_have_names)
{
    tv_point_action action;

    CHECK(tv_point_action_parse(TV_LIT("exit"), &action) && action == TV_POINT_EXIT);
    CHECK(tv_point_action_parse(TV_LIT("pause"), &action) && action == TV_POINT_PAUSE);
    CHECK(tv_point_action_parse(TV_LIT("fail"), &action) && action == TV_POINT_FAIL);
    CHECK(tv_point_action_parse(TV_LIT("count"), &action) && action == TV_POINT_COUNT);
    CHECK(!tv_point_action_parse(TV_LIT("Exit"), &action));
    CHECK(!tv_point_action_parse(TV_LIT(""), &action));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(points_are_off_until_a_test_switches_them_on, reset),
        cmocka_unit_test_teardown(a_point_fails_as_often_as_it_was_told, reset),
        cmocka_unit_test_teardown(a_star_stands_for_all_that_begin_so, reset),
        cmocka_unit_test_teardown(a_pause_takes_its_time, reset),
        cmocka_unit_test_teardown(an_exit_ends_the_process_at_once, reset),
        cmocka_unit_test_teardown(a_simulation_decides_by_itself, reset),
        cmocka_unit_test(actions_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
