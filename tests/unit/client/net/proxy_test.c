/* Exchanges through a proxy: plain requests in its own words, HTTPS through a tunnel. */
#include "client/net/proxy.h"

#include <netinet/tcp.h>

#include "client/memory_faults.h"
#include "client/net/drive.h"
#include "client/net/tls_server.h"

static tavola_err open_behind(const char *scheme, const char *url, const char *user, int proxy_port,
                              const char *ca_file, tvc_endpoint **ret_endpoint)
{
    char proxy[100];
    tvc_net_options options = {
        .connect_timeout_ms = CONNECT_MS, .connections_max = 2, .ca_file = ca_file, .proxy = proxy};

    snprintf(proxy, sizeof proxy, "%s://%s127.0.0.1:%d", scheme, user, proxy_port);
    return tvc_endpoint_open(url, &options, ret_endpoint, NULL);
}

static tavola_err open_proxied(const char *url, const char *user, int proxy_port,
                               const char *ca_file, tvc_endpoint **ret_endpoint)
{
    return open_behind("http", url, user, proxy_port, ca_file, ret_endpoint);
}

TEST(sends_plain_requests_to_the_proxy)
{
    static const struct {
        const char *user, *request;
    } cases[] = {
        {"", "PUT http://no-such-host.invalid/a HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"},
        {"u:p@", "PUT http://no-such-host.invalid/a HTTP/1.1\r\nContent-Length: 4\r\n"
                 "Proxy-Authorization: Basic dTpw\r\n\r\nbody"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        script_server proxy = {.answers = {{.text = HELLO}}, .answer_count = 1};
        tvc_endpoint *endpoint = NULL;

        t_row = cases[i].user;
        script_server_start(&proxy);
        CHECK_INT(
            open_proxied("http://no-such-host.invalid", cases[i].user, proxy.port, NULL, &endpoint),
            TAVOLA_OK);
        CHECK(tvc_endpoint_is_proxied(endpoint));
        for (int k = 0; k < 2; k++) {
            tvc_exchange x = make_get(endpoint);

            x.head =
                TV_LIT("PUT http://no-such-host.invalid/a HTTP/1.1\r\nContent-Length: 4\r\n\r\n");
            x.body = TV_LIT("body");
            drive(&x);
            CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
            CHECK_TEXT(tv_slice_of(proxy.last_request), cases[i].request);
            tvc_exchange_done(&x);
        }
        CHECK_INT(proxy.connections, 1);
        tvc_endpoint_close(endpoint);
        script_server_stop(&proxy);
    }
}

/* ---- tunnels: a proxy that answers as it is told, and then passes bytes on ---- */

typedef struct tunnel {
    int listener, port, target_port;
    const char *answer;
    char request[1000];
    const struct dialog *dialog; /* of SOCKS */
    pthread_t thread;
} tunnel;

static void pass_on(int a, int b)
{
    struct pollfd both[2] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
    char bytes[4096];

    for (;;) {
        poll(both, 2, 5000);
        for (int i = 0; i < 2; i++) {
            if ((both[i].revents & (POLLIN | POLLHUP)) == 0)
                continue;

            ssize_t len = recv(both[i].fd, bytes, sizeof bytes, 0);

            if (len <= 0 || send(both[1 - i].fd, bytes, (size_t)len, MSG_NOSIGNAL) != len)
                return;
        }
    }
}

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    connect(fd, (struct sockaddr *)&address, sizeof address);
    return fd;
}

static void *run_tunnel(void *arg)
{
    tunnel *self = arg;
    int fd;

    while ((fd = accept(self->listener, NULL, NULL)) >= 0) {
        size_t len = 0;

        memset(self->request, 0, sizeof self->request);
        while (strstr(self->request, "\r\n\r\n") == NULL) {
            ssize_t got = recv(fd, self->request + len, sizeof self->request - 1 - len, 0);

            if (got <= 0)
                break;
            len += (size_t)got;
        }
        send(fd, self->answer, strlen(self->answer), MSG_NOSIGNAL);
        if (strstr(self->answer, " 200")) {
            int target = connect_to(self->target_port);

            pass_on(fd, target);
            close(target);
        }
        close(fd);
    }
    return NULL;
}

