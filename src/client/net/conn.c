/* Bytes both ways over a connection. */
#include "client/net/conn.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "client/net/connect.h"
#include "client/net/tls.h"

tvc_conn *tvc_conn_new(tvc_endpoint *endpoint)
{
    tvc_conn *conn = tvc_zalloc(sizeof *conn);

    if (conn == NULL)
        return NULL;

    conn->endpoint = endpoint;
    conn->fd = -1;
    conn->in_size = TVC_CONN_IN_BYTES;
    conn->in = tvc_alloc(conn->in_size);
    if (conn->in == NULL) {
        tvc_release(conn);
        return NULL;
    }
    return conn;
}

static void close_socket(tvc_conn *conn)
{
    if (conn->fd >= 0)
        close(conn->fd);
    conn->fd = -1;
    conn->watch = 0;
}

void tvc_conn_close(tvc_conn *conn)
{
    tvc_opening_end(conn);
    tvc_tls_end(conn);
    close_socket(conn);
    conn->is_open = conn->was_used = false;
    conn->in_start = conn->in_end = 0;
}

void tvc_conn_free(tvc_conn *conn)
{
    if (conn == NULL)
        return;

    tvc_conn_close(conn);
    tvc_release(conn->in);
    tvc_release(conn->out);
    tvc_release(conn);
}

char *tvc_conn_out(tvc_conn *conn)
{
    if (conn->out == NULL)
        conn->out = tvc_alloc(TVC_CONN_OUT_BYTES);
    return conn->out;
}

bool tvc_conn_is_stale(tvc_conn *conn)
{
    char byte;
    ssize_t len;

    if (tvc_conn_has_rest(conn))
        return true;
    do
        len = recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    while (len < 0 && errno == EINTR);
    if (len < 0)
        return errno != EAGAIN;
    /* TLS has messages of its own, tickets for example. */
    return len == 0 || conn->tls == NULL || !tvc_tls_is_quiet(conn);
}

tvc_io tvc_conn_send(tvc_conn *conn, const struct iovec *from, int count, size_t *ret_len)
{
    struct msghdr message = {.msg_iov = (struct iovec *)from, .msg_iovlen = (size_t)count};
    ssize_t len;

    if (conn->tls)
        return tvc_tls_send(conn, from, count, ret_len);
    do
        len = sendmsg(conn->fd, &message, MSG_NOSIGNAL);
    while (len < 0 && errno == EINTR);
    if (len < 0)
        return errno == EAGAIN ? TVC_IO_WRITE : TVC_IO_FAILED;

    conn->bytes_out += (size_t)len;
    *ret_len = (size_t)len;
    return TVC_IO_SOME;
}

static tvc_io receive(tvc_conn *conn, void *to, size_t size, size_t *ret_len)
{
    ssize_t len;

    if (conn->tls)
        return tvc_tls_receive(conn, to, size, ret_len);
    do
        len = recv(conn->fd, to, size, 0);
    while (len < 0 && errno == EINTR);
    if (len < 0)
        return errno == EAGAIN ? TVC_IO_READ : TVC_IO_FAILED;
    if (len == 0)
        return TVC_IO_END;

    *ret_len = (size_t)len;
    return TVC_IO_SOME;
}

/* ---- into the reader ---- */

/* Room for more bytes behind those of a head that is not complete. */
static bool make_room(tvc_conn *conn)
{
    if (conn->in_start > 0) {
        memmove(conn->in, conn->in + conn->in_start, conn->in_end - conn->in_start);
        conn->in_end -= conn->in_start;
        conn->in_start = 0;
    }
    if (conn->in_end < conn->in_size)
        return true;

    char *larger = tvc_resize(conn->in, 2 * conn->in_size);

    if (larger == NULL)
        return false;
    conn->in = larger;
    conn->in_size *= 2;
    return true;
}

/* Long bodies take fewer turns through a larger buffer; without it they take more. */
static void widen(tvc_conn *conn)
{
    if (conn->in_size >= TVC_CONN_SINK_BYTES || tvc_conn_has_rest(conn))
        return;

    char *larger = tvc_resize(conn->in, TVC_CONN_SINK_BYTES);

    if (larger) {
        conn->in = larger;
        conn->in_size = TVC_CONN_SINK_BYTES;
    }
}

/* Let the reader have what was received. */
static tvc_read feed(tvc_conn *conn)
{
    tv_slice input = {conn->in + conn->in_start, conn->in_end - conn->in_start};
    tvc_read read = tvc_reader_take(&conn->reader, &input);

    conn->in_start = conn->in_end - input.len;
    if (input.len == 0)
        conn->in_start = conn->in_end = 0;
    return read;
}

static tvc_read fail(tvc_conn *conn, tavola_err err, const char *why)
{
    conn->reader.err = err;
    conn->reader.why = why;
    return TVC_READ_FAILED;
}

tvc_read tvc_conn_read(tvc_conn *conn, tvc_io *ret_io)
{
    size_t size, len;
    char *direct = tvc_reader_space(&conn->reader, &size);

    if (direct == NULL) {
        if (conn->reader.to_sink)
            widen(conn);
        if (conn->in_end == conn->in_size && !make_room(conn))
            return fail(conn, TAVOLA_ERR_NO_MEMORY, "no memory for the answer");
        size = conn->in_size - conn->in_end;
    }

    *ret_io = receive(conn, direct ? direct : conn->in + conn->in_end, size, &len);
    switch (*ret_io) {
    case TVC_IO_READ:
    case TVC_IO_WRITE:
        return TVC_READ_MORE;
    case TVC_IO_END:
        return tvc_reader_end(&conn->reader);
    case TVC_IO_FAILED:
        return fail(conn, TAVOLA_ERR_NETWORK, "the connection was reset");
    case TVC_IO_SOME:
        break;
    }

    tvc_read read;

    if (direct) {
        read = tvc_reader_add(&conn->reader, len);
    } else {
        conn->in_end += len;
        read = feed(conn);
    }
    /* A short receive has emptied the socket; TLS gives a record at a time. */
    if (read == TVC_READ_MORE && len < size && conn->tls == NULL)
        *ret_io = TVC_IO_READ;
    return read;
}
