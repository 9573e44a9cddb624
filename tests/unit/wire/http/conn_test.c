/* Connections from the outside: raw bytes over loopback against a real listener. */
#include "wire/http/harness.h"

TEST(a_connection_is_kept_for_the_next_request)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    for (int i = 0; i < 3; i++) {
        client_send(&c, "GET /echo?a=1 HTTP/1.1\r\nHost: h\r\n\r\n");
        client_expect(&c, 200, "GET /echo?a=1 ");
        client_send(&c, "PUT /later HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
        client_expect(&c, 200, "PUT /later? hello");
    }
    client_close(&c);
    server_end(s);
}

TEST(a_response_has_the_usual_headers)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    answer a = client_answer(&c);

    CHECK(tv_slice_starts_with(a.head, TV_LIT("HTTP/1.1 200 OK\r\nDate: ")));
    CHECK_INT(answer_header(&a, "Date").len, 29);
    CHECK_TEXT(answer_header(&a, "Content-Type"), "text/plain");
    CHECK_TEXT(answer_header(&a, "Content-Length"), "11");
    CHECK_TEXT(answer_header(&a, "Connection"), "");
    client_close(&c);
    server_end(s);
}

TEST(pipelined_requests_are_answered_in_order)
{
    enum { COUNT = 50 };
    server *s = server_start(NULL, NULL);
    client c = client_open(s);
    tv_buf all = TV_BUF_EMPTY;
    char want[64];

    for (int i = 0; i < COUNT; i++)
        tv_buf_printf(&all, "GET /%s?%d HTTP/1.1\r\nHost: h\r\n\r\n", i % 3 ? "echo" : "later", i);
    client_send_slice(&c, tv_buf_slice(&all));
    for (int i = 0; i < COUNT; i++) {
        snprintf(want, sizeof want, "GET /%s?%d ", i % 3 ? "echo" : "later", i);
        client_expect(&c, 200, want);
    }
    tv_buf_done(&all);
    client_close(&c);
    server_end(s);
}

TEST(pipelined_requests_are_answered_after_the_client_ended_its_side)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c,
                "GET /later?1 HTTP/1.1\r\nHost: h\r\n\r\nGET /later?2 HTTP/1.1\r\nHost: h\r\n\r\n"
                "GET /echo?3 HTTP/1.1\r\nHost: h\r\n\r\nGET /ec");
    shutdown(c.fd, SHUT_WR);
    client_expect(&c, 200, "GET /later?1 ");
    client_expect(&c, 200, "GET /later?2 ");
    client_expect(&c, 200, "GET /echo?3 ");
    CHECK(client_is_at_end(&c));
    client_close(&c);
    server_end(s);
}

TEST(a_request_may_come_byte_by_byte)
{
    static const char text[] =
        "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n0\r\n\r\n";
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    for (size_t i = 0; i < sizeof text - 1; i++) {
        client_send_slice(&c, (tv_slice){text + i, 1});
        if (i + 2 < sizeof text) /* after the last one it may have answered */
            wait_until_read(s, &c);
    }
    client_expect(&c, 200, "POST /echo? abc");
    client_close(&c);
    server_end(s);
}

TEST(a_body_can_be_chunked)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: t\r\n\r\n"
                    "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    client_expect(&c, 200, "POST /echo? hello world");
    client_expect(&c, 200, "GET /echo? ");
    client_close(&c);
    server_end(s);
}

TEST(continue_is_sent_when_the_service_wants_the_body)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    client_send(
        &c, "PUT /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    answer a = client_answer(&c);

    CHECK_INT(a.status, 100);
    client_forget(&c, &a);
    client_send(&c, "abc");
    client_expect(&c, 200, "PUT /echo? abc");
    client_close(&c);
    server_end(s);
}

