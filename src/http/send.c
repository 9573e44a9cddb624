/* The output of a connection: responses, and what follows them. */
#include "http/conn.h"

void tv_conn_go_on(tv_conn *conn)
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
 * After an answer that did not wait for the body: can the rest be passed over?
 * Not if the client may still wait for a "100 Continue", because then nobody
 * knows whether a body or the next request comes.
 */
static bool can_skip(const tv_conn *conn)
{
    return !conn->expects_continue &&
           (conn->is_chunked || conn->body_left <= TV_CONN_SKIP_BYTES_MAX);
}

void tv_conn_respond(tv_exchange *exchange)
{
    tv_conn *conn = exchange->conn;
    tv_request *req = &exchange->req;

    if (conn->state == TV_CONN_CLOSED) {
        tv_conn_finish_exchange(conn);
        tv_conn_free_if_done(conn);
        return;
    }
    tv_assert(conn->state == TV_CONN_ASKING || conn->state == TV_CONN_PENDING);
    if (req->close_after || conn->listener->is_stopping ||
        (conn->has_body_ahead && !can_skip(conn)))
        conn->keep_alive = false;

    tv_slice body = tv_response_finish(req, !conn->keep_alive ? TV_RESPONSE_CLOSE
                                            : conn->is_1_0    ? TV_RESPONSE_KEEP_1_0
                                                              : TV_RESPONSE_KEEP);

    tv_conn_enter(conn, TV_CONN_WRITING);
    switch (tv_stream_write(&conn->stream, tv_buf_slice(&req->head), body)) {
    case TV_STREAM_DONE:
        tv_conn_go_on(conn);
        break;
    case TV_STREAM_LATER:
        conn->unsent_at_sweep = tv_stream_unsent(&conn->stream);
        break;
    case TV_STREAM_FAILED:
        tv_conn_close(conn);
        break;
    }
}
