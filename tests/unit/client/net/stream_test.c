/* Bodies that are not kept in memory, and answers that come before their request has gone. */
#include "client/net/exchange.h"

#include "client/net/drive.h"

enum { LONG_BODY = 5 * 1000 * 1000 + 7 };

static char byte_at(uint64_t offset)
{
    return (char)('a' + offset * 7 % 23);
}

typedef struct long_body {
    uint64_t stop_at; /* 0: never */
    uint64_t received;
    bool is_wrong;
} long_body;

static bool give(void *user, uint64_t offset, void *to, size_t size, size_t *ret_len)
{
    long_body *body = user;

    if (body->stop_at && offset >= body->stop_at)
        return false;
    *ret_len = size > 10000 ? 10000 : size;
    for (size_t i = 0; i < *ret_len; i++)
        ((char *)to)[i] = byte_at(offset + i);
    return true;
}

static bool take(void *user, const void *bytes, size_t len)
{
    long_body *body = user;

    for (size_t i = 0; i < len; i++)
        body->is_wrong |= ((const char *)bytes)[i] != byte_at(body->received + i);
    body->received += len;
    return body->stop_at == 0 || body->received < body->stop_at;
}

#define LONG_HEAD "HTTP/1.1 200 OK\r\nContent-Length: 5000007\r\n\r\n"
#define LONG_PUT TV_LIT("PUT / HTTP/1.1\r\nContent-Length: 5000007\r\n\r\n")

static char *long_answer(void)
{
    char *text = repeat(LONG_HEAD, "x", LONG_BODY);

    for (uint64_t i = 0; i < LONG_BODY; i++)
        text[strlen(LONG_HEAD) + i] = byte_at(i);
    return text;
}

TEST(streams_bodies_both_ways)
{
    char *text = long_answer();
    script_server server = {.answers = {{.text = text}}, .answer_count = 1, .byte_at = byte_at};

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 4);

    for (int i = 0; i < 2; i++) {
        long_body out = {0}, in = {0};
        tvc_exchange x = make_get(endpoint);

        x.head = LONG_PUT;
        x.source = (tvc_source){give, &out};
        x.source_len = LONG_BODY;
        x.sink = (tvc_sink){take, &in};
        drive(&x);
        CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
        CHECK_INT(in.received, LONG_BODY);
        CHECK(!in.is_wrong && x.response.body == NULL);
        tvc_exchange_done(&x);
    }
    CHECK_INT(server.connections, 1);
    CHECK_INT(server.body_bytes, 2 * LONG_BODY);
    CHECK(!server.is_body_wrong);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
    free(text);
}

TEST(ends_when_a_source_or_sink_stops)
{
    char *text = long_answer();
    script_server server = {.answers = {{.text = text}}, .answer_count = 1};

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 4);
    long_body stopping = {.stop_at = 1000000};
    tvc_exchange x = make_get(endpoint);

    t_row = "sink";
    x.sink = (tvc_sink){take, &stopping};
    drive(&x);
    CHECK_END(x, TAVOLA_ERR_CANCELLED, TVC_UNKNOWN);
    tvc_exchange_done(&x);

    t_row = "source";
    x = make_get(endpoint);
    x.head = LONG_PUT;
    x.source = (tvc_source){give, &stopping};
    x.source_len = LONG_BODY;
    drive(&x);
    CHECK_END(x, TAVOLA_ERR_CANCELLED, TVC_UNKNOWN);
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
    free(text);
}

TEST(keeps_the_body_of_an_error_from_the_sink)
{
    script_server server = {
        .answers = {{.text = "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nerror"}},
        .answer_count = 1};

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 4);
    long_body in = {0};
    tvc_exchange x = make_get(endpoint);

    x.sink = (tvc_sink){take, &in};
    drive(&x);
    CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
    CHECK_BODY(x, "error");
    CHECK_INT(in.received, 0);
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

/* The server answers a long request before it has read it, and reads no more. */
TEST(reads_an_answer_that_comes_early)
{
    static const struct {
        const char *label, *answer;
        bool then_close;
        tavola_err err;
        tvc_fate fate;
    } cases[] = {
        {"and stays", "HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nlarge", false, TAVOLA_OK,
         TVC_ANSWERED},
        {"and closes", "HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nlarge", true, TAVOLA_OK,
         TVC_ANSWERED},
        {"and pretends to have it all", "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", false,
         TAVOLA_ERR_PROTOCOL, TVC_UNKNOWN},
        {"and pretends to, and closes", "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", true,
         TAVOLA_ERR_PROTOCOL, TVC_UNKNOWN},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        script_server server = {.answers = {{.text = cases[i].answer,
                                             .is_amid = true,
                                             .then_close = cases[i].then_close,
                                             .then_wait = !cases[i].then_close}},
                                .answer_count = 1};

        script_server_start(&server);

        tvc_endpoint *endpoint = open_port(server.port, 4);
        long_body out = {0};
        tvc_exchange x = make_get(endpoint);

        t_row = cases[i].label;
        x.head = LONG_PUT;
        x.source = (tvc_source){give, &out};
        x.source_len = LONG_BODY;
        drive(&x);
        CHECK_END(x, cases[i].err, cases[i].fate);
        if (cases[i].err == TAVOLA_OK) {
            CHECK_INT(x.response.status, 413);
            CHECK_BODY(x, "large");
        }
        tvc_exchange_done(&x);
        tvc_endpoint_close(endpoint);
        script_server_stop(&server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_bodies_both_ways),
        cmocka_unit_test(ends_when_a_source_or_sink_stops),
        cmocka_unit_test(keeps_the_body_of_an_error_from_the_sink),
        cmocka_unit_test(reads_an_answer_that_comes_early),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
