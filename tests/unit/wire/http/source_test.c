/* Bodies that come from a source: pieces, slow readers, aborts, and clients that go. */
#include "wire/http/flow.h"

enum { MIB = 1024 * 1024 };

static void ask(client *c, const char *method, const char *target)
{
    client_send(c, method);
    client_send(c, " ");
    client_send(c, target);
    client_send(c, " HTTP/1.1\r\nHost: h\r\n\r\n");
}

static const struct {
    const char *what, *target;
    uint64_t len;
    int pulls; /* of one such request */
} bodies[] = {
    {"one piece", "/give?5,5", 5, 1},
    {"one byte", "/give?1,100", 1, 1},
    {"nothing", "/give?0,100", 0, 0},
    {"small pieces", "/give?1000,7", 1000, 143},
    {"large pieces", "/give?8388608,1048576", 8 * MIB, 8},
    {"more than a turn of the loop in small pieces", "/give?4194304,4096", 4 * MIB, 1024},
    {"one piece by message", "/later?5,5", 5, 1},
    {"small pieces by message", "/later?1000,7", 1000, 143},
    {"large pieces by message", "/later?8388608,262144", 8 * MIB, 32},
};

/* Each twice in a row without waiting: the second answer follows the first. */
TEST(a_body_goes_out_whole_and_the_next_answer_waits_for_it)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        t_row = bodies[i].what;
        atomic_store(&flow_pulls, 0);
        for (int k = 0; k < 2; k++)
            ask(&c, "GET", bodies[i].target);
        for (int k = 0; k < 2; k++)
            flow_expect(&c, bodies[i].len);
        wait_for(&s->done, 2 * (int)(i + 1));
        CHECK_INT(atomic_load(&flow_pulls), 2 * bodies[i].pulls);
        CHECK_INT(atomic_load(&flow_out), bodies[i].len);
    }
    CHECK_INT(atomic_load(&flow_depth_max), 1);
    client_close(&c);
    server_end(s);
}

static const struct {
    const char *what, *method, *target, *length;
    int status;
} heads[] = {
    {"HEAD", "HEAD", "/give?10000000000,5", "10000000000", 200},
    {"HEAD of nothing", "HEAD", "/give?0,5", "0", 200},
    {"304", "GET", "/same?123", "123", 304},
    {"204 has no length but 0", "GET", "/none?123", "0", 204},
};

TEST(a_head_can_promise_a_length_that_is_not_sent)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        t_row = heads[i].what;
        ask(&c, heads[i].method, heads[i].target);
        answer a = client_answer_to(&c, true);

        CHECK_INT(a.status, heads[i].status);
        CHECK_TEXT(answer_header(&a, "Content-Length"), heads[i].length);
        client_forget(&c, &a);
    }
    ask(&c, "GET", "/give?100,10");
    flow_expect(&c, 100);
    CHECK_INT(atomic_load(&flow_pulls), 10);
    client_close(&c);
    server_end(s);
}

TEST(the_head_goes_out_with_the_first_piece)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    t_row = "";
    ask(&c, "GET", "/give?1000,1000");
    CHECK(client_receive(&c));
    CHECK(c.in.len > 1000);
    flow_expect(&c, 1000);
    client_close(&c);
    server_end(s);
}

TEST(a_slow_reader_holds_its_source_back)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    ask(&c, "GET", "/give?67108864,65536");
    wait_for_state(s, &c, TV_CONN_WRITING);
    CHECK(atomic_load(&flow_pulls) > 0);
    /* What it has given is with the kernel, but for the last piece and perhaps the head. */
    CHECK(server_look_at(s, &c).queued_bytes < 2 * 65536);
    CHECK(atomic_load(&flow_pulls) < 1024);
    CHECK_INT(atomic_load(&s->done), 0);
    flow_expect(&c, 64 * MIB);
    wait_for(&s->done, 1);
    CHECK_INT(atomic_load(&flow_pulls), 1024);
    client_close(&c);
    server_end(s);
}

TEST(a_client_that_does_not_read_is_cut_off)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    ask(&c, "GET", "/give?67108864,65536");
    wait_for_state(s, &c, TV_CONN_WRITING);
    WAIT_UNTIL((server_pass(s, BODY_MINUTES * MINUTE_MS), atomic_load(&s->done) == 1));
    CHECK(atomic_load(&flow_out) < 64 * MIB);
    client_close(&c);
    server_end(s);
}

