/*
 * The life of a connection: how it begins, waits and ends.  receive.c has its
 * input, send.c its output.
 *
 *  (1) A connection has at most one request, and parses nothing further until
 *      its response has gone to the kernel: answers keep the order of requests,
 *      and from a client that does not read no more is kept than one read brings;
 *      after its last answer nothing is.
 *  (2) An exchange belongs to the service from a call of it to the service's
 *      next step: from on_headers, on_request or on_refused to the answer, from
 *      a take that returned false, or a hold, to tv_request_resume or an answer, from
 *      pull to tv_response_piece, tv_response_abort or another response.  Nothing
 *      here frees it then, even if the client has gone, and no deadline runs.
 *  (3) A connection is freed when its stream is closed, it has no exchange, and
 *      no message to it is on its way.
 *  (4) Once a request was refused, no byte after it is ever parsed.
 *  (5) Whatever the length of a body, a connection with a sink keeps no more
 *      input than one read brings, and one with a source no more output than
 *      the one piece it was given.
 *  (6) In every state in which the client has to do something a deadline runs,
 *      and bytes that trickle in or out move it by what they are worth at the
 *      least speed: no client can stay in such a state for ever.
 *  (7) A source never runs the loop alone: after TURN_BYTES_MAX the others have
 *      their turn, and pieces that come at once are taken in a loop, not by
 *      recursion.
 */
#include "wire/http/conn.h"

#include <arpa/inet.h>

#include "wire/http/local.h"

static tv_conn *conn_of(tv_stream *stream)
{
    return (tv_conn *)stream;
}

/* How long a connection may stay in a state; -1 for as long as it likes. */
static int64_t timeout_ms(const tv_http_limits *limits, tv_conn_state state)
{
    switch (state) {
    case TV_CONN_IDLE:
        return limits->idle_timeout_ms;
    case TV_CONN_HEAD:
        return limits->header_timeout_ms;
    case TV_CONN_CONTINUE:
    case TV_CONN_BODY:
    case TV_CONN_WRITING:
        return limits->body_timeout_ms;
    case TV_CONN_SKIP:
    case TV_CONN_LINGER:
        return limits->linger_timeout_ms;
    case TV_CONN_ASKING:
    case TV_CONN_HELD:
    case TV_CONN_PENDING:
    case TV_CONN_PULLING:
    case TV_CONN_YIELDING:
    case TV_CONN_CLOSED:
        break;
    }
    return -1;
}

static uint64_t now_ms(const tv_conn *conn)
{
    return tv_loop_now_ms(conn->listener->loop);
}

static void set_deadline(tv_conn *conn, int64_t timeout)
{
    conn->deadline_ms = timeout < 0 ? UINT64_MAX : now_ms(conn) + (uint64_t)timeout;
}

/* The states in which a least speed counts. */
static bool is_paced(tv_conn_state state)
{
    return state == TV_CONN_CONTINUE || state == TV_CONN_BODY || state == TV_CONN_WRITING;
}

/* The states that a connection can be in without a request that a service has accepted. */
static bool is_waiting(const tv_http_limits *limits, tv_conn_state state)
{
    return state == TV_CONN_IDLE || state == TV_CONN_HEAD || state == TV_CONN_SKIP ||
           state == TV_CONN_LINGER || (state == TV_CONN_WRITING && limits->spares_unread);
}

/* While a service or its source defers the request, the client's time stands still. */
static void change_state(tv_conn *conn, tv_conn_state state)
{
    uint64_t now = now_ms(conn);

    if (conn->is_waiting)
        tv_listener_end_wait(conn->listener, conn);
    if (is_waiting(conn->listener->limits, state))
        tv_listener_begin_wait(conn->listener, conn);
    if (is_paced(conn->state))
        conn->credit_ms = conn->deadline_ms > now ? conn->deadline_ms - now : 0;
    conn->state = state;
}

void tv_conn_enter(tv_conn *conn, tv_conn_state state)
{
    change_state(conn, state);
    set_deadline(conn, timeout_ms(conn->listener->limits, state));
}

void tv_conn_go_on(tv_conn *conn, tv_conn_state state, uint64_t bytes)
{
    const tv_http_limits *limits = conn->listener->limits;
    uint64_t credit_max = (uint64_t)limits->body_timeout_ms;

    change_state(conn, state);
    conn->credit_ms += bytes * 1000 / (uint64_t)limits->speed_min;
    if (conn->credit_ms > credit_max)
        conn->credit_ms = credit_max;
    set_deadline(conn, (int64_t)conn->credit_ms);
}

