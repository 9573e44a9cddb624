/* Listeners: ports shared between loops, several on one loop, and ends without a beginning. */
#include "wire/http/harness.h"

static atomic_int served[2]; /* by loop */

static void count_request(void *ctx, tv_request *req)
{
    atomic_fetch_add(&served[tv_loop_index(req->loop)], 1);
    tv_response_start(req, 204);
    tv_response_send(req);
}

static tv_listener *listen_with(tv_loop *loop, int port, const tv_http_handler *service,
                                const tv_http_limits *limits)
{
    char error[256] = "";
    tv_listener *listener =
        tv_listener_new(loop, "127.0.0.1", port, service, limits, NULL, error, sizeof error);

    if (listener == NULL)
        CHECK_FAIL("%s", error);
    return listener;
}

static tv_listener *listen_on(tv_loop *loop, int port, const tv_http_handler *service)
{
    return listen_with(loop, port, service, &tv_http_limits_default);
}

static void end_loop(tv_loop *loop)
{
    tv_loop_stop(loop);
    tv_loop_join(loop);
    tv_loop_free(loop);
}

TEST(two_loops_share_the_connections_of_a_port)
{
    enum { COUNT = 64 };
    server s = {0};
    tv_http_handler service = {"count", &s, on_headers, count_request, on_refused, on_done};
    tv_loop *loops[2] = {tv_loop_new(0), tv_loop_new(1)};
    tv_listener *listeners[2];

    listeners[0] = listen_on(loops[0], 0, &service);
    s.port = tv_listener_port(listeners[0]);
    listeners[1] = listen_on(loops[1], s.port, &service);
    CHECK_INT(tv_listener_port(listeners[1]), s.port);
    tv_loop_start(loops[0]);
    tv_loop_start(loops[1]);

    for (int i = 0; i < COUNT; i++) {
        client c = client_open(&s);

        client_send(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        client_expect(&c, 204, "");
        client_close(&c);
    }
    CHECK_INT(atomic_load(&served[0]) + atomic_load(&served[1]), COUNT);
    CHECK(atomic_load(&served[0]) > 0 && atomic_load(&served[1]) > 0);
    for (int i = 0; i < 2; i++) {
        tv_listener_stop(listeners[i], 0);
        end_loop(loops[i]);
    }
}

TEST(a_loop_carries_several_listeners_that_end_one_by_one)
{
    server s = {0};
    tv_http_handler service = {"count", &s, on_headers, count_request, on_refused, on_done};
    tv_loop *loop = tv_loop_new(0);
    tv_listener *first = listen_on(loop, 0, &service), *second = listen_on(loop, 0, &service);
    int ports[2] = {tv_listener_port(first), tv_listener_port(second)};

    tv_loop_start(loop);
    for (int i = 0; i < 2; i++) {
        s.port = ports[i];
        client c = client_open(&s);

        client_send(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        client_expect(&c, 204, "");
        tv_listener_stop(i ? second : first, 1000);
        CHECK(client_is_at_end(&c));
        client_close(&c);
    }
    end_loop(loop);
}

TEST(a_full_port_does_not_keep_clients_from_another_one)
{
    tv_http_limits limits = tv_http_limits_default;
    server full = {0}, other = {0};
    tv_http_handler service = {"count", &full, on_headers, count_request, on_refused, on_done};
    tv_loop *loop = tv_loop_new(0);
    tv_listener *first, *second;

    limits.connections_max = 1;
    first = listen_with(loop, 0, &service, &limits);
    second = listen_with(loop, 0, &service, &limits);
    full.port = tv_listener_port(first);
    other.port = tv_listener_port(second);
    tv_loop_start(loop);

    client a = client_open(&full), waiting = client_open(&full), c = client_open(&other);

    client_send(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    client_expect(&c, 204, "");
    client_close(&a);
    client_close(&waiting);
    client_close(&c);
    tv_listener_stop(first, 0);
    tv_listener_stop(second, 0);
    end_loop(loop);
}

TEST(a_listener_that_never_ran_can_be_stopped)
{
    tv_http_handler service = {"none", NULL, on_headers, count_request, on_refused, on_done};
    tv_loop *loop = tv_loop_new(0);

    tv_listener_stop(listen_on(loop, 0, &service), 1000);
    tv_loop_free(loop);
}

TEST(an_address_that_is_not_ours_is_an_error_with_a_text)
{
    server *s = server_start(NULL, NULL);
    tv_loop *loop = tv_loop_new(0);
    char error[256] = "";

    CHECK(tv_listener_new(loop, "192.0.2.1", s->port, &s->service, &s->limits, NULL, error,
                          sizeof error) == NULL);
    CHECK(strstr(error, "cannot listen on 192.0.2.1:"));
    tv_loop_free(loop);
    server_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_loops_share_the_connections_of_a_port),
        cmocka_unit_test(a_loop_carries_several_listeners_that_end_one_by_one),
        cmocka_unit_test(a_full_port_does_not_keep_clients_from_another_one),
        cmocka_unit_test(a_listener_that_never_ran_can_be_stopped),
        cmocka_unit_test(an_address_that_is_not_ours_is_an_error_with_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
