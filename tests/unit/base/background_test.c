/* Background threads sleep, work, wake up, and stop when they are told to. */
#include "base/background.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "check.h"

static void start(tv_background *thread, void (*run)(tv_background *thread, void *ctx), void *ctx)
{
    tv_background_start(thread,
                        &(tv_background_options){.name = "tv-test", .run = run, .ctx = ctx});
}

static atomic_int rounds;

static void work_often(tv_background *thread, void *ctx)
{
    CHECK(ctx == &rounds);
    while (tv_background_sleep(thread, 1))
        atomic_fetch_add(&rounds, 1);
    CHECK(tv_background_is_stopping(thread));
}

TEST(it_works_again_and_again_until_it_is_stopped)
{
    tv_background thread;
    int so_far;

    atomic_store(&rounds, 0);
    start(&thread, work_often, &rounds);
    CHECK(!tv_background_is_stopping(&thread));
    while (atomic_load(&rounds) < 3)
        sched_yield();
    tv_background_done(&thread);

    so_far = atomic_load(&rounds);
    CHECK(so_far >= 3);
    CHECK_INT(atomic_load(&rounds), so_far); /* the thread has ended */
}

static void sleep_long(tv_background *thread, void *ctx)
{
    bool *is_time_to_work = ctx;

    *is_time_to_work = tv_background_sleep(thread, 600 * 1000);
}

TEST(to_stop_it_nobody_waits_for_its_sleep_to_end)
{
    bool is_time_to_work = true;
    tv_background thread;

    start(&thread, sleep_long, &is_time_to_work);
    tv_background_done(&thread);
    CHECK(!is_time_to_work);
}

static void sleep_once(tv_background *thread, void *ctx)
{
    atomic_llong *slept_ns = ctx;
    int64_t began = tv_clock_mono_ns();

    CHECK(tv_background_sleep(thread, 30));
    atomic_store(slept_ns, tv_clock_mono_ns() - began);
    while (!tv_background_is_stopping(thread))
        sched_yield();
    CHECK(!tv_background_sleep(thread,
                               600 * 1000)); /* told to stop before: it does not sleep at all */
}

TEST(it_sleeps_as_long_as_it_says)
{
    atomic_llong slept_ns = 0;
    tv_background thread;

    start(&thread, sleep_once, &slept_ns);
    while (atomic_load(&slept_ns) == 0)
        sched_yield();
    tv_background_done(&thread);
    CHECK(atomic_load(&slept_ns) >= 30 * 1000000);
}

/* What a thread is asked to do, under its lock. */
typedef struct work {
    int asked, done;
    char name[16];
} work;

static void work_when_asked(tv_background *thread, void *ctx)
{
    work *w = ctx;

    tv_background_lock(thread);
    pthread_getname_np(pthread_self(), w->name, sizeof w->name);
    do {
        w->done = w->asked;
    } while (tv_background_wait(thread, TV_BACKGROUND_NEVER) || !tv_background_is_stopping(thread));
    w->done = w->asked;
    tv_background_unlock(thread);
}

static int done_by(tv_background *thread, const work *w)
{
    tv_background_lock(thread);
    int done = w->done;
    tv_background_unlock(thread);
    return done;
}

TEST(it_works_when_it_is_woken_and_its_lock_outlives_it)
{
    tv_background thread;
    work w = {0};

    start(&thread, work_when_asked, &w);
    for (int i = 1; i <= 100; i++) {
        tv_background_lock(&thread);
        w.asked = i;
        tv_background_wake(&thread);
        tv_background_unlock(&thread);
        while (done_by(&thread, &w) < i)
            sched_yield();
    }
    tv_background_stop(&thread);
    tv_background_stop(&thread);
    CHECK_INT(done_by(&thread, &w), 100);
    CHECK_TEXT(tv_slice_of(w.name), "tv-test");
    tv_background_done(&thread);
}

static void wait_for_deadline(tv_background *thread, void *ctx)
{
    int64_t *waited_ns = ctx, began = tv_clock_mono_ns();

    tv_background_lock(thread);
    while (tv_background_wait(thread, began + 20000000))
        ;
    *waited_ns = tv_clock_mono_ns() - began;
    CHECK(!tv_background_wait(thread, began)); /* it has passed */
    tv_background_unlock(thread);
    while (tv_background_sleep(thread, 600 * 1000))
        ;
}

TEST(a_wait_ends_at_its_deadline)
{
    int64_t waited_ns = 0;
    tv_background thread;

    start(&thread, wait_for_deadline, &waited_ns);
    for (int64_t seen = 0; seen == 0;) {
        tv_background_lock(&thread);
        seen = waited_ns;
        tv_background_unlock(&thread);
    }
    tv_background_done(&thread);
    CHECK(waited_ns >= 20000000);
}

/* A clock that has jumped is ahead of the system's, by which the wait is. */
TEST(a_wait_is_as_long_as_ever_after_the_clock_has_jumped)
{
    int64_t waited_ns = 0, day_ns = INT64_C(86400) * 1000000000;
    tv_background thread;

    tv_clock_skip_ns(day_ns);
    start(&thread, wait_for_deadline, &waited_ns);
    for (int64_t seen = 0; seen == 0;) {
        tv_background_lock(&thread);
        seen = waited_ns;
        tv_background_unlock(&thread);
    }
    tv_background_done(&thread);
    CHECK(waited_ns >= 20000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_works_again_and_again_until_it_is_stopped),
        cmocka_unit_test(to_stop_it_nobody_waits_for_its_sleep_to_end),
        cmocka_unit_test(it_sleeps_as_long_as_it_says),
        cmocka_unit_test(it_works_when_it_is_woken_and_its_lock_outlives_it),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(a_wait_is_as_long_as_ever_after_the_clock_has_jumped),
    };

    return cmocka_run_group_tests_name("base/background", tests, NULL, NULL);
}