void tv_conn_finish_exchange(tv_conn *conn)
{
    tv_exchange *exchange = conn->exchange;
    const tv_http_handler *handler = conn->listener->handler;

    if (exchange == NULL)
        return;

    conn->exchange = NULL;
    if (exchange->is_seen)
        handler->on_done(handler->ctx, &exchange->req);
    tv_exchange_free(exchange);
}

void tv_conn_count_input(tv_conn *conn)
{
    tv_hub *hub = conn->listener->hub;
    size_t size = conn->state == TV_CONN_HEAD ? conn->in.size : 0;

    hub->input_bytes = hub->input_bytes - conn->in_counted + size;
    conn->in_counted = size;
}

static void forget_input(tv_conn *conn)
{
    tv_buf_done(&conn->in);
    tv_conn_count_input(conn);
}

void tv_conn_free_if_done(tv_conn *conn)
{
    if (!conn->is_stream_closed || conn->exchange || conn->has_turn_mail)
        return;

    forget_input(conn);
    tv_listener_remove(conn->listener, conn);
    free(conn->of_service);
    free(conn);
}

void tv_conn_drop(tv_conn *conn)
{
    tv_assert(conn->state == TV_CONN_CLOSED);
    tv_conn_finish_exchange(conn);
    tv_conn_free_if_done(conn);
}

/* The service owes a call; see invariant (2). */
static bool is_with_service(tv_conn_state state)
{
    return state == TV_CONN_ASKING || state == TV_CONN_HELD || state == TV_CONN_PENDING ||
           state == TV_CONN_PULLING;
}

/* Tell the code that works on the request that nobody may be left to read its answer. */
static void note_gone(tv_conn *conn)
{
    if (conn->exchange)
        atomic_store_explicit(&conn->exchange->req.is_gone, true, memory_order_relaxed);
}

void tv_conn_close(tv_conn *conn)
{
    tv_conn_state state = conn->state;

    if (state == TV_CONN_CLOSED)
        return;

    note_gone(conn);
    tv_conn_enter(conn, TV_CONN_CLOSED);
    if (!is_with_service(state))
        tv_conn_finish_exchange(conn);
    if (!conn->is_working)
        forget_input(conn);
    tv_stream_close(&conn->stream);
}

/* While nothing is read no event says that the client has gone; the kernel knows. */
void tv_conn_look_for_end(tv_conn *conn)
{
    if (!conn->is_paused || conn->exchange == NULL || conn->exchange->req.is_gone)
        return;

    switch (tv_stream_peer(&conn->stream)) {
    case TV_STREAM_PEER_SENDS:
        break;
    case TV_STREAM_PEER_ENDED:
        note_gone(conn);
        break;
    case TV_STREAM_PEER_GONE:
        tv_conn_close(conn);
        break;
    }
}

void tv_conn_close_if_idle(tv_conn *conn)
{
    if (conn->state == TV_CONN_IDLE)
        tv_conn_close(conn);
}

/*
 * End the connection after its last response.  Closing it while the client still
 * sends would make the kernel answer with a reset, which can overtake the
 * response; so only our side ends, and the client's is read until it ends too.
 */
void tv_conn_linger(tv_conn *conn)
{
    if (conn->is_ended) {
        tv_conn_close(conn);
        return;
    }
    tv_stream_shutdown(&conn->stream);
    tv_conn_enter(conn, TV_CONN_LINGER);
}

/* Writing has progressed since the last look, or the client does not read. */
static void check_progress(tv_conn *conn)
{
    size_t unsent = tv_stream_unsent(&conn->stream), before = conn->unsent_at_look;

    conn->unsent_at_look = unsent;
    if (unsent < before)
        tv_conn_go_on(conn, conn->state, before - unsent);
    else
        tv_conn_close(conn);
}

void tv_conn_expire(tv_conn *conn)
{
    switch (conn->state) {
    case TV_CONN_HEAD:
    case TV_CONN_BODY:
        tv_conn_refuse(conn, TV_ERR_REQUEST_TIMEOUT);
        break;
    case TV_CONN_CONTINUE:
    case TV_CONN_WRITING:
        check_progress(conn);
        break;
    default:
        tv_conn_close(conn);
        break;
    }
}