TEST(continue_is_not_sent_when_the_service_has_answered)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    client_send(
        &c, "PUT /deny HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    answer a = client_answer(&c);

    CHECK_INT(a.status, 403);
    CHECK_TEXT(answer_header(&a, "Connection"), "close");
    client_forget(&c, &a);
    CHECK(client_is_at_end(&c));
    client_close(&c);
    server_end(s);
}

TEST(a_small_body_nobody_wants_is_skipped)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "PUT /deny HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n01234");
    client_expect(&c, 403, "denied");
    client_send(&c, "56789PUT /deny HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "2\r\nab\r\n0\r\n\r\nGET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    client_expect(&c, 403, "denied");
    client_expect(&c, 200, "GET /echo? ");
    client_close(&c);
    server_end(s);
}

TEST(a_large_body_nobody_wants_ends_the_connection)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);
    tv_buf body = TV_BUF_EMPTY;

    memset(tv_buf_reserve(&body, 1 << 20), 'x', 1 << 20);
    body.len = 1 << 20;
    client_send(&c, "PUT /deny HTTP/1.1\r\nHost: h\r\nContent-Length: 1048576\r\n\r\n");
    client_send_slice(&c, tv_buf_slice(&body));
    answer a = client_answer(&c);

    CHECK_INT(a.status, 403);
    CHECK_TEXT(answer_header(&a, "Connection"), "close");
    client_forget(&c, &a);
    CHECK(client_is_at_end(&c));
    tv_buf_done(&body);
    client_close(&c);
    server_end(s);
}

static const struct {
    const char *what, *text;
    int status;
    const char *body;
} refusals[] = {
    {"no HTTP", "hello\r\n\r\n", 400, "BAD_REQUEST"},
    {"TLS on a plain port", "\x16\x03\x01\x02", 400, "BAD_REQUEST"},
    {"two lengths",
     "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nxGET / ", 400,
     "BAD_REQUEST"},
    {"a body beyond the service's limit",
     "PUT /small HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n01234567890", 413,
     "BODY_TOO_LARGE"},
    {"chunks beyond the service's limit",
     "PUT /small HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
     "6\r\n012345\r\n6\r\n012345\r\n0\r\n\r\n",
     413, "BODY_TOO_LARGE"},
    {"a broken chunk",
     "PUT /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n", 400,
     "BAD_REQUEST"},
    {"an unknown version", "GET /echo HTTP/2.0\r\nHost: h\r\n\r\n", 505, "HTTP_VERSION"},
    {"no host", "GET /echo HTTP/1.1\r\n\r\n", 400, "HOST_MISSING"},
};

TEST(a_bad_request_is_refused_and_the_connection_closed)
{
    server *s = server_start(NULL, NULL);

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        client c = client_open(s);

        t_row = refusals[i].what;
        client_send(&c, refusals[i].text);
        client_send(&c, "GET /echo?smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
        answer a = client_answer(&c);

        CHECK_INT(a.status, refusals[i].status);
        CHECK_TEXT(a.body, refusals[i].body);
        CHECK_TEXT(answer_header(&a, "Connection"), "close");
        client_forget(&c, &a);
        CHECK(client_is_at_end(&c));
        client_close(&c);
    }
    server_end(s);
}

TEST(a_head_of_64_kib_is_accepted_and_a_larger_one_than_the_limit_refused)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);
    tv_buf long_query = TV_BUF_EMPTY;

    memset(tv_buf_reserve(&long_query, 130 * 1024), 'q', 130 * 1024);
    long_query.len = 63 * 1024;
    for (int i = 0; i < 2; i++) {
        client_send(&c, "GET /none?");
        client_send_slice(&c, tv_buf_slice(&long_query));
        client_send(&c, " HTTP/1.1\r\nHost: h\r\n\r\n");
        client_expect(&c, i ? 431 : 204, i ? "HEADERS_TOO_LARGE" : "");
        long_query.len = 130 * 1024;
    }
    CHECK(client_is_at_end(&c));
    tv_buf_done(&long_query);
    client_close(&c);
    server_end(s);
}

