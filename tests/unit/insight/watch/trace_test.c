/* Traces: what is written can be read, and what finds no room is counted. */
#include "insight/watch/trace.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/number.h"
#include "check.h"
#include "model/odata/filter.h"
#include "model/odata/plan.h"

static char path[] = "/tmp/tavola-trace-XXXXXX";
static tv_arena arena;

static int setup(void **state)
{
    int fd = mkstemp(path);

    close(fd);
    tv_arena_init(&arena);
    return fd < 0;
}

static int teardown(void **state)
{
    tv_arena_done(&arena);
    unlink(path);
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    return 0;
}

static tv_watch_trace *begin(tv_watch_trace_values values, size_t memory)
{
    char why[200];
    tv_watch_trace *trace = tv_watch_trace_open(
        &(tv_watch_trace_options){.path = path, .values = values, .memory = memory}, why,
        sizeof why);

    CHECK(trace != NULL);
    return trace;
}

/* Read the file: how many requests it has, and how many were lost; the last of them. */
static uint64_t read_back(tv_watch_traced *ret_last, uint64_t *ret_lost)
{
    FILE *file = fopen(path, "r");
    char *text = NULL, why[200];
    size_t size = 0;
    uint64_t count = 0;
    ssize_t len;
    bool is_head = true;

    *ret_lost = 0;
    while ((len = getline(&text, &size, file)) > 0) {
        tv_slice line = tv_arena_dup(&arena, (tv_slice){text, (size_t)len - 1});
        tv_watch_trace_head head;
        tv_watch_traced request;

        if (is_head) {
            CHECK(tv_watch_trace_read_head(&arena, line, &head, why, sizeof why));
            is_head = false;
            continue;
        }
        CHECK(tv_watch_trace_read_line(&arena, line, &request));
        *ret_lost += request.lost;
        if (request.event.op < TV_ENTITY_OP_COUNT) {
            *ret_last = request;
            count++;
        }
    }
    free(text);
    fclose(file);
    return count;
}

static tv_filter *filter_of(const char *text)
{
    tv_error_info info = {0};
    tv_filter *filter = NULL;

    CHECK(tv_filter_parse(&arena, tv_slice_of(text), &filter, &info) == TV_OK);
    return filter;
}

TEST(what_the_recorder_is_told_comes_back)
{
    tv_filter *filter = filter_of("PartitionKey eq 'p' and Age gt 5");
    tv_shape shape = tv_shape_make(&arena, filter, true, true);
    tv_watch_event event = {.op = TV_ENTITY_OP_QUERY_ENTITIES,
                            .status = 200,
                            .duration_ns = 5000,
                            .bytes_out = 77,
                            .request_id = 9,
                            .source = TV_LIT("a.c:7"),
                            .query = {.filter = filter,
                                      .plan = TV_PLAN_PARTITION,
                                      .end = TV_PAGE_END_TOP,
                                      .has_residual = true,
                                      .has_top = true,
                                      .top = 3,
                                      .select = TV_LIT("Age"),
                                      .range_count = 1,
                                      .examined = 40,
                                      .returned = 3,
                                      .first = 2,
                                      .last = 40,
                                      .token_out = 5,
                                      .partition = TV_LIT("p")}};
    tv_watch_trace *trace = begin(TV_WATCH_TRACE_FULL, 0);
    tv_watch_traced last;
    uint64_t lost;

    tv_watch_trace_add(trace, TV_LIT("acct"), TV_LIT("People"), &event);
    tv_watch_trace_close(trace);
    CHECK_INT(read_back(&last, &lost), 1);
    CHECK_INT(lost, 0);
    CHECK(tv_slice_eq(last.account, TV_LIT("acct")) && tv_slice_eq(last.table, TV_LIT("People")));
    CHECK(last.has_shape && last.shape.fingerprint == shape.fingerprint);
    CHECK(tv_slice_eq(last.shape.text, shape.text) && last.shape.flags == shape.flags);
    CHECK_INT(last.shape.comparisons, 2);
    CHECK(last.event.op == event.op && last.event.status == 200 && last.event.bytes_out == 77);
    CHECK(last.event.request_id == 9 && tv_slice_eq(last.event.source, event.source));
    CHECK(last.event.query.plan == TV_PLAN_PARTITION && last.event.query.end == TV_PAGE_END_TOP);
    CHECK(last.event.query.has_residual && last.event.query.has_top && last.event.query.top == 3);
    CHECK(last.event.query.examined == 40 && last.event.query.returned == 3);
    CHECK(last.event.query.first == 2 && last.event.query.last == 40);
    CHECK(last.event.query.token_in == 0 && last.event.query.token_out == 5);
    CHECK(tv_slice_eq(last.event.query.select, TV_LIT("Age")));
    CHECK(tv_slice_eq(last.event.query.partition, TV_LIT("p")));
}

TEST(keys_come_back_as_they_are_stored)
{
    tv_property sent = {.name = TV_LIT("Age"), .type = TV_EDM_INT32};
    tv_watch_key key = {.key = TV_LIT("p\x01r"),
                        .partition_len = 1,
                        .op = TV_ENTITY_OP_MERGE_ENTITY,
                        .outcome = TV_WATCH_CONFLICT,
                        .condition = TV_WATCH_IF_ETAG,
                        .units = 2,
                        .bytes = 1500,
                        .age_s = 60,
                        .sent = &sent,
                        .sent_count = 1};
    tv_watch_event event = {
        .op = TV_ENTITY_OP_MERGE_ENTITY, .status = 412, .keys = &key, .key_count = 1};
    tv_watch_trace *trace = begin(TV_WATCH_TRACE_FULL, 0);
    tv_watch_traced last;
    uint64_t lost;

    tv_watch_trace_add(trace, TV_LIT("acct"), TV_LIT("People"), &event);
    tv_watch_trace_close(trace);
    CHECK_INT(read_back(&last, &lost), 1);
    CHECK_INT(last.event.key_count, 1);
    CHECK(tv_slice_eq(last.keys[0].key, key.key) && last.keys[0].partition_len == 1);
    CHECK(last.keys[0].op == key.op && last.keys[0].outcome == key.outcome);
    CHECK(last.keys[0].condition == key.condition && last.keys[0].units == 2);
    CHECK(last.keys[0].bytes == 1500 && last.keys[0].age_s == 60);
}

TEST(what_finds_no_room_is_counted)
{
    enum { REQUESTS = 2000, MEMORY = 1000 };
    tv_watch_event event = {.op = TV_ENTITY_OP_QUERY_ENTITY, .status = 404};
    tv_watch_trace *trace = begin(TV_WATCH_TRACE_HASH, MEMORY);
    tv_watch_traced last;
    uint64_t lost, count;

    for (int i = 0; i < REQUESTS; i++)
        tv_watch_trace_add(trace, TV_LIT("acct"), TV_LIT("People"), &event);
    tv_watch_trace_close(trace);
    count = read_back(&last, &lost);
    CHECK(count > 0);
    CHECK_INT(count + lost, REQUESTS);
}

TEST(a_file_that_cannot_be_written_is_told)
{
    char why[200] = "";

    CHECK(tv_watch_trace_open(&(tv_watch_trace_options){.path = "/dev/full"}, why, sizeof why) ==
          NULL);
    CHECK(strstr(why, "cannot write the trace /dev/full") != NULL);
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(what_the_recorder_is_told_comes_back),
        ONE(keys_come_back_as_they_are_stored),
        ONE(what_finds_no_room_is_counted),
        ONE(a_file_that_cannot_be_written_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
