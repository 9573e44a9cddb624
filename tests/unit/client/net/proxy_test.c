/* Exchanges through a proxy: plain requests in its own words, HTTPS through a tunnel. */
#include "client/net/proxy.h"

#include "client/memory_faults.h"
#include "client/net/drive.h"
#include "client/net/tls_server.h"

static tavola_err open_proxied(const char *url, const char *user, int proxy_port,
                               const char *ca_file, tvc_endpoint **ret_endpoint)
{
    char proxy[100];
    tvc_net_options options = {
        .connect_timeout_ms = CONNECT_MS, .connections_max = 2, .ca_file = ca_file, .proxy = proxy};

    snprintf(proxy, sizeof proxy, "http://%s127.0.0.1:%d", user, proxy_port);
    return tvc_endpoint_open(url, &options, ret_endpoint, NULL);
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

static void tunnel_start(tunnel *self)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;

    self->listener = socket(AF_INET, SOCK_STREAM, 0);
    tv_assert(bind(self->listener, (struct sockaddr *)&address, sizeof address) == 0);
    tv_assert(listen(self->listener, 8) == 0);
    tv_assert(getsockname(self->listener, (struct sockaddr *)&address, &len) == 0);
    self->port = ntohs(address.sin_port);
    tv_assert(pthread_create(&self->thread, NULL, run_tunnel, self) == 0);
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
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
