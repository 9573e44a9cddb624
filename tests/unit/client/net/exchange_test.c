/* An exchange over TCP: what the caller learns, however the server behaves. */
#include "client/net/exchange.h"

#include "client/net/drive.h"
#include "client/net/script_server.h"

#define HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Test: yes\r\n\r\nhello"

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

TEST(sends_head_and_body)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 4);
    tvc_exchange x = make_get(endpoint);

    x.head = TV_LIT("PUT /a HTTP/1.1\r\nContent-Length: 4\r\n\r\n");
    x.body = TV_LIT("body");
    drive(&x);
    CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
    CHECK_TEXT(tv_slice_of(server.last_request),
               "PUT /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody");
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

TEST(tells_how_far_it_got_when_nobody_listens)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};

    script_server_start(&server);
    script_server_stop(&server);

    tvc_endpoint *endpoint = open_port(server.port, 4);
    tvc_exchange x = make_get(endpoint);

    drive(&x);
    CHECK_END(x, TAVOLA_ERR_NETWORK, TVC_NOT_SENT);
    assert_string_equal(x.why, "the connection was refused");
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
}

/* An answer cut at every byte: only the whole one counts. */
static void check_every_cut(const char *text, bool then_reset)
{
    for (size_t cut = 1; cut <= strlen(text); cut++) {
        script_server server = {.answers = {{.text = text,
                                             .len = cut,
                                             .then_close = !then_reset,
                                             .then_reset = then_reset}},
                                .answer_count = 1};

        script_server_start(&server);

        tvc_endpoint *endpoint = open_port(server.port, 4);
        tvc_exchange x = make_get(endpoint);

        drive(&x);
        if (cut == strlen(text))
            CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
        else
            CHECK_END(x, TAVOLA_ERR_NETWORK, TVC_UNKNOWN);
        tvc_exchange_done(&x);
        tvc_endpoint_close(endpoint);
        script_server_stop(&server);
    }
}

TEST(takes_no_answer_for_whole_that_was_cut)
{
    check_every_cut(HELLO, false);
}

TEST(finds_a_host_by_its_name)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    char url[100];

    script_server_start(&server);
    snprintf(url, sizeof url, "http://localhost:%d", server.port);

    tvc_endpoint *endpoint = open_endpoint(url, 4);

    for (int i = 0; i < 3; i++) {
        tvc_exchange x = make_get(endpoint);

        drive(&x);
        CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
        tvc_exchange_done(&x);
        script_server_cut(&server);
        usleep(60 * 1000); /* so that the next one connects again */
    }
    CHECK_INT(server.connections, 3);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gets_an_answer_and_keeps_the_connection),
        cmocka_unit_test(sends_head_and_body),
        cmocka_unit_test(tells_how_far_it_got_when_nobody_listens),
        cmocka_unit_test(takes_no_answer_for_whole_that_was_cut),
        cmocka_unit_test(finds_a_host_by_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
