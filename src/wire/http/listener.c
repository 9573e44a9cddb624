/* Accepting connections, watching their deadlines, and stopping. */
#include "wire/http/listener.h"

#include "wire/http/conn.h"
#include "wire/net/bind.h"

enum {
    LOOK_MS_MIN = 10,
    LOOK_MS_MAX = 1000,
    LATE_LOOKS = 2, /* a look after so many periods comes late */
    BACKLOG = 1024,
};

const tv_http_limits tv_http_limits_default = {
    .head_bytes_max = 128 * 1024,
    .header_count_max = 256,
    .body_bytes_max = 4 * 1024 * 1024 + 64 * 1024,
    .header_timeout_ms = 20 * 1000,
    .body_timeout_ms = 30 * 1000,
    .speed_min = 1024,
    .linger_timeout_ms = 5 * 1000,
    .idle_timeout_ms = 120 * 1000,
    .connections_max = 10 * 1000,
    .per_address_max = 10 * 1000,
    .spare_ms = 1000,
    .input_bytes_max = 32 * 1024 * 1024,
};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Often enough that a deadline is missed by a quarter of its length at most. */
static uint64_t look_period_ms(const tv_http_limits *limits)
{
    int shortest = smaller(smaller(limits->header_timeout_ms, limits->body_timeout_ms),
                           smaller(limits->idle_timeout_ms, limits->linger_timeout_ms));
    int period = smaller(smaller(shortest / 4, limits->spare_ms), LOOK_MS_MAX);

    return (uint64_t)(period > LOOK_MS_MIN ? period : LOOK_MS_MIN);
}

/*
 * Close the connection that has waited longest for its client; with a peer, of
 * that peer's.  False when none has waited long enough, or none of the peer is
 * among the first of them: a peer with that many is seldom far from the front.
 */
static bool spare(tv_listener *listener, const tv_peer *peer, uint64_t wait_ms)
{
    enum { LOOKS_MAX = 64 };
    uint64_t now = tv_loop_now_ms(listener->loop);
    tv_conn *conn = listener->longest_waiting;

    for (int i = 0; i < LOOKS_MAX && conn && now - conn->waits_since_ms >= wait_ms; i++) {
        if (peer == NULL || conn->peer_entry == peer) {
            tv_conn_close(conn);
            return true;
        }
        conn = conn->next_waiting;
    }
    return false;
}

void tv_listener_begin_wait(tv_listener *listener, tv_conn *conn)
{
    conn->waits_since_ms = tv_loop_now_ms(listener->loop);
    conn->is_waiting = true;
    conn->next_waiting = NULL;
    conn->previous_waiting = listener->last_waiting;
    if (listener->last_waiting)
        listener->last_waiting->next_waiting = conn;
    else
        listener->longest_waiting = conn;
    listener->last_waiting = conn;
}

void tv_listener_end_wait(tv_listener *listener, tv_conn *conn)
{
    conn->is_waiting = false;
    if (conn->previous_waiting)
        conn->previous_waiting->next_waiting = conn->next_waiting;
    else
        listener->longest_waiting = conn->next_waiting;
    if (conn->next_waiting)
        conn->next_waiting->previous_waiting = conn->previous_waiting;
    else
        listener->last_waiting = conn->previous_waiting;
}

/*
 * A head fits one or two packets, so a client that has kept back a part of one
 * for long does so on purpose; to shed those that have waited longest costs
 * the others nothing.
 */
void tv_listener_limit_input(tv_listener *listener)
{
    tv_conn *conn = listener->longest_waiting;

    while (conn && listener->hub->input_bytes > listener->limits->input_bytes_max) {
        tv_conn *next = conn->next_waiting;

        if (conn->in_counted)
            tv_conn_close(conn);
        conn = next;
    }
}

bool tv_listener_admit(tv_listener *listener, tv_conn *conn, const struct sockaddr_storage *address)
{
    conn->peer_entry = tv_peers_add(&listener->peers, address);
    return conn->peer_entry->connection_count <= listener->limits->per_address_max ||
           spare(listener, conn->peer_entry, (uint64_t)listener->limits->spare_ms);
}

/*
 * Looking at every connection once a second costs less than keeping a timer for
 * each up to date with every request.  Expiring one frees none of them here:
 * that waits for the loop to close its stream.
 */
void tv_listener_look(tv_listener *listener)
{
    uint64_t now = tv_loop_now_ms(listener->loop), before = listener->looked_ms;

    /*
     * The loop was held up, and timers come before what was sent meanwhile.  Nobody is cut off for
     * what has not been read: the next look decides, however late it is.
     */
    listener->looked_ms = now;
    listener->has_left_it = !listener->has_left_it &&
                            now - before > LATE_LOOKS * look_period_ms(listener->limits);
    if (listener->has_left_it)
        return;

    for (tv_conn *conn = listener->conns; conn; conn = conn->next) {
        if (conn->deadline_ms <= now)
            tv_conn_expire(conn);
        else
            tv_conn_look_for_end(conn);
    }
    if (listener->has_waiting)
        spare(listener, NULL, (uint64_t)listener->limits->spare_ms);
}

static void on_look(uv_timer_t *timer)
{
    tv_listener_look(timer->data);
}

