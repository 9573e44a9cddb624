/* Chores sleep, work, and stop when they are told to. */
#include "base/chore.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "check.h"

static atomic_int rounds;

static void work_often(tv_chore *chore, void *ctx)
{
    CHECK(ctx == &rounds);
    while (tv_chore_sleep(chore, 1))
        atomic_fetch_add(&rounds, 1);
    CHECK(tv_chore_is_stopping(chore));
}

TEST(it_works_again_and_again_until_it_is_stopped)
{
    tv_chore chore;
    int so_far;

    atomic_store(&rounds, 0);
    tv_chore_start(&chore, work_often, &rounds);
    CHECK(!tv_chore_is_stopping(&chore));
    while (atomic_load(&rounds) < 3)
        sched_yield();
    tv_chore_stop(&chore);

    so_far = atomic_load(&rounds);
    CHECK(so_far >= 3);
    CHECK_INT(atomic_load(&rounds), so_far); /* the thread has ended */
}

static void sleep_long(tv_chore *chore, void *ctx)
{
    bool *is_time_to_work = ctx;

    *is_time_to_work = tv_chore_sleep(chore, 600 * 1000);
}

TEST(to_stop_it_nobody_waits_for_its_sleep_to_end)
{
    int64_t began = tv_clock_mono_ns();
    bool is_time_to_work = true;
    tv_chore chore;

    tv_chore_start(&chore, sleep_long, &is_time_to_work);
    tv_chore_stop(&chore);
    CHECK(!is_time_to_work);
    CHECK(tv_clock_mono_ns() - began < INT64_C(60) * 1000000000);
}

static void sleep_once(tv_chore *chore, void *ctx)
{
    atomic_llong *slept_ns = ctx;
    int64_t began = tv_clock_mono_ns();

    CHECK(tv_chore_sleep(chore, 1020)); /* over a second: both parts of the time are used */
    atomic_store(slept_ns, tv_clock_mono_ns() - began);
    while (!tv_chore_is_stopping(chore))
        sched_yield();
    CHECK(!tv_chore_sleep(chore, 600 * 1000)); /* told to stop before: it does not sleep at all */
}

TEST(it_sleeps_as_long_as_it_says)
{
    atomic_llong slept_ns = 0;
    tv_chore chore;

    tv_chore_start(&chore, sleep_once, &slept_ns);
    while (atomic_load(&slept_ns) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    tv_chore_stop(&chore);
    CHECK(atomic_load(&slept_ns) >= 1020000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_works_again_and_again_until_it_is_stopped),
        cmocka_unit_test(to_stop_it_nobody_waits_for_its_sleep_to_end),
        cmocka_unit_test(it_sleeps_as_long_as_it_says),
    };

    return cmocka_run_group_tests_name("base/chore", tests, NULL, NULL);
}
