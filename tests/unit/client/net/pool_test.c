/* Connections: kept, shared, bounded. */
#include "client/net/exchange.h"

#include "client/net/drive.h"

TEST(gets_an_answer_and_keeps_the_connection)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 4);

    for (int i = 0; i < 3; i++) {
        tvc_exchange x = make_get(endpoint);

        drive(&x);
        CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
        CHECK_INT(x.response.status, 200);
        CHECK_BODY(x, "hello");
        CHECK_INT(x.response.body[5], 0);
        CHECK_TEXT(tvc_response_header(&x.response, TV_LIT("x-test")), "yes");
        CHECK(tvc_response_header(&x.response, TV_LIT("x-other")).data == NULL);
        tvc_exchange_done(&x);
    }
    CHECK_INT(server.connections, 1);
    CHECK_INT(server.requests, 3);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

TEST(replaces_a_kept_connection_that_has_ended)
{
    script_server server = {.answers = {{.text = HELLO, .then_close = true}}, .answer_count = 1};

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 4);

    for (int i = 0; i < 3; i++) {
        tvc_exchange x = make_get(endpoint);

        drive(&x);
        CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
        tvc_exchange_done(&x);
        wait_for_kept(endpoint, POLLRDHUP);
    }
    CHECK_INT(server.connections, 3);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

/* It seems to live, but nothing can be sent over it. */
TEST(replaces_a_kept_connection_that_cannot_send)
{
    script_server server = {.answers = {{.text = HELLO, .then_ignore = true}, {.text = HELLO}},
                            .answer_count = 2};

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 1);

    check_replaced(&server, endpoint);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

TEST(keeps_no_connection_for_ever)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    int fd;
    int64_t until_ns;

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 4);
    tvc_exchange x[3];

    for (int i = 0; i < 3; i++) {
        x[i] = make_get(endpoint);
        tvc_exchange_step(&x[i], &fd, &until_ns);
    }
    for (int i = 0; i < 3; i++) {
        drive(&x[i]);
        CHECK_END(x[i], TAVOLA_OK, TVC_ANSWERED);
        tvc_exchange_done(&x[i]);
    }
    CHECK_INT(endpoint->pool.count, 3);
    age_kept(endpoint, TVC_IDLE_MAX_MS);
    for (int i = 0; i < 3; i++) { /* each use ends one of the old ones, and the first its own */
        x[0] = make_get(endpoint);
        drive(&x[0]);
        CHECK_END(x[0], TAVOLA_OK, TVC_ANSWERED);
        tvc_exchange_done(&x[0]);
    }
    CHECK_INT(endpoint->pool.count, 1);
    CHECK_INT(server.connections, 4);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

TEST(does_not_take_old_bytes_for_an_answer)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    tvc_endpoint *endpoint;
    tvc_exchange x;

    script_server_start(&server);
    endpoint = open_port(server.port, 4);
    x = make_get(endpoint);
    drive(&x);
    tvc_exchange_done(&x);
    pthread_mutex_lock(&server.lock);
    send(server.sockets[0], "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n", 51, 0);
    pthread_mutex_unlock(&server.lock);
    wait_for_kept(endpoint, POLLIN);
    x = make_get(endpoint);
    drive(&x);
    CHECK_INT(x.response.status, 200);
    CHECK_INT(server.connections, 2);
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

typedef struct asker {
    tvc_endpoint *endpoint;
    pthread_t thread;
    int answered;
} asker;

enum { ASKERS = 8, QUESTIONS = 25 };

static void *ask_often(void *arg)
{
    asker *self = arg;

    for (int i = 0; i < QUESTIONS; i++) {
        tvc_exchange x = make_get(self->endpoint);

        drive(&x);
        self->answered += x.err == TAVOLA_OK && x.fate == TVC_ANSWERED;
        tvc_exchange_done(&x);
    }
    return NULL;
}

TEST(shares_few_connections_among_many)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    asker askers[ASKERS];

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 2);

    for (int i = 0; i < ASKERS; i++) {
        askers[i] = (asker){.endpoint = endpoint};
        tv_assert(pthread_create(&askers[i].thread, NULL, ask_often, &askers[i]) == 0);
    }
    for (int i = 0; i < ASKERS; i++) {
        pthread_join(askers[i].thread, NULL);
        CHECK_INT(askers[i].answered, QUESTIONS);
    }
    CHECK(server.connections <= 2);
    CHECK_INT(server.requests, ASKERS * QUESTIONS);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

TEST(lets_waiters_in_by_their_order)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    test_waker wakers[3];
    tvc_exchange x[3], holder;
    int fd, calls;
    int64_t until_ns;

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 1);

    holder = make_get(endpoint);
    tvc_exchange_step(&holder, &fd, &until_ns);
    for (int i = 0; i < 3; i++) {
        wakers[i].waker.wake = test_wake;
        sem_init(&wakers[i].called, 0, 0);
        x[i] = make_get(endpoint);
        x[i].waker = &wakers[i].waker;
        CHECK_INT(tvc_exchange_step(&x[i], &fd, &until_ns), TVC_WAIT_WAKE);
        CHECK_INT(until_ns, x[i].deadline_ns);
    }
    tvc_exchange_done(&x[1]); /* gives up */
    tvc_exchange_done(&holder);
    sem_getvalue(&wakers[0].called, &calls);
    CHECK_INT(calls, 1);
    sem_getvalue(&wakers[2].called, &calls);
    CHECK_INT(calls, 0);

    tvc_exchange_done(&x[0]); /* was called, and gives up all the same: the next one's turn */
    sem_getvalue(&wakers[2].called, &calls);
    CHECK_INT(calls, 1);
    drive(&x[2]);
    CHECK_END(x[2], TAVOLA_OK, TVC_ANSWERED);
    tvc_exchange_done(&x[2]);
    for (int i = 0; i < 3; i++)
        sem_destroy(&wakers[i].called);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

TEST(has_sent_nothing_when_it_waited_in_vain)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    int fd;
    int64_t until_ns;

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 1);
    tvc_exchange holder = make_get(endpoint), x = make_get(endpoint);

    tvc_exchange_step(&holder, &fd, &until_ns);
    x.deadline_ns = tv_clock_mono_ns() + 20 * MS;
    drive(&x);
    CHECK_END(x, TAVOLA_ERR_TIMEOUT, TVC_NOT_SENT);
    tvc_exchange_done(&x);
    drive(&holder);
    CHECK_END(holder, TAVOLA_OK, TVC_ANSWERED);
    tvc_exchange_done(&holder);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gets_an_answer_and_keeps_the_connection),
        cmocka_unit_test(replaces_a_kept_connection_that_has_ended),
        cmocka_unit_test(replaces_a_kept_connection_that_cannot_send),
        cmocka_unit_test(keeps_no_connection_for_ever),
        cmocka_unit_test(does_not_take_old_bytes_for_an_answer),
        cmocka_unit_test(shares_few_connections_among_many),
        cmocka_unit_test(lets_waiters_in_by_their_order),
        cmocka_unit_test(has_sent_nothing_when_it_waited_in_vain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
