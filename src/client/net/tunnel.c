/* CONNECT: a way through a proxy. */
#include "base/assert.h"
#include "client/net/connect.h"
#include "client/net/endpoint_private.h"

static tvc_io fail(tvc_conn *conn, tavola_err err, const char *why)
{
    conn->err = err;
    conn->why = why;
    return TVC_IO_FAILED;
}

static void add_target(tvc_text *text, const tvc_endpoint *endpoint)
{
    bool is_ipv6 = strchr(endpoint->host, ':') != NULL;

    if (is_ipv6)
        tvc_text_add_char(text, '[');
    tvc_text_add(text, tv_slice_of(endpoint->host));
    if (is_ipv6)
        tvc_text_add_char(text, ']');
    tvc_text_add_char(text, ':');
    tvc_text_add_int64(text, endpoint->port);
}

static tvc_io begin(tvc_conn *conn)
{
    const tvc_endpoint *endpoint = conn->endpoint;
    tvc_text *text = &conn->opening->request;

    tvc_text_add_lit(text, "CONNECT ");
    add_target(text, endpoint);
    tvc_text_add_lit(text, " HTTP/1.1\r\nHost: ");
    add_target(text, endpoint);
    tvc_text_add_lit(text, "\r\n");
    if (endpoint->proxy.authorization)
        tvc_text_add(text, tv_slice_of(endpoint->proxy.authorization));
    tvc_text_add_lit(text, "\r\n");
    if (text->has_failed)
        return fail(conn, TAVOLA_ERR_NO_MEMORY, "no memory for a connection");

    /* The answer 2xx has no body, and any other ends the connection. */
    tvc_reader_init(&conn->reader, &conn->opening->response, true, NULL);
    return TVC_IO_SOME;
}

tvc_io tvc_tunnel_send(tvc_conn *conn)
{
    tvc_opening *opening = conn->opening;

    while (opening->sent < opening->request.buf.len) {
        tv_slice rest = tv_slice_skip(tvc_text_slice(&opening->request), opening->sent);
        struct iovec piece = {(void *)rest.data, rest.len};
        size_t len;
        tvc_io io = tvc_conn_send(conn, &piece, 1, &len);

        if (io == TVC_IO_FAILED)
            return fail(conn, TAVOLA_ERR_NETWORK, "the proxy closed the connection");
        if (io != TVC_IO_SOME)
            return io;
        opening->sent += len;
    }
    return TVC_IO_SOME;
}

static tvc_io check_answer(tvc_conn *conn)
{
    int status = conn->opening->response.status;

    if (status == 407)
        return fail(conn, TAVOLA_ERR_NETWORK, "the proxy wants a user and password");
    if (status / 100 != 2)
        return fail(conn, TAVOLA_ERR_NETWORK, "the proxy refused the connection");
    if (tvc_conn_has_rest(conn))
        return fail(conn, TAVOLA_ERR_PROTOCOL, "the proxy sent bytes that nobody asked for");
    return TVC_IO_SOME;
}

tvc_io tvc_tunnel_step(tvc_conn *conn)
{
    tvc_io io = TVC_IO_SOME;
    tvc_read read = TVC_READ_MORE;

    if (conn->opening->request.buf.len == 0)
        io = begin(conn);
    if (io == TVC_IO_SOME)
        io = tvc_tunnel_send(conn);
    while (io == TVC_IO_SOME && read == TVC_READ_MORE)
        read = tvc_conn_read(conn, &io);
    if (read == TVC_READ_WHOLE)
        return check_answer(conn);
    if (read == TVC_READ_FAILED)
        return fail(conn, conn->reader.err, "the proxy did not answer as one");
    return io;
}