/* What each lookup of a parameter would scan again; see src/base/parameters.h. */
TEST(a_query_of_a_hundred_thousand_parameters_is_refused_before_the_service_sees_it)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);
    tv_buf text = TV_BUF_EMPTY;

    tv_buf_add_lit(&text, "GET /echo?");
    memset(tv_buf_reserve(&text, 120000), '&', 120000);
    text.len += 120000;
    tv_buf_add_lit(&text, " HTTP/1.1\r\nHost: h\r\n\r\n");
    client_send_slice(&c, tv_buf_slice(&text));
    client_expect(&c, 400, "TOO_MANY_PARAMETERS");
    CHECK(client_is_at_end(&c));
    CHECK_INT(atomic_load(&s->seen), 0);
    tv_buf_done(&text);
    client_close(&c);
    server_end(s);
}

TEST(a_response_without_body_says_so)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "HEAD /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    answer a = client_answer_to(&c, true);

    CHECK_INT(a.status, 200);
    CHECK_TEXT(answer_header(&a, "Content-Length"), "12");
    client_forget(&c, &a);

    client_send(&c, "GET /none HTTP/1.1\r\nHost: h\r\n\r\n");
    a = client_answer(&c);
    CHECK_INT(a.status, 204);
    CHECK_TEXT(answer_header(&a, "Content-Length"), "0");
    client_forget(&c, &a);

    client_send(&c, "GET /same HTTP/1.1\r\nHost: h\r\n\r\n");
    client_expect(&c, 304, "");
    client_send(&c, "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    client_expect(&c, 200, "GET /echo? ");
    client_close(&c);
    server_end(s);
}

TEST(http_1_0_closes_unless_asked_to_keep)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    answer a = client_answer(&c);

    CHECK_TEXT(answer_header(&a, "Connection"), "keep-alive");
    client_forget(&c, &a);
    client_send(&c, "GET /echo HTTP/1.0\r\n\r\n");
    a = client_answer(&c);
    CHECK_TEXT(answer_header(&a, "Connection"), "close");
    client_forget(&c, &a);
    CHECK(client_is_at_end(&c));
    client_close(&c);
    server_end(s);
}

static const struct {
    const char *what, *text;
} closers[] = {
    {"the client asks", "GET /echo HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n"},
    {"the service asks", "GET /bye HTTP/1.1\r\nHost: h\r\n\r\n"},
};

TEST(either_side_can_end_a_connection)
{
    server *s = server_start(NULL, NULL);

    for (size_t i = 0; i < sizeof closers / sizeof *closers; i++) {
        client c = client_open(s);

        t_row = closers[i].what;
        client_send(&c, closers[i].text);
        answer a = client_answer(&c);

        CHECK_INT(a.status, 200);
        CHECK_TEXT(answer_header(&a, "Connection"), "close");
        client_forget(&c, &a);
        CHECK(client_is_at_end(&c));
        client_close(&c);
    }
    server_end(s);
}

static const struct {
    const char *what, *text, *body; /* body NULL: closed without an answer */
    tv_conn_state state;
    int minutes;
} deadlines[] = {
    {"nothing sent", "", NULL, TV_CONN_IDLE, HEADER_MINUTES},
    {"half a head", "GET /echo HTTP/1.1\r\n", "REQUEST_TIMEOUT", TV_CONN_HEAD, HEADER_MINUTES},
    {"half a body", "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab",
     "REQUEST_TIMEOUT", TV_CONN_BODY, BODY_MINUTES},
    {"half a body to skip", "PUT /deny HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab",
     "denied", TV_CONN_SKIP, LINGER_MINUTES},
    {"idle after a request", "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n", "GET /echo? ", TV_CONN_IDLE,
     IDLE_MINUTES},
};

