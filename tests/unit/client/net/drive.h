/* Endpoints and exchanges for tests: opened and driven to their end on the test's thread. */
#ifndef TEST_NET_DRIVE_H
#define TEST_NET_DRIVE_H

#include <poll.h>
#include <semaphore.h>
#include <stdio.h>

#include "base/clock.h"
#include "check.h"
#include "client/net/endpoint_private.h"
#include "client/net/exchange.h"
#include "client/net/script_server.h"

#define MS INT64_C(1000000)

/* Longer than anything takes, and the whole longer than its parts. */
enum { CONNECT_MS = 60 * 1000, DEADLINE_MS = 120 * 1000 };

static const char *const fate_names[] = {"NOT_SENT", "UNKNOWN", "ANSWERED"};

typedef struct test_waker {
    tvc_waker waker;
    sem_t called;
} test_waker;

static inline void test_wake(tvc_waker *waker)
{
    sem_post(&((test_waker *)waker)->called);
}

/* Wait as a step asked. */
static inline void wait_as_asked(tvc_wait wait, int fd, int64_t until_ns, tvc_waker *waker)
{
    int64_t left_ns = until_ns - tv_clock_mono_ns();

    if (left_ns < 0)
        left_ns = 0;
    if (wait == TVC_WAIT_WAKE) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += left_ns / 1000000000;
        until.tv_nsec += left_ns % 1000000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        sem_timedwait(&((test_waker *)waker)->called, &until);
        return;
    }

    short events = wait == TVC_WAIT_READ    ? POLLIN
                   : wait == TVC_WAIT_WRITE ? POLLOUT
                                            : POLLIN | POLLOUT;
    struct pollfd one = {.fd = fd, .events = events};

    tv_assert(fd >= 0);
    poll(&one, 1, (int)((left_ns + MS - 1) / MS));
}

/* Until it is done; the last descriptor that it waited for. */
static inline int drive_fd(tvc_exchange *exchange)
{
    test_waker waker = {.waker.wake = test_wake};
    int fd = -1;
    int64_t until_ns = 0;
    tvc_wait wait;

    sem_init(&waker.called, 0, 0);
    exchange->waker = &waker.waker;
    for (;;) {
        bool is_late = tv_clock_mono_ns() >= exchange->deadline_ns;

        wait = tvc_exchange_step(exchange, &fd, &until_ns);
        if (wait == TVC_WAIT_NOTHING)
            break;
        CHECK(!is_late);
        CHECK(until_ns <= exchange->deadline_ns);
        wait_as_asked(wait, fd, until_ns, exchange->waker);
    }
    exchange->waker = NULL;
    sem_destroy(&waker.called);
    return fd;
}

static inline void drive(tvc_exchange *exchange)
{
    drive_fd(exchange);
}

static inline tvc_endpoint *open_endpoint(const char *url, uint32_t connections_max)
{
    tvc_net_options options = {
        .connect_timeout_ms = CONNECT_MS, .connections_max = connections_max, .proxy = ""};
    tvc_endpoint *endpoint = NULL;
    const char *why = NULL;

    if (tvc_endpoint_open(url, &options, &endpoint, &why) != TAVOLA_OK)
        CHECK_FAIL("%s: %s", url, why);
    return endpoint;
}

static inline tvc_endpoint *open_port(int port, uint32_t connections_max)
{
    char url[100];

    snprintf(url, sizeof url, "http://127.0.0.1:%d/account", port);
    return open_endpoint(url, connections_max);
}

#define GET_HEAD TV_LIT("GET / HTTP/1.1\r\nHost: test\r\n\r\n")

static inline tvc_exchange make_get(tvc_endpoint *endpoint)
{
    return (tvc_exchange){.endpoint = endpoint,
                          .head = GET_HEAD,
                          .deadline_ns = tv_clock_mono_ns() + DEADLINE_MS * MS};
}

/* Until the server has read the request, which it does not answer. */
static inline void drive_until_read(tvc_exchange *exchange, const script_server *server)
{
    int fd = -1;
    int64_t until_ns = 0;

    while (atomic_load(&server->requests) == 0) {
        tvc_wait wait = tvc_exchange_step(exchange, &fd, &until_ns);

        CHECK(wait == TVC_WAIT_READ || wait == TVC_WAIT_WRITE);
        wait_as_asked(wait, fd, tv_clock_mono_ns() + 5 * MS, NULL);
    }
}

/* Let the connections that are kept be so old that they are looked at before they are used. */
static inline void age_kept(tvc_endpoint *endpoint, int64_t ms)
{
    for (tvc_conn *conn = endpoint->pool.newest; conn; conn = conn->older)
        conn->idle_since_ns -= ms * MS;
}

/* Wait until this has happened to the connection that is kept: POLLIN, POLLRDHUP. */
static inline void wait_for_kept(tvc_endpoint *endpoint, short event)
{
    CHECK(endpoint->pool.newest != NULL);

    struct pollfd kept = {.fd = endpoint->pool.newest->fd, .events = event};

    CHECK_INT(poll(&kept, 1, DEADLINE_MS), 1);
    age_kept(endpoint, 10);
}

#define CHECK_END(exchange, want_err, want_fate)                                                   \
    do {                                                                                           \
        if ((exchange).err != (want_err) || (exchange).fate != (want_fate))                        \
            CHECK_FAIL("err %d, fate %s (%s); want %d, %s", (exchange).err,                        \
                       fate_names[(exchange).fate], (exchange).why ? (exchange).why : "",          \
                       (want_err), fate_names[want_fate]);                                         \
    } while (0)

#define CHECK_BODY(exchange, want)                                                                 \
    CHECK_TEXT(((tv_slice){(exchange).response.body, (exchange).response.body_len}), want)

#define HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Test: yes\r\n\r\nhello"
#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

/* One exchange with a server that gives one answer. */
static inline tvc_exchange ask_once(const script_answer *answer, int *ret_connections)
{
    script_server server = {.answers = {*answer}, .answer_count = 1};

    script_server_start(&server);

    tvc_endpoint *endpoint = open_port(server.port, 4);
    tvc_exchange x = make_get(endpoint);

    drive(&x);
    if (ret_connections) { /* and a second one, to see whether the connection was kept */
        tvc_exchange again = make_get(endpoint);

        drive(&again);
        tvc_exchange_done(&again);
        *ret_connections = server.connections;
    }
    tvc_endpoint_close(endpoint);
    x.endpoint = NULL;
    script_server_stop(&server);
    return x;
}

/* `first`, then `part` so many times; to be freed. */
static inline char *repeat(const char *first, const char *part, size_t count)
{
    size_t len = strlen(part);
    char *text = malloc(strlen(first) + len * count + 1), *at = text;

    at = tv_slice_put(at, tv_slice_of(first));
    for (size_t i = 0; i < count; i++)
        at = tv_slice_put(at, (tv_slice){part, len});
    *at = '\0';
    return text;
}

/* Break the kept connection of a first exchange for sending: a second one gets another. */
static inline void check_replaced(script_server *server, tvc_endpoint *endpoint)
{
    tvc_exchange x = make_get(endpoint);
    int fd = drive_fd(&x);

    CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
    tvc_exchange_done(&x);
    shutdown(fd, SHUT_WR);
    x = make_get(endpoint);
    drive(&x);
    CHECK_END(x, TAVOLA_OK, TVC_ANSWERED);
    CHECK_INT(server->connections, 2);
    CHECK_INT(server->requests, 2);
    tvc_exchange_done(&x);
}

#endif
