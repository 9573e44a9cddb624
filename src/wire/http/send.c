/*
 * The output of a connection: responses, and what follows them.
 *
 * A response with a source is a run of pieces, one at a time: pull, write, and
 * pull again when the kernel has it all.  The head waits for the first piece
 * and goes out with it in one write; instead of the first piece the service can
 * also give another response.
 */
#include "wire/http/conn.h"

/* What a source may send before the other connections of the loop get their turn. */
enum { TURN_BYTES_MAX = 1024 * 1024 };

/* The response has gone out. */
static void go_on(tv_conn *conn)
{
    tv_conn_finish_exchange(conn);
    if (!conn->keep_alive || conn->listener->is_stopping) {
        tv_conn_linger(conn);
    } else if (conn->has_body_ahead) {
        conn->skipped_bytes = 0;
        tv_conn_enter(conn, TV_CONN_SKIP);
    } else {
        tv_conn_enter(conn, TV_CONN_IDLE);
    }
    if (!conn->is_working)
        tv_conn_resume(conn);
}

/*
 * The answer to a client that was not authenticated, and does not read it.  The
 * memory of the head was given without asking, so beyond their share strangers
 * have to go; within it, this was their last answer, and what they sent after it
 * is dropped.
 */
static tv_stream_result wait_for_stranger(tv_conn *conn)
{
    conn->keep_alive = false;
    return tv_charge_is_over(&conn->exchange->req.charge) ? TV_STREAM_FAILED : TV_STREAM_LATER;
}

static tv_stream_result write_out(tv_conn *conn, tv_slice first, tv_slice second)
{
    if (conn->exchange->is_head_sent)
        tv_conn_go_on(conn, TV_CONN_WRITING, 0);
    else
        tv_conn_enter(conn, TV_CONN_WRITING);
    tv_stream_result result = tv_stream_write(&conn->stream, first, second);

    if (result == TV_STREAM_LATER && tv_charge_is_strangers(&conn->exchange->req.charge))
        result = wait_for_stranger(conn);
    if (result == TV_STREAM_LATER)
        conn->unsent_at_look = tv_stream_unsent(&conn->stream);
    else if (result == TV_STREAM_FAILED)
        tv_conn_close(conn);
    return result;
}

/* The kernel has the piece.  True when another must follow. */
static bool note_sent(tv_conn *conn)
{
    tv_exchange *exchange = conn->exchange;

    size_t sent = exchange->piece.len;

    exchange->req.out_length += sent;
    conn->turn_bytes += sent;
    exchange->piece = TV_NONE;
    exchange->is_head_sent = true;
    tv_conn_go_on(conn, TV_CONN_WRITING, sent);
    return exchange->source_left > 0;
}

/* The rest of the body will not come.  The exchange is ours again, so the close ends it. */
static void cut(tv_conn *conn)
{
    tv_conn_enter(conn, TV_CONN_WRITING);
    tv_conn_close(conn);
}

static void respond(tv_conn *conn);

/* Ask the source for a piece.  False when it comes later, or none will. */
static bool pull(tv_conn *conn)
{
    tv_exchange *exchange = conn->exchange;

    tv_conn_enter(conn, TV_CONN_PULLING);
    conn->is_pulling = true;
    exchange->source->pull(&exchange->req);
    conn->is_pulling = false;
    if (exchange->is_aborted) {
        cut(conn);
        return false;
    }
    if (exchange->is_replaced) {
        respond(conn);
        return false;
    }
    return exchange->piece.len > 0;
}

static void pump(tv_conn *conn);

static void on_turn(tv_mail *mail)
{
    tv_conn *conn = (tv_conn *)((char *)mail - offsetof(tv_conn, turn_mail));

    conn->has_turn_mail = false;
    conn->turn_bytes = 0;
    if (conn->state == TV_CONN_YIELDING)
        pump(conn);
    else
        tv_conn_free_if_done(conn);
}