/* A client sends while the loop is held up, for so long that its deadline passes. */
static void hold_up(server *s, void *ctx)
{
    client_send(ctx, "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    tv_loop_skip_ms(s->loop, HEADER_MINUTES * MINUTE_MS);
    tv_listener_look(s->listener);
}

TEST(a_client_is_not_cut_off_for_what_the_server_has_not_read)
{
    tv_http_limits limits = long_limits();
    server *s = server_start(&limits, NULL);
    client c = client_open(s);

    WAIT_UNTIL(server_look_at(s, &c).is_there);
    server_run(s, hold_up, &c);
    client_expect(&c, 200, "GET /echo? ");
    client_close(&c);
    server_end(s);
}

TEST(a_client_that_does_nothing_is_cut_off)
{
    tv_http_limits limits = long_limits();
    server *s = server_start(&limits, NULL);

    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        client c = client_open(s);
        sight seen;

        t_row = deadlines[i].what;
        client_send(&c, deadlines[i].text);
        wait_until_read(s, &c);
        server_pass(s, (deadlines[i].minutes - 5) * MINUTE_MS);
        seen = server_look_at(s, &c);
        CHECK(seen.is_there && seen.state == deadlines[i].state);
        server_pass(s, 5 * MINUTE_MS);
        if (deadlines[i].body) {
            answer a = client_answer(&c);

            CHECK_TEXT(a.body, deadlines[i].body);
            client_forget(&c, &a);
        }
        CHECK(client_is_at_end(&c));
        client_close(&c);
    }
    server_end(s);
}

/* The listener looks at the deadlines by itself. */
TEST(a_deadline_is_kept_without_being_asked_for)
{
    tv_http_limits limits = tv_http_limits_default;

    limits.header_timeout_ms = 20;
    server *s = server_start(&limits, NULL);
    client c = client_open(s);

    t_row = "";
    CHECK(client_is_at_end(&c));
    client_close(&c);
    server_end(s);
}

enum { PIECE_BYTES = 100 };

/*
 * Send a head, then a piece after every `span_s` seconds until the server has had enough.  Returns
 * how many pieces it took.  At the least speed of 1 byte a second a piece is worth 100 s.
 */
static int trickle(server *s, client *c, const char *head, int count, int span_s)
{
    char piece[PIECE_BYTES];

    memset(piece, 'x', sizeof piece);
    client_send(c, head);
    wait_until_read(s, c);
    for (int i = 0; i < count; i++) {
        server_pass(s, (int64_t)span_s * 1000);
        if (server_look_at(s, c).state != TV_CONN_BODY)
            return i;
        client_send_slice(c, (tv_slice){piece, sizeof piece});
        wait_until_read(s, c);
    }
    return count;
}

/* The body's 20 minutes are too few for ten pieces that each take two minutes too long. */
TEST(a_body_that_comes_piece_by_piece_is_cut_off)
{
    tv_http_limits limits = long_limits();

    limits.speed_min = 1;
    server *s = server_start(&limits, NULL);
    client c = client_open(s);
    int count = trickle(s, &c, "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10000\r\n\r\n",
                        100, PIECE_BYTES + 120);

    CHECK(count > 5 && count <= 10);
    client_expect(&c, 408, "REQUEST_TIMEOUT");
    client_close(&c);
    server_end(s);
}

/* It takes twice as long as a body may stand still. */
TEST(a_body_that_is_slow_but_not_too_slow_arrives)
{
    tv_http_limits limits = long_limits();

    limits.speed_min = 1;
    server *s = server_start(&limits, NULL);
    client c = client_open(s);

    CHECK_INT(trickle(s, &c, "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3000\r\n\r\n", 30,
                      PIECE_BYTES - 20),
              30);
    client_expect(&c, 200, "");
    client_close(&c);
    server_end(s);
}

