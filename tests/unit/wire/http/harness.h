/*
 * A real listener on a loopback port with a small service behind it, and raw
 * clients that send any bytes they like.  The path of a request says how the
 * service behaves:
 *
 *     /echo    answers at once: method, path, query and body
 *     /later   the same, from another thread, through the loop's mailbox
 *     /hold    the same, but not before the test calls server_release
 *     /watch   the same, when the client has gone
 *     /deny    answers 403 in on_headers
 *     /big     64 MiB of 'x'
 *     /none    204
 *     /same    304
 *     /who     says who asks, and how
 *     /bye     asks for the connection to be closed
 *     /small   lowers the body limit to 10 bytes
 */
#ifndef TV_TESTS_UNIT_HTTP_HARNESS_H
#define TV_TESTS_UNIT_HTTP_HARNESS_H

#include <arpa/inet.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "base/workers.h"
#include "check.h"
#include "wait.h"
#include "wire/http/conn.h"
#include "wire/http/listener.h"
#include "wire/net/tls.h"

enum { BIG_BYTES = 64 * 1024 * 1024, MINUTE_MS = 60 * 1000 };

/*
 * No client is cut off because the machine is slow: the deadlines come when a test lets the time
 * pass (server_pass), each at another one.
 */
enum { HEADER_MINUTES = 10, BODY_MINUTES = 20, LINGER_MINUTES = 30, IDLE_MINUTES = 40 };

static inline tv_http_limits long_limits(void)
{
    tv_http_limits limits = tv_http_limits_default;

    limits.header_timeout_ms = HEADER_MINUTES * MINUTE_MS;
    limits.body_timeout_ms = BODY_MINUTES * MINUTE_MS;
    limits.linger_timeout_ms = LINGER_MINUTES * MINUTE_MS;
    limits.idle_timeout_ms = IDLE_MINUTES * MINUTE_MS;
    limits.spare_ms = 10 * MINUTE_MS;
    return limits;
}

typedef struct server {
    tv_loop *loop;
    tv_listener *listener;
    tv_workers *workers;
    tv_http_handler service;
    tv_http_limits limits;
    sem_t held;
    int port;
    bool is_stopped;
    int rounds;                              /* of the loop, on its thread */
    atomic_int seen, refused, done, dropped; /* requests; dropped ones never got a status */
} server;

typedef struct late_answer {
    tv_job job;
    server *server;
    tv_request *req;
    bool is_held, is_watch;
} late_answer;

static inline void answer_echo(tv_request *req)
{
    tv_response_start(req, 200);
    tv_response_header(req, TV_LIT("Content-Type"), TV_LIT("text/plain"));
    tv_buf_printf(&req->out, "%.*s %.*s?%.*s ", TV_FMT(req->method_text), TV_FMT(req->path),
                  TV_FMT(req->query.text));
    tv_buf_add(&req->out, req->body);
    tv_response_send(req);
}

static inline void late_run(tv_job *job)
{
    late_answer *late = (late_answer *)job;

    if (late->is_held)
        sem_wait(&late->server->held);
    for (int64_t end = wait_end_ns(); late->is_watch && !late->req->is_gone;) {
        if (!wait_a_little(end))
            break;
    }
}

static inline void late_deliver(tv_mail *mail)
{
    answer_echo(((late_answer *)mail)->req);
}

static inline bool on_headers(void *ctx, tv_request *req)
{
    server *s = ctx;

    atomic_fetch_add(&s->seen, 1);
    req->user = s;
    if (tv_slice_eq(req->path, TV_LIT("/small")))
        req->body_bytes_max = 10;
    if (!tv_slice_eq(req->path, TV_LIT("/deny")))
        return true;

    tv_response_start(req, 403);
    tv_buf_add_lit(&req->out, "denied");
    tv_response_send(req);
    return false;
}

static inline void answer_later(server *s, tv_request *req)
{
    late_answer *late = tv_arena_zalloc(&req->arena, sizeof *late);

    *late = (late_answer){.server = s,
                          .req = req,
                          .is_held = tv_slice_eq(req->path, TV_LIT("/hold")),
                          .is_watch = tv_slice_eq(req->path, TV_LIT("/watch")),
                          .job = {.run = late_run, .reply_to = tv_loop_mailbox(req->loop)}};
    late->job.mail.deliver = late_deliver;
    tv_assert(tv_workers_submit(s->workers, &late->job));
}

