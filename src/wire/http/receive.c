/*
 * The input of a connection: heads, bodies, and what waits for its turn.
 *
 * Input is worked through by tv_conn_work: it calls take() until the input is
 * used up or the connection must wait for a service or a full socket.  What is
 * left waits in `in`; reading pauses only when more arrives meanwhile, so that
 * the usual client, which sends one request at a time, costs no change to the
 * poll set.
 */
#include "base/clock.h"
#include "wire/http/conn.h"

void tv_conn_refuse(tv_conn *conn, tv_err err)
{
    const tv_http_handler *handler = conn->listener->handler;

    conn->keep_alive = false;
    conn->exchange->is_seen = true;
    tv_conn_enter(conn, TV_CONN_ASKING);
    handler->on_refused(handler->ctx, &conn->exchange->req, err);
    tv_assert(conn->state != TV_CONN_ASKING);
}

static void begin_request(tv_conn *conn)
{
    conn->exchange = tv_exchange_new(conn->listener->hub, conn, conn->listener->limits->budget);
    conn->scan = (tv_head_scan){0};
    conn->has_body_ahead = false;

    tv_request *req = &conn->exchange->req;

    req->start_ns = tv_clock_mono_ns();
    req->is_tls = tv_stream_is_tls(&conn->stream);
    req->is_peer_loopback = conn->is_peer_loopback;
    req->body_bytes_max = conn->listener->limits->body_bytes_max;
    req->is_gone = conn->is_ended;
    memcpy(req->peer, conn->peer, sizeof req->peer);
    req->of_conn = &conn->of_service;
    tv_conn_enter(conn, TV_CONN_HEAD);
}

/* Move what the parser found to where services and the connection look for it. */
static void adopt_head(tv_conn *conn, const tv_head *head)
{
    tv_request *req = &conn->exchange->req;

    req->method = head->method;
    req->method_text = head->method_text;
    req->path = head->path;
    req->host = head->host;
    req->headers = head->headers;
    req->header_count = head->header_count;
    tv_request_index_headers(req);
    conn->is_1_0 = head->is_1_0;
    conn->keep_alive = head->keep_alive;
    conn->expects_continue = head->expect_continue;
    conn->is_chunked = head->is_chunked;
    conn->chunked = (tv_chunked){0};
    conn->body_left = head->content_length;
    conn->has_body_ahead = head->is_chunked || head->content_length > 0;
}

/* From here on the client does send the body, whether it has waited for a "Continue" or not. */
static void read_body(tv_conn *conn)
{
    conn->expects_continue = false;
    tv_conn_enter(conn, TV_CONN_BODY);
}

void tv_conn_continued(tv_conn *conn)
{
    read_body(conn);
    tv_conn_resume(conn);
}

static void send_continue(tv_conn *conn)
{
    tv_conn_enter(conn, TV_CONN_CONTINUE);
    switch (tv_stream_write(&conn->stream, TV_LIT("HTTP/1.1 100 Continue\r\n\r\n"), TV_NONE)) {
    case TV_STREAM_DONE:
        read_body(conn);
        break;
    case TV_STREAM_LATER:
        conn->unsent_at_look = tv_stream_unsent(&conn->stream);
        break;
    case TV_STREAM_FAILED:
        tv_conn_close(conn);
        break;
    }
}

/* The request is complete. */
static void deliver(tv_conn *conn)
{
    const tv_http_handler *handler = conn->listener->handler;

    conn->exchange->req.body = tv_buf_slice(&conn->exchange->body);
    tv_conn_enter(conn, TV_CONN_PENDING);
    handler->on_request(handler->ctx, &conn->exchange->req);
}

/* Ask for the memory of a body before the client sends it for nothing. */
static bool has_room_for_body(tv_conn *conn)
{
    tv_exchange *exchange = conn->exchange;

    return exchange->req.sink || conn->is_chunked ||
           tv_buf_try_reserve(&exchange->body, (size_t)conn->body_left) == TV_OK;
}

/* Nothing is read while the service takes nothing: what the client sends stays in the kernel. */
static void hold(tv_conn *conn)
{
    tv_conn_enter(conn, TV_CONN_HELD);
    if (!conn->is_paused) {
        conn->is_paused = true;
        tv_stream_read_stop(&conn->stream);
    }
}

/* The service wants the request. */
static void accept_head(tv_conn *conn, bool has_input_ahead)
{
    const tv_request *req = &conn->exchange->req;

    tv_assert(conn->state == TV_CONN_ASKING);
    if (!conn->has_body_ahead)
        deliver(conn);
    else if (!conn->is_chunked && conn->body_left > req->body_bytes_max)
        tv_conn_refuse(conn, TV_ERR_BODY_TOO_LARGE);
    else if (!has_room_for_body(conn))
        tv_conn_refuse(conn, TV_ERR_OVERLOADED);
    else if (conn->expects_continue && !has_input_ahead)
        send_continue(conn);
    else
        read_body(conn);
}

/* The head is complete: ask the service whether to go on, and with what. */
static void ask(tv_conn *conn, bool has_input_ahead)
{
    const tv_http_handler *handler = conn->listener->handler;
    tv_request *req = &conn->exchange->req;

    conn->exchange->is_seen = true;
    tv_conn_enter(conn, TV_CONN_ASKING);
    if (handler->on_headers(handler->ctx, req))
        accept_head(conn, has_input_ahead);
    else if (conn->state == TV_CONN_ASKING) {
        tv_assert(req->is_held); /* or it has been answered */
        hold(conn);
    }
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
        tv_conn_refuse(conn, err);
        return input.len;
    }
    if (end == 0)
        return 0;

    tv_arena *arena = &conn->exchange->req.arena;
    tv_slice text = tv_slice_skip(tv_slice_take(input, end), conn->scan.start);

    err = tv_head_parse(arena, tv_arena_dup(arena, text), conn->scan.line_count, &head);
    if (err) {
        tv_conn_refuse(conn, err);
        return input.len;
    }
    adopt_head(conn, &head);
    /* Before any parameter is looked up: what is refused here costs nothing. */
    if (!tv_parameters_parse(arena, head.query, &conn->exchange->req.query)) {
        tv_conn_refuse(conn, TV_ERR_TOO_MANY_PARAMETERS);
        return input.len;
    }
    ask(conn, input.len > end);
    return end;
}

