/*
 * Splits, merges, fences and drops of ranges under clients and deaths: ranges_sim.h says what
 * must hold.  TAVOLA_SEED=n runs the seed n alone, and TAVOLA_FOCUS=name what it does more of, as a
 * run that failed has printed them; TAVOLA_RANGES_SECONDS=n goes on for so long with new seeds.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "check.h"
#include "ranges_sim.h"
#include "seed.h"

enum { SEEDS = 250, SECONDS = 5, SEEDS_MIN = 20 };

static int64_t seconds(void)
{
    const char *given = getenv("TAVOLA_RANGES_SECONDS");

    return given ? strtoll(given, NULL, 10) : SECONDS;
}

/* Half of the runs have none. */
static sim_focus focus_of(int run)
{
    const char *given = getenv("TAVOLA_FOCUS");

    for (int i = 0; given && i < SIM_FOCUSES; i++)
        if (strcmp(given, sim_focus_names[i]) == 0)
            return (sim_focus)i;
    return run % 8 < SIM_FOCUSES ? (sim_focus)(run % 8) : SIM_EVERYTHING;
}

TEST(nothing_is_lost_whatever_happens_to_ranges)
{
    const char *given = seed_given(), *longer = getenv("TAVOLA_RANGES_SECONDS");
    uint64_t first = given ? strtoull(given, NULL, 10) : longer ? (uint64_t)time(NULL) << 20 : 1;
    int64_t end_ns = tv_clock_mono_ns() + seconds() * 1000000000;
    sim_counts counts = {0};
    int runs = 0;

    for (; runs < (given ? 1 : longer ? INT32_MAX : SEEDS); runs++) {
        sim_focus focus = focus_of(runs);
        const char *violation;

        if (runs >= SEEDS_MIN && tv_clock_mono_ns() > end_ns)
            break;
        violation = sim_run(first + (uint64_t)runs, focus, &counts);
        if (*violation)
            CHECK_FAIL("TAVOLA_SEED=%llu TAVOLA_FOCUS=%s: %s", (unsigned long long)first + runs,
                       sim_focus_names[focus], violation);
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

/* Else a seed that was printed is worth nothing. */
TEST(a_seed_makes_the_same_run_again)
{
    for (int focus = 0; focus < SIM_FOCUSES; focus++) {
        sim_counts once = {0}, again = {0};

        t_row = sim_focus_names[focus];
        CHECK_TEXT(tv_slice_of(sim_run(40 + (uint64_t)focus, (sim_focus)focus, &once)), "");
        CHECK_TEXT(tv_slice_of(sim_run(40 + (uint64_t)focus, (sim_focus)focus, &again)), "");
        CHECK(memcmp(&once, &again, sizeof once) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_whatever_happens_to_ranges),
        cmocka_unit_test(a_seed_makes_the_same_run_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