static void tunnel_start_with(tunnel *self, void *(*run)(void *tunnel))
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;

    self->listener = socket(AF_INET, SOCK_STREAM, 0);
    tv_assert(bind(self->listener, (struct sockaddr *)&address, sizeof address) == 0);
    tv_assert(listen(self->listener, 8) == 0);
    tv_assert(getsockname(self->listener, (struct sockaddr *)&address, &len) == 0);
    self->port = ntohs(address.sin_port);
    tv_assert(pthread_create(&self->thread, NULL, run, self) == 0);
}

static void tunnel_start(tunnel *self)
{
    tunnel_start_with(self, run_tunnel);
}

static void tunnel_stop(tunnel *self)
{
    shutdown(self->listener, SHUT_RDWR);
    pthread_join(self->thread, NULL);
    close(self->listener);
}

TEST(reaches_https_through_a_tunnel)
{
    static const struct {
        const char *label, *dot, *user, *answer, *request, *why;
    } cases[] = {
        {"open", "", "", "HTTP/1.1 200 Connection established\r\n\r\n",
         "CONNECT test.invalid:443 HTTP/1.1\r\nHost: test.invalid:443\r\n\r\n", NULL},
        {"with a length, as some say", "", "", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
         "CONNECT test.invalid:443 HTTP/1.1\r\nHost: test.invalid:443\r\n\r\n", NULL},
        {"a host with a dot at its end", ".", "", "HTTP/1.1 200 OK\r\n\r\n",
         "CONNECT test.invalid.:443 HTTP/1.1\r\nHost: test.invalid.:443\r\n\r\n", NULL},
        {"user", "", "u:p@", "HTTP/1.1 200 OK\r\n\r\n",
         "CONNECT test.invalid:443 HTTP/1.1\r\nHost: test.invalid:443\r\n"
         "Proxy-Authorization: Basic dTpw\r\n\r\n",
         NULL},
        {"no user", "", "", "HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n", NULL,
         "the proxy wants a user and password"},
        {"refused", "", "", "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno", NULL,
         "the proxy refused the connection"},
        {"noise", "", "", "220 smtp.example\r\n", NULL, "the proxy did not answer as one"},
        {"silence", "", "", "", NULL, "the proxy did not answer as one"},
        {"too many words", "", "", "HTTP/1.1 200 OK\r\n\r\nhello", NULL,
         "the proxy sent bytes that nobody asked for"},
    };
    authority ours = authority_new();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
        tunnel proxy = {.answer = cases[i].answer};
        char url[64];
        tvc_endpoint *endpoint = NULL;

        t_row = cases[i].label;
        use_tls(&server, &ours, "DNS:test.invalid", -3600, 3600);
        script_server_start(&server);
        proxy.target_port = server.port;
        tunnel_start(&proxy);
        snprintf(url, sizeof url, "https://test.invalid%s", cases[i].dot);
        CHECK_INT(open_proxied(url, cases[i].user, proxy.port, ours.path, &endpoint), TAVOLA_OK);
        CHECK(!tvc_endpoint_is_proxied(endpoint));
        for (int k = 0; k < 2; k++) {
            tvc_exchange x = make_get(endpoint);

            drive(&x);
            if (cases[i].why) {
                CHECK_INT(x.fate, TVC_NOT_SENT);
                CHECK(x.err == TAVOLA_ERR_NETWORK || x.err == TAVOLA_ERR_PROTOCOL);
                CHECK_TEXT(tv_slice_of(x.why), cases[i].why);
            } else {
                CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
                CHECK_BODY(x, "hello");
                CHECK_TEXT(tv_slice_of(proxy.request), cases[i].request);
                CHECK_TEXT(tv_slice_of(server.last_request),
                           "GET / HTTP/1.1\r\nHost: test\r\n\r\n");
            }
            tvc_exchange_done(&x);
        }
        tvc_endpoint_close(endpoint);
        tunnel_stop(&proxy);
        script_server_stop(&server);
        SSL_CTX_free(server.user);
    }
    authority_done(&ours);
}

/* ---- SOCKS: what the client says, and what it is told ---- */

#define BYTES(text)                                                                                \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

typedef struct dialog {
    const char *label, *url, *user;
    tv_slice turns[6]; /* the client's, the proxy's, ...; at the end the proxy closes */
    bool is_through;
    const char *why;
} dialog;