/* Go on after all that the loop has to do now; a message to oneself comes in the next round. */
static void yield(tv_conn *conn)
{
    tv_mail_chain chain = {0};

    tv_conn_enter(conn, TV_CONN_YIELDING);
    conn->has_turn_mail = true;
    conn->turn_mail.deliver = on_turn;
    tv_mail_chain_add(&chain, &conn->turn_mail);
    tv_mailbox_post(tv_loop_mailbox(conn->listener->loop), &chain);
}

/* Pull and write until the response is out, or a wait is due: for the source, the socket, others.
 */
static void pump(tv_conn *conn)
{
    tv_exchange *exchange = conn->exchange;

    do {
        if (exchange->piece.len == 0) {
            if (conn->turn_bytes >= TURN_BYTES_MAX) {
                yield(conn);
                return;
            }
            if (!pull(conn))
                return;
        }
        tv_slice head = exchange->is_head_sent ? TV_NONE : tv_buf_slice(&exchange->req.head);

        if (write_out(conn, head, exchange->piece) != TV_STREAM_DONE)
            return;
    } while (note_sent(conn));
    go_on(conn);
}

/*
 * After an answer that did not wait for the body: can the rest be skipped?
 * Not if the client may still wait for a "100 Continue", because then either a
 * body or the next request may come.
 */
static bool can_skip(const tv_conn *conn)
{
    return !conn->expects_continue &&
           (conn->is_chunked || conn->body_left <= TV_CONN_SKIP_BYTES_MAX);
}

/* Complete the head and send what there is of the response, or begin to. */
static void respond(tv_conn *conn)
{
    tv_exchange *exchange = conn->exchange;
    tv_request *req = &exchange->req;

    if (req->close_after || conn->listener->is_stopping ||
        (conn->has_body_ahead && !can_skip(conn)))
        conn->keep_alive = false;

    tv_slice body = tv_response_finish(req, !conn->keep_alive ? TV_RESPONSE_CLOSE
                                            : conn->is_1_0    ? TV_RESPONSE_KEEP_1_0
                                                              : TV_RESPONSE_KEEP);

    if (exchange->source_left)
        pump(conn);
    else if (write_out(conn, tv_buf_slice(&req->head), body) == TV_STREAM_DONE)
        go_on(conn);
}

/* The source has no piece, not even the first; forget it. */
static void replace(tv_exchange *exchange)
{
    tv_assert(tv_response_is_unsent(&exchange->req) && !exchange->is_replaced);
    exchange->source = NULL;
    exchange->source_left = 0;
    exchange->is_streamed = false;
    exchange->is_replaced = true;
}

void tv_conn_respond(tv_exchange *exchange)
{
    tv_conn *conn = exchange->conn;

    if (conn->state == TV_CONN_CLOSED) {
        tv_conn_drop(conn);
        return;
    }
    if (conn->state == TV_CONN_PULLING) {
        replace(exchange);
        conn->turn_bytes = 0;
        if (conn->is_pulling)
            return; /* pull() looks at what has come */
    } else {
        tv_assert(conn->state == TV_CONN_ASKING || conn->state == TV_CONN_HELD ||
                  conn->state == TV_CONN_PENDING);
    }
    respond(conn);
}

void tv_conn_piece(tv_exchange *exchange)
{
    tv_conn *conn = exchange->conn;

    if (conn->state == TV_CONN_CLOSED) {
        tv_conn_drop(conn);
        return;
    }
    tv_assert(conn->state == TV_CONN_PULLING);
    if (conn->is_pulling)
        return; /* pull() looks at what has come */

    conn->turn_bytes = 0;
    if (exchange->is_aborted)
        cut(conn);
    else
        pump(conn);
}

/* Not a new turn: a write that the kernel took at once is reported in the same round. */
void tv_conn_written(tv_conn *conn)
{
    if (conn->exchange->piece.len && note_sent(conn))
        pump(conn);
    else
        go_on(conn);
}
