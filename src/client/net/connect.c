/* Opening a connection: a name, its addresses, what is between us and the server, TLS. */
#include "client/net/connect.h"

#include <errno.h>
#include <openssl/crypto.h>

#include "base/assert.h"
#include "base/clock.h"
#include "client/net/endpoint_private.h"
#include "client/net/tls.h"

enum stage { RESOLVING, RACING, TUNNELLING, SHAKING_HANDS, OPEN };

/* How a stage went. */
enum progress {
    GOES_ON, /* with the next stage */
    WAITS,
    FAILED,
};

void tvc_opening_end(tvc_conn *conn)
{
    if (conn->opening == NULL)
        return;
    tvc_resolver_leave(conn->endpoint->resolver, &conn->opening->waiter);
    tvc_race_end(&conn->opening->race);
    if (conn->opening->request.buf.len) /* the user of a proxy may be in it */
        OPENSSL_cleanse(conn->opening->request.buf.data, conn->opening->request.buf.len);
    tvc_text_done(&conn->opening->request);
    tvc_response_done(&conn->opening->response);
    tvc_release(conn->opening);
    conn->opening = NULL;
}

static enum progress fail(tvc_conn *conn, tavola_err err, const char *why)
{
    conn->err = err;
    conn->why = why;
    return FAILED;
}

/* Wait for the socket in the direction that `io` tells, or for the time. */
static enum progress wait_for(tvc_conn *conn, tvc_io io, int64_t until_ns, tvc_pending *ret_pending)
{
    tvc_wait wait = io == TVC_IO_WRITE ? TVC_WAIT_WRITE : TVC_WAIT_READ;

    *ret_pending = (tvc_pending){wait, conn->fd, until_ns};
    return WAITS;
}

static enum progress resolve(tvc_conn *conn, tvc_waker *waker, tvc_pending *ret_pending)
{
    tvc_opening *opening = conn->opening;

    switch (tvc_resolver_ask(conn->endpoint->resolver, &opening->waiter, waker,
                             &opening->race.addresses)) {
    case TVC_RESOLVE_WAIT:
        *ret_pending = (tvc_pending){TVC_WAIT_WAKE, -1, opening->deadline_ns};
        return WAITS;
    case TVC_RESOLVE_FAILED:
        return fail(conn, opening->waiter.err, opening->waiter.why);
    case TVC_RESOLVED:
        break;
    }
    opening->stage = RACING;
    return GOES_ON;
}

static const char *explain(int code)
{
    switch (code) {
    case ECONNREFUSED:
        return "the connection was refused";
    case ENETUNREACH:
    case EHOSTUNREACH:
        return "the host cannot be reached";
    case ETIMEDOUT:
        return "connecting took too long";
    case EMFILE:
    case ENFILE:
        return "too many files are open";
    default:
        return "the connection could not be made";
    }
}

static enum progress race(tvc_conn *conn, tvc_pending *ret_pending)
{
    tvc_opening *opening = conn->opening;
    const tvc_proxy *proxy = &conn->endpoint->proxy;
    bool has_tunnel = proxy->host && (proxy->is_socks || conn->endpoint->tls);
    tvc_address winner;

    conn->watch = 0; /* each step may name another descriptor */
    switch (tvc_race_step(&opening->race, opening->deadline_ns, ret_pending, &conn->fd, &winner)) {
    case TVC_RACE_GOES_ON:
        if (ret_pending->until_ns > opening->deadline_ns)
            ret_pending->until_ns = opening->deadline_ns;
        return WAITS;
    case TVC_RACE_LOST:
        return fail(conn, TAVOLA_ERR_NETWORK, explain(opening->race.error));
    case TVC_RACE_WON:
        break;
    }
    tvc_resolver_prefer(conn->endpoint->resolver, &winner);
    opening->stage = has_tunnel ? TUNNELLING : conn->endpoint->tls ? SHAKING_HANDS : OPEN;
    return GOES_ON;
}

static enum progress make_tunnel(tvc_conn *conn, tvc_pending *ret_pending)
{
    tvc_io io = conn->endpoint->proxy.is_socks ? tvc_socks_step(conn) : tvc_tunnel_step(conn);

    if (io == TVC_IO_FAILED)
        return FAILED;
    if (io != TVC_IO_SOME)
        return wait_for(conn, io, conn->opening->deadline_ns, ret_pending);
    conn->opening->stage = conn->endpoint->tls ? SHAKING_HANDS : OPEN;
    return GOES_ON;
}

static enum progress shake_hands(tvc_conn *conn, tvc_pending *ret_pending)
{
    const char *why;

    conn->is_refused = false;
    if (conn->tls == NULL && !tvc_tls_begin(conn->endpoint->tls, conn))
        return fail(conn, TAVOLA_ERR_NO_MEMORY, "no memory for a connection");

    tvc_io io = tvc_tls_shake_hands(conn, &conn->is_refused, &why);

    if (io == TVC_IO_FAILED)
        return fail(conn, TAVOLA_ERR_NETWORK, why);
    if (io != TVC_IO_SOME)
        return wait_for(conn, io, conn->opening->deadline_ns, ret_pending);
    conn->opening->stage = OPEN;
    return GOES_ON;
}

static enum progress step(tvc_conn *conn, tvc_waker *waker, tvc_pending *ret_pending)
{
    switch ((enum stage)conn->opening->stage) {
    case RESOLVING:
        return resolve(conn, waker, ret_pending);
    case RACING:
        return race(conn, ret_pending);
    case TUNNELLING:
        return make_tunnel(conn, ret_pending);
    case SHAKING_HANDS:
        return shake_hands(conn, ret_pending);
    case OPEN:
        break;
    }
    tv_assert(!"a step of an open connection");
    return FAILED;
}

static bool begin(tvc_conn *conn)
{
    conn->opening = tvc_zalloc(sizeof *conn->opening);
    if (conn->opening == NULL)
        return false;
    tvc_race_init(&conn->opening->race);
    conn->opening->deadline_ns =
        tv_clock_mono_ns() + conn->endpoint->connect_timeout_ms * INT64_C(1000000);
    return true;
}

tvc_open tvc_conn_open(tvc_conn *conn, tvc_waker *waker, tvc_pending *ret_pending)
{
    enum progress progress = GOES_ON;

    if (conn->opening == NULL && !begin(conn))
        progress = fail(conn, TAVOLA_ERR_NO_MEMORY, "no memory for a connection");
    while (progress == GOES_ON && conn->opening->stage != OPEN)
        progress = step(conn, waker, ret_pending);
    if (progress == WAITS && tv_clock_mono_ns() >= conn->opening->deadline_ns)
        progress = fail(conn, TAVOLA_ERR_NETWORK, explain(ETIMEDOUT));
    if (progress == WAITS)
        return TVC_OPEN_PENDING;
    if (progress == FAILED) {
        tvc_resolver_forget(conn->endpoint->resolver);
        tvc_conn_close(conn);
        return TVC_OPEN_FAILED;
    }

    tvc_opening_end(conn);
    conn->is_open = true;
    return TVC_OPEN_DONE;
}
