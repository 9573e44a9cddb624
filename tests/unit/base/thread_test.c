/* Threads that give way offer their core now and then, and others never do. */
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "check.h"

enum { WORK_MS = 20 };

static atomic_int yields;

/* In place of the system's. */
int sched_yield(void)
{
    atomic_fetch_add(&yields, 1);
    return 0;
}

static void *work(void *gives_way)
{
    int64_t end_ns = tv_clock_mono_ns() + (int64_t)WORK_MS * 1000 * 1000;

    if (*(bool *)gives_way)
        tv_thread_give_way();
    while (tv_clock_mono_ns() < end_ns)
        tv_thread_step(TV_STEP_SMALL);
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

    CHECK(count >= 1 && count <= WORK_MS * 4 + 1);
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
