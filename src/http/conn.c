/*
 * The life of a connection.
 *
 * Input is worked through by work(): it calls take() until the input is used up
 * or the connection must wait for a service or a full socket.  What is left
 * waits in `in`; reading pauses only when more arrives meanwhile, so that the
 * usual client, which sends one request at a time, costs no change to the poll
 * set.
 *
 *  (1) A connection has at most one request, and parses nothing further until
 *      its response has gone to the kernel: answers keep the order of requests,
 *      and a client that does not read is not read from either.
 *  (2) From on_headers, on_request or on_refused to tv_response_send an exchange
 *      belongs to the service; nothing here frees it then, even if the client
 *      has gone.
 *  (3) A connection is freed when its stream is closed and it has no exchange.
 *  (4) Once a request was refused, no byte behind it is ever parsed.
 */
#include "http/conn.h"

#include <arpa/inet.h>

#include "base/clock.h"

enum {
    SKIP_BYTES_MAX = 64 * 1024, /* of a body nobody wants, to keep its connection */
    LINGER_MS = 5000,
};

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
    case TV_CONN_SKIP:
        return limits->body_timeout_ms;
    case TV_CONN_LINGER:
        return LINGER_MS;
    case TV_CONN_ASKING:
    case TV_CONN_PENDING:
    case TV_CONN_CLOSED:
        break;
    }
    return -1;
}

static void set_deadline(tv_conn *conn, int64_t timeout)
{
    conn->deadline_ms =
        timeout < 0 ? UINT64_MAX : uv_now(tv_loop_uv(conn->listener->loop)) + (uint64_t)timeout;
}

static void enter(tv_conn *conn, tv_conn_state state)
{
    conn->state = state;
    set_deadline(conn, timeout_ms(conn->listener->limits, state));
}

/* In these states the connection wants input; in the others it waits or is done. */
static bool is_receiving(const tv_conn *conn)
{
    return conn->state == TV_CONN_IDLE || conn->state == TV_CONN_HEAD ||
           conn->state == TV_CONN_BODY || conn->state == TV_CONN_SKIP;
}

static void finish_exchange(tv_conn *conn)
{
    tv_exchange *exchange = conn->exchange;
    const tv_service *service = conn->listener->service;

    if (exchange == NULL)
        return;

    conn->exchange = NULL;
    if (exchange->is_seen)
        service->on_done(service->ctx, &exchange->req);
    tv_exchange_free(exchange);
}

static void free_if_done(tv_conn *conn)
{
    if (!conn->is_stream_closed || conn->exchange)
        return;

    tv_listener_remove(conn->listener, conn);
    tv_buf_done(&conn->in);
    free(conn);
}

