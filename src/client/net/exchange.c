/* The state machine of one exchange. */
#include "client/net/exchange.h"

#include "base/assert.h"
#include "base/clock.h"
#include "client/net/endpoint_private.h"

enum phase { TAKING, IN_LINE, OPENING, SENDING, RECEIVING, DONE };

enum {
    /* An idle connection is looked at before it is used again, unless it was used just now. */
    STALE_AFTER_MS = 1,
    /* How often to send or receive before others have a turn, and the clock is asked. */
    TURNS_MAX = 32,
};

static uint64_t body_len(const tvc_exchange *x)
{
    return x->source.read ? x->source_len : x->body.len;
}

static void let_go(tvc_exchange *x)
{
    if (x->state.conn)
        tvc_pool_drop(&x->endpoint->pool, x->state.conn);
    else if (x->state.phase == IN_LINE)
        tvc_pool_leave(&x->endpoint->pool, &x->state.waiter);
    x->state.conn = NULL;
}

/* End it.  The connection has been given back, or is closed here. */
static bool finish(tvc_exchange *x, tavola_err err, tvc_fate fate, const char *why)
{
    let_go(x);
    if (err)
        tvc_response_done(&x->response);
    x->err = err;
    x->fate = fate;
    x->why = why;
    x->state.phase = DONE;
    return true;
}

/* What is known of the request when its connection is given up now. */
static tvc_fate fate_of(const tvc_exchange *x)
{
    const tvc_conn *conn = x->state.conn;

    if (x->state.phase < SENDING || conn->bytes_out == x->state.bytes_before)
        return TVC_NOT_SENT;
    return TVC_UNKNOWN;
}

bool tvc_exchange_was_sent(const tvc_exchange *x)
{
    return x->state.conn && fate_of(x) == TVC_UNKNOWN;
}

static bool fail(tvc_exchange *x, tavola_err err, const char *why)
{
    return finish(x, err, fate_of(x), why);
}

/* Whether a kept connection had better be replaced: something between may have forgotten it. */
static bool has_aged(tvc_conn *conn)
{
    int64_t idle_ms = (tv_clock_mono_ns() - conn->idle_since_ns) / 1000000;

    return idle_ms >= TVC_IDLE_MAX_MS || (idle_ms >= STALE_AFTER_MS && tvc_conn_is_stale(conn));
}

/*
 * The steps: true when the exchange has gone on to another phase, false when it has to wait for
 * *ret_pending.
 */

static bool take(tvc_exchange *x, tvc_pending *ret_pending)
{
    tvc_conn *conn;

    switch (tvc_pool_take(&x->endpoint->pool, x->endpoint, &x->state.waiter, x->waker, &conn)) {
    case TVC_TAKE_WAIT:
        x->state.phase = IN_LINE;
        *ret_pending = (tvc_pending){TVC_WAIT_WAKE, -1, INT64_MAX};
        return false;
    case TVC_TAKE_NO_MEMORY:
        x->state.phase = TAKING;
        return fail(x, TAVOLA_ERR_NO_MEMORY, "no memory for a connection");
    case TVC_TAKEN:
        break;
    }

    x->state.conn = conn;
    if (conn->is_open && has_aged(conn))
        tvc_conn_close(conn);
    x->state.phase = OPENING;
    return true;
}

static bool begin_sending(tvc_exchange *x)
{
    x->state.sent = 0;
    x->state.staged_at = x->state.staged_len = 0;
    x->state.bytes_before = x->state.conn->bytes_out;
    x->state.phase = SENDING;
    tvc_reader_init(&x->state.conn->reader, &x->response, x->is_head, &x->sink);
    return true;
}

static bool open_conn(tvc_exchange *x, tvc_pending *ret_pending)
{
    tvc_conn *conn = x->state.conn;

    if (conn->is_open)
        return begin_sending(x);
    switch (tvc_conn_open(conn, x->waker, ret_pending)) {
    case TVC_OPEN_PENDING:
        return false;
    case TVC_OPEN_FAILED:
        x->is_final = conn->is_refused;
        return fail(x, conn->err, conn->why);
    case TVC_OPEN_DONE:
        break;
    }
    return begin_sending(x);
}

