/* The latest requests: which are kept, their numbers, and whether somebody looks. */
#include "services/service/recent.h"

#include <string.h>

#include "base/log_ring.h"
#include "check.h"

#define SECOND INT64_C(1000000000)

static tv_recent_query look(tv_recent *recent, uint64_t after, size_t count_max, int64_t now,
                            tv_buf *out)
{
    tv_recent_query query = {.after = after, .count_max = count_max};

    tv_buf_reset(out);
    tv_recent_read(recent, &query, now, out);
    return query;
}

TEST(each_has_its_number_and_is_given_once)
{
    tv_recent *recent = tv_recent_new();
    tv_buf out = TV_BUF_EMPTY;
    tv_recent_query query;

    tv_recent_add(recent, TV_LIT("{\"a\":1}"));
    tv_recent_add(recent, TV_LIT("{\"a\":2}"));
    tv_recent_add(recent, TV_LIT("{\"a\":3}"));
    query = look(recent, 0, 10, SECOND, &out);
    CHECK(tv_slice_eq(tv_buf_slice(&out),
                      TV_LIT("{\"n\":1,\"a\":1},{\"n\":2,\"a\":2},{\"n\":3,\"a\":3}")));
    CHECK_INT(query.first, 1);
    CHECK_INT(query.last, 3);
    look(recent, 2, 10, SECOND, &out);
    CHECK(tv_slice_eq(tv_buf_slice(&out), TV_LIT("{\"n\":3,\"a\":3}")));
    look(recent, 0, 1, SECOND, &out);
    CHECK(tv_slice_eq(tv_buf_slice(&out), TV_LIT("{\"n\":3,\"a\":3}")));
    look(recent, 3, 10, SECOND, &out);
    CHECK_INT(out.len, 0);
    look(recent, UINT64_MAX - 1, 10, SECOND, &out);
    CHECK_INT(out.len, 0);
    tv_buf_done(&out);
    tv_recent_free(recent);
}

TEST(it_is_bounded_and_the_oldest_give_way)
{
    static char object[1000];
    tv_recent *recent = tv_recent_new();
    tv_buf out = TV_BUF_EMPTY;
    tv_recent_query query;

    memset(object, 'x', sizeof object);
    memcpy(object, "{\"a\":\"", 6);
    memcpy(object + sizeof object - 2, "\"}", 2);
    for (int i = 0; i < 5000; i++)
        tv_recent_add(recent, (tv_slice){object, sizeof object});
    query = look(recent, 0, TV_LOG_RING_LINES, SECOND, &out);
    CHECK_INT(query.last, 5000);
    CHECK(query.first > 5000 - TV_LOG_RING_BYTES / sizeof object);
    CHECK(out.len > TV_LOG_RING_BYTES / 2 && out.len < 2 * TV_LOG_RING_BYTES);
    tv_buf_done(&out);
    tv_recent_free(recent);
}

TEST(who_looks_is_told_when_nobody_did_for_a_while)
{
    tv_recent *recent = tv_recent_new();
    tv_buf out = TV_BUF_EMPTY;

    CHECK(look(recent, 0, 1, SECOND, &out).was_off);
    CHECK(!look(recent, 0, 1, (1 + TV_RECENT_LOOKED_S) * SECOND, &out).was_off);
    CHECK(look(recent, 0, 1, (2 + 2 * TV_RECENT_LOOKED_S) * SECOND, &out).was_off);
    tv_buf_done(&out);
    tv_recent_free(recent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_number_and_is_given_once),
        cmocka_unit_test(it_is_bounded_and_the_oldest_give_way),
        cmocka_unit_test(who_looks_is_told_when_nobody_did_for_a_while),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
