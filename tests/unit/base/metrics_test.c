/* The text format of metrics. */
#include "base/metrics.h"

#include "check.h"

TEST(a_name_that_ends_with_total_is_a_counter)
{
    tv_buf out = TV_BUF_EMPTY;

    tv_metric_add(&out, "writes_total", "Writes.", 9007199254740992.0);
    tv_metric_add(&out, "total", "All.", -7);
    CHECK_SLICE(tv_buf_slice(&out), TV_LIT("# HELP tavola_writes_total Writes.\n"
                                           "# TYPE tavola_writes_total counter\n"
                                           "tavola_writes_total 9007199254740992\n"
                                           "# HELP tavola_total All.\n"
                                           "# TYPE tavola_total gauge\n"
                                           "tavola_total -7\n"));
    tv_buf_done(&out);
}

TEST(numbers_are_whole_or_have_15_digits)
{
    tv_buf out = TV_BUF_EMPTY;

    tv_metric_add_of(&out, "share", "of", "a", 0.1);
    tv_metric_add_of(&out, "share", "of", "b", 1e300);
    tv_metric_add_of(&out, "share", "of", "c", 0);
    CHECK_SLICE(tv_buf_slice(&out), TV_LIT("tavola_share{of=\"a\"} 0.1\n"
                                           "tavola_share{of=\"b\"} 1e+300\n"
                                           "tavola_share{of=\"c\"} 0\n"));
    tv_buf_done(&out);
}

TEST(the_buckets_of_a_histogram_add_up)
{
    static const uint64_t slots[] = {1, 0, 2};
    tv_buf out = TV_BUF_EMPTY;

    tv_metric_open_histogram(&out, "s", "Seconds.");
    tv_metric_add_histogram(&out, "s", "op=\"x\"", slots, 3, 0.5, 2.5);
    tv_metric_add_histogram(&out, "s", "", slots, 1, 1, 1);
    CHECK_SLICE(tv_buf_slice(&out), TV_LIT("# HELP tavola_s Seconds.\n"
                                           "# TYPE tavola_s histogram\n"
                                           "tavola_s_bucket{op=\"x\",le=\"0.5\"} 1\n"
                                           "tavola_s_bucket{op=\"x\",le=\"1\"} 1\n"
                                           "tavola_s_bucket{op=\"x\",le=\"+Inf\"} 3\n"
                                           "tavola_s_sum{op=\"x\"} 2.5\n"
                                           "tavola_s_count{op=\"x\"} 3\n"
                                           "tavola_s_bucket{le=\"+Inf\"} 1\n"
                                           "tavola_s_sum{} 1\n"
                                           "tavola_s_count{} 1\n"));
    tv_buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_ends_with_total_is_a_counter),
        cmocka_unit_test(numbers_are_whole_or_have_15_digits),
        cmocka_unit_test(the_buckets_of_a_histogram_add_up),
    };

    return cmocka_run_group_tests_name("base/metrics", tests, NULL, NULL);
}