/* Give a piece to the sink, which may have enough for now or answer early. */
static void offer(tv_conn *conn, tv_slice piece)
{
    tv_request *req = &conn->exchange->req;

    tv_conn_enter(conn, TV_CONN_ASKING);
    bool takes_more = req->sink->take(req, piece);
    bool is_answered = conn->state != TV_CONN_ASKING;

    tv_assert(!is_answered || !takes_more);
    if (takes_more)
        tv_conn_go_on(conn, TV_CONN_BODY, 0);
    else if (!is_answered)
        hold(conn);
}

/* How much to ask for when the body's next piece needs room: all of a body whose length is known.
 */
static size_t room_for_body(const tv_conn *conn, size_t piece_len)
{
    const tv_exchange *exchange = conn->exchange;
    uint64_t most = exchange->req.body_bytes_max - exchange->body.len;
    uint64_t wanted = piece_len + (conn->is_chunked ? exchange->body.len : conn->body_left);

    return (size_t)(wanted < most ? wanted : most);
}

/* Pass a piece of the body on or keep it, or count it when it is being skipped. */
static tv_err store(tv_conn *conn, tv_slice piece)
{
    if (piece.len == 0)
        return TV_OK;
    if (conn->state == TV_CONN_SKIP) {
        conn->skipped_bytes += piece.len;
        return conn->skipped_bytes > TV_CONN_SKIP_BYTES_MAX ? TV_ERR_BODY_TOO_LARGE : TV_OK;
    }
    tv_exchange *exchange = conn->exchange;
    tv_request *req = &exchange->req;

    if (piece.len > req->body_bytes_max - req->body_length)
        return TV_ERR_BODY_TOO_LARGE;

    if (req->sink) {
        req->body_length += piece.len;
        offer(conn, piece);
        return TV_OK;
    }
    if (piece.len > exchange->body.size - exchange->body.len) {
        tv_err err = tv_buf_try_reserve(&exchange->body, room_for_body(conn, piece.len));
        if (err)
            return err;
    }
    req->body_length += piece.len;
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
    tv_conn_state state = conn->state;
    tv_slice rest = input;
    tv_err err = TV_OK;

    while (!err && rest.len && conn->has_body_ahead && conn->state == state)
        err = take_piece(conn, &rest);

    if (err) {
        if (conn->state == TV_CONN_SKIP)
            tv_conn_linger(conn);
        else
            tv_conn_refuse(conn, err);
        return input.len;
    }
    if (conn->state != state) {
        /* The sink has answered, or defers the rest: then these count when it goes on. */
        conn->held_bytes = input.len - rest.len;
        return input.len - rest.len;
    }
    /* What is skipped has one deadline for all of it. */
    if (conn->has_body_ahead && state == TV_CONN_BODY)
        tv_conn_go_on(conn, TV_CONN_BODY, input.len - rest.len);
    else if (conn->has_body_ahead)
        return input.len - rest.len;
    else if (state == TV_CONN_SKIP)
        tv_conn_enter(conn, TV_CONN_IDLE);
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
    case TV_CONN_WRITING:
        return conn->keep_alive ? 0 : input.len; /* the last answer */
    case TV_CONN_ASKING:
    case TV_CONN_CONTINUE:
    case TV_CONN_HELD:
    case TV_CONN_PENDING:
    case TV_CONN_PULLING:
    case TV_CONN_YIELDING:
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
    } else if (tv_buf_try_grow(&conn->in, rest.len)) {
        tv_conn_close(conn);
        return;
    } else {
        tv_buf_add(&conn->in, rest);
    }
    tv_conn_count_input(conn);
}

void tv_conn_work(tv_conn *conn, tv_slice input)
{
    size_t used = 1;

    conn->is_working = true;
    while (input.len && used) {
        used = take(conn, input);
        input = tv_slice_skip(input, used);
    }
    conn->is_working = false;
    keep(conn, input);
    tv_listener_limit_input(conn->listener);

    /* A client that has ended its side gets its answers, but cannot complete a request. */
    if (conn->is_ended && tv_conn_is_receiving(conn))
        tv_conn_close(conn);
}

void tv_conn_resume(tv_conn *conn)
{
    tv_conn_work(conn, tv_buf_slice(&conn->in));
    if (conn->is_paused && (tv_conn_is_receiving(conn) || conn->state == TV_CONN_LINGER)) {
        conn->is_paused = false;
        tv_stream_read_start(&conn->stream);
    }
}

void tv_conn_take_more(tv_exchange *exchange)
{
    tv_conn *conn = exchange->conn;

    if (conn->state == TV_CONN_CLOSED) {
        tv_conn_drop(conn);
        return;
    }
    tv_assert(conn->state == TV_CONN_HELD);
    if (exchange->req.is_held) {
        exchange->req.is_held = false;
        tv_conn_enter(conn, TV_CONN_ASKING);
        accept_head(conn, conn->in.len > 0);
        if (tv_conn_is_receiving(conn))
            tv_conn_resume(conn);
    } else if (conn->has_body_ahead) {
        tv_conn_go_on(conn, TV_CONN_BODY, conn->held_bytes);
        tv_conn_resume(conn);
    } else {
        deliver(conn);
    }
}