/* Fill the outgoing buffer from the source, when all of it has been sent. */
static bool stage(tvc_exchange *x, uint64_t offset)
{
    tvc_exchange_state *state = &x->state;
    char *out = tvc_conn_out(state->conn);
    uint64_t left = x->source_len - offset;
    size_t size = left < TVC_CONN_OUT_BYTES ? (size_t)left : TVC_CONN_OUT_BYTES;
    size_t len = 0;

    if (out == NULL) {
        fail(x, TAVOLA_ERR_NO_MEMORY, "no memory for the request");
        return false;
    }
    if (!x->source.read(x->source.user, offset, out, size, &len) || len == 0 || len > size) {
        fail(x, TAVOLA_ERR_CANCELLED, "the source of the body stopped");
        return false;
    }
    state->staged_at = offset;
    state->staged_len = len;
    return true;
}

/* What is sent before the body: the head, with the user of a plain proxy at its end. */
static int list_head(const tvc_exchange *x, tv_slice parts[3])
{
    const char *authorization = x->endpoint->proxy.authorization;
    const size_t end = sizeof "\r\n" - 1;

    if (authorization == NULL || x->endpoint->is_https) {
        parts[0] = x->head;
        return 1;
    }
    tv_assert(x->head.len > end);
    parts[0] = tv_slice_take(x->head, x->head.len - end);
    parts[1] = tv_slice_of(authorization);
    parts[2] = tv_slice_skip(x->head, x->head.len - end);
    return 3;
}

static uint64_t head_len(const tvc_exchange *x)
{
    tv_slice parts[3];
    uint64_t len = 0;

    for (int i = list_head(x, parts) - 1; i >= 0; i--)
        len += parts[i].len;
    return len;
}

/* The bytes of the body from `offset` on that can be sent next; data is NULL when it failed. */
static tv_slice next_of_body(tvc_exchange *x, uint64_t offset)
{
    tvc_exchange_state *state = &x->state;

    if (x->source.read == NULL)
        return tv_slice_skip(x->body, (size_t)offset);
    if (offset >= state->staged_at + state->staged_len && !stage(x, offset))
        return TV_NONE;
    return tv_slice_skip((tv_slice){state->conn->out, state->staged_len},
                         (size_t)(offset - state->staged_at));
}

enum { PIECES_MAX = 4 };

/* What is to be sent next.  0 when the exchange has ended over it. */
static int next_pieces(tvc_exchange *x, struct iovec pieces[PIECES_MAX])
{
    tv_slice parts[3];
    int part_count = list_head(x, parts), count = 0;
    uint64_t skip = x->state.sent;

    for (int i = 0; i < part_count; i++) {
        if (skip >= parts[i].len) {
            skip -= parts[i].len;
            continue;
        }
        pieces[count++] =
            (struct iovec){(void *)(parts[i].data + skip), parts[i].len - (size_t)skip};
        skip = 0;
    }
    if (skip < body_len(x)) {
        tv_slice rest = next_of_body(x, skip);

        if (rest.data == NULL)
            return 0;
        pieces[count++] = (struct iovec){(void *)rest.data, rest.len};
    }
    return count;
}

/* The whole answer is there: keep the connection if both sides can go on with it. */
static bool finish_answered(tvc_exchange *x)
{
    enum { REDIRECTIONS = 300 };
    tvc_conn *conn = x->state.conn;

    /* Nobody can have done what was not sent to its end: it is the answer to something else. */
    if (x->state.is_cut && x->response.status < REDIRECTIONS)
        return fail(x, TAVOLA_ERR_PROTOCOL, "the answer came before the end of the request");
    if (conn->reader.keep_alive && !x->state.is_cut && !tvc_conn_has_rest(conn)) {
        x->state.conn = NULL;
        tvc_pool_give(&x->endpoint->pool, conn);
    }
    return finish(x, TAVOLA_OK, TVC_ANSWERED, NULL);
}

static tvc_wait wait_of(tvc_io io)
{
    return io == TVC_IO_WRITE ? TVC_WAIT_WRITE : TVC_WAIT_READ;
}

/* There is more to do, but not now. */
static bool pause_turns(const tvc_exchange *x, tvc_wait wait, tvc_pending *ret_pending)
{
    *ret_pending = (tvc_pending){wait, x->state.conn->fd, tv_clock_mono_ns()};
    return false;
}