static void on_handle_closed(uv_handle_t *handle)
{
    tv_listener *listener = handle->data;

    if (--listener->open_handle_count > 0)
        return;

    tv_peers_done(&listener->peers);
    tv_hub_unref(listener->hub);
    tv_loop_release(listener->loop);
    free(listener);
}

/* The socket was closed when the stop began; without connections the timers can go too. */
static void end_if_done(tv_listener *listener)
{
    if (!listener->is_stopping || listener->conns)
        return;

    uv_close((uv_handle_t *)&listener->deadlines, on_handle_closed);
    uv_close((uv_handle_t *)&listener->grace, on_handle_closed);
}

/*
 * Above the limit a connection stays where libuv holds it, and all after it in
 * the backlog, until the one that was closed for it has gone.  Each listener
 * counts for itself: clients that fill the port of a service must not be able to
 * hide that of another, least of all the health check.
 */
static void accept_or_wait(tv_listener *listener)
{
    listener->has_waiting = tv_listener_connections(listener) >= listener->limits->connections_max;
    if (listener->has_waiting)
        spare(listener, NULL, (uint64_t)listener->limits->spare_ms);
    else
        tv_conn_accept(listener);
}

static void on_connection(uv_stream_t *server, int status)
{
    if (status == 0)
        accept_or_wait(server->data);
}

void tv_listener_add(tv_listener *listener, tv_conn *conn)
{
    if (listener->conns == NULL) {
        uint64_t period = look_period_ms(listener->limits);

        listener->looked_ms = tv_loop_now_ms(listener->loop);
        uv_timer_start(&listener->deadlines, on_look, period, period);
    } else {
        listener->conns->previous = conn;
    }
    conn->next = listener->conns;
    listener->conns = conn;
    atomic_fetch_add_explicit(&listener->connection_count, 1, memory_order_relaxed);
}

void tv_listener_remove(tv_listener *listener, tv_conn *conn)
{
    if (conn->previous)
        conn->previous->next = conn->next;
    else
        listener->conns = conn->next;
    if (conn->next)
        conn->next->previous = conn->previous;
    atomic_fetch_sub_explicit(&listener->connection_count, 1, memory_order_relaxed);
    if (conn->peer_entry)
        tv_peers_remove(&listener->peers, conn->peer_entry);

    if (listener->has_waiting)
        accept_or_wait(listener);
    if (listener->conns == NULL)
        uv_timer_stop(&listener->deadlines);
    end_if_done(listener);
}

tv_listener *tv_listener_new(tv_loop *loop, const char *host, int port,
                             const tv_http_handler *handler, const tv_http_limits *limits,
                             tv_tls *tls, char *reterr_text, size_t reterr_size)
{
    int fd = tv_bind(host, port, reterr_text, reterr_size);
    if (fd < 0)
        return NULL;

    tv_listener *listener = tv_calloc(1, sizeof *listener);
    uv_loop_t *uv = tv_loop_uv(loop);

    *listener = (tv_listener){
        .loop = loop,
        .hub = tv_hub_ref(loop),
        .handler = handler,
        .limits = limits,
        .tls = tls,
        .fd = fd,
        .port = tv_bind_port(fd),
        .open_handle_count = 3,
    };
    tv_loop_hold(loop);
    tv_peers_init(&listener->peers, limits->connections_max);

    /* The socket listens already, so nothing is left that could fail. */
    tv_assert(uv_timer_init(uv, &listener->deadlines) == 0);
    tv_assert(uv_timer_init(uv, &listener->grace) == 0);
    tv_assert(uv_tcp_init(uv, &listener->tcp) == 0);
    tv_assert(uv_tcp_open(&listener->tcp, fd) == 0);
    listener->deadlines.data = listener->grace.data = listener->tcp.data = listener;
    tv_assert(uv_listen((uv_stream_t *)&listener->tcp, BACKLOG, on_connection) == 0);
    return listener;
}

int tv_listener_port(const tv_listener *listener)
{
    return listener->port;
}

int tv_listener_connections(const tv_listener *listener)
{
    return atomic_load_explicit(&listener->connection_count, memory_order_relaxed);
}

static void on_grace_over(uv_timer_t *timer)
{
    tv_listener *listener = timer->data;

    for (tv_conn *conn = listener->conns; conn; conn = conn->next)
        tv_conn_close(conn);
}

static void stop(tv_mail *mail)
{
    tv_listener *listener = (tv_listener *)((char *)mail - offsetof(tv_listener, stop_mail));

    listener->is_stopping = true;
    listener->has_waiting = false;
    tv_bind_release(listener->fd);
    uv_close((uv_handle_t *)&listener->tcp, on_handle_closed);
    for (tv_conn *conn = listener->conns; conn; conn = conn->next)
        tv_conn_close_if_idle(conn);
    uv_timer_start(&listener->grace, on_grace_over, (uint64_t)listener->grace_ms, 0);
    end_if_done(listener);
}

void tv_listener_stop(tv_listener *listener, int grace_ms)
{
    tv_mail_chain chain = {0};

    listener->grace_ms = grace_ms;
    listener->stop_mail.deliver = stop;
    tv_mail_chain_add(&chain, &listener->stop_mail);
    tv_mailbox_post(tv_loop_mailbox(listener->loop), &chain);
}