static inline void on_request(void *ctx, tv_request *req)
{
    server *s = ctx;

    tv_assert(req->body_length == req->body.len);
    if (tv_slice_eq(req->path, TV_LIT("/later")) || tv_slice_eq(req->path, TV_LIT("/hold")) ||
        tv_slice_eq(req->path, TV_LIT("/watch"))) {
        answer_later(s, req);
    } else if (tv_slice_eq(req->path, TV_LIT("/big"))) {
        tv_response_start(req, 200);
        memset(tv_buf_reserve(&req->out, BIG_BYTES), 'x', BIG_BYTES);
        req->out.len = BIG_BYTES;
        tv_response_send(req);
    } else if (tv_slice_eq(req->path, TV_LIT("/who"))) {
        tv_response_start(req, 200);
        tv_buf_printf(&req->out, "%s%s%s", req->peer, req->is_peer_loopback ? " loopback" : "",
                      req->is_tls ? " tls" : "");
        tv_response_send(req);
    } else if (tv_slice_eq(req->path, TV_LIT("/none"))) {
        tv_response_start(req, 204);
        tv_response_send(req);
    } else if (tv_slice_eq(req->path, TV_LIT("/same"))) {
        tv_response_start(req, 304);
        tv_response_send(req);
    } else {
        req->close_after = tv_slice_eq(req->path, TV_LIT("/bye"));
        answer_echo(req);
    }
}

static inline void on_refused(void *ctx, tv_request *req, tv_err err)
{
    server *s = ctx;

    atomic_fetch_add(&s->refused, 1);
    req->user = s;
    tv_response_start(req, tv_err_status(err));
    tv_buf_add(&req->out, tv_slice_of(tv_err_name(err)));
    tv_response_send(req);
}

static inline void on_done(void *ctx, tv_request *req)
{
    server *s = ctx;

    tv_assert(req->user == s);
    atomic_fetch_add(&s->done, 1);
    if (req->status == 0)
        atomic_fetch_add(&s->dropped, 1);
}

static inline void count_round(void *ctx)
{
    ((server *)ctx)->rounds++;
}

/*
 * Start a server; the context of `service` becomes the server.  `limits` may be
 * NULL for long_limits, `tls` for plain HTTP.
 */
static inline server *server_start_with(tv_http_handler service, const tv_http_limits *limits,
                                        tv_tls *tls)
{
    server *s = tv_calloc(1, sizeof *s);
    char error[256] = "";

    s->limits = limits ? *limits : long_limits();
    s->service = service;
    s->service.ctx = s;
    tv_assert(sem_init(&s->held, 0, 0) == 0);
    s->loop = tv_loop_new(0);
    tv_loop_at_round_end(s->loop, count_round, s);
    s->workers = tv_workers_new(2, 1000);
    s->listener =
        tv_listener_new(s->loop, "127.0.0.1", 0, &s->service, &s->limits, tls, error, sizeof error);
    if (s->listener == NULL)
        CHECK_FAIL("%s", error);
    s->port = tv_listener_port(s->listener);
    tv_loop_start(s->loop);
    return s;
}

static inline server *server_start(const tv_http_limits *limits, tv_tls *tls)
{
    return server_start_with(
        (tv_http_handler){"test", NULL, on_headers, on_request, on_refused, on_done}, limits, tls);
}

/* Let one /hold answer. */
static inline void server_release(server *s)
{
    sem_post(&s->held);
}

/* Stop without waiting. */
static inline void server_stop(server *s, int grace_ms)
{
    s->is_stopped = true;
    tv_listener_stop(s->listener, grace_ms);
    tv_loop_stop(s->loop);
}

/* Stop, wait for the end of everything, check that no request was forgotten. */
static inline void server_end(server *s)
{
    if (!s->is_stopped)
        server_stop(s, 0);
    tv_loop_join(s->loop);
    tv_workers_free(s->workers);
    tv_loop_free(s->loop);
    sem_destroy(&s->held);
    CHECK(atomic_load(&s->done) >= atomic_load(&s->seen));
    CHECK(atomic_load(&s->done) <= atomic_load(&s->seen) + atomic_load(&s->refused));
    free(s);
}

/* Wait, a minute at most, until a counter has a value. */
static inline void wait_for(atomic_int *counter, int want)
{
    int64_t end_ns = wait_end_ns();

    while (atomic_load(counter) != want && wait_a_little(end_ns))
        ;
    CHECK_INT(atomic_load(counter), want);
}

/* Wait, a minute at most, until no connection is open and no request is under way. A connection
 * that the kernel has not handed over yet does not count. */
static inline void server_wait_idle(server *s)
{
    WAIT_UNTIL(tv_listener_connections(s->listener) == 0 &&
               atomic_load(&s->done) >= atomic_load(&s->seen));
}

typedef struct client {
    int fd;
    SSL *ssl;
    tv_buf in; /* received and not yet taken */
} client;

typedef struct errand {
    tv_mail mail;
    void (*run)(server *s, void *ctx);
    server *server;
    void *ctx;
    sem_t is_done;
} errand;