static bool receive(tvc_exchange *x, tvc_pending *ret_pending)
{
    tvc_conn *conn = x->state.conn;
    tvc_io io = TVC_IO_SOME;
    tvc_read read = TVC_READ_MORE;

    for (int turn = 0; read == TVC_READ_MORE && io == TVC_IO_SOME; turn++) {
        if (turn == TURNS_MAX)
            return pause_turns(x, TVC_WAIT_READ, ret_pending);
        read = tvc_conn_read(conn, &io);
    }

    if (read == TVC_READ_WHOLE)
        return finish_answered(x);
    if (read == TVC_READ_FAILED)
        return fail(x, conn->reader.err, conn->reader.why);
    *ret_pending = (tvc_pending){wait_of(io), conn->fd, INT64_MAX};
    return false;
}

/* The request cannot go on: its answer may be here already, as a 413 before a long body. */
static bool receive_early(tvc_exchange *x, tvc_io io, tvc_pending *ret_pending)
{
    x->state.is_cut = true;
    if (receive(x, ret_pending))
        return true;

    x->state.is_cut = x->state.conn->reader.has_head;
    if (x->state.is_cut)
        x->state.phase = RECEIVING;
    else if (io == TVC_IO_WRITE)
        ret_pending->wait = ret_pending->wait == TVC_WAIT_READ ? TVC_WAIT_BOTH : TVC_WAIT_WRITE;
    return false;
}

/* Nothing more can be sent over this connection. */
static bool send_failed(tvc_exchange *x)
{
    tvc_conn *conn = x->state.conn;

    if (conn->bytes_out != x->state.bytes_before) {
        x->state.is_cut = true;
        x->state.phase = RECEIVING;
        return true;
    }
    if (!conn->was_used)
        return fail(x, TAVOLA_ERR_NETWORK, "the connection was reset");

    /* It was kept, and closed by the server meanwhile. */
    tvc_conn_close(conn);
    x->state.phase = OPENING;
    return true;
}

static bool send_some(tvc_exchange *x, tvc_pending *ret_pending)
{
    tvc_conn *conn = x->state.conn;
    uint64_t total = head_len(x) + body_len(x);

    for (int turn = 0; x->state.sent < total; turn++) {
        if (turn == TURNS_MAX)
            return pause_turns(x, TVC_WAIT_WRITE, ret_pending);

        struct iovec pieces[PIECES_MAX];
        int count = next_pieces(x, pieces);
        size_t len;

        if (count == 0)
            return true;

        tvc_io io = tvc_conn_send(conn, pieces, count, &len);

        if (io == TVC_IO_READ || io == TVC_IO_WRITE)
            return receive_early(x, io, ret_pending);
        if (io != TVC_IO_SOME)
            return send_failed(x);
        x->state.sent += len;
    }

    /* The answer cannot be here yet: no need to look. */
    x->state.phase = RECEIVING;
    *ret_pending = (tvc_pending){TVC_WAIT_READ, conn->fd, INT64_MAX};
    return false;
}

static bool step(tvc_exchange *x, tvc_pending *ret_pending)
{
    switch ((enum phase)x->state.phase) {
    case TAKING:
    case IN_LINE:
        return take(x, ret_pending);
    case OPENING:
        return open_conn(x, ret_pending);
    case SENDING:
        return send_some(x, ret_pending);
    case RECEIVING:
        return receive(x, ret_pending);
    case DONE:
        break;
    }
    return true;
}

tvc_wait tvc_exchange_step(tvc_exchange *x, int *ret_fd, int64_t *ret_until_ns)
{
    tvc_pending pending = {TVC_WAIT_NOTHING, -1, INT64_MAX};

    while (x->state.phase != DONE && step(x, &pending)) {
    }
    if (x->state.phase != DONE && tv_clock_mono_ns() >= x->deadline_ns)
        fail(x, TAVOLA_ERR_TIMEOUT, "there was no answer in time");
    if (x->state.phase == DONE)
        return TVC_WAIT_NOTHING;

    *ret_fd = pending.fd;
    *ret_until_ns = pending.until_ns < x->deadline_ns ? pending.until_ns : x->deadline_ns;
    return pending.wait;
}

uint64_t *tvc_exchange_watch(tvc_exchange *x)
{
    tv_assert(x->state.conn);
    return &x->state.conn->watch;
}

void tvc_exchange_done(tvc_exchange *x)
{
    let_go(x);
    tvc_response_done(&x->response);
    x->state = (tvc_exchange_state){0};
}