static const dialog dialogs[] = {
    {"a name",
     "http://no-such-host.invalid:1027",
     "",
     {BYTES("\5\1\0"), BYTES("\5\0"), BYTES("\5\1\0\3\x14no-such-host.invalid\4\3"),
      BYTES("\5\0\0\1\x7f\0\0\1\x10\0")},
     true,
     NULL},
    {"a name for an address",
     "http://192.0.2.1",
     "",
     {BYTES("\5\1\0"), BYTES("\5\0"), BYTES("\5\1\0\1\xc0\0\2\1\0\x50"),
      BYTES("\5\0\0\3\4host\x10\0")},
     true,
     NULL},
    {"IPv6",
     "http://[2001:db8::1]",
     "",
     {BYTES("\5\1\0"), BYTES("\5\0"), BYTES("\5\1\0\4\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1\0\x50"),
      BYTES("\5\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\x10\0")},
     true,
     NULL},
    {"TLS",
     "https://test.invalid",
     "",
     {BYTES("\5\1\0"), BYTES("\5\0"), BYTES("\5\1\0\3\x0ctest.invalid\1\xbb"),
      BYTES("\5\0\0\1\x7f\0\0\1\x10\0")},
     true,
     NULL},
    {"a login",
     "http://a.test",
     "u:p%40@",
     {BYTES("\5\2\0\2"), BYTES("\5\2"), BYTES("\1\1u\2p@"), BYTES("\1\0"),
      BYTES("\5\1\0\3\6a.test\0\x50"), BYTES("\5\0\0\1\x7f\0\0\1\x10\0")},
     true,
     NULL},
    {"a login that is not wanted",
     "http://a.test",
     "u:p@",
     {BYTES("\5\2\0\2"), BYTES("\5\0"), BYTES("\5\1\0\3\6a.test\0\x50"),
      BYTES("\5\0\0\1\x7f\0\0\1\x10\0")},
     true,
     NULL},
    {"a login that is refused",
     "http://a.test",
     "u:p@",
     {BYTES("\5\2\0\2"), BYTES("\5\2"), BYTES("\1\1u\1p"), BYTES("\1\1")},
     false,
     "the proxy refused the user or password"},
    {"a login that is wanted",
     "http://a.test",
     "",
     {BYTES("\5\1\0"), BYTES("\5\2")},
     false,
     "the proxy wants a user and password"},
    {"no way in",
     "http://a.test",
     "u:p@",
     {BYTES("\5\2\0\2"), BYTES("\5\xff")},
     false,
     "the proxy wants a user and password"},
    {"not allowed",
     "http://a.test",
     "",
     {BYTES("\5\1\0"), BYTES("\5\0"), BYTES("\5\1\0\3\6a.test\0\x50"),
      BYTES("\5\2\0\1\0\0\0\0\0\0")},
     false,
     "the proxy refused the connection"},
    {"nobody there",
     "http://a.test",
     "",
     {BYTES("\5\1\0"), BYTES("\5\0"), BYTES("\5\1\0\3\6a.test\0\x50"),
      BYTES("\5\4\0\1\0\0\0\0\0\0")},
     false,
     "the proxy could not reach the host"},
    {"an HTTP proxy",
     "http://a.test",
     "",
     {BYTES("\5\1\0"), BYTES("HTTP/1.1 400 X\r\n\r\n")},
     false,
     "the proxy does not speak SOCKS 5"},
    {"SOCKS 4",
     "http://a.test",
     "",
     {BYTES("\5\1\0"), BYTES("\0\x5b")},
     false,
     "the proxy does not speak SOCKS 5"},
    {"a login in another version",
     "http://a.test",
     "u:p@",
     {BYTES("\5\2\0\2"), BYTES("\5\2"), BYTES("\1\1u\1p"), BYTES("\5\0")},
     false,
     "the proxy does not speak SOCKS 5"},
    {"silence", "http://a.test", "", {BYTES("\5\1\0")}, false, "the proxy closed the connection"},
    {"an end amid an answer",
     "http://a.test",
     "",
     {BYTES("\5\1\0"), BYTES("\5\0"), BYTES("\5\1\0\3\6a.test\0\x50"), BYTES("\5\0\0\3\x7fh")},
     false,
     "the proxy closed the connection"},
};

/* Hear exactly what the client should say, and answer byte by byte; then pass on, if it got so far.
 */
