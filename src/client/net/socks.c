/*
 * SOCKS 5: a way through a proxy that passes on bytes of any kind.  RFC 1928, with user and
 * password as in RFC 1929.  The proxy looks up the name of the host, so that no name is asked for
 * here that only the proxy can resolve, or that nobody here should see.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/crypto.h>

#include "base/assert.h"
#include "client/net/connect.h"
#include "client/net/endpoint_private.h"

enum stage { GREETING, LOGGING_IN, ASKING, THROUGH };
enum { VERSION = 5, LOGIN_VERSION = 1, CONNECT = 1, NO_LOGIN = 0, LOGIN = 2 };
enum { AN_IPV4 = 1, A_NAME = 3, AN_IPV6 = 4, NOT_ALLOWED = 2 };

static tvc_io fail(tvc_conn *conn, tavola_err err, const char *why)
{
    conn->err = err;
    conn->why = why;
    return TVC_IO_FAILED;
}

/* What is said in this stage. */
static void add_message(tvc_text *text, int stage, const tvc_endpoint *endpoint)
{
    const tvc_proxy *proxy = &endpoint->proxy;
    tv_slice host = tv_slice_of(endpoint->host);
    unsigned char address[16];

    if (stage == GREETING) {
        tvc_text_add_char(text, VERSION);
        tvc_text_add_char(text, proxy->login ? 2 : 1);
        tvc_text_add_char(text, NO_LOGIN);
        if (proxy->login)
            tvc_text_add_char(text, LOGIN);
        return;
    }
    if (stage == LOGGING_IN) {
        tvc_text_add(text, (tv_slice){proxy->login, proxy->login_len});
        return;
    }
    tvc_text_add(text, (tv_slice){(const char[]){VERSION, CONNECT, 0}, 3});
    if (inet_pton(AF_INET, endpoint->host, address) == 1) {
        tvc_text_add_char(text, AN_IPV4);
        tvc_text_add(text, (tv_slice){(char *)address, 4});
    } else if (inet_pton(AF_INET6, endpoint->host, address) == 1) {
        tvc_text_add_char(text, AN_IPV6);
        tvc_text_add(text, (tv_slice){(char *)address, 16});
    } else {
        tv_assert(host.len <= UINT8_MAX); /* a host of a URL */
        tvc_text_add_char(text, A_NAME);
        tvc_text_add_char(text, (char)host.len);
        tvc_text_add(text, host);
    }
    tvc_text_add_char(text, (char)(endpoint->port >> 8));
    tvc_text_add_char(text, (char)(endpoint->port & 0xff));
}

static tvc_io say(tvc_conn *conn, int stage)
{
    tvc_opening *opening = conn->opening;

    if (opening->request.buf.len)
        OPENSSL_cleanse(opening->request.buf.data, opening->request.buf.len);
    tvc_text_reset(&opening->request);
    opening->sent = opening->heard = 0;
    opening->socks_stage = stage;
    add_message(&opening->request, stage, conn->endpoint);
    if (opening->request.has_failed)
        return fail(conn, TAVOLA_ERR_NO_MEMORY, "no memory for a connection");
    return TVC_IO_SOME;
}

/* How long the answer is, as far as that can be told by what has come of it. */
static size_t answer_len(const tvc_opening *opening)
{
    enum { BEFORE_ADDRESS = 4, PORT = 2 };

    if (opening->socks_stage != ASKING)
        return 2;
    if (opening->heard <= BEFORE_ADDRESS)
        return BEFORE_ADDRESS + 1;
    switch (opening->answer[BEFORE_ADDRESS - 1]) {
    case AN_IPV4:
        return BEFORE_ADDRESS + 4 + PORT;
    case AN_IPV6:
        return BEFORE_ADDRESS + 16 + PORT;
    default:
        return BEFORE_ADDRESS + 1 + opening->answer[BEFORE_ADDRESS] + PORT;
    }
}

/* The answer and no byte more: what follows is the server's. */
static tvc_io hear(tvc_conn *conn)
{
    tvc_opening *opening = conn->opening;

    while (opening->heard < answer_len(opening)) {
        ssize_t len = recv(conn->fd, opening->answer + opening->heard,
                           answer_len(opening) - opening->heard, 0);

        if (len < 0 && errno == EAGAIN)
            return TVC_IO_READ;
        if (len == 0 || (len < 0 && errno != EINTR))
            return fail(conn, TAVOLA_ERR_NETWORK, "the proxy closed the connection");
        opening->heard += len > 0 ? (size_t)len : 0;
    }
    return TVC_IO_SOME;
}

static tvc_io understand(tvc_conn *conn)
{
    const unsigned char *answer = conn->opening->answer;
    bool is_login = conn->opening->socks_stage == LOGGING_IN;

    if (answer[0] != (is_login ? LOGIN_VERSION : VERSION))
        return fail(conn, TAVOLA_ERR_PROTOCOL, "the proxy does not speak SOCKS 5");
    switch ((enum stage)conn->opening->socks_stage) {
    case GREETING:
        if (answer[1] == NO_LOGIN)
            return say(conn, ASKING);
        if (answer[1] == LOGIN && conn->endpoint->proxy.login)
            return say(conn, LOGGING_IN);
        return fail(conn, TAVOLA_ERR_NETWORK, "the proxy wants a user and password");
    case LOGGING_IN:
        if (answer[1] == 0)
            return say(conn, ASKING);
        return fail(conn, TAVOLA_ERR_NETWORK, "the proxy refused the user or password");
    case ASKING:
        if (answer[1] != 0)
            return fail(conn, TAVOLA_ERR_NETWORK,
                        answer[1] == NOT_ALLOWED ? "the proxy refused the connection"
                                                 : "the proxy could not reach the host");
        break;
    case THROUGH:
        break;
    }
    conn->opening->socks_stage = THROUGH;
    return TVC_IO_SOME;
}

tvc_io tvc_socks_step(tvc_conn *conn)
{
    tvc_io io = TVC_IO_SOME;

    if (conn->opening->request.buf.len == 0)
        io = say(conn, GREETING);
    while (io == TVC_IO_SOME && conn->opening->socks_stage != THROUGH) {
        io = tvc_tunnel_send(conn);
        if (io == TVC_IO_SOME)
            io = hear(conn);
        if (io == TVC_IO_SOME)
            io = understand(conn);
    }
    return io;
}