static void on_data(tv_stream *stream, tv_slice bytes)
{
    tv_conn *conn = conn_of(stream);

    conn->turn_bytes = 0;
    if (conn->in.len) {
        /* Up to a head and what came with it; without memory for that there is no answer either. */
        if (tv_buf_try_grow(&conn->in, bytes.len)) {
            tv_conn_close(conn);
            return;
        }
        tv_buf_add(&conn->in, bytes);
        bytes = tv_buf_slice(&conn->in);
    }
    tv_conn_work(conn, bytes);
    if (conn->in.len && !tv_conn_is_receiving(conn) && !conn->is_paused) {
        conn->is_paused = true;
        tv_stream_read_stop(stream);
    }
}

static void on_end(tv_stream *stream, bool is_broken)
{
    tv_conn *conn = conn_of(stream);

    conn->is_ended = true;
    note_gone(conn);
    if (is_broken || tv_conn_is_receiving(conn) || conn->state == TV_CONN_LINGER)
        tv_conn_close(conn);
}

static void on_drained(tv_stream *stream)
{
    tv_conn *conn = conn_of(stream);

    if (conn->state == TV_CONN_WRITING) {
        tv_conn_written(conn);
    } else {
        tv_assert(conn->state == TV_CONN_CONTINUE);
        tv_conn_continued(conn);
    }
}

static void on_closed(tv_stream *stream)
{
    tv_conn *conn = conn_of(stream);

    conn->is_stream_closed = true;
    tv_conn_free_if_done(conn);
}

static const tv_stream_events stream_events = {on_data, on_end, on_drained, on_closed};

static bool is_loopback(const struct sockaddr_storage *address)
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;

    if (address->ss_family == AF_INET)
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

/* "127.0.0.1:50123", "[::1]:50123" */
static void put_address(const struct sockaddr_storage *address, char *to, size_t size)
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;
    char name[INET6_ADDRSTRLEN] = "";

    if (address->ss_family == AF_INET) {
        uv_ip4_name(v4, name, sizeof name);
        snprintf(to, size, "%s:%d", name, ntohs(v4->sin_port));
    } else {
        uv_ip6_name(v6, name, sizeof name);
        snprintf(to, size, "[%s]:%d", name, ntohs(v6->sin6_port));
    }
}

/* A socket for both families has ::ffff:127.0.0.1 where its client has 127.0.0.1. */
static void unmap(struct sockaddr_storage *address)
{
    struct sockaddr_in6 v6 = *(const struct sockaddr_in6 *)address;
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;

    if (address->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
        return;

    *address = (struct sockaddr_storage){.ss_family = AF_INET};
    v4->sin_port = v6.sin6_port;
    memcpy(&v4->sin_addr, v6.sin6_addr.s6_addr + 12, sizeof v4->sin_addr);
}

bool tv_request_local_address(tv_request *req, char ret_text[TV_LOCAL_ADDRESS_SIZE])
{
    struct sockaddr_storage address = {0};
    int len = sizeof address;

    if (uv_tcp_getsockname(&tv_exchange_of(req)->conn->stream.tcp, (struct sockaddr *)&address,
                           &len) != 0)
        return false;

    unmap(&address);
    put_address(&address, ret_text, TV_LOCAL_ADDRESS_SIZE);
    return true;
}

/* False when the peer has gone, or has too many connections already. */
static bool know_peer(tv_conn *conn)
{
    struct sockaddr_storage address = {0};
    int len = sizeof address;

    if (uv_tcp_getpeername(&conn->stream.tcp, (struct sockaddr *)&address, &len) != 0)
        return false;

    conn->is_peer_loopback = is_loopback(&address);
    put_address(&address, conn->peer, sizeof conn->peer);
    return tv_listener_admit(conn->listener, conn, &address);
}

void tv_conn_accept(tv_listener *listener)
{
    tv_conn *conn = tv_calloc(1, sizeof *conn);

    conn->listener = listener;
    tv_listener_add(listener, conn);
    if (!tv_stream_accept(&conn->stream, listener->loop, (uv_stream_t *)&listener->tcp,
                          listener->tls, &stream_events)) {
        tv_conn_enter(conn, TV_CONN_CLOSED);
        return;
    }
    tv_conn_enter(conn, TV_CONN_IDLE);
    if (!know_peer(conn)) {
        tv_conn_close(conn);
        return;
    }
    /* The handshake of TLS and the first byte have the time of a head, not that of an idle client.
     */
    set_deadline(conn, listener->limits->header_timeout_ms);
    tv_stream_read_start(&conn->stream);
}
