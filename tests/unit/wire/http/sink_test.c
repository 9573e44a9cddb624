/* Bodies that go to a sink: pieces, pauses, early answers, and clients that go. */
#include "wire/http/flow.h"

enum { READ_BYTES_MAX = 64 * 1024, MIB = 1024 * 1024 };

static const struct {
    const char *what, *path;
    size_t len, chunk;
} bodies[] = {
    {"with a length", "/take", 3 * MIB, 0},
    {"one byte", "/take", 1, 0},
    {"empty with a length", "/take", 0, 0},
    {"chunked", "/take", MIB, 100 * 1000},
    {"in chunks of a few bytes", "/take", 20 * 1000, 7},
    {"chunked and empty", "/take", 0, 1},
    {"with pauses", "/pause?100000", 3 * MIB, 0},
    {"with a pause at every piece", "/pause?1", 3 * MIB, 0},
    {"chunked with pauses", "/pause?5000", MIB, 1000},
    {"chunked with a pause at every piece", "/pause?1", 1000, 7},
    {"one byte and a pause before the end", "/pause?1", 1, 0},
    {"nothing to pause for", "/pause?1", 0, 1},
};

/* Each twice in a row without waiting for the answer: the second follows the first in the input. */
TEST(a_body_arrives_whole_and_the_next_request_waits_for_it)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        tv_buf body = TV_BUF_EMPTY;

        t_row = bodies[i].what;
        flow_fill(&body, i, bodies[i].len);
        for (int k = 0; k < 2; k++)
            flow_send(&c, bodies[i].path, tv_buf_slice(&body), bodies[i].chunk);
        for (int k = 0; k < 2; k++)
            client_expect(&c, 200, flow_receipt(tv_buf_slice(&body)));
        wait_for(&s->done, 2 * (int)(i + 1));
        CHECK_INT(atomic_load(&flow_in), bodies[i].len);
        tv_buf_done(&body);
    }
    CHECK(atomic_load(&flow_pauses) > 1000 / 7);
    CHECK(atomic_load(&flow_waiting_max) <= READ_BYTES_MAX);
    client_close(&c);
    server_end(s);
}

TEST(while_a_sink_is_paused_the_rest_stays_with_the_client)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);
    tv_buf body = TV_BUF_EMPTY;
    size_t len = 64 * MIB, sent;

    client_send(&c, "PUT /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 67108864\r\n\r\n");
    memset(tv_buf_reserve(&body, len), 'x', len);
    body.len = len;
    sent = client_fill(&c, s, tv_buf_slice(&body));
    CHECK(sent < len);
    server_release(s);
    client_send_slice(&c, tv_slice_skip(tv_buf_slice(&body), sent));
    answer a = client_answer(&c);

    CHECK_INT(a.status, 200);
    CHECK(tv_slice_starts_with(a.body, TV_LIT("67108864 ")));
    CHECK(atomic_load(&flow_waiting_max) <= READ_BYTES_MAX);
    tv_buf_done(&body);
    client_close(&c);
    server_end(s);
}

static const struct {
    const char *what, *text;
    bool is_reset;
} departures[] = {
    {"a reset", "PUT /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab", true},
    {"an end", "PUT /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab", false},
    {"a reset, chunked",
     "PUT /hold HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1", true},
};

TEST(a_request_outlives_a_client_that_goes_during_a_pause)
{
    server *s = flow_start(NULL, NULL);

    for (int i = 0; i < (int)(sizeof departures / sizeof *departures); i++) {
        client c = client_open(s);

        t_row = departures[i].what;
        client_send(&c, departures[i].text);
        wait_for(&flow_pauses, i + 1);
        if (departures[i].is_reset)
            client_vanish(&c);
        else
            client_close(&c);
        wait_until_gone(s);
        CHECK_INT(atomic_load(&s->done), i);
        CHECK_INT(tv_listener_connections(s->listener), 1);
        server_release(s);
        wait_for(&s->dropped, i + 1);
    }
    server_end(s);
}

TEST(a_client_that_goes_between_pieces_is_dropped_at_once)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "PUT /take HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
    wait_for(&s->seen, 1);
    client_close(&c);
    wait_for(&s->dropped, 1);
    server_end(s);
}

TEST(an_early_answer_to_a_client_that_has_gone_is_dropped)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "PUT /hold-early HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
    wait_for(&flow_pauses, 1);
    client_vanish(&c);
    wait_until_gone(s);
    CHECK_INT(atomic_load(&s->done), 0);
    server_release(s);
    wait_for(&s->done, 1);
    server_end(s);
}

