/* The heap of timers against a list that is searched. */
#include "client/op/timers.h"

#include "check.h"

enum { COUNT = 300, STEPS = 60000 };

static void check_first(const tvc_timers *timers, const tvc_timer *all)
{
    int64_t earliest = INT64_MAX;
    bool is_empty = true;

    for (int i = 0; i < COUNT; i++) {
        if (all[i].is_set && all[i].at_ns <= earliest) {
            earliest = all[i].at_ns;
            is_empty = false;
        }
    }
    CHECK_INT(timers->first == NULL, is_empty);
    if (timers->first) {
        CHECK(timers->first->is_set);
        CHECK_INT(timers->first->at_ns, earliest);
    }
}

TEST(the_first_is_always_the_earliest)
{
    static tvc_timer all[COUNT];
    tvc_timers timers = {0};
    unsigned seed = 1;

    for (int i = 0; i < STEPS; i++) {
        tvc_timer *timer = &all[rand_r(&seed) % COUNT];

        switch (rand_r(&seed) % 4) {
        case 0:
            tvc_timers_remove(&timers, timer);
            CHECK(!timer->is_set);
            break;
        case 1:
            if (timers.first)
                tvc_timers_remove(&timers, timers.first);
            break;
        case 2: /* later than all before, as deadlines are */
            tvc_timers_set(&timers, timer, 1000 + i);
            break;
        default:
            tvc_timers_set(&timers, timer, rand_r(&seed) % 50000);
        }
        check_first(&timers, all);
    }
}

/* Many deadlines in their order, and the first goes first: nothing may take long or recurse. */
TEST(a_long_row_is_no_burden)
{
    enum { MANY = 200000 };
    tvc_timer *all = calloc(MANY, sizeof *all);
    tvc_timers timers = {0};

    for (int i = 0; i < MANY; i++)
        tvc_timers_set(&timers, &all[i], i);
    for (int i = 0; i < MANY; i++) {
        CHECK(timers.first == &all[i]);
        tvc_timers_remove(&timers, &all[i]);
    }
    CHECK(timers.first == NULL);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_always_the_earliest),
        cmocka_unit_test(a_long_row_is_no_burden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
