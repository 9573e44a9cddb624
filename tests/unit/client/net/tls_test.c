/* Exchanges over TLS: whom we trust, and that it stays certain how far a request got. */
#include "client/net/tls.h"

#include <signal.h>
#include <sys/ioctl.h>

#include "client/memory_faults.h"
#include "client/net/drive.h"
#include "client/net/tls_server.h"

static tvc_endpoint *open_https(const char *host, int port, const char *ca_file)
{
    tvc_net_options options = {
        .connect_timeout_ms = CONNECT_MS, .connections_max = 4, .ca_file = ca_file, .proxy = ""};
    tvc_endpoint *endpoint = NULL;
    const char *why = NULL;
    char url[100];

    snprintf(url, sizeof url, "https://%s:%d", host, port);
    if (tvc_endpoint_open(url, &options, &endpoint, &why) != TAVOLA_OK)
        CHECK_FAIL("%s: %s", url, why);
    return endpoint;
}

TEST(trusts_whom_it_should)
{
    static const struct {
        const char *label, *names, *host;
        long begins_in, ends_in;
        bool is_unknown; /* the authority */
        const char *why; /* NULL: it is trusted */
    } cases[] = {
        {"name", "DNS:localhost", "localhost", -3600, 3600, false, NULL},
        {"name among others", "DNS:other,DNS:localhost", "localhost", -3600, 3600, false, NULL},
        {"address", "IP:127.0.0.1", "127.0.0.1", -3600, 3600, false, NULL},
        {"other name", "DNS:other", "localhost", -3600, 3600, false, "hostname mismatch"},
        {"an address where a name is due", "IP:127.0.0.1", "localhost", -3600, 3600, false,
         "hostname mismatch"},
        {"a name where an address is due", "DNS:127.0.0.1", "127.0.0.1", -3600, 3600, false,
         "IP address mismatch"},
        {"other address", "IP:127.0.0.2", "127.0.0.1", -3600, 3600, false, "IP address mismatch"},
        {"expired", "DNS:localhost", "localhost", -7200, -3600, false, "certificate has expired"},
        {"not yet valid", "DNS:localhost", "localhost", 3600, 7200, false,
         "certificate is not yet valid"},
        {"unknown authority", "DNS:localhost", "localhost", -3600, 3600, true,
         "unable to get local issuer certificate"},
    };
    authority ours = authority_new(), other = authority_new();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};

        t_row = cases[i].label;
        use_tls(&server, &ours, cases[i].names, cases[i].begins_in, cases[i].ends_in);
        script_server_start(&server);

        tvc_endpoint *endpoint =
            open_https(cases[i].host, server.port, cases[i].is_unknown ? other.path : ours.path);
        tvc_exchange x = make_get(endpoint);

        drive(&x);
        if (cases[i].why) {
            CHECK_END(x, TAVOLA_ERR_NETWORK, TVC_NOT_SENT);
            CHECK_TEXT(tv_slice_of(x.why), cases[i].why);
            CHECK_INT(server.requests, 0);
        } else {
            CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
            CHECK_BODY(x, "hello");
            CHECK_TEXT(tv_slice_of(server.server_name), cases[i].host[0] == 'l' ? "localhost" : "");
        }
        tvc_exchange_done(&x);
        tvc_endpoint_close(endpoint);
        script_server_stop(&server);
        SSL_CTX_free(server.user);
    }
    authority_done(&ours);
    authority_done(&other);
}

TEST(trusts_nobody_by_the_systems_roots_that_we_made)
{
    authority ours = authority_new();
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};

    use_tls(&server, &ours, "IP:127.0.0.1", -3600, 3600);
    script_server_start(&server);

    tvc_endpoint *endpoint = open_https("127.0.0.1", server.port, NULL);
    tvc_exchange x = make_get(endpoint);

    drive(&x);
    CHECK_END(x, TAVOLA_ERR_NETWORK, TVC_NOT_SENT);
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
    SSL_CTX_free(server.user);
    authority_done(&ours);
}

TEST(refuses_roots_that_cannot_be_read)
{
    tvc_net_options options = {.connect_timeout_ms = CONNECT_MS,
                               .connections_max = 4,
                               .ca_file = "/no/such/file",
                               .proxy = ""};
    tvc_endpoint *endpoint = NULL;
    const char *why = NULL;

    assert_int_equal(tvc_endpoint_open("https://localhost", &options, &endpoint, &why),
                     TAVOLA_ERR_INVALID);
    assert_string_equal(why, "its ca_file cannot be used");
    assert_null(endpoint);
}

/* A server of version 1.1 is too old. */
TEST(refuses_old_versions)
{
    authority ours = authority_new();
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};

    use_tls(&server, &ours, "IP:127.0.0.1", -3600, 3600);
    SSL_CTX_set_security_level(server.user, 0);
    SSL_CTX_set_min_proto_version(server.user, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(server.user, TLS1_1_VERSION);
    script_server_start(&server);

    tvc_endpoint *endpoint = open_https("127.0.0.1", server.port, ours.path);
    tvc_exchange x = make_get(endpoint);

    drive(&x);
    CHECK_END(x, TAVOLA_ERR_NETWORK, TVC_NOT_SENT);
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
    SSL_CTX_free(server.user);
    authority_done(&ours);
}