void tv_conn_close(tv_conn *conn)
{
    bool is_with_service = conn->state == TV_CONN_PENDING || conn->state == TV_CONN_ASKING;

    if (conn->state == TV_CONN_CLOSED)
        return;

    enter(conn, TV_CONN_CLOSED);
    if (!is_with_service)
        finish_exchange(conn);
    tv_stream_close(&conn->stream);
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
static void linger(tv_conn *conn)
{
    if (conn->is_ended) {
        tv_conn_close(conn);
        return;
    }
    tv_stream_shutdown(&conn->stream);
    enter(conn, TV_CONN_LINGER);
}

/* Let the service say what is wrong with the request; its answer is the last one. */
static void refuse(tv_conn *conn, tv_err err)
{
    const tv_service *service = conn->listener->service;

    conn->keep_alive = false;
    conn->exchange->is_seen = true;
    enter(conn, TV_CONN_ASKING);
    service->on_refused(service->ctx, &conn->exchange->req, err);
    tv_assert(conn->state != TV_CONN_ASKING);
}

static void begin_request(tv_conn *conn)
{
    conn->exchange = tv_exchange_new(conn->listener->hub, conn);
    conn->scan = (tv_head_scan){0};
    conn->has_body_ahead = false;

    tv_request *req = &conn->exchange->req;

    req->start_ns = tv_clock_mono_ns();
    req->is_tls = tv_stream_is_tls(&conn->stream);
    req->is_peer_loopback = conn->is_peer_loopback;
    req->body_bytes_max = conn->listener->limits->body_bytes_max;
    memcpy(req->peer, conn->peer, sizeof req->peer);
    enter(conn, TV_CONN_HEAD);
}

/* Move what the parser found to where services and the connection look for it. */
static void adopt_head(tv_conn *conn, const tv_head *head)
{
    tv_request *req = &conn->exchange->req;

    req->method = head->method;
    req->method_text = head->method_text;
    req->path = head->path;
    req->query = head->query;
    req->host = head->host;
    req->headers = head->headers;
    req->header_count = head->header_count;
    conn->is_1_0 = head->is_1_0;
    conn->keep_alive = head->keep_alive;
    conn->expects_continue = head->expect_continue;
    conn->is_chunked = head->is_chunked;
    conn->chunked = (tv_chunked){0};
    conn->body_left = head->content_length;
    conn->has_body_ahead = head->is_chunked || head->content_length > 0;
}

static void send_continue(tv_conn *conn)
{
    enter(conn, TV_CONN_CONTINUE);
    switch (tv_stream_write(&conn->stream, TV_LIT("HTTP/1.1 100 Continue\r\n\r\n"), TV_NONE)) {
    case TV_STREAM_DONE:
        enter(conn, TV_CONN_BODY);
        break;
    case TV_STREAM_LATER:
        conn->unsent_at_sweep = tv_stream_unsent(&conn->stream);
        break;
    case TV_STREAM_FAILED:
        tv_conn_close(conn);
        break;
    }
}

/* The request is complete. */
static void deliver(tv_conn *conn)
{
    const tv_service *service = conn->listener->service;

    conn->exchange->req.body = tv_buf_slice(&conn->exchange->body);
    enter(conn, TV_CONN_PENDING);
    service->on_request(service->ctx, &conn->exchange->req);
}

/* The head is complete: ask the service whether to go on, and with what. */
static void ask(tv_conn *conn, bool has_input_ahead)
{
    const tv_service *service = conn->listener->service;
    tv_request *req = &conn->exchange->req;

    conn->exchange->is_seen = true;
    enter(conn, TV_CONN_ASKING);
    if (!service->on_headers(service->ctx, req)) {
        tv_assert(conn->state != TV_CONN_ASKING);
        return;
    }
    tv_assert(conn->state == TV_CONN_ASKING);
    if (!conn->has_body_ahead)
        deliver(conn);
    else if (!conn->is_chunked && conn->body_left > req->body_bytes_max)
        refuse(conn, TV_ERR_BODY_TOO_LARGE);
    else if (conn->expects_continue && !has_input_ahead)
        send_continue(conn);
    else
        enter(conn, TV_CONN_BODY);
}

static size_t take_head(tv_conn *conn, tv_slice input)
{
    const tv_http_limits *limits = conn->listener->limits;
    tv_head head;
    size_t end;

    if (conn->state == TV_CONN_IDLE)
        begin_request(conn);

    tv_err err = tv_head_scan_run(&conn->scan, input, limits->head_bytes_max,
                                  limits->header_count_max, &end);
    if (err) {
        refuse(conn, err);
        return input.len;
    }
    if (end == 0)
        return 0;

    tv_arena *arena = &conn->exchange->req.arena;
    tv_slice text = tv_slice_skip(tv_slice_take(input, end), conn->scan.start);

    err = tv_head_parse(arena, tv_arena_dup(arena, text), conn->scan.line_count, &head);
    if (err) {
        refuse(conn, err);
        return input.len;
    }
    adopt_head(conn, &head);
    ask(conn, input.len > end);
    return end;
}

/* Keep a piece of the body, or count it when it is being skipped. */
static tv_err store(tv_conn *conn, tv_slice piece)
{
    if (conn->state == TV_CONN_SKIP) {
        conn->skipped_bytes += piece.len;
        return conn->skipped_bytes > SKIP_BYTES_MAX ? TV_ERR_BODY_TOO_LARGE : TV_OK;
    }
    tv_exchange *exchange = conn->exchange;

    if (piece.len > exchange->req.body_bytes_max - exchange->body.len)
        return TV_ERR_BODY_TOO_LARGE;

    /* Each body keeps its limit, but thousands of connections together need one, too. */
    if (piece.len > conn->listener->limits->bodies_bytes_max - exchange->hub->body_bytes)
        return TV_ERR_OVERLOADED;

    exchange->hub->body_bytes += piece.len;
    tv_buf_add(&exchange->body, piece);
    return TV_OK;
}

/* Take the next piece of the body off the front of `input`. */
static tv_err take_piece(tv_conn *conn, tv_slice *input)
{
    tv_slice piece;
    bool is_done;

    if (conn->is_chunked) {
        tv_err err = tv_chunked_decode(&conn->chunked, input, &piece, &is_done);
        if (err)
            return err;
    } else {
        piece = tv_slice_take(*input,
                              input->len < conn->body_left ? input->len : (size_t)conn->body_left);
        *input = tv_slice_skip(*input, piece.len);
        conn->body_left -= piece.len;
        is_done = conn->body_left == 0;
    }
    conn->has_body_ahead = !is_done;
    return store(conn, piece);
}

static size_t take_body(tv_conn *conn, tv_slice input)
{
    tv_slice rest = input;
    tv_err err = TV_OK;

    while (!err && rest.len && conn->has_body_ahead)
        err = take_piece(conn, &rest);

    if (err) {
        if (conn->state == TV_CONN_SKIP)
            linger(conn);
        else
            refuse(conn, err);
        return input.len;
    }
    if (conn->has_body_ahead)
        enter(conn, conn->state); /* progress: the deadline moves */
    else if (conn->state == TV_CONN_SKIP)
        enter(conn, TV_CONN_IDLE);
    else
        deliver(conn);
    return input.len - rest.len;
}

/* Use bytes at the front of `input`.  Returns how many; 0 when there is nothing to be done now. */
static size_t take(tv_conn *conn, tv_slice input)
{
    switch (conn->state) {
    case TV_CONN_IDLE:
    case TV_CONN_HEAD:
        return take_head(conn, input);
    case TV_CONN_BODY:
    case TV_CONN_SKIP:
        return take_body(conn, input);
    case TV_CONN_LINGER:
    case TV_CONN_CLOSED:
        return input.len;
    case TV_CONN_ASKING:
    case TV_CONN_CONTINUE:
    case TV_CONN_PENDING:
    case TV_CONN_WRITING:
        break;
    }
    return 0;
}

/* Keep the unused rest of the input, which is the end of `in` unless that is empty. */
static void keep(tv_conn *conn, tv_slice rest)
{
    if (rest.len == 0) {
        tv_buf_done(&conn->in);
    } else if (conn->in.len) {
        memmove(conn->in.data, rest.data, rest.len);
        conn->in.len = rest.len;
    } else {
        tv_buf_add(&conn->in, rest);
    }
}

static void work(tv_conn *conn, tv_slice input)
{
    size_t used = 1;

    conn->is_working = true;
    while (input.len && used) {
        used = take(conn, input);
        input = tv_slice_skip(input, used);
    }
    conn->is_working = false;
    keep(conn, input);

    /* A client that has ended its side gets its answers, but cannot complete a request. */
    if (conn->is_ended && is_receiving(conn))
        tv_conn_close(conn);
}

/* Go on with the input that had to wait. */
static void resume(tv_conn *conn)
{
    work(conn, tv_buf_slice(&conn->in));
    if (conn->is_paused && (is_receiving(conn) || conn->state == TV_CONN_LINGER)) {
        conn->is_paused = false;
        tv_stream_read_start(&conn->stream);
    }
}

/* The response has gone out. */
static void go_on(tv_conn *conn)
{
    finish_exchange(conn);
    if (!conn->keep_alive || conn->listener->is_stopping) {
        linger(conn);
    } else if (conn->has_body_ahead) {
        conn->skipped_bytes = 0;
        enter(conn, TV_CONN_SKIP);
    } else {
        enter(conn, TV_CONN_IDLE);
    }
    if (!conn->is_working)
        resume(conn);
}

/*
 * After an answer that did not wait for the body: can the rest be passed over?
 * Not if the client may still wait for a "100 Continue", because then nobody
 * knows whether a body or the next request comes.
 */
static bool can_skip(const tv_conn *conn)
{
    return !conn->expects_continue && (conn->is_chunked || conn->body_left <= SKIP_BYTES_MAX);
}

void tv_conn_respond(tv_exchange *exchange)
{
    tv_conn *conn = exchange->conn;
    tv_request *req = &exchange->req;

    if (conn->state == TV_CONN_CLOSED) {
        finish_exchange(conn);
        free_if_done(conn);
        return;
    }
    tv_assert(conn->state == TV_CONN_ASKING || conn->state == TV_CONN_PENDING);
    if (req->close_after || conn->listener->is_stopping ||
        (conn->has_body_ahead && !can_skip(conn)))
        conn->keep_alive = false;

    tv_slice body = tv_response_finish(req, !conn->keep_alive ? TV_RESPONSE_CLOSE
                                            : conn->is_1_0    ? TV_RESPONSE_KEEP_1_0
                                                              : TV_RESPONSE_KEEP);

    enter(conn, TV_CONN_WRITING);
    switch (tv_stream_write(&conn->stream, tv_buf_slice(&req->head), body)) {
    case TV_STREAM_DONE:
        go_on(conn);
        break;
    case TV_STREAM_LATER:
        conn->unsent_at_sweep = tv_stream_unsent(&conn->stream);
        break;
    case TV_STREAM_FAILED:
        tv_conn_close(conn);
        break;
    }
}

/* Writing has progressed since the last look, or the client does not read. */
static void check_progress(tv_conn *conn)
{
    size_t unsent = tv_stream_unsent(&conn->stream);

    if (unsent < conn->unsent_at_sweep) {
        conn->unsent_at_sweep = unsent;
        enter(conn, conn->state);
    } else {
        tv_conn_close(conn);
    }
}

void tv_conn_expire(tv_conn *conn)
{
    switch (conn->state) {
    case TV_CONN_HEAD:
    case TV_CONN_BODY:
        refuse(conn, TV_ERR_REQUEST_TIMEOUT);
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

    if (conn->in.len) {
        tv_buf_add(&conn->in, bytes);
        bytes = tv_buf_slice(&conn->in);
    }
    work(conn, bytes);
    if (conn->in.len && !is_receiving(conn) && !conn->is_paused) {
        conn->is_paused = true;
        tv_stream_read_stop(stream);
    }
}

static void on_end(tv_stream *stream, bool is_broken)
{
    tv_conn *conn = conn_of(stream);

    conn->is_ended = true;
    if (is_broken || is_receiving(conn) || conn->state == TV_CONN_LINGER)
        tv_conn_close(conn);
}

static void on_drained(tv_stream *stream)
{
    tv_conn *conn = conn_of(stream);

    if (conn->state == TV_CONN_WRITING) {
        go_on(conn);
    } else {
        tv_assert(conn->state == TV_CONN_CONTINUE);
        enter(conn, TV_CONN_BODY);
        resume(conn);
    }
}

static void on_closed(tv_stream *stream)
{
    tv_conn *conn = conn_of(stream);

    conn->is_stream_closed = true;
    free_if_done(conn);
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

static void name_peer(tv_conn *conn)
{
    struct sockaddr_storage address = {0};
    int len = sizeof address;
    char name[INET6_ADDRSTRLEN] = "";

    if (uv_tcp_getpeername(&conn->stream.tcp, (struct sockaddr *)&address, &len) != 0)
        return;

    conn->is_peer_loopback = is_loopback(&address);
    if (address.ss_family == AF_INET) {
        uv_ip4_name((struct sockaddr_in *)&address, name, sizeof name);
        snprintf(conn->peer, sizeof conn->peer, "%s:%d", name,
                 ntohs(((struct sockaddr_in *)&address)->sin_port));
    } else {
        uv_ip6_name((struct sockaddr_in6 *)&address, name, sizeof name);
        snprintf(conn->peer, sizeof conn->peer, "[%s]:%d", name,
                 ntohs(((struct sockaddr_in6 *)&address)->sin6_port));
    }
}

void tv_conn_accept(tv_listener *listener)
{
    tv_conn *conn = tv_calloc(1, sizeof *conn);

    conn->listener = listener;
    tv_listener_add(listener, conn);
    if (!tv_stream_accept(&conn->stream, listener->loop, (uv_stream_t *)&listener->tcp,
                          listener->tls, &stream_events)) {
        enter(conn, TV_CONN_CLOSED);
        return;
    }
    name_peer(conn);
    enter(conn, TV_CONN_IDLE);
    /* The handshake of TLS and the first byte have the time of a head, not that of an idle client.
     */
    set_deadline(conn, listener->limits->header_timeout_ms);
    tv_stream_read_start(&conn->stream);
}
