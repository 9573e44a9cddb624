/* Waiting to batch more writes: when, for how many, how long. */
#include "check.h"

#include "store/commit/gather.h"

enum { FAST_NS = 100 * 1000, SLOW_NS = 2 * 1000 * 1000 };

/* As after many groups of `count` that took `commit_ns` each. */
static tv_gather settled(size_t count, int64_t commit_ns)
{
    return (tv_gather){.last_count = count, .commit_ns = commit_ns};
}

static const struct {
    const char *what;
    size_t last_count;
    int64_t commit_ns;
    size_t queued, wanted;
} cases[] = {
    {"the first group of all", 0, 0, 0, 1},
    {"a lone client does not wait for others", 1, SLOW_NS, 0, 1},
    {"two clients that alternate are brought together", 1, SLOW_NS, 1, 2},
    {"half a crowd waits for the other half", 8, SLOW_NS, 8, 16},
    {"all were answered at once: wait for all", 16, SLOW_NS, 0, 16},
    {"a fast disk is not waited for", 8, FAST_NS, 8, 1},
};

TEST(a_committer_waits_for_those_it_has_just_answered)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tv_gather gather = settled(cases[i].last_count, cases[i].commit_ns);

        t_row = cases[i].what;
        CHECK_INT(tv_gather_wanted(&gather, cases[i].queued), cases[i].wanted);
    }
}

TEST(patience_is_half_a_commit_and_at_most_a_millisecond)
{
    tv_gather gather = settled(8, 600 * 1000);

    CHECK_INT(tv_gather_patience_ns(&gather), 300 * 1000);
    gather.commit_ns = INT64_C(60) * 1000 * 1000 * 1000;
    CHECK_INT(tv_gather_patience_ns(&gather), 1000 * 1000);
}

TEST(shared_storage_is_waited_for_longer)
{
    tv_gather gather = {.is_shared = true, .last_count = 8, .commit_ns = 6 * 1000 * 1000};

    CHECK_INT(tv_gather_patience_ns(&gather), 3 * 1000 * 1000);
    gather.commit_ns = INT64_C(60) * 1000 * 1000 * 1000;
    CHECK_INT(tv_gather_patience_ns(&gather), 4 * 1000 * 1000);
}

TEST(shared_storage_is_tried_again_sooner)
{
    tv_gather gather = {.is_shared = true, .last_count = 8, .commit_ns = SLOW_NS};

    tv_gather_learn(&gather, 16, 9, SLOW_NS);
    for (int i = 0; i < 10; i++)
        tv_gather_learn(&gather, 1, 8, SLOW_NS);
    CHECK_INT(tv_gather_wanted(&gather, 8), 16);
}

TEST(after_a_wait_in_vain_it_does_not_wait_for_a_while)
{
    tv_gather gather = settled(8, SLOW_NS);
    int groups = 0;

    tv_gather_learn(&gather, 16, 9, SLOW_NS);
    while (tv_gather_wanted(&gather, 8) == 1) {
        tv_gather_learn(&gather, 1, 8, SLOW_NS);
        CHECK(++groups < 1000);
    }
    CHECK(groups > 10);
}

TEST(it_learns_that_a_disk_became_fast)
{
    tv_gather gather = settled(8, SLOW_NS);

    for (int i = 0; i < 100; i++)
        tv_gather_learn(&gather, 16, 16, FAST_NS);
    CHECK_INT(tv_gather_wanted(&gather, 8), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_committer_waits_for_those_it_has_just_answered),
        cmocka_unit_test(patience_is_half_a_commit_and_at_most_a_millisecond),
        cmocka_unit_test(shared_storage_is_waited_for_longer),
        cmocka_unit_test(shared_storage_is_tried_again_sooner),
        cmocka_unit_test(after_a_wait_in_vain_it_does_not_wait_for_a_while),
        cmocka_unit_test(it_learns_that_a_disk_became_fast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