static const struct {
    const char *what, *path;
    size_t len, chunk;
    bool is_kept; /* the connection */
} early_answers[] = {
    {"inside the sink, little left", "/early?10", 50 * 1000, 0, true},
    {"inside the sink, chunked", "/early?10", 50 * 1000, 1000, true},
    {"inside the sink, at the last piece", "/early?10", 10, 0, true},
    {"inside the sink, much left", "/early?10", 9 * MIB, 0, false},
    {"inside the sink, much left in chunks", "/early?10", 9 * MIB, 10 * 1000, false},
    {"during a pause, little left", "/hold-early", 50 * 1000, 0, true},
    {"during a pause, chunked", "/hold-early", 50 * 1000, 1000, true},
    {"during a pause, at the last piece", "/hold-early", 1, 0, true},
    {"during a pause, much left", "/hold-early", 9 * MIB, 0, false},
};

TEST(a_sink_can_answer_before_the_body_is_complete)
{
    server *s = flow_start(NULL, NULL);

    for (size_t i = 0; i < sizeof early_answers / sizeof *early_answers; i++) {
        client c = client_open(s);
        tv_buf body = TV_BUF_EMPTY;

        t_row = early_answers[i].what;
        flow_fill(&body, 0, early_answers[i].len);
        if (early_answers[i].path[1] == 'h')
            server_release(s);
        flow_send(&c, early_answers[i].path, tv_buf_slice(&body), early_answers[i].chunk);
        client_expect(&c, 409, "");
        if (early_answers[i].is_kept) {
            client_send(&c, "GET /take HTTP/1.1\r\nHost: h\r\n\r\n");
            client_expect(&c, 200, "0 0000000000000000");
        } else {
            CHECK(client_is_at_end(&c));
        }
        tv_buf_done(&body);
        client_close(&c);
    }
    CHECK_INT(atomic_load(&s->refused), 0);
    server_end(s);
}

static const struct {
    const char *what, *text;
    int status;
    const char *body;
} refusals[] = {
    {"too long by its length", "PUT /small HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n", 413,
     "BODY_TOO_LARGE"},
    {"too long in chunks",
     "PUT /small HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
     "6\r\nabcdef\r\n5\r\nghijk\r\n0\r\n\r\n",
     413, "BODY_TOO_LARGE"},
    {"a bad chunk after a good one",
     "PUT /take HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nx\r\n", 400,
     "BAD_REQUEST"},
    {"a bad chunk after a pause",
     "PUT /pause?1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nx\r\n", 400,
     "BAD_REQUEST"},
};

TEST(a_body_that_breaks_the_rules_is_refused_and_the_connection_closed)
{
    server *s = flow_start(NULL, NULL);

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        client c = client_open(s);

        t_row = refusals[i].what;
        client_send(&c, refusals[i].text);
        client_expect(&c, refusals[i].status, refusals[i].body);
        CHECK(client_is_at_end(&c));
        client_close(&c);
    }
    server_end(s);
}

TEST(a_body_just_within_its_limit_is_taken)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    t_row = "";
    flow_send(&c, "/small", TV_LIT("0123456789"), 0);
    client_expect(&c, 200, flow_receipt(TV_LIT("0123456789")));
    flow_send(&c, "/small", TV_LIT("0123456789"), 5);
    client_expect(&c, 200, flow_receipt(TV_LIT("0123456789")));
    client_close(&c);
    server_end(s);
}

TEST(a_client_that_waits_for_continue_gets_it)
{
    static const char head[] = "Host: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    static const char *const paths[] = {"/early?2", "/take", "/pause?1"};
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    /* After a "Continue" the body does come, so that even an early answer can skip it. */
    for (int i = 0; i < 3; i++) {
        t_row = paths[i];
        client_send(&c, "PUT ");
        client_send(&c, paths[i]);
        client_send(&c, " HTTP/1.1\r\n");
        client_send(&c, head);
        answer a = client_answer(&c);

        CHECK_INT(a.status, 100);
        client_forget(&c, &a);
        client_send(&c, "ab");
        wait_until_read(s, &c);
        client_send(&c, "c");
        client_expect(&c, i == 0 ? 409 : 200, i == 0 ? "" : flow_receipt(TV_LIT("abc")));
    }
    client_close(&c);
    server_end(s);
}