TEST(a_source_has_all_the_time_it_needs)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    ask(&c, "GET", "/wait?1000,100");
    wait_for(&flow_pulls, 1);
    server_pass(s, (int64_t)10 * IDLE_MINUTES * MINUTE_MS);
    server_release(s);
    flow_expect(&c, 1000);
    client_close(&c);
    server_end(s);
}

TEST(an_aborted_body_is_short_and_the_connection_closed)
{
    static const char *const targets[] = {"/cut?3000000,100000", "/cut-later?3000000,100000",
                                          "/cut?0,1", "/cut?1,1", "/cut-later?1,1"};
    static const size_t lens[] = {1500000, 1500000, 0, 0, 0};
    server *s = flow_start(NULL, NULL);

    for (int i = 0; i < 5; i++) {
        client c = client_open(s);

        t_row = targets[i];
        ask(&c, "GET", targets[i]);
        if (i == 2) {
            flow_expect(&c, 0); /* a body without bytes is never pulled, so never cut */
        } else {
            while (client_receive(&c))
                ;
            char *end = c.in.len ? memmem(c.in.data, c.in.len, "\r\n\r\n", 4) : NULL;

            CHECK_INT(end ? c.in.data + c.in.len - end - 4 : 0, lens[i]);
            CHECK(lens[i] == 0 || memmem(c.in.data, c.in.len, "Content-Length: 3000000\r\n", 25));
            wait_for(&s->done, i + 1);
            CHECK_INT(atomic_load(&flow_out), lens[i]);
        }
        client_close(&c);
    }
    server_end(s);
}

TEST(instead_of_the_first_piece_another_response_can_be_given)
{
    static const char *const targets[] = {"/fail?3000000,100000", "/fail-later?3000000,100000",
                                          "/fail?1,1", "/fail-later?1,1"};
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    for (int i = 0; i < 4; i++) {
        t_row = targets[i];
        ask(&c, "GET", targets[i]);
        ask(&c, "GET", "/give?100,10");
        answer a = client_answer(&c);

        CHECK_INT(a.status, 500);
        CHECK_TEXT(answer_header(&a, "Content-Length"), "18");
        CHECK_INT(a.body.len, 18);
        client_forget(&c, &a);
        flow_expect(&c, 100); /* the connection goes on */
    }
    wait_for(&s->done, 8);
    client_close(&c);
    server_end(s);
}

TEST(another_response_for_a_client_that_has_gone_is_dropped)
{
    server *s = flow_start(NULL, NULL);

    for (int i = 0; i < 20; i++) {
        client c = client_open(s);

        ask(&c, "GET", "/fail-later?1000,100");
        client_vanish(&c);
    }
    server_wait_idle(s);
    server_end(s);
}

TEST(a_request_outlives_a_client_that_goes_during_a_pull)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    t_row = "";
    ask(&c, "GET", "/wait?1000,100");
    wait_for(&flow_pulls, 1);
    client_vanish(&c);
    wait_until_gone(s);
    CHECK_INT(atomic_load(&s->done), 0);
    CHECK_INT(tv_listener_connections(s->listener), 1);
    server_release(s);
    wait_for(&s->done, 1);
    CHECK_INT(atomic_load(&flow_out), 0);
    server_end(s);
}

/* At any moment: before a piece, in a write, between turns of the loop. */
TEST(a_client_may_go_in_the_middle_of_a_body)
{
    static const char *const targets[] = {"/give?67108864,65536", "/later?67108864,65536",
                                          "/give?67108864,8388608"};
    server *s = flow_start(NULL, NULL);
    int count = 0;

    for (int i = 0; i < 3; i++) {
        t_row = targets[i];
        for (int k = 0; k < 10; k++) {
            client c = client_open(s);

            ask(&c, "GET", targets[i]);
            for (int n = 0; n < k; n++)
                CHECK(client_receive(&c));
            if (k % 2)
                client_vanish(&c);
            else
                client_close(&c);
            wait_for(&s->done, ++count);
        }
    }
    server_end(s);
}