TEST(keeps_connections_and_sessions)
{
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        authority ours = authority_new();
        script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};

        t_row = version == TLS1_2_VERSION ? "1.2" : "1.3";
        use_tls(&server, &ours, "IP:127.0.0.1", -3600, 3600);
        SSL_CTX_set_max_proto_version(server.user, version);
        script_server_start(&server);

        tvc_endpoint *endpoint = open_https("127.0.0.1", server.port, ours.path);

        for (int i = 0; i < 6; i++) {
            tvc_exchange x = make_get(endpoint);

            drive(&x);
            CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
            CHECK_BODY(x, "hello");
            tvc_exchange_done(&x);
            if (i == 3) {
                script_server_cut(&server);
                wait_for_kept(endpoint, POLLRDHUP);
            } else if (i >= 2) {
                age_kept(endpoint, 10);
            }
        }
        CHECK_INT(server.connections, 2);
        CHECK_INT(SSL_CTX_sess_hits(server.user), 1);
        tvc_endpoint_close(endpoint);
        script_server_stop(&server);
        SSL_CTX_free(server.user);
        authority_done(&ours);
    }
}

static bool give(void *user, uint64_t offset, void *to, size_t size, size_t *ret_len)
{
    for (size_t i = 0; i < size; i++)
        ((char *)to)[i] = (char)('a' + (offset + i) % 23);
    *ret_len = size;
    return true;
}

static char byte_at(uint64_t offset)
{
    return (char)('a' + offset % 23);
}

TEST(sends_long_bodies)
{
    enum { LONG = 3000000 };
    authority ours = authority_new();
    char *text = repeat("HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n", "x", LONG);
    script_server server = {.answers = {{.text = text}}, .answer_count = 1, .byte_at = byte_at};
    char *body = malloc(LONG);
    size_t len;

    use_tls(&server, &ours, "IP:127.0.0.1", -3600, 3600);
    script_server_start(&server);
    give(NULL, 0, body, LONG, &len);

    tvc_endpoint *endpoint = open_https("127.0.0.1", server.port, ours.path);

    for (int has_source = 0; has_source <= 1; has_source++) {
        tvc_exchange x = make_get(endpoint);

        t_row = has_source ? "source" : "body";
        x.head = TV_LIT("PUT / HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n");
        if (has_source)
            x.source = (tvc_source){give, NULL};
        else
            x.body = (tv_slice){body, LONG};
        x.source_len = LONG;
        drive(&x);
        CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
        CHECK_INT(x.response.body_len, LONG);
        tvc_exchange_done(&x);
    }
    CHECK_INT(server.body_bytes, 2 * LONG);
    CHECK(!server.is_body_wrong);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
    SSL_CTX_free(server.user);
    authority_done(&ours);
    free(body);
    free(text);
}

/* A kept connection that cannot send any more, although it seems to live. */
TEST(replaces_a_kept_connection_that_cannot_send)
{
    authority ours = authority_new();
    script_server server = {.answers = {{.text = HELLO, .then_ignore = true}, {.text = HELLO}},
                            .answer_count = 2};

    use_tls(&server, &ours, "IP:127.0.0.1", -3600, 3600);
    script_server_start(&server);

    tvc_endpoint *endpoint = open_https("127.0.0.1", server.port, ours.path);

    check_replaced(&server, endpoint);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
    SSL_CTX_free(server.user);
    authority_done(&ours);
}

/* Takes what comes as slowly as it must so that there is always more; but not for ever. */
typedef struct swallower {
    tvc_exchange *exchange;
    int calls;
} swallower;

static bool swallow(void *user, const void *bytes, size_t len)
{
    enum { RECORD_BYTES = 20000, LATE_AT = 50 };
    swallower *self = user;
    int waiting = 0, fd = self->exchange->state.conn->fd;

    if (self->calls == 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){1 << 20}, sizeof(int));
    for (int i = 0; waiting < RECORD_BYTES; i++) {
        CHECK(i < DEADLINE_MS);
        usleep(i ? 1000 : 0);
        CHECK_INT(ioctl(fd, FIONREAD, &waiting), 0);
    }
    if (++self->calls == LATE_AT)
        self->exchange->deadline_ns = tv_clock_mono_ns();
    return self->calls < 3000;
}

/* A server that always has more to say does not keep the others from their turn. */
TEST(gives_up_an_endless_answer_at_its_deadline)
{
    authority ours = authority_new();
    char *text = repeat("HTTP/1.1 200 OK\r\n\r\n", "x", 100000);
    script_server server = {.answers = {{.text = text, .is_endless = true}}, .answer_count = 1};

    use_tls(&server, &ours, "IP:127.0.0.1", -3600, 3600);
    script_server_start(&server);

    tvc_endpoint *endpoint = open_https("127.0.0.1", server.port, ours.path);
    tvc_exchange x = make_get(endpoint);
    swallower slow = {.exchange = &x};

    x.sink = (tvc_sink){swallow, &slow};
    drive(&x);
    CHECK_END(x, TAVOLA_ERR_TIMEOUT, TVC_UNKNOWN);
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
    SSL_CTX_free(server.user);
    authority_done(&ours);
    free(text);
}

