/* More connections than there is room for: who is closed, who waits, who is served. */
#include "wire/http/harness.h"

#define GET_ECHO "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n"
#define GET_HOLD "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"

static tv_http_limits crowd_limits(int connections_max)
{
    tv_http_limits limits = long_limits();

    limits.connections_max = connections_max;
    limits.spare_ms = 20; /* but it takes a connection that wants the place */
    return limits;
}

/* From another address of this machine. */
static client client_open_from(const server *s, const char *address)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    struct timeval patience = {.tv_sec = 60};
    client c = {.fd = socket(AF_INET, SOCK_STREAM, 0)};

    CHECK_INT(inet_pton(AF_INET, address, &from.sin_addr), 1);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(c.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    CHECK(bind(c.fd, (struct sockaddr *)&from, sizeof from) == 0);
    CHECK(connect(c.fd, (struct sockaddr *)&to, sizeof to) == 0);
    return c;
}

static const struct {
    const char *what, *text;
} silent[] = {
    {"silent from the start", ""},
    {"silent in a head", "GET /echo HTTP/1.1\r\nHos"},
    {"idle", GET_ECHO},
    {"silent in a body nobody wants",
     "PUT /deny HTTP/1.1\r\nHost: h\r\nContent-Length: 9000\r\n\r\nx"},
};

TEST(a_port_full_of_silent_connections_answers_a_new_client)
{
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        tv_http_limits limits = crowd_limits(4);
        server *s = server_start(&limits, NULL);
        client crowd[10];

        t_row = silent[i].what;
        for (int j = 0; j < 10; j++) {
            crowd[j] = client_open(s);
            client_send(&crowd[j], silent[i].text);
        }
        for (int j = 0; j < 3; j++) {
            client c = client_open(s);

            client_send(&c, GET_ECHO);
            client_expect(&c, 200, "GET /echo? ");
            client_close(&c);
        }
        for (int j = 0; j < 10; j++)
            client_close(&crowd[j]);
        server_end(s);
    }
    t_row = "";
}

TEST(the_connection_that_has_waited_longest_makes_room)
{
    tv_http_limits limits = crowd_limits(2);
    server *s = server_start(&limits, NULL);
    client first = client_open(s);

    client_send(&first, GET_ECHO);
    client_expect(&first, 200, "");
    client second = client_open(s);

    client_send(&second, GET_ECHO);
    client_expect(&second, 200, "");
    client_send(&first, GET_ECHO);
    client_expect(&first, 200, "");
    client third = client_open(s);

    client_send(&third, GET_ECHO);
    client_expect(&third, 200, "");
    CHECK(client_is_at_end(&second));
    client_send(&first, GET_ECHO);
    client_expect(&first, 200, "");
    client_close(&first);
    client_close(&second);
    client_close(&third);
    server_end(s);
}

TEST(a_request_under_way_makes_no_room)
{
    tv_http_limits limits = crowd_limits(2);
    server *s = server_start(&limits, NULL);
    client a = client_open(s), b = client_open(s);

    client_send(&a, GET_HOLD);
    client_send(&b, GET_HOLD);
    wait_for(&s->seen, 2);
    client c = client_open(s);

    client_send(&c, GET_ECHO);
    WAIT_UNTIL(server_look_at(s, &a).keeps_one_out);
    server_pass(s, MINUTE_MS);
    CHECK(server_look_at(s, &a).keeps_one_out);
    CHECK_INT(atomic_load(&s->seen), 2);
    server_release(s);
    server_release(s);
    client_expect(&a, 200, "GET /hold? ");
    client_expect(&b, 200, "GET /hold? ");
    client_expect(&c, 200, "GET /echo? ");
    client_close(&a);
    client_close(&b);
    client_close(&c);
    server_end(s);
}

TEST(one_address_cannot_take_all_connections)
{
    tv_http_limits limits = crowd_limits(10);

    limits.per_address_max = 2;
    server *s = server_start(&limits, NULL);
    client a = client_open(s), b = client_open(s);

    client_send(&a, GET_HOLD);
    client_send(&b, GET_HOLD);
    wait_for(&s->seen, 2);
    client more = client_open(s), other = client_open_from(s, "127.0.0.2");

    CHECK(client_is_at_end(&more));
    client_send(&other, GET_ECHO);
    client_expect(&other, 200, "GET /echo? ");
    client_close(&more);

    /* What it does not use makes room for what it wants. */
    server_release(s);
    server_release(s);
    client_expect(&a, 200, "");
    client_expect(&b, 200, "");
    wait_for(&s->done, 3);
    server_pass(s, limits.spare_ms);
    more = client_open(s);
    client_send(&more, GET_ECHO);
    client_expect(&more, 200, "GET /echo? ");
    CHECK_INT(tv_listener_connections(s->listener), 3);
    client_close(&a);
    client_close(&b);
    client_close(&more);
    client_close(&other);
    server_end(s);
}

TEST(heads_that_are_never_completed_take_bounded_memory)
{
    enum { COUNT = 20, BYTES = 100 * 1000 };
    tv_http_limits limits = crowd_limits(100);
    client crowd[COUNT];
    char *filling = tv_malloc(BYTES);

    limits.input_bytes_max = 512 * 1024;
    server *s = server_start(&limits, NULL);

    memset(filling, 'a', BYTES);
    for (int i = 0; i < COUNT; i++) {
        crowd[i] = client_open(s);
        client_send(&crowd[i], "GET /echo HTTP/1.1\r\nHost: h\r\nX-Long: ");
        client_send_slice(&crowd[i], (tv_slice){filling, BYTES});
    }
    WAIT_UNTIL(tv_listener_connections(s->listener) <= 5);
    client_send(&crowd[COUNT - 1], "\r\n\r\n");
    client_expect(&crowd[COUNT - 1], 200, "GET /echo? ");
    for (int i = 0; i < COUNT; i++)
        client_close(&crowd[i]);
    free(filling);
    server_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_full_of_silent_connections_answers_a_new_client),
        cmocka_unit_test(the_connection_that_has_waited_longest_makes_room),
        cmocka_unit_test(a_request_under_way_makes_no_room),
        cmocka_unit_test(one_address_cannot_take_all_connections),
        cmocka_unit_test(heads_that_are_never_completed_take_bounded_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
