/* Threads that give way offer their core now and then, and others never do. */
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "check.h"

enum { WORK_MS = 20, SLICE_US = 250 };

static atomic_int yields;
static int64_t worked_us;

/* In place of the system's. */
int sched_yield(void)
{
    atomic_fetch_add(&yields, 1);
    return 0;
}

/* Each step takes a microsecond by the clock, and what it takes besides. */
static void *work(void *gives_way)
{
    int64_t begin_ns = tv_clock_mono_ns();

    if (*(bool *)gives_way)
        tv_thread_give_way();
    for (int i = 0; i < WORK_MS * 1000; i++) {
        tv_clock_skip_ns(1000);
        tv_thread_step(TV_STEP_SMALL);
    }
    worked_us = (tv_clock_mono_ns() - begin_ns) / 1000;
    return NULL;
}

static int yields_of(bool gives_way)
{
    pthread_t thread;

    atomic_store(&yields, 0);
    CHECK_INT(pthread_create(&thread, NULL, work, &gives_way), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    return atomic_load(&yields);
}

TEST(a_thread_that_gives_way_offers_its_core_now_and_then)
{
    int count = yields_of(true);

    CHECK(count >= 1 && count <= worked_us / SLICE_US + 1);
}

TEST(other_threads_keep_their_core)
{
    CHECK_INT(yields_of(false), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_gives_way_offers_its_core_now_and_then),
        cmocka_unit_test(other_threads_keep_their_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