static inline void errand_deliver(tv_mail *mail)
{
    errand *e = (errand *)mail;

    e->run(e->server, e->ctx);
    sem_post(&e->is_done);
}

/* Call a function on the loop's thread, where all of the listener can be seen.  Before a stop. */
static inline void server_run(server *s, void (*run)(server *s, void *ctx), void *ctx)
{
    errand e = {.mail = {.deliver = errand_deliver}, .run = run, .server = s, .ctx = ctx};
    tv_mail_chain chain = {0};

    sem_init(&e.is_done, 0, 0);
    tv_mail_chain_add(&chain, &e.mail);
    tv_mailbox_post(tv_loop_mailbox(s->loop), &chain);
    while (sem_wait(&e.is_done) != 0)
        ;
    sem_destroy(&e.is_done);
}

static inline void pass_and_look(server *s, void *ctx)
{
    const int64_t *ms = ctx;

    tv_loop_skip_ms(s->loop, (uint64_t)*ms);
    /* A look that comes late leaves it to the next. */
    tv_listener_look(s->listener);
    tv_listener_look(s->listener);
}

/* Let time pass for the connections, and the listener look at their deadlines. */
static inline void server_pass(server *s, int64_t ms)
{
    server_run(s, pass_and_look, &ms);
}

/* What the server knows of a connection. */
typedef struct sight {
    const client *client;
    bool is_there; /* the rest is false without it */
    tv_conn_state state;
    bool has_read;       /* all that the client has sent */
    bool is_paused;      /* it does not read on */
    bool is_gone;        /* the request under way has been told that its client has gone */
    bool keeps_one_out;  /* the listener, because there are too many connections */
    size_t queued_bytes; /* of the answer, that the kernel did not take yet */
} sight;

/* The later part of Linux's struct tcp_info, which the C library's header lacks. */
typedef struct tcp_counts {
    char before[128];
    uint64_t bytes_received;
    uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
    uint64_t delivery_rate, busy_time, rwnd_limited, sndbuf_limited;
    uint32_t delivered, delivered_ce;
    uint64_t bytes_sent, bytes_retrans;
} tcp_counts;

static inline tcp_counts tcp_counts_of(int fd)
{
    tcp_counts counts = {0};
    socklen_t len = sizeof counts;

    CHECK_INT(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &counts, &len), 0);
    CHECK_INT(len, sizeof counts);
    return counts;
}

/* Every byte that the client has sent has come, and nothing waits to be read. */
static inline bool has_read_all(const client *c, const tv_conn *conn)
{
    tcp_counts sent = tcp_counts_of(c->fd);
    int fd, waiting = -1;

    return sent.notsent_bytes == 0 && uv_fileno((const uv_handle_t *)&conn->stream.tcp, &fd) == 0 &&
           tcp_counts_of(fd).bytes_received >= sent.bytes_sent - sent.bytes_retrans &&
           ioctl(fd, FIONREAD, &waiting) == 0 && waiting == 0;
}

static inline void take_a_look(server *s, void *ctx)
{
    sight *seen = ctx;
    const tv_conn *conn = s->listener->conns;
    char port[16] = "";

    if (seen->client) {
        struct sockaddr_in own;
        socklen_t len = sizeof own;

        getsockname(seen->client->fd, (struct sockaddr *)&own, &len);
        snprintf(port, sizeof port, ":%d", ntohs(own.sin_port));
    }
    while (conn && seen->client && strcmp(strchr(conn->peer, ':'), port) != 0)
        conn = conn->next;
    seen->keeps_one_out = s->listener->has_waiting;
    if (conn == NULL)
        return;

    seen->is_there = true;
    seen->state = conn->state;
    seen->has_read =
        seen->client && conn->state != TV_CONN_CLOSED && has_read_all(seen->client, conn);
    seen->is_paused = conn->is_paused;
    seen->is_gone = conn->exchange && conn->exchange->req.is_gone;
    seen->queued_bytes = uv_stream_get_write_queue_size((const uv_stream_t *)&conn->stream.tcp);
}

/* Of this client, which is still open; with NULL of the one connection that there is. */
static inline sight server_look_at(server *s, const client *c)
{
    sight seen = {.client = c};

    server_run(s, take_a_look, &seen);
    return seen;
}

/* Wait until the server has read what this client sent. */
static inline void wait_until_read(server *s, const client *c)
{
    WAIT_UNTIL(server_look_at(s, c).has_read);
}

static inline void wait_for_state(server *s, const client *c, tv_conn_state state)
{
    WAIT_UNTIL(server_look_at(s, c).state == state);
}

/* Wait until the request of the only connection has been told that its client has gone. */
static inline void wait_until_gone(server *s)
{
    WAIT_UNTIL((server_pass(s, 0), server_look_at(s, NULL).is_gone));
}