TEST(a_body_nobody_wants_cannot_hold_the_connection_by_coming_slowly)
{
    tv_http_limits limits = long_limits();
    server *s = server_start(&limits, NULL);
    client c = client_open(s);

    client_send(&c, "PUT /deny HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
    client_expect(&c, 403, "denied");
    for (int i = 0; i < LINGER_MINUTES; i++) {
        wait_for_state(s, &c, TV_CONN_SKIP);
        client_send(&c, "x");
        wait_until_read(s, &c);
        server_pass(s, MINUTE_MS);
    }
    WAIT_UNTIL(!server_look_at(s, &c).is_there);
    client_close(&c);
    server_end(s);
}

/* Its window lets some bytes through now and then, so the kernel always sees a little progress. */
TEST(a_client_that_hardly_reads_is_cut_off)
{
    tv_http_limits limits = long_limits();

    limits.speed_min = 1000 * 1000;

    server *s = server_start(&limits, NULL);
    client c = client_open(s);
    int64_t end_ns = wait_end_ns();

    client_send(&c, "GET /big HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for_state(s, &c, TV_CONN_WRITING);
    while (atomic_load(&s->done) == 0 && wait_a_little(end_ns)) {
        char bytes[4096];

        recv(c.fd, bytes, sizeof bytes, MSG_DONTWAIT);
        server_pass(s, MINUTE_MS);
    }
    CHECK_INT(atomic_load(&s->done), 1);
    client_close(&c);
    server_end(s);
}

TEST(a_client_that_does_not_read_is_cut_off)
{
    tv_http_limits limits = long_limits();
    server *s = server_start(&limits, NULL);
    client c = client_open(s);

    client_send(&c, "GET /big HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for_state(s, &c, TV_CONN_WRITING);
    WAIT_UNTIL((server_pass(s, BODY_MINUTES * MINUTE_MS), atomic_load(&s->done) == 1));
    client_close(&c);
    server_end(s);
}

TEST(a_large_response_arrives_whole_and_the_next_waits_for_it)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "GET /big HTTP/1.1\r\nHost: h\r\n\r\nGET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    answer a = client_answer(&c);

    CHECK_INT(a.body.len, BIG_BYTES);
    client_forget(&c, &a);
    client_expect(&c, 200, "GET /echo? ");
    client_close(&c);
    server_end(s);
}

TEST(a_large_body_arrives_whole)
{
    enum { BYTES = 4 * 1024 * 1024 };
    server *s = server_start(NULL, NULL);
    client c = client_open(s);
    tv_buf body = TV_BUF_EMPTY;

    for (int i = 0; i < BYTES; i++)
        tv_buf_add_char(&body, (char)('a' + i % 23));
    client_send(&c, "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4194304\r\n\r\n");
    client_send_slice(&c, tv_buf_slice(&body));
    answer a = client_answer(&c);

    CHECK_INT(a.status, 200);
    CHECK(tv_slice_eq(tv_slice_skip(a.body, 11), tv_buf_slice(&body)));
    tv_buf_done(&body);
    client_close(&c);
    server_end(s);
}

TEST(a_client_may_go_while_its_request_is_pending)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);
    struct linger reset = {.l_onoff = 1};

    client_send(&c, "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for(&s->seen, 1);
    setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    client_close(&c);
    wait_until_gone(s);
    CHECK_INT(tv_listener_connections(s->listener), 1);
    server_release(s);
    wait_for(&s->done, 1);
    server_end(s);
}

/* With input after the request nothing is read, and so no end of it seen. */
TEST(work_for_a_client_that_has_closed_its_connection_is_told)
{
    static const struct {
        const char *what, *behind;
        bool is_reset;
    } rows[] = {
        {"a close", "", false},
        {"a reset", "", true},
        {"a close after another request", "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n", false},
        {"a reset after another request", "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n", true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tv_http_limits limits = long_limits();
        struct linger reset = {.l_onoff = rows[i].is_reset};

        limits.spare_ms = 10; /* the listener looks as often */
        server *s = server_start(&limits, NULL);
        client c = client_open(s);

        t_row = rows[i].what;
        client_send(&c, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
        wait_for(&s->seen, 1);
        client_send(&c, rows[i].behind);
        wait_until_read(s, &c);
        setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        client_close(&c);
        WAIT_UNTIL(atomic_load(&s->done) > 0);
        server_end(s);
    }
    t_row = "";
}

TEST(a_client_that_only_ended_its_side_gets_an_answer_from_work_that_was_told)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    shutdown(c.fd, SHUT_WR);
    client_expect(&c, 200, "GET /watch? ");
    client_close(&c);
    server_end(s);
}

TEST(a_client_may_go_in_the_middle_of_a_body)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
    wait_for(&s->seen, 1);
    client_close(&c);
    wait_for(&s->dropped, 1);
    server_end(s);
}

enum { BUDGET_BODY = 40000 };

/* The beginning of a request, and all but the last byte of its body. */
static void send_most_of_a_body(client *c)
{
    tv_buf text = TV_BUF_EMPTY;

    tv_buf_printf(&text, "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%*s",
                  BUDGET_BODY, BUDGET_BODY - 1, "x");
    tv_buf_add_char(&text, '\0');
    client_send(c, text.data);
    tv_buf_done(&text);
}

static void expect_the_body(client *c)
{
    tv_buf text = TV_BUF_EMPTY;

    tv_buf_printf(&text, "PUT /echo? %*sy", BUDGET_BODY - 1, "x");
    tv_buf_add_char(&text, '\0');
    client_send(c, "y");
    client_expect(c, 200, text.data);
    tv_buf_done(&text);
}

TEST(bodies_beyond_the_budget_are_refused)
{
    tv_http_limits limits = long_limits();

    /* All are strangers here, who have a sixteenth: one body and what belongs to it. */
    limits.budget = tv_budget_new(16 * 60 * 1024);
    server *s = server_start(&limits, NULL);
    client a = client_open(s), b = client_open(s), c = client_open(s);

    send_most_of_a_body(&a);
    wait_for(&s->seen, 1);
    /* Before the body has come. */
    client_send(&b, "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 40000\r\n\r\n");
    client_expect(&b, 503, "OVERLOADED");
    CHECK(client_is_at_end(&b));

    /* The first has its room, and when it is answered there is room for another. */
    expect_the_body(&a);
    send_most_of_a_body(&c);
    expect_the_body(&c);
    client_close(&a);
    client_close(&b);
    client_close(&c);
    server_end(s);
    CHECK_INT(tv_budget_read(limits.budget).refused, 1);
    tv_budget_free(limits.budget); /* asserts that all has come back */
}

TEST(a_body_of_unknown_length_is_charged_as_it_comes)
{
    tv_http_limits limits = long_limits();
    tv_buf chunk = TV_BUF_EMPTY;

    limits.budget = tv_budget_new(16 * 60 * 1024);
    server *s = server_start(&limits, NULL);
    client c = client_open(s);

    tv_buf_printf(&chunk, "7d0\r\n%2000s\r\n", "x");
    tv_buf_add_char(&chunk, '\0');
    client_send(&c, "PUT /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 40; i++)
        client_send(&c, chunk.data);
    client_expect(&c, 503, "OVERLOADED");
    tv_buf_done(&chunk);
    client_close(&c);
    server_end(s);
    tv_budget_free(limits.budget);
}

/* Heads are charged without asking; so a client that does not even read a refusal has to go. */
TEST(strangers_that_do_not_read_hold_no_more_than_their_share)
{
    tv_http_limits limits = long_limits();

    limits.budget = tv_budget_new(16 * (size_t)BIG_BYTES * 3 / 2);
    server *s = server_start(&limits, NULL);
    client a = client_open(s), b = client_open(s);

    client_send(&a, "GET /big HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for(&s->seen, 1);
    client_send(&b, "GET /big HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for(&s->done, 1); /* long before any deadline */
    CHECK_INT(atomic_load(&s->seen), 2);

    /* The first is within the share, and gets all of its answer. */
    answer big = client_answer(&a);

    CHECK_INT(big.body.len, BIG_BYTES);
    client_forget(&a, &big);
    client_close(&a);
    client_close(&b);
    server_end(s);
    tv_budget_free(limits.budget);
}

/* Nothing is kept for them either: their next request was never begun. */
TEST(strangers_that_do_not_read_have_had_their_last_answer)
{
    tv_http_limits limits = long_limits();

    limits.budget = tv_budget_new(32 * (size_t)BIG_BYTES);
    server *s = server_start(&limits, NULL);
    client c = client_open(s);

    client_send(&c, "GET /big HTTP/1.1\r\nHost: h\r\n\r\nGET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    answer big = client_answer(&c);

    CHECK_INT(big.body.len, BIG_BYTES);
    client_forget(&c, &big);
    CHECK(client_is_at_end(&c));
    CHECK_INT(atomic_load(&s->seen), 1);
    client_close(&c);
    server_end(s);
    tv_budget_free(limits.budget);
}

TEST(connections_above_the_limit_wait_for_one_to_close)
{
    tv_http_limits limits = long_limits();

    limits.connections_max = 2;
    server *s = server_start(&limits, NULL);
    client a = client_open(s), b = client_open(s), waiting = client_open(s);

    client_send(&waiting, "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    client_send(&a, "GET /echo?a HTTP/1.1\r\nHost: h\r\n\r\n");
    client_expect(&a, 200, "GET /echo?a ");
    WAIT_UNTIL(server_look_at(s, &a).keeps_one_out);
    CHECK_INT(atomic_load(&s->seen), 1);
    CHECK_INT(tv_listener_connections(s->listener), 2);

    client_close(&a);
    client_expect(&waiting, 200, "GET /echo? ");
    client_close(&b);
    client_close(&waiting);
    server_end(s);
}

TEST(a_stop_closes_idle_connections_and_lets_requests_finish)
{
    server *s = server_start(NULL, NULL);
    client idle = client_open(s), busy = client_open(s);

    client_send(&idle, "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    client_expect(&idle, 200, "");
    client_send(&busy,
                "GET /hold HTTP/1.1\r\nHost: h\r\n\r\nGET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for(&s->seen, 2);

    server_stop(s, MINUTE_MS);
    CHECK(client_is_at_end(&idle));
    server_release(s);
    answer a = client_answer(&busy);

    CHECK_TEXT(a.body, "GET /hold? ");
    CHECK_TEXT(answer_header(&a, "Connection"), "close");
    client_forget(&busy, &a);
    CHECK(client_is_at_end(&busy));
    client_close(&idle);
    client_close(&busy);
    server_end(s);
}

TEST(a_stop_ends_what_is_left_after_its_grace)
{
    server *s = server_start(NULL, NULL);
    client half = client_open(s), held = client_open(s);

    client_send(&half, "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
    client_send(&held, "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for(&s->seen, 2);
    server_stop(s, 50);
    CHECK(client_is_at_end(&half));
    CHECK(client_is_at_end(&held));

    /* The loop itself waits for the answer that no client waits for any more. */
    CHECK_INT(atomic_load(&s->done), 1);
    server_release(s);
    client_close(&half);
    client_close(&held);
    server_end(s);
}

TEST(a_method_or_host_reaches_the_service_as_sent)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);

    client_send(&c, "MERGE http://other/a%2Fb?c HTTP/1.1\r\nHost: h\r\n\r\n");
    client_expect(&c, 200, "MERGE /a%2Fb?c ");
    client_send(&c, "BREW / HTTP/1.1\r\nHost: h\r\n\r\n");
    client_expect(&c, 200, "BREW /? ");
    client_close(&c);
    server_end(s);
}

TEST(the_service_knows_who_asks)
{
    server *s = server_start(NULL, NULL);
    client c = client_open(s);
    struct sockaddr_in own;
    socklen_t len = sizeof own;
    char want[64];

    getsockname(c.fd, (struct sockaddr *)&own, &len);
    snprintf(want, sizeof want, "127.0.0.1:%d loopback", ntohs(own.sin_port));
    client_send(&c, "GET /who HTTP/1.1\r\nHost: h\r\n\r\n");
    client_expect(&c, 200, want);
    client_close(&c);
    server_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_is_kept_for_the_next_request),
        cmocka_unit_test(a_response_has_the_usual_headers),
        cmocka_unit_test(pipelined_requests_are_answered_in_order),
        cmocka_unit_test(pipelined_requests_are_answered_after_the_client_ended_its_side),
        cmocka_unit_test(a_request_may_come_byte_by_byte),
        cmocka_unit_test(a_body_can_be_chunked),
        cmocka_unit_test(continue_is_sent_when_the_service_wants_the_body),
        cmocka_unit_test(continue_is_not_sent_when_the_service_has_answered),
        cmocka_unit_test(a_small_body_nobody_wants_is_skipped),
        cmocka_unit_test(a_large_body_nobody_wants_ends_the_connection),
        cmocka_unit_test(a_bad_request_is_refused_and_the_connection_closed),
        cmocka_unit_test(a_head_of_64_kib_is_accepted_and_a_larger_one_than_the_limit_refused),
        cmocka_unit_test(
            a_query_of_a_hundred_thousand_parameters_is_refused_before_the_service_sees_it),
        cmocka_unit_test(a_response_without_body_says_so),
        cmocka_unit_test(http_1_0_closes_unless_asked_to_keep),
        cmocka_unit_test(either_side_can_end_a_connection),
        cmocka_unit_test(a_client_is_not_cut_off_for_what_the_server_has_not_read),
        cmocka_unit_test(a_client_that_does_nothing_is_cut_off),
        cmocka_unit_test(a_deadline_is_kept_without_being_asked_for),
        cmocka_unit_test(a_body_that_comes_piece_by_piece_is_cut_off),
        cmocka_unit_test(a_body_that_is_slow_but_not_too_slow_arrives),
        cmocka_unit_test(a_body_nobody_wants_cannot_hold_the_connection_by_coming_slowly),
        cmocka_unit_test(a_client_that_hardly_reads_is_cut_off),
        cmocka_unit_test(a_client_that_does_not_read_is_cut_off),
        cmocka_unit_test(a_large_response_arrives_whole_and_the_next_waits_for_it),
        cmocka_unit_test(a_large_body_arrives_whole),
        cmocka_unit_test(a_client_may_go_while_its_request_is_pending),
        cmocka_unit_test(work_for_a_client_that_has_closed_its_connection_is_told),
        cmocka_unit_test(a_client_that_only_ended_its_side_gets_an_answer_from_work_that_was_told),
        cmocka_unit_test(a_client_may_go_in_the_middle_of_a_body),
        cmocka_unit_test(bodies_beyond_the_budget_are_refused),
        cmocka_unit_test(a_body_of_unknown_length_is_charged_as_it_comes),
        cmocka_unit_test(strangers_that_do_not_read_hold_no_more_than_their_share),
        cmocka_unit_test(strangers_that_do_not_read_have_had_their_last_answer),
        cmocka_unit_test(connections_above_the_limit_wait_for_one_to_close),
        cmocka_unit_test(a_stop_closes_idle_connections_and_lets_requests_finish),
        cmocka_unit_test(a_stop_ends_what_is_left_after_its_grace),
        cmocka_unit_test(a_method_or_host_reaches_the_service_as_sent),
        cmocka_unit_test(the_service_knows_who_asks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
