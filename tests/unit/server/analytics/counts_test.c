/* Counts become rows, and rows become counts again. */
#include "server/analytics/counts.h"

#include "check.h"
#include "random.h"

static tv_arena arena;

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_arena_done(&arena);
    return 0;
}

static const tv_property *column(const tv_entity_properties *row, const char *name)
{
    for (size_t i = 0; i < row->count; i++) {
        if (tv_slice_eq(row->list[i].name, tv_slice_of(name)))
            return &row->list[i];
    }
    CHECK_FAIL("no column %s", name);
    return NULL;
}

static tv_analytics_counts again(const tv_analytics_counts *counts)
{
    tv_entity_properties row = tv_analytics_counts_encode(&arena, counts);
    tv_analytics_counts decoded;

    CHECK_OK(tv_analytics_counts_decode(tv_entity_encode(&arena, &row), &decoded));
    return decoded;
}

TEST(a_row_has_38_columns_and_their_values)
{
    tv_analytics_counts counts = {0};

    for (int i = 0; i < 6; i++)
        tv_analytics_count(&counts, &(tv_analytics_request){.result = TV_ANALYTICS_SUCCESS,
                                                            .auth = TV_ANALYTICS_KEY,
                                                            .ingress = 100,
                                                            .egress = 1000,
                                                            .total_us = 1500,
                                                            .server_us = 500});
    tv_analytics_count(&counts, &(tv_analytics_request){.result = TV_ANALYTICS_SERVER_OTHER,
                                                        .auth = TV_ANALYTICS_SAS,
                                                        .total_us = 99});
    tv_analytics_count(&counts, &(tv_analytics_request){.result = TV_ANALYTICS_THROTTLING,
                                                        .auth = TV_ANALYTICS_KEY});

    tv_entity_properties row = tv_analytics_counts_encode(&arena, &counts);

    CHECK_INT(row.count, 38);
    CHECK_INT(column(&row, "TotalRequests")->int64, 8);
    CHECK_INT(column(&row, "TotalBillableRequests")->int64, 6);
    CHECK_INT(column(&row, "TotalIngress")->int64, 600);
    CHECK_INT(column(&row, "TotalEgress")->int64, 6000);
    CHECK_INT(column(&row, "SASServerOtherError")->int64, 1);
    CHECK_INT(column(&row, "Success")->int64, 6);
    CHECK(column(&row, "AverageE2ELatency")->real == 1.5);
    CHECK(column(&row, "AverageServerLatency")->real == 0.5);
    CHECK(column(&row, "Availability")->real == 100.0 * 6 / 7);
    CHECK(column(&row, "PercentSuccess")->real == 75);
    CHECK(column(&row, "PercentThrottlingError")->real == 12.5);
    CHECK(column(&row, "PercentTimeoutError")->real == 0);
}

TEST(nothing_asked_is_all_there_and_no_success)
{
    tv_analytics_counts counts = {0};
    tv_entity_properties row = tv_analytics_counts_encode(&arena, &counts);

    CHECK(column(&row, "Availability")->real == 100);
    CHECK(column(&row, "PercentSuccess")->real == 0);
    CHECK(column(&row, "AverageE2ELatency")->real == 0);
}

TEST(rows_add_up_to_the_last_microsecond)
{
    tv_analytics_counts all = {0}, stored = {0};

    t_random_seed(20261117);
    for (int i = 0; i < 2000; i++) {
        tv_analytics_request request = {
            .result = (tv_analytics_result)(t_random() % TV_ANALYTICS_RESULTS),
            .auth = (tv_analytics_auth)(t_random() % TV_ANALYTICS_AUTHS),
            .ingress = (int64_t)(t_random() % (1 << 30)),
            .egress = (int64_t)(t_random() % (1 << 30)),
            .total_us = (int64_t)(t_random() % (1 << 30)),
            .server_us = (int64_t)(t_random() % (1 << 20)),
        };
        tv_analytics_counts one = {0};

        tv_analytics_count(&all, &request);
        tv_analytics_count(&one, &request);
        stored = again(&stored);
        tv_analytics_counts_add(&stored, &one);
    }
    stored = again(&stored);
    CHECK(memcmp(&all, &stored, sizeof all) == 0);
}

TEST(no_stored_number_overflows)
{
    tv_analytics_counts huge = {.ingress = INT64_MAX, .total_us = INT64_MAX};

    for (int i = 0; i < TV_ANALYTICS_RESULTS; i++) {
        for (int k = 0; k < TV_ANALYTICS_AUTHS; k++)
            huge.requests[i][k] = k ? INT64_MAX : INT64_MIN;
    }
    tv_analytics_counts_add(&huge, &huge);
    CHECK(tv_analytics_counts_requests(&huge) > 0);
    again(&huge);
}

TEST(a_row_of_something_else_counts_nothing)
{
    tv_property list[] = {{.name = TV_LIT("Success"), .type = TV_EDM_STRING, .bytes = TV_LIT("x")},
                          {.name = TV_LIT("TotalIngress"), .type = TV_EDM_DOUBLE, .real = 1e300}};
    tv_entity_properties row = {list, 2};
    tv_analytics_counts counts;

    CHECK_OK(tv_analytics_counts_decode(tv_entity_encode(&arena, &row), &counts));
    CHECK_INT(tv_analytics_counts_requests(&counts), 0);
    CHECK_INT(counts.ingress, 0);
    CHECK_ERR(tv_analytics_counts_decode(TV_LIT("not an entity at all"), &counts), TV_ERR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_has_38_columns_and_their_values),
        cmocka_unit_test(nothing_asked_is_all_there_and_no_success),
        cmocka_unit_test(rows_add_up_to_the_last_microsecond),
        cmocka_unit_test(no_stored_number_overflows),
        cmocka_unit_test(a_row_of_something_else_counts_nothing),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
