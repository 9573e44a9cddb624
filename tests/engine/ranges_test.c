/*
 * Splits, merges, fences and drops of ranges under clients and deaths: ranges_sim.h says what
 * must hold.  TAVOLA_SEED=n runs the seed n alone; TAVOLA_RANGES_SECONDS=n goes on for so long.
 */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "check.h"
#include "ranges_sim.h"

enum { SEEDS = 250, SECONDS = 8, SEEDS_MIN = 20 };

static int64_t seconds(void)
{
    const char *given = getenv("TAVOLA_RANGES_SECONDS");

    return given ? strtoll(given, NULL, 10) : SECONDS;
}

TEST(nothing_is_lost_whatever_happens_to_ranges)
{
    const char *given = getenv("TAVOLA_SEED"), *longer = getenv("TAVOLA_RANGES_SECONDS");
    uint64_t first = given ? strtoull(given, NULL, 10) : longer ? (uint64_t)time(NULL) << 20 : 1;
    int64_t end_ns = tv_clock_mono_ns() + seconds() * 1000000000;
    sim_counts counts = {0};
    int runs = 0;

    for (; runs < (given ? 1 : longer ? INT32_MAX : SEEDS); runs++) {
        const char *violation;

        if (runs >= SEEDS_MIN && tv_clock_mono_ns() > end_ns)
            break;
        violation =
            sim_run(first + (uint64_t)runs, (sim_focus)(runs % 8 < 4 ? runs % 8 : 0), &counts);
        if (*violation)
            CHECK_FAIL("TAVOLA_SEED=%llu: %s", (unsigned long long)first + runs, violation);
    }
    printf("# %d runs from seed %llu: %llu writes (%llu refused), %llu reads, %llu scans, %llu "
           "splits, %llu merges, %llu fences, %llu drops, %llu kills, %llu recoveries\n",
           runs, (unsigned long long)first, (unsigned long long)counts.writes,
           (unsigned long long)counts.refused_writes, (unsigned long long)counts.reads,
           (unsigned long long)counts.scans, (unsigned long long)counts.splits,
           (unsigned long long)counts.merges, (unsigned long long)counts.fences,
           (unsigned long long)counts.drops, (unsigned long long)counts.kills,
           (unsigned long long)counts.recoveries);
    if (!given)
        CHECK(counts.splits && counts.merges && counts.drops && counts.kills && counts.recoveries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_whatever_happens_to_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