TEST(a_client_that_ended_its_side_gets_the_whole_body)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    t_row = "";
    ask(&c, "GET", "/give?8388608,262144");
    ask(&c, "GET", "/later?1048576,262144");
    shutdown(c.fd, SHUT_WR);
    flow_expect(&c, 8 * MIB);
    flow_expect(&c, MIB);
    CHECK(client_is_at_end(&c));
    client_close(&c);
    server_end(s);
}

/* A source that never runs dry and a client that reads as fast as it comes. */
static void *read_on(void *arg)
{
    client *c = arg;
    char block[256 * 1024];

    while (recv(c->fd, block, sizeof block, 0) > 0)
        ;
    return NULL;
}

TEST(a_fast_reader_leaves_the_others_their_turn)
{
    server *s = flow_start(NULL, NULL);
    client greedy = client_open(s), modest = client_open(s);
    pthread_t reader;

    ask(&greedy, "GET", "/give?100000000000,65536");
    CHECK(pthread_create(&reader, NULL, read_on, &greedy) == 0);
    for (int i = 0; i < 20; i++) {
        ask(&modest, "GET", "/give?100,10");
        flow_expect(&modest, 100);
    }
    wait_for(&s->done, 20);
    CHECK(atomic_load(&flow_round_max) <= MIB + 65536);
    server_stop(s, 20); /* in the middle of it */
    pthread_join(reader, NULL);
    client_close(&greedy);
    client_close(&modest);
    server_end(s);
}

TEST(a_body_can_come_in_by_a_sink_before_one_goes_out)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);
    tv_buf body = TV_BUF_EMPTY;

    flow_fill(&body, 0, 2 * MIB);
    for (int i = 0; i < 2; i++) {
        flow_send(&c, i ? "/later?3145728,262144" : "/give?3145728,262144", tv_buf_slice(&body), 0);
        flow_expect(&c, 3 * MIB);
    }
    CHECK_INT(atomic_load(&flow_in), 2 * MIB);
    tv_buf_done(&body);
    client_close(&c);
    server_end(s);
}

TEST(a_stop_lets_a_body_finish)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    ask(&c, "GET", "/wait?33554432,262144");
    wait_for(&flow_pulls, 1);
    server_stop(s, MINUTE_MS);
    server_release(s);
    flow_expect(&c, 32 * MIB);
    CHECK(client_is_at_end(&c));
    client_close(&c);
    server_end(s);
}

TEST(a_stop_without_grace_waits_for_the_source_alone)
{
    server *s = flow_start(NULL, NULL);
    client c = client_open(s);

    ask(&c, "GET", "/wait?1000,100");
    wait_for(&flow_pulls, 1);
    server_stop(s, 20);
    CHECK(client_is_at_end(&c));
    CHECK_INT(atomic_load(&s->done), 0);
    server_release(s);
    client_close(&c);
    server_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_goes_out_whole_and_the_next_answer_waits_for_it),
        cmocka_unit_test(a_head_can_promise_a_length_that_is_not_sent),
        cmocka_unit_test(the_head_goes_out_with_the_first_piece),
        cmocka_unit_test(a_slow_reader_holds_its_source_back),
        cmocka_unit_test(a_client_that_does_not_read_is_cut_off),
        cmocka_unit_test(a_source_has_all_the_time_it_needs),
        cmocka_unit_test(an_aborted_body_is_short_and_the_connection_closed),
        cmocka_unit_test(instead_of_the_first_piece_another_response_can_be_given),
        cmocka_unit_test(another_response_for_a_client_that_has_gone_is_dropped),
        cmocka_unit_test(a_request_outlives_a_client_that_goes_during_a_pull),
        cmocka_unit_test(a_client_may_go_in_the_middle_of_a_body),
        cmocka_unit_test(a_client_that_ended_its_side_gets_the_whole_body),
        cmocka_unit_test(a_fast_reader_leaves_the_others_their_turn),
        cmocka_unit_test(a_body_can_come_in_by_a_sink_before_one_goes_out),
        cmocka_unit_test(a_stop_lets_a_body_finish),
        cmocka_unit_test(a_stop_without_grace_waits_for_the_source_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
