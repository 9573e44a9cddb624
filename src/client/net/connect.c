/* Opening a connection: one address after the other, each with its share of the time. */
#include "client/net/connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "base/clock.h"
#include "client/net/endpoint_private.h"

enum stage { RESOLVING, CHOOSING, CONNECTING };

typedef struct tvc_opening {
    int stage;
    int64_t deadline_ns;      /* of all of it */
    int64_t this_deadline_ns; /* of this address */
    tvc_addresses addresses;
    size_t next;     /* address to try */
    const char *why; /* the last one failed */
} tvc_opening;

void tvc_opening_free(tvc_opening *opening)
{
    tvc_release(opening);
}

static tvc_open fail(tvc_conn *conn, tavola_err err, const char *why)
{
    tvc_conn_close(conn);
    conn->err = err;
    conn->why = why;
    return TVC_OPEN_FAILED;
}

static bool parse_literal(const char *host, uint16_t port, tvc_addresses *ret_addresses)
{
    tvc_address address = {0};

    if (inet_pton(AF_INET, host, &address.as.v4.sin_addr) == 1) {
        address.as.v4.sin_family = AF_INET;
        address.as.v4.sin_port = htons(port);
        address.len = sizeof address.as.v4;
    } else if (inet_pton(AF_INET6, host, &address.as.v6.sin6_addr) == 1) {
        address.as.v6.sin6_family = AF_INET6;
        address.as.v6.sin6_port = htons(port);
        address.len = sizeof address.as.v6;
    } else {
        return false;
    }
    ret_addresses->count = 1;
    ret_addresses->list[0] = address;
    return true;
}

static void close_socket(tvc_conn *conn)
{
    tvc_opening *opening = conn->opening;

    conn->opening = NULL;
    tvc_conn_close(conn);
    conn->opening = opening;
}

static const char *explain(int code)
{
    switch (code) {
    case ECONNREFUSED:
        return "the connection was refused";
    case ENETUNREACH:
    case EHOSTUNREACH:
        return "the host cannot be reached";
    case EMFILE:
    case ENFILE:
        return "too many open files";
    default:
        return "the connection could not be made";
    }
}

/* Begin with the next address.  False when there is none left. */
static bool begin_next(tvc_conn *conn)
{
    tvc_opening *opening = conn->opening;

    while (opening->next < opening->addresses.count) {
        int64_t now_ns = tv_clock_mono_ns();
        size_t left = opening->addresses.count - opening->next;
        const tvc_address *address = &opening->addresses.list[opening->next++];

        opening->this_deadline_ns = now_ns + (opening->deadline_ns - now_ns) / (int64_t)left;
        conn->fd = socket(address->as.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (conn->fd >= 0) {
            setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
            /* An interrupted connect goes on by itself, as one that was begun. */
            if (connect(conn->fd, &address->as.any, address->len) == 0 || errno == EINPROGRESS ||
                errno == EINTR) {
                opening->stage = CONNECTING;
                return true;
            }
        }
        opening->why = explain(errno);
        close_socket(conn);
    }
    return false;
}

/* Whether the socket is connected; if not, *ret_pending or the next address. */
static bool is_connected(tvc_conn *conn, tvc_pending *ret_pending, bool *ret_has_failed)
{
    int code = 0;
    socklen_t len = sizeof code;
    struct sockaddr_storage peer;
    socklen_t peer_len = sizeof peer;

    *ret_has_failed = false;
    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &code, &len) == 0 && code == 0) {
        if (getpeername(conn->fd, (struct sockaddr *)&peer, &peer_len) == 0)
            return true;
        if (tv_clock_mono_ns() < conn->opening->this_deadline_ns) {
            *ret_pending = (tvc_pending){TVC_WAIT_WRITE, conn->fd, conn->opening->this_deadline_ns};
            return false;
        }
        conn->opening->why = "connecting took too long";
    } else {
        conn->opening->why = explain(code);
    }
    *ret_has_failed = true;
    return false;
}

static tvc_open begin(tvc_conn *conn)
{
    tvc_endpoint *endpoint = conn->endpoint;

    conn->opening = tvc_zalloc(sizeof *conn->opening);
    if (conn->opening == NULL)
        return fail(conn, TAVOLA_ERR_NO_MEMORY, "no memory for a connection");
    conn->opening->deadline_ns =
        tv_clock_mono_ns() + endpoint->connect_timeout_ms * INT64_C(1000000);
    conn->opening->stage = CHOOSING;
    if (!parse_literal(endpoint->host, endpoint->port, &conn->opening->addresses))
        return fail(conn, TAVOLA_ERR_INVALID, "there is no such host");
    return TVC_OPEN_PENDING;
}

tvc_open tvc_conn_open(tvc_conn *conn, tvc_waker *waker, tvc_pending *ret_pending)
{
    bool has_failed;

    if (conn->opening == NULL && begin(conn) == TVC_OPEN_FAILED)
        return TVC_OPEN_FAILED;

    for (;;) {
        if (conn->opening->stage == CHOOSING && !begin_next(conn))
            return fail(conn, TAVOLA_ERR_NETWORK, conn->opening->why);
        if (is_connected(conn, ret_pending, &has_failed)) {
            tvc_opening_free(conn->opening);
            conn->opening = NULL;
            conn->is_open = true;
            return TVC_OPEN_DONE;
        }
        if (!has_failed)
            return TVC_OPEN_PENDING;
        close_socket(conn);
        conn->opening->stage = CHOOSING;
    }
}
