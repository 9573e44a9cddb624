/* One bucket, with a clock of the test's own. */
#include "model/targets/bucket.h"

#include "check.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

/* Any instant will do for the beginning. */
#define START (INT64_C(5000) * SECOND)

/* How many units of one each go through from `from_ns` to `to_ns`, tried every `step_ns`. */
static uint64_t pass(tv_bucket *bucket, uint64_t rate, int64_t from_ns, int64_t to_ns,
                     int64_t step_ns)
{
    uint64_t passed = 0;
    int64_t wait_ns;

    for (int64_t now = from_ns; now < to_ns; now += step_ns) {
        if (!tv_bucket_has_room(bucket, now, &wait_ns))
            continue;
        tv_bucket_charge(bucket, rate, 1, now);
        passed++;
    }
    return passed;
}

/* So many units at once until there is no room. */
static uint64_t burst(tv_bucket *bucket, uint64_t rate, int64_t now, uint64_t tries)
{
    uint64_t passed = 0;
    int64_t wait_ns;

    while (tries-- && tv_bucket_has_room(bucket, now, &wait_ns)) {
        tv_bucket_charge(bucket, rate, 1, now);
        passed++;
    }
    return passed;
}

TEST(whoever_asks_for_more_gets_the_rate_and_one_burst)
{
    static const uint64_t rates[] = {1, 3, 7, 500, 2000, 20000};

    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        tv_bucket bucket = {0};
        uint64_t rate = rates[i];
        /* Ten times the rate, for ten seconds. */
        uint64_t passed =
            pass(&bucket, rate, START, START + 10 * SECOND, SECOND / (int64_t)(10 * rate));

        CHECK(passed >= 11 * rate && passed <= 11 * rate + 2);
    }
}

TEST(whoever_stays_below_the_rate_is_never_refused)
{
    tv_bucket bucket = {0};

    CHECK_INT(pass(&bucket, 2000, START, START + 20 * SECOND, SECOND / 1990), 20 * 1990 + 1);
}

TEST(a_burst_is_one_second_and_comes_back_with_time)
{
    tv_bucket bucket = {0};

    CHECK_INT(burst(&bucket, 2000, START, 10000), 2001);
    CHECK_INT(burst(&bucket, 2000, START, 10000), 0);
    CHECK_INT(burst(&bucket, 2000, START + 100 * MS, 10000), 200);
    CHECK_INT(burst(&bucket, 2000, START + 60 * SECOND, 10000), 2001);
}

TEST(debt_is_worked_off_and_capped)
{
    tv_bucket bucket = {0};
    int64_t wait_ns = 0;

    /* A page of 3,000 units is let in, since the bucket is empty, and keeps others out. */
    tv_bucket_charge(&bucket, 2000, 3000, START);
    CHECK(!tv_bucket_has_room(&bucket, START, &wait_ns));
    CHECK_INT(wait_ns, 500 * MS);
    CHECK(!tv_bucket_has_room(&bucket, START + 499 * MS, &wait_ns));
    CHECK(tv_bucket_has_room(&bucket, START + 500 * MS, &wait_ns));

    for (int i = 0; i < 1000; i++)
        tv_bucket_charge(&bucket, 2000, INT64_MAX, START);
    CHECK(!tv_bucket_has_room(&bucket, START, &wait_ns));
    CHECK_INT(wait_ns, TV_BUCKET_DEBT_MAX_NS);
    CHECK(tv_bucket_has_room(&bucket, START + TV_BUCKET_DEBT_MAX_NS, &wait_ns));
}

TEST(what_is_given_back_can_be_used_again)
{
    tv_bucket bucket = {0};

    tv_bucket_charge(&bucket, 2000, 2001, START);
    CHECK_INT(burst(&bucket, 2000, START, 10), 0);
    tv_bucket_charge(&bucket, 2000, -2000, START);
    CHECK_INT(burst(&bucket, 2000, START, 10000), 2000);
    CHECK(!tv_bucket_is_empty(&bucket, START));
    tv_bucket_charge(&bucket, 2000, -2001, START);
    CHECK(tv_bucket_is_empty(&bucket, START));
}

TEST(a_clock_that_goes_back_shuts_nobody_out)
{
    tv_bucket bucket = {0};
    int64_t wait_ns = 0;

    CHECK_INT(burst(&bucket, 2000, START, 10000), 2001);
    CHECK(!tv_bucket_has_room(&bucket, START - 3600 * SECOND, &wait_ns));
    CHECK_INT(wait_ns, TV_BUCKET_DEBT_MAX_NS);
    tv_bucket_charge(&bucket, 2000, 1, START - 3600 * SECOND);
    CHECK(tv_bucket_has_room(&bucket, START - 3598 * SECOND, &wait_ns));
    tv_bucket_ask(&bucket, 7, START);
    tv_bucket_ask(&bucket, 5, START - 3600 * SECOND);
    CHECK_INT(tv_bucket_rate(&bucket, START - 3600 * SECOND), 5);
}

TEST(the_rate_is_what_was_asked_for_in_the_last_second)
{
    tv_bucket bucket = {0};

    CHECK_INT(tv_bucket_rate(&bucket, START), 0);
    for (int64_t now = START; now < START + 5 * SECOND; now += SECOND / 500)
        tv_bucket_ask(&bucket, 6, now);

    uint64_t rate = tv_bucket_rate(&bucket, START + 5 * SECOND);

    CHECK(rate >= 2990 && rate <= 3010);
    CHECK_INT(tv_bucket_rate(&bucket, START + 7 * SECOND), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_asks_for_more_gets_the_rate_and_one_burst),
        cmocka_unit_test(whoever_stays_below_the_rate_is_never_refused),
        cmocka_unit_test(a_burst_is_one_second_and_comes_back_with_time),
        cmocka_unit_test(debt_is_worked_off_and_capped),
        cmocka_unit_test(what_is_given_back_can_be_used_again),
        cmocka_unit_test(a_clock_that_goes_back_shuts_nobody_out),
        cmocka_unit_test(the_rate_is_what_was_asked_for_in_the_last_second),
    };

    return cmocka_run_group_tests_name("targets/bucket", tests, NULL, NULL);
}