static void *run_socks(void *arg)
{
    tunnel *self = arg;
    int fd;

    while ((fd = accept(self->listener, NULL, NULL)) >= 0) {
        bool is_good = true;

        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        for (int i = 0; is_good && i < 6 && self->dialog->turns[i].data; i++) {
            tv_slice turn = self->dialog->turns[i];
            char said[300];

            if (i % 2 == 0) {
                is_good = recv(fd, said, turn.len, MSG_WAITALL) == (ssize_t)turn.len &&
                          memcmp(said, turn.data, turn.len) == 0;
                continue;
            }
            for (size_t k = 0; k < turn.len; k++)
                is_good = is_good && send(fd, turn.data + k, 1, MSG_NOSIGNAL) == 1;
        }
        if (is_good && self->dialog->is_through) {
            int target = connect_to(self->target_port);

            pass_on(fd, target);
            close(target);
        }
        close(fd);
    }
    return NULL;
}

TEST(speaks_socks)
{
    authority ours = authority_new();

    for (size_t i = 0; i < sizeof dialogs / sizeof *dialogs; i++) {
        script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
        tunnel proxy = {.dialog = &dialogs[i]};
        tvc_endpoint *endpoint = NULL;

        t_row = dialogs[i].label;
        if (strncmp(dialogs[i].url, "https", 5) == 0)
            use_tls(&server, &ours, "DNS:test.invalid", -3600, 3600);
        script_server_start(&server);
        proxy.target_port = server.port;
        tunnel_start_with(&proxy, run_socks);
        CHECK_INT(open_behind("socks5", dialogs[i].url, dialogs[i].user, proxy.port, ours.path,
                              &endpoint),
                  TAVOLA_OK);
        CHECK(!tvc_endpoint_is_proxied(endpoint)); /* its request lines are those of a server */

        tvc_exchange x = make_get(endpoint);

        drive(&x);
        if (dialogs[i].why) {
            CHECK_INT(x.fate, TVC_NOT_SENT);
            CHECK(x.err == TAVOLA_ERR_NETWORK || x.err == TAVOLA_ERR_PROTOCOL);
            CHECK_TEXT(tv_slice_of(x.why), dialogs[i].why);
        } else {
            CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
            CHECK_BODY(x, "hello");
        }
        tvc_exchange_done(&x);
        tvc_endpoint_close(endpoint);
        tunnel_stop(&proxy);
        script_server_stop(&server);
        SSL_CTX_free(server.user);
    }
    authority_done(&ours);
}

TEST(socks_survives_a_lack_of_memory)
{
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    tunnel proxy = {.dialog = &dialogs[4]};

    script_server_start(&server);
    proxy.target_port = server.port;
    tunnel_start_with(&proxy, run_socks);
    MEMORY_FAULTS(fault)
    {
        tvc_endpoint *endpoint = NULL;
        tavola_err err = open_behind("socks5h", proxy.dialog->url, proxy.dialog->user, proxy.port,
                                     NULL, &endpoint);

        if (err == TAVOLA_OK) {
            tvc_exchange x = make_get(endpoint);

            drive(&x);
            err = x.err;
            tvc_exchange_done(&x);
        }
        if (err) {
            CHECK(memory_fault_was_hit());
            CHECK_INT(err, TAVOLA_ERR_NO_MEMORY);
        }
        tvc_endpoint_close(endpoint);
    }
    tunnel_stop(&proxy);
    script_server_stop(&server);
}

TEST(survives_a_lack_of_memory)
{
    authority ours = authority_new();
    script_server server = {.answers = {{.text = HELLO}}, .answer_count = 1};
    tunnel proxy = {.answer = "HTTP/1.1 200 OK\r\n\r\n"};

    use_tls(&server, &ours, "DNS:test.invalid", -3600, 3600);
    script_server_start(&server);
    proxy.target_port = server.port;
    tunnel_start(&proxy);
    MEMORY_FAULTS(fault)
    {
        tvc_endpoint *endpoint = NULL;
        tavola_err err =
            open_proxied("https://test.invalid", "u:p@", proxy.port, ours.path, &endpoint);

        if (err == TAVOLA_OK) {
            tvc_exchange x = make_get(endpoint);

            drive(&x);
            err = x.err;
            tvc_exchange_done(&x);
        }
        if (err) {
            CHECK(memory_fault_was_hit());
            CHECK_INT(err, TAVOLA_ERR_NO_MEMORY);
        }
        tvc_endpoint_close(endpoint);
    }
    tunnel_stop(&proxy);
    script_server_stop(&server);
    SSL_CTX_free(server.user);
    authority_done(&ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_plain_requests_to_the_proxy),
        cmocka_unit_test(reaches_https_through_a_tunnel),
        cmocka_unit_test(speaks_socks),
        cmocka_unit_test(socks_survives_a_lack_of_memory),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
