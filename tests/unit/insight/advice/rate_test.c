/* The rate of a table, beside what made its traffic: its loads, and what goes on in every hour. */
#include "../../check.h"

#include <math.h>

#include "base/clock.h"
#include "insight/advice/rate.h"

enum { HOUR = 60 };

/* What a table is written by; minutes count from its first request. */
static const struct traffic {
    const char *what;
    double per_second; /* steadily, all the time */
    struct {
        int at, minutes;
        uint32_t writes; /* of each minute */
    } bursts[6];
    double per_hour; /* what goes on: the truth */
    double loads;    /* written by loads */
} traffics[] = {
    {"nothing", .per_hour = 0},
    {"5 a second", .per_second = 5, .per_hour = 18000},
    {"1 a second", .per_second = 1, .per_hour = 3600},
    {"one a minute", .per_second = 1.0 / 60, .per_hour = 60},
    {"2,000 a second", .per_second = 2000, .per_hour = 7200000},
    {"filled in a minute, then only read", .bursts = {{0, 1, 306}}, .per_hour = 0, .loads = 306},
    {"filled in two minutes", .bursts = {{0, 2, 1800}}, .per_hour = 0, .loads = 3600},
    {"filled twice", .bursts = {{0, 1, 3600}, {2, 1, 3600}}, .per_hour = 0, .loads = 7200},
    {"filled, then 1 a second", .per_second = 1, .bursts = {{0, 1, 18000}}, .per_hour = 3600,
     .loads = 18060},
    {"filled a little, then 1 a second", .per_second = 1, .bursts = {{0, 1, 600}},
     .per_hour = 3600, .loads = 660},
    {"filled, then one a minute", .per_second = 1.0 / 60, .bursts = {{0, 1, 3600}}, .per_hour = 60,
     .loads = 3601},
    {"a thousand every ten minutes",
     .bursts = {{0, 1, 1000}, {10, 1, 1000}, {20, 1, 1000}, {30, 1, 1000}, {40, 1, 1000},
                {50, 1, 1000}},
     .per_hour = 6000},
    {"the same, and 5 a second",
     .per_second = 5,
     .bursts = {{0, 1, 3000}, {10, 1, 3000}, {20, 1, 3000}, {30, 1, 3000}, {40, 1, 3000},
                {50, 1, 3000}},
     .per_hour = 36000},
};

static uint32_t writes_in(const struct traffic *traffic, int minute)
{
    double before = traffic->per_second * 60 * minute, after = before + traffic->per_second * 60;
    uint32_t writes = (uint32_t)(floor(after + 1e-6) - floor(before + 1e-6));

    for (size_t i = 0; i < 6; i++) {
        int at = minute - traffic->bursts[i].at;

        if (at >= 0 && at < traffic->bursts[i].minutes)
            writes += traffic->bursts[i].writes;
    }
    return writes;
}

/* The rate after so many minutes of traffic that began in the middle of one of the clock, on a
 * server that is an hour old.  All of a minute's writes come as it begins. */
static tv_table_rate rate_after(const struct traffic *traffic, int minutes)
{
    const int64_t minute = 60 * TV_TICKS_PER_SECOND, begin = 100 * minute + minute / 2;
    tv_evidence evidence = {.from_ticks = 50 * minute, .to_ticks = begin + minutes * minute};
    tv_evidence_table table = {.first_ticks = begin, .minute_count = TV_EVIDENCE_MINUTES};
    int newest = TV_EVIDENCE_MINUTES - 1;

    for (int i = 0; i < minutes; i++) {
        table.writes += writes_in(traffic, i);
        if (newest - minutes + i >= 0)
            table.writes_by_minute[newest - minutes + i] = writes_in(traffic, i);
    }
    table.inserts = table.writes;
    return tv_table_rate_of(&evidence, &table);
}

TEST(an_hour_is_told_of_what_goes_on_without_loads)
{
    for (size_t i = 0; i < sizeof traffics / sizeof traffics[0]; i++) {
        tv_table_rate rate = rate_after(&traffics[i], HOUR);

        t_row = traffics[i].what;
        CHECK(rate.has_hourly);
        CHECK_INT(rate.load_writes, traffics[i].loads);
        CHECK(fabs(rate.writes_per_hour - traffics[i].per_hour) <= 0.02 * traffics[i].per_hour);
        CHECK(fabs(rate.inserts_per_second * rate.seconds - rate.writes) < 0.5);
    }
}

/* At every minute: nothing of an hour too soon; and a load, once it has ended, is never part of it.
 */
TEST(a_load_is_never_taken_for_an_hour)
{
    for (size_t i = 0; i < sizeof traffics / sizeof traffics[0]; i++) {
        for (int minutes = 1; minutes <= HOUR; minutes++) {
            tv_table_rate rate = rate_after(&traffics[i], minutes);

            t_row = traffics[i].what;
            CHECK_INT(rate.has_hourly, minutes >= 10);
            if (minutes < 10)
                CHECK(rate.writes_per_hour == 0);
            else if (traffics[i].loads > 0) /* these end in the third minute */
                CHECK(fabs(rate.writes_per_hour - traffics[i].per_hour) <=
                      0.02 * traffics[i].per_hour + 1e-6);
        }
    }
}

TEST(an_average_is_over_the_time_since_the_first_request)
{
    tv_evidence evidence = {.to_ticks = 3600 * TV_TICKS_PER_SECOND};
    tv_evidence_table table = {.first_ticks = 3000 * TV_TICKS_PER_SECOND,
                               .inserts = 1200,
                               .writes = 1200,
                               .rate = {.units = 2400, .sustained_per_second = 7}};
    tv_table_rate rate = tv_table_rate_of(&evidence, &table);

    CHECK(rate.from_ticks == table.first_ticks && rate.seconds == 600);
    CHECK(rate.units_per_second == 4 && rate.inserts_per_second == 2);
    CHECK(rate.lasting_per_second == 7);
    CHECK(!rate.has_hourly); /* of a run minutes are not known */

    table.first_ticks = evidence.to_ticks - 1; /* a moment is no rate */
    CHECK(tv_table_rate_of(&evidence, &table).inserts_per_second == 120);

    evidence.from_ticks = evidence.to_ticks - 1800 * TV_TICKS_PER_SECOND;
    table.first_ticks = 1; /* before the window */
    CHECK(tv_table_rate_of(&evidence, &table).seconds == 1800);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_hour_is_told_of_what_goes_on_without_loads),
        cmocka_unit_test(a_load_is_never_taken_for_an_hour),
        cmocka_unit_test(an_average_is_over_the_time_since_the_first_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
