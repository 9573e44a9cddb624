/*
 * Does the simulation of ranges find mistakes?  The sources of changes of ranges are built into
 * this program once more with mistakes that can be switched on (mutants.h); each of them must
 * be found within some seeds, and none without a mistake.
 *
 * Every mistake is tried in a process of its own: a broken protocol may end in an assertion,
 * which is as good as a violation.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "ranges_sim.h"
#include "store/engine/rados/range_work.h"

enum { SEEDS = 1500, SEEDS_WITHOUT = 5, CAUGHT = 1, ASSERTED = 2 };

static const struct {
    const char *name;
    sim_focus focus;
    int first; /* the seed to begin with: the mistake is found soon from there on */
} mutants[TV_MUTANT_RANGES_END] = {
    [TV_MUTANT_NO_SECOND_READ] = {"rows are not looked at again when they are frozen",
                                  SIM_EVERYTHING, 2},
    [TV_MUTANT_NO_MERGE_SECOND_READ] = {"nor those of a merge", SIM_EVERYTHING, 5},
    [TV_MUTANT_NO_MERGE_CLEANING] = {"a merge leaves what lies in the other's bounds",
                                     SIM_EVERYTHING, 49},
    [TV_MUTANT_PUBLISH_UNFROZEN] = {"a split is published before it is frozen", SIM_EVERYTHING},
    [TV_MUTANT_OPEN_B_FIRST] = {"the right half takes writes while the left one still answers",
                                SIM_EVERYTHING, 58},
    [TV_MUTANT_SAME_EPOCH] = {"a rollback gives the old epoch back", SIM_EVERYTHING},
    [TV_MUTANT_NO_CLOCK] = {"a new range's clock starts over", SIM_COUNTERS, 61},
    [TV_MUTANT_NO_GONE_MOVE] = {"nor does it know what is gone", SIM_COUNTERS},
    [TV_MUTANT_CLEAN_UNGUARDED] = {"leftovers are removed whoever merges", SIM_CLEANING, 122},
    [TV_MUTANT_NO_FENCE] = {"a fence that does nothing", SIM_TABLES, 8},
};

/* How a process with this mistake ends. */
static int try(int mutant, sim_focus focus, int first, int seeds)
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        sim_counts counts = {0};

        tv_mutant = mutant;
        for (int i = first; i < first + seeds; i++) {
            const char *violation = sim_run((uint64_t)i, focus, &counts);

            if (*violation == '\0')
                continue;
            printf("# seed %d: %s\n", i, violation);
            fflush(stdout);
            _exit(CAUGHT);
        }
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : ASSERTED;
}

TEST(every_mistake_is_found)
{
    for (int mutant = TV_MUTANT_NONE + 1; mutant < TV_MUTANT_RANGES_END; mutant++) {
        int end;

        t_row = mutants[mutant].name;
        printf("# %s\n", t_row);
        end = try(mutant, mutants[mutant].focus, mutants[mutant].first, SEEDS);
        CHECK(end == CAUGHT || end == ASSERTED);
    }
}

TEST(without_a_mistake_none_is_found)
{
    CHECK_INT(try(TV_MUTANT_NONE, SIM_EVERYTHING, 1, SEEDS_WITHOUT), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_is_found),
        cmocka_unit_test(without_a_mistake_none_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