TEST(a_pause_has_no_deadline_but_the_body_has_one_after_it)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "PUT /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
    wait_for_state(s, &c, TV_CONN_HELD);
    server_pass(s, (int64_t)10 * BODY_MINUTES * MINUTE_MS);
    CHECK_INT(atomic_load(&s->done), 0);
    CHECK(server_look_at(s, &c).state == TV_CONN_HELD);
    server_release(s);
    wait_for_state(s, &c, TV_CONN_BODY);
    server_pass(s, BODY_MINUTES * MINUTE_MS);
    client_expect(&c, 408, "REQUEST_TIMEOUT");
    CHECK(client_is_at_end(&c));
    client_close(&c);
    server_end(s);
}

TEST(a_body_that_does_not_come_is_cut_off)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "PUT /take HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
    wait_until_read(s, &c);
    server_pass(s, BODY_MINUTES * MINUTE_MS);
    client_expect(&c, 408, "REQUEST_TIMEOUT");
    CHECK(client_is_at_end(&c));
    client_close(&c);
    server_end(s);
}

/* A pause is the server's time; it does not give the client any. */
TEST(a_body_that_comes_byte_by_byte_is_cut_off_in_spite_of_pauses)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "PUT /pause?1 HTTP/1.1\r\nHost: h\r\nContent-Length: 200\r\n\r\n");
    for (int i = 0; i < BODY_MINUTES; i++) {
        client_send(&c, "x");
        wait_for(&flow_pauses, i + 1);
        wait_for_state(s, &c, TV_CONN_BODY);
        server_pass(s, MINUTE_MS + 1); /* a byte is worth a millisecond */
    }
    client_expect(&c, 408, "REQUEST_TIMEOUT");
    client_close(&c);
    server_end(s);
}

TEST(a_stop_lets_a_paused_body_finish)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "PUT /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab");
    wait_for(&flow_pauses, 1);
    server_stop(s, MINUTE_MS);
    server_release(s);
    client_send(&c, "cd");
    answer a = client_answer(&c);

    CHECK_TEXT(a.body, flow_receipt(TV_LIT("abcd")));
    CHECK_TEXT(answer_header(&a, "Connection"), "close");
    client_close(&c);
    server_end(s);
}

TEST(a_stop_without_grace_waits_for_the_sink_alone)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "PUT /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab");
    wait_for(&flow_pauses, 1);
    server_stop(s, 20);
    CHECK(client_is_at_end(&c));
    CHECK_INT(atomic_load(&s->done), 0);
    server_release(s);
    wait_for(&s->dropped, 1);
    client_close(&c);
    server_end(s);
}

TEST(bodies_that_a_sink_takes_need_nothing_of_the_budget)
{
    tv_http_limits limits = tv_http_limits_default;
    tv_buf body = TV_BUF_EMPTY;

    limits.budget = tv_budget_new(MIB);
    server *s = flow_start(&limits, NULL);
    client c = client_open(s);

    flow_fill(&body, 0, MIB);
    flow_send(&c, "/take", tv_buf_slice(&body), 0);
    client_expect(&c, 200, flow_receipt(tv_buf_slice(&body)));
    tv_buf_done(&body);
    client_close(&c);
    server_end(s);
    tv_budget_free(limits.budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_arrives_whole_and_the_next_request_waits_for_it),
        cmocka_unit_test(while_a_sink_is_paused_the_rest_stays_with_the_client),
        cmocka_unit_test(a_request_outlives_a_client_that_goes_during_a_pause),
        cmocka_unit_test(a_client_that_goes_between_pieces_is_dropped_at_once),
        cmocka_unit_test(an_early_answer_to_a_client_that_has_gone_is_dropped),
        cmocka_unit_test(a_sink_can_answer_before_the_body_is_complete),
        cmocka_unit_test(a_body_that_breaks_the_rules_is_refused_and_the_connection_closed),
        cmocka_unit_test(a_body_just_within_its_limit_is_taken),
        cmocka_unit_test(a_client_that_waits_for_continue_gets_it),
        cmocka_unit_test(a_pause_has_no_deadline_but_the_body_has_one_after_it),
        cmocka_unit_test(a_body_that_does_not_come_is_cut_off),
        cmocka_unit_test(a_body_that_comes_byte_by_byte_is_cut_off_in_spite_of_pauses),
        cmocka_unit_test(a_stop_lets_a_paused_body_finish),
        cmocka_unit_test(a_stop_without_grace_waits_for_the_sink_alone),
        cmocka_unit_test(bodies_that_a_sink_takes_need_nothing_of_the_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