typedef struct answer {
    int status;
    tv_slice head, body; /* valid until the next answer */
    size_t taken;
} answer;

static inline client client_open(const server *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    struct timeval patience = {.tv_sec = 60};
    client c = {.fd = socket(AF_INET, SOCK_STREAM, 0)};

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(c.fd >= 0);
    setsockopt(c.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    CHECK(connect(c.fd, (struct sockaddr *)&address, sizeof address) == 0);
    return c;
}

static inline void client_close(client *c)
{
    SSL_free(c->ssl);
    close(c->fd);
    tv_buf_done(&c->in);
}

static inline void client_send_slice(client *c, tv_slice bytes)
{
    while (bytes.len) {
        ssize_t count = c->ssl ? SSL_write(c->ssl, bytes.data, (int)bytes.len)
                               : send(c->fd, bytes.data, bytes.len, MSG_NOSIGNAL);

        if (count <= 0)
            return; /* the server has closed; the test sees that when it reads */
        bytes = tv_slice_skip(bytes, (size_t)count);
    }
}

static inline void client_send(client *c, const char *text)
{
    client_send_slice(c, tv_slice_of(text));
}

/* Receive some more.  False at the end; a reset or a timeout fails the test. */
static inline bool client_receive(client *c)
{
    char *to = tv_buf_reserve(&c->in, 64 * 1024);
    ssize_t count = c->ssl ? SSL_read(c->ssl, to, 64 * 1024) : recv(c->fd, to, 64 * 1024, 0);

    if (count < 0 && !c->ssl)
        CHECK_FAIL("recv: %m");
    if (count > 0)
        c->in.len += (size_t)count;
    return count > 0;
}

static inline bool client_is_at_end(client *c)
{
    return c->in.len == 0 && !client_receive(c);
}

/*
 * Send what fits, without blocking: until the server reads no further and the sockets of both sides
 * are full.  Returns how much that was.
 */
static inline size_t client_fill(client *c, server *s, tv_slice bytes)
{
    size_t sent = 0;
    bool is_paused = false;

    for (int64_t end_ns = wait_end_ns(); sent < bytes.len;) {
        ssize_t count =
            send(c->fd, bytes.data + sent, bytes.len - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (count > 0)
            sent += (size_t)count;
        else if (is_paused)
            break;
        else if (server_look_at(s, c).is_paused)
            is_paused = true; /* but there may be room again meanwhile */
        else
            CHECK(wait_a_little(end_ns));
    }
    return sent;
}

/* A header of an answer, "" when it has none. */
static inline tv_slice answer_header(const answer *a, const char *name)
{
    tv_slice rest = a->head, line;

    while (tv_slice_next(&rest, '\n', &line)) {
        size_t colon = tv_slice_find(line, ':');

        if (line.len > colon + 1 &&
            tv_slice_eq_nocase(tv_slice_take(line, colon), tv_slice_of(name)))
            return tv_slice_trim(
                tv_slice_take(tv_slice_skip(line, colon + 1), line.len - colon - 2));
    }
    return TV_LIT("");
}

/* Read the next answer; status 0 when the connection ended instead. */
static inline answer client_answer_to(client *c, bool is_head_request)
{
    answer a = {0};
    char *end;

    while ((end = c->in.len ? memmem(c->in.data, c->in.len, "\r\n\r\n", 4) : NULL) == NULL) {
        if (!client_receive(c))
            return a;
    }
    a.head = (tv_slice){c->in.data, (size_t)(end - c->in.data) + 2};
    a.status = (int)strtol(c->in.data + 9, NULL, 10);

    size_t length = 0;
    tv_slice text = answer_header(&a, "Content-Length");

    for (size_t i = 0; i < text.len; i++)
        length = length * 10 + (size_t)(text.data[i] - '0');
    if (is_head_request)
        length = 0;

    size_t head_len = a.head.len + 2;

    while (c->in.len < head_len + length)
        CHECK(client_receive(c));
    a.head.data = c->in.data;
    a.body = (tv_slice){c->in.data + head_len, length};
    a.taken = head_len + length;
    return a;
}

static inline answer client_answer(client *c)
{
    return client_answer_to(c, false);
}

/* Done with an answer: forget its bytes. */
static inline void client_forget(client *c, const answer *a)
{
    memmove(c->in.data, c->in.data + a->taken, c->in.len - a->taken);
    c->in.len -= a->taken;
}

/* Read an answer, check its status and body ("" for any body), forget it. */
static inline void client_expect(client *c, int status, const char *body)
{
    answer a = client_answer(c);

    CHECK_INT(a.status, status);
    if (*body)
        CHECK_TEXT(a.body, body);
    client_forget(c, &a);
}

#endif
