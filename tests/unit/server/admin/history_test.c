/* What is kept of the metrics: sums by one label, for as many points as there is room for. */
#include "server/admin/history.h"

#include "base/buf.h"
#include "check.h"

static tv_buf out;

static tv_slice written(tv_history *history, int64_t after_ms)
{
    tv_buf_done(&out);
    out = TV_BUF_EMPTY;
    tv_history_write(history, after_ms, 99, &out);
    return tv_buf_slice(&out);
}

static bool has(tv_slice text, const char *part)
{
    return memmem(text.data, text.len, part, strlen(part)) != NULL;
}

TEST(samples_are_summed_by_the_label_that_is_kept)
{
    tv_history *history = tv_history_new_idle(0);
    tv_slice text;

    tv_history_add(
        history, 1000,
        TV_LIT("# HELP tavola_requests_total Finished requests.\n"
               "tavola_requests_total{service=\"table\",operation=\"A\",status=\"200\"} 3\n"
               "tavola_requests_total{service=\"table\",operation=\"B\",status=\"412\"} 4\n"
               "tavola_requests_total{service=\"blob\",operation=\"A\",status=\"200\"} 5\n"
               "tavola_resident_bytes 4096\n"
               "tavola_commit_seconds_bucket{le=\"+Inf\"} 7\n"
               "tavola_something_else{service=\"table\"} 9\n"
               "tavola_commit_seconds_sum{} 0.5\n"
               "tavola_resident_bytes\n"));
    text = written(history, 0);
    CHECK(has(text, "{\"nowMs\":99,\"everyMs\":10000,\"series\":["
                    "\"tavola_requests_total{service=\\\"table\\\"}\","
                    "\"tavola_requests_total{status=\\\"200\\\"}\","
                    "\"tavola_requests_total{status=\\\"412\\\"}\","
                    "\"tavola_requests_total{service=\\\"blob\\\"}\","
                    "\"tavola_resident_bytes\","
                    "\"tavola_commit_seconds_bucket{le=\\\"+Inf\\\"}\"]"));
    CHECK(has(text, "\"points\":[[1000,7,8,4,5,4096,7]]}"));
    tv_history_free(history);
}

TEST(a_series_that_comes_later_is_not_in_earlier_points)
{
    tv_history *history = tv_history_new_idle(5);

    tv_history_add(history, 10, TV_LIT("tavola_commit_groups_total 1\n"));
    tv_history_add(history, 20,
                   TV_LIT("tavola_commit_writes_total 8\ntavola_commit_groups_total 2.5\n"));
    CHECK(has(written(history, 0), "\"points\":[[10,1],[20,2.5,8]]}"));
    CHECK(has(written(history, 10), "\"points\":[[20,2.5,8]]}"));
    CHECK(has(written(history, 20), "\"points\":[]}"));
    tv_history_free(history);
}

/* Else a rate between two of them would be a division by no time. */
TEST(no_two_points_are_of_one_time)
{
    tv_history *history = tv_history_new_idle(5);

    tv_history_add(history, 10, TV_LIT("tavola_commit_groups_total 1\n"));
    tv_history_add(history, 20, TV_LIT("tavola_commit_groups_total 2\n"));
    tv_history_add(history, 20, TV_LIT("tavola_commit_groups_total 3\n"));
    CHECK(has(written(history, 0), "\"points\":[[10,1],[20,3]]}"));
    tv_history_add(history, 15, TV_LIT("tavola_commit_groups_total 4\n"));
    CHECK(has(written(history, 0), "\"points\":[[10,1],[15,4]]}"));
    tv_history_free(history);
}

TEST(the_oldest_points_make_room)
{
    tv_history *history = tv_history_new_idle(1);
    tv_slice text;

    for (int i = 1; i <= TV_HISTORY_POINTS + 2; i++)
        tv_history_add(history, i, TV_LIT("tavola_extent_bytes 1\n"));
    text = written(history, 0);
    CHECK(has(text, "\"points\":[[3,1],[4,1],"));
    CHECK(has(text, "[362,1]]}"));
    tv_history_free(history);
}

TEST(there_are_no_more_series_than_there_is_room_for)
{
    tv_history *history = tv_history_new_idle(1);
    tv_buf text = TV_BUF_EMPTY;

    for (int i = 0; i < 500; i++)
        tv_buf_printf(&text, "tavola_requests_total{service=\"s%d\"} 1\n", i);
    tv_history_add(history, 1, tv_buf_slice(&text));
    tv_buf_done(&text);
    CHECK(has(written(history, 0), "service=\\\"s127\\\"}\"]"));
    tv_history_free(history);
    tv_buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_summed_by_the_label_that_is_kept),
        cmocka_unit_test(a_series_that_comes_later_is_not_in_earlier_points),
        cmocka_unit_test(no_two_points_are_of_one_time),
        cmocka_unit_test(the_oldest_points_make_room),
        cmocka_unit_test(there_are_no_more_series_than_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