/* A server that takes the connection and says nothing. */
TEST(gives_up_a_handshake)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    tvc_net_options options = {.connect_timeout_ms = 50, .connections_max = 1, .proxy = ""};
    tvc_endpoint *endpoint = NULL;
    char url[64];

    script_server_start(&server);
    snprintf(url, sizeof url, "https://127.0.0.1:%d", server.port);
    assert_int_equal(tvc_endpoint_open(url, &options, &endpoint, NULL), TAVOLA_OK);

    tvc_exchange x = make_get(endpoint);

    drive(&x);
    CHECK_END(x, TAVOLA_ERR_NETWORK, TVC_NOT_SENT);
    assert_string_equal(x.why, "connecting took too long");
    tvc_exchange_done(&x);
    tvc_endpoint_close(endpoint);
    script_server_stop(&server);
}

/* A body without a length ends with TLS's own end, not with that of the connection. */
TEST(takes_no_answer_for_whole_that_was_cut)
{
    static const struct {
        const char *label, *text;
        size_t len;
        bool is_rude; /* no word of TLS at the end */
        tavola_err err;
        tvc_fate fate;
    } cases[] = {
        {"whole", HELLO, 0, true, TAVOLA_OK, TVC_ANSWERED},
        {"cut", HELLO, sizeof HELLO - 2, false, TAVOLA_ERR_NETWORK, TVC_UNKNOWN},
        {"no answer", NULL, 0, false, TAVOLA_ERR_NETWORK, TVC_UNKNOWN},
        {"until the end", "HTTP/1.1 200 OK\r\n\r\nhello", 0, false, TAVOLA_OK, TVC_ANSWERED},
        {"until a cut", "HTTP/1.1 200 OK\r\n\r\nhello", 0, true, TAVOLA_ERR_NETWORK, TVC_UNKNOWN},
    };
    authority ours = authority_new();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        script_server server = {
            .answers = {{.text = cases[i].text, .len = cases[i].len, .then_close = true}},
            .answer_count = 1};

        t_row = cases[i].label;
        use_tls(&server, &ours, "IP:127.0.0.1", -3600, 3600);
        SSL_CTX_set_quiet_shutdown(server.user, cases[i].is_rude);
        script_server_start(&server);

        tvc_endpoint *endpoint = open_https("127.0.0.1", server.port, ours.path);
        tvc_exchange x = make_get(endpoint);

        drive(&x);
        CHECK_END(x, cases[i].err, cases[i].fate);
        tvc_exchange_done(&x);
        tvc_endpoint_close(endpoint);
        script_server_stop(&server);
        SSL_CTX_free(server.user);
    }
    authority_done(&ours);
}

TEST(survives_a_lack_of_memory)
{
    authority ours = authority_new();
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    char url[64];

    use_tls(&server, &ours, "IP:127.0.0.1", -3600, 3600);
    script_server_start(&server);
    snprintf(url, sizeof url, "https://127.0.0.1:%d", server.port);
    MEMORY_FAULTS(fault)
    {
        tvc_net_options options = {.connect_timeout_ms = CONNECT_MS,
                                   .connections_max = 1,
                                   .ca_file = ours.path,
                                   .proxy = ""};
        tvc_endpoint *endpoint = NULL;
        tavola_err err = tvc_endpoint_open(url, &options, &endpoint, NULL);

        if (err == TAVOLA_OK) {
            tvc_exchange x = make_get(endpoint);

            x.head = TV_LIT("PUT / HTTP/1.1\r\nContent-Length: 4\r\n\r\n");
            x.body = TV_LIT("body");
            drive(&x);
            err = x.err;
            if (err == TAVOLA_OK)
                CHECK_BODY(x, "hello");
            tvc_exchange_done(&x);
        }
        if (err) {
            CHECK(memory_fault_was_hit());
            CHECK_INT(err, TAVOLA_ERR_NO_MEMORY);
        }
        tvc_endpoint_close(endpoint);
    }
    script_server_stop(&server);
    SSL_CTX_free(server.user);
    authority_done(&ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trusts_whom_it_should),
        cmocka_unit_test(trusts_nobody_by_the_systems_roots_that_we_made),
        cmocka_unit_test(refuses_roots_that_cannot_be_read),
        cmocka_unit_test(refuses_old_versions),
        cmocka_unit_test(keeps_connections_and_sessions),
        cmocka_unit_test(sends_long_bodies),
        cmocka_unit_test(replaces_a_kept_connection_that_cannot_send),
        cmocka_unit_test(gives_up_an_endless_answer_at_its_deadline),
        cmocka_unit_test(gives_up_a_handshake),
        cmocka_unit_test(takes_no_answer_for_whole_that_was_cut),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
