/* What is a valid answer, and what is not. */
#include "client/net/exchange.h"

#include "client/net/drive.h"

TEST(reads_answers_of_every_form)
{
    enum { KEPT = 1, CLOSED = 2 };
    static const struct {
        const char *label, *text;
        bool then_close;
        int status;
        const char *body; /* NULL: none */
        int connections;  /* for two exchanges */
    } cases[] = {
        {"length", HELLO, false, 200, "hello", KEPT},
        {"length, any case", "HTTP/1.1 200 OK\r\ncontent-LENGTH:5 \r\n\r\nhello", false, 200,
         "hello", KEPT},
        {"the same length twice",
         "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", false, 200,
         "hello", KEPT},
        {"length 0", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", false, 404, NULL, KEPT},
        {"no reason", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", false, 200, NULL, KEPT},
        {"no blank", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", false, 200, NULL, KEPT},
        {"no content", "HTTP/1.1 204 No Content\r\n\r\n", false, 204, NULL, KEPT},
        {"no content, with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", false,
         204, NULL, KEPT},
        {"not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", false, 304, NULL,
         KEPT},
        {"chunks", CHUNKED "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", false, 200, "hello", KEPT},
        {"no chunks", CHUNKED "0\r\n\r\n", false, 200, NULL, KEPT},
        {"extensions and trailers", CHUNKED "5;a=\"b\"\r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n",
         false, 200, "hello", KEPT},
        {"until the end", "HTTP/1.1 200 OK\r\n\r\nhello", true, 200, "hello", CLOSED},
        {"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", false, 200, "hello",
         CLOSED},
        {"HTTP/1.0, kept",
         "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello", false, 200,
         "hello", KEPT},
        {"close", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 5\r\n\r\nhello",
         false, 200, "hello", CLOSED},
        {"interim answers",
         "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" HELLO, false,
         200, "hello", KEPT},
        {"bytes after it", HELLO "HTTP/1.1 200 OK\r\n", false, 200, "hello", CLOSED},
        {"a value beyond ASCII", "HTTP/1.1 200 OK\r\nX: \xc3\xb6\tz\r\nContent-Length: 0\r\n\r\n",
         false, 200, NULL, KEPT},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int is_dribbled = 0; is_dribbled <= 1; is_dribbled++) {
            script_answer answer = {.text = cases[i].text,
                                    .then_close = cases[i].then_close,
                                    .is_dribbled = is_dribbled};
            int connections;
            tvc_exchange x;

            t_row = cases[i].label;
            x = ask_once(&answer, &connections);
            CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
            CHECK_INT(x.response.status, cases[i].status);
            if (cases[i].body)
                CHECK_BODY(x, cases[i].body);
            else
                CHECK_INT(x.response.body_len, 0);
            /* Byte by byte the bytes after an answer may come too late to be seen. */
            if (!is_dribbled)
                CHECK_INT(connections, cases[i].connections);
            tvc_exchange_done(&x);
        }
    }
}

TEST(refuses_answers_that_are_broken)
{
    static const struct {
        const char *label, *text;
    } cases[] = {
        {"noise", "SSH-2.0-OpenSSH_9.2\r\n"},
        {"HTTP/2", "HTTP/2 200\r\n\r\n"},
        {"HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n"},
        {"a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"},
        {"a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"},
        {"a status with letters", "HTTP/1.1 2x0 OK\r\n\r\n"},
        {"a status of no class", "HTTP/1.1 600 OK\r\n\r\n"},
        {"a line feed alone", "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n"},
        {"a carriage return inside", "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n"},
        {"a control character", "HTTP/1.1 200 OK\r\nA: b\x01\r\n\r\n"},
        {"a header without a name", "HTTP/1.1 200 OK\r\n: b\r\n\r\n"},
        {"a header without a colon", "HTTP/1.1 200 OK\r\nname\r\n\r\n"},
        {"a blank before the colon", "HTTP/1.1 200 OK\r\nName : b\r\n\r\n"},
        {"a folded header", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"},
        {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"},
        {"a list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello"},
        {"a length below 0", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"},
        {"a length with a sign", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello"},
        {"a length beyond 64 bits",
         "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551621\r\n\r\nhello"},
        {"a length that is too much",
         "HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\nhello"},
        {"length and chunks",
         "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"},
        {"another encoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"},
        {"chunks twice", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
        {"chunks of HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
        {"a chunk without a size", CHUNKED "\r\nhello\r\n0\r\n\r\n"},
        {"a chunk with a size that is no number", CHUNKED "x\r\nhello\r\n0\r\n\r\n"},
        {"a chunk that is longer than its size", CHUNKED "4\r\nhello\r\n0\r\n\r\n"},
        {"a chunk with a size beyond 64 bits", CHUNKED "10000000000000005\r\nhello\r\n"},
        {"a change of protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tvc_exchange x = ask_once(&(script_answer){.text = cases[i].text}, NULL);

        t_row = cases[i].label;
        CHECK_END(x, TAVOLA_ERR_PROTOCOL, TVC_UNKNOWN);
        CHECK(x.why && x.response.head == NULL && x.response.body == NULL);
        tvc_exchange_done(&x);
    }
}

TEST(bounds_what_a_server_can_send)
{
    const struct {
        const char *label;
        char *text;
    } cases[] = {
        {"headers", repeat("HTTP/1.1 200 OK\r\n", "A: b\r\n", 300)},
        {"a long header", repeat("HTTP/1.1 200 OK\r\nA: ", "0123456789", 7000)},
        {"interim answers", repeat("", "HTTP/1.1 100 Continue\r\n\r\n", 20)},
        {"trailers", repeat(CHUNKED "0\r\n", "A: b\r\n", 10000)},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tvc_exchange x = ask_once(&(script_answer){.text = cases[i].text}, NULL);

        t_row = cases[i].label;
        CHECK_END(x, TAVOLA_ERR_PROTOCOL, TVC_UNKNOWN);
        tvc_exchange_done(&x);
        free(cases[i].text);
    }
}

TEST(reads_long_heads_and_bodies)
{
    enum { HEADER = 50000, BODY = 3 * 1024 * 1024 };
    char *head = repeat("HTTP/1.1 200 OK\r\nX-Long: ", "0123456789", HEADER / 10);
    char *with_length = repeat(head, "\r\nContent-Length: 3145728\r\n\r\n", 1);
    char *text = repeat(with_length, "x", BODY);
    tvc_exchange x = ask_once(&(script_answer){.text = text}, NULL);

    CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
    CHECK_INT(tvc_response_header(&x.response, TV_LIT("X-Long")).len, HEADER);
    CHECK_INT(x.response.body_len, BODY);
    CHECK_INT(strlen(x.response.body), BODY);
    tvc_exchange_done(&x);
    free(head);
    free(with_length);
    free(text);
}

TEST(has_no_body_for_head)
{
    script_server server = {.answers = {{.text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"}},
                            .answer_count = 1};

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 4);

    for (int i = 0; i < 2; i++) {
        tvc_exchange x = make_get(endpoint);

        x.is_head = true;
        drive(&x);
        CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
        CHECK_TEXT(tvc_response_header(&x.response, TV_LIT("Content-Length")), "5");
        CHECK(x.response.body == NULL);
        tvc_exchange_done(&x);
    }
    CHECK_INT(server.connections, 1);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_answers_of_every_form),
        cmocka_unit_test(refuses_answers_that_are_broken),
        cmocka_unit_test(bounds_what_a_server_can_send),
        cmocka_unit_test(reads_long_heads_and_bodies),
        cmocka_unit_test(has_no_body_for_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
