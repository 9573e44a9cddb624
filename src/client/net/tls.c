/* TLS, on OpenSSL. */
#include "client/net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "client/net/lock.h"

enum { RECORD_BYTES_MAX = 16 * 1024 };

struct tvc_tls {
    SSL_CTX *ctx;
    BIO_METHOD *socket; /* how OpenSSL sends and receives */
    char *host;
    bool is_address;      /* the host is: checked against the addresses of a certificate */
    tvc_lock lock;        /* over session */
    SSL_SESSION *session; /* of the last handshake, or NULL */
};

/* ---- the socket, as OpenSSL sees it: its own would send with SIGPIPE, and count nothing ---- */

static int socket_write(BIO *bio, const char *from, int len)
{
    tvc_conn *conn = BIO_get_data(bio);
    ssize_t sent;

    BIO_clear_retry_flags(bio);
    do
        sent = send(conn->fd, from, (size_t)len, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        if (errno == EAGAIN)
            BIO_set_retry_write(bio);
        return -1;
    }
    conn->bytes_out += (size_t)sent;
    return (int)sent;
}

static int socket_read(BIO *bio, char *to, int size)
{
    tvc_conn *conn = BIO_get_data(bio);
    ssize_t len;

    BIO_clear_retry_flags(bio);
    do
        len = recv(conn->fd, to, (size_t)size, 0);
    while (len < 0 && errno == EINTR);
    if (len < 0 && errno == EAGAIN)
        BIO_set_retry_read(bio);
    return (int)len;
}

static long socket_control(BIO *bio, int command, long number, void *pointer)
{
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *make_socket(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "tavola");

    if (method && BIO_meth_set_write(method, socket_write) &&
        BIO_meth_set_read(method, socket_read) && BIO_meth_set_ctrl(method, socket_control))
        return method;
    BIO_meth_free(method);
    return NULL;
}

/* ---- what connections share ---- */

/* Keep the newest session; OpenSSL hands over its reference. */
static int keep_session(SSL *ssl, SSL_SESSION *session)
{
    tvc_tls *tls = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

    tvc_lock_take(&tls->lock);
    SSL_SESSION *old = tls->session;
    tls->session = session;
    tvc_lock_give(&tls->lock);
    SSL_SESSION_free(old);
    return 1;
}

static bool is_address(const char *host)
{
    struct in6_addr address;

    return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

/* Certificates and servers know a host without the dot that may end its name. */
static char *dup_host(const char *host)
{
    tv_slice name = tv_slice_of(host);

    if (name.len && name.data[name.len - 1] == '.')
        name.len--;
    return tvc_dup(name);
}

static SSL_CTX *make_ctx(tvc_tls *tls)
{
    static const unsigned char protocol[] = "\x08http/1.1";
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    if (ctx == NULL)
        return NULL;

    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(ctx, 1);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ctx, keep_session);
    if (!SSL_CTX_set_app_data(ctx, tls) || !SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) ||
        SSL_CTX_set_alpn_protos(ctx, protocol, sizeof protocol - 1) != 0) {
        SSL_CTX_free(ctx);
        return NULL;
    }
    return ctx;
}

static tavola_err load_roots(tvc_tls *tls, const char *ca_file, const char **reterr_why)
{
    if (ca_file ? SSL_CTX_load_verify_locations(tls->ctx, ca_file, NULL) == 1
                : SSL_CTX_set_default_verify_paths(tls->ctx) == 1)
        return TAVOLA_OK;
    *reterr_why =
        ca_file ? "its ca_file cannot be used" : "the system's certificates cannot be used";
    return TAVOLA_ERR_INVALID;
}

tavola_err tvc_tls_new(const char *ca_file, const char *host, tvc_tls **ret_tls,
                       const char **reterr_why)
{
    tvc_tls *tls = tvc_zalloc(sizeof *tls);
    tavola_err err = TAVOLA_ERR_NO_MEMORY;

    *reterr_why = "no memory";
    if (tls == NULL)
        return err;
    if (!tvc_lock_init(&tls->lock)) {
        tvc_release(tls);
        return err;
    }

    tls->host = dup_host(host);
    tls->is_address = is_address(host);
    tls->socket = make_socket();
    tls->ctx = make_ctx(tls);
    if (tls->host && tls->socket && tls->ctx)
        err = load_roots(tls, ca_file, reterr_why);
    ERR_clear_error();
    if (err) {
        tvc_tls_free(tls);
        return err;
    }
    *ret_tls = tls;
    return TAVOLA_OK;
}

void tvc_tls_free(tvc_tls *tls)
{
    if (tls == NULL)
        return;
    SSL_SESSION_free(tls->session);
    SSL_CTX_free(tls->ctx);
    BIO_meth_free(tls->socket);
    tvc_lock_done(&tls->lock);
    tvc_release(tls->host);
    tvc_release(tls);
}

/* ---- one connection ---- */

/* Whose certificate we want to see. */
static bool expect_host(const tvc_tls *tls, SSL *ssl)
{
    if (tls->is_address)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), tls->host) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, tls->host) == 1 && SSL_set_tlsext_host_name(ssl, tls->host) == 1;
}

static void offer_session(tvc_tls *tls, SSL *ssl)
{
    tvc_lock_take(&tls->lock);
    if (tls->session)
        SSL_set_session(ssl, tls->session); /* if not, the handshake is a full one */
    tvc_lock_give(&tls->lock);
}

bool tvc_tls_begin(tvc_tls *tls, tvc_conn *conn)
{
    SSL *ssl = SSL_new(tls->ctx);
    BIO *bio = ssl ? BIO_new(tls->socket) : NULL;

    if (bio == NULL || !expect_host(tls, ssl)) {
        BIO_free(bio);
        SSL_free(ssl);
        ERR_clear_error();
        return false;
    }
    BIO_set_data(bio, conn);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_connect_state(ssl);
    offer_session(tls, ssl);
    ERR_clear_error();
    conn->tls = ssl;
    return true;
}

void tvc_tls_end(tvc_conn *conn)
{
    if (conn->tls == NULL)
        return;
    /* As if both sides had said goodbye: else its session could not be used again. */
    SSL_set_shutdown(conn->tls, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(conn->tls);
    conn->tls = NULL;
}

static tvc_io io_of(SSL *ssl, int result)
{
    int code = SSL_get_error(ssl, result);

    ERR_clear_error();
    switch (code) {
    case SSL_ERROR_WANT_READ:
        return TVC_IO_READ;
    case SSL_ERROR_WANT_WRITE:
        return TVC_IO_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return TVC_IO_END;
    default:
        return TVC_IO_FAILED;
    }
}

tvc_io tvc_tls_shake_hands(tvc_conn *conn, bool *reterr_is_refused, const char **reterr_why)
{
    ERR_clear_error();

    int result = SSL_do_handshake(conn->tls);

    if (result == 1)
        return TVC_IO_SOME;

    tvc_io io = io_of(conn->tls, result);

    if (io == TVC_IO_READ || io == TVC_IO_WRITE)
        return io;

    long verdict = SSL_get_verify_result(conn->tls);

    *reterr_is_refused = verdict != X509_V_OK;
    *reterr_why =
        verdict == X509_V_OK ? "the TLS handshake failed" : X509_verify_cert_error_string(verdict);
    return TVC_IO_FAILED;
}

/* Both pieces in one record, if they fit: `out` is free unless the second lies in it already. */
static struct iovec gather(tvc_conn *conn, const struct iovec *from, int count)
{
    size_t len = 0;
    char *out = count > 1 ? tvc_conn_out(conn) : NULL;

    if (out == NULL)
        return from[0];
    for (int i = 0; i < count; i++) {
        const char *begin = from[i].iov_base;

        if (begin >= out && begin < out + TVC_CONN_OUT_BYTES)
            return from[0];
    }
    for (int i = 0; i < count && len < RECORD_BYTES_MAX; i++) {
        size_t room = RECORD_BYTES_MAX - len;
        size_t part = from[i].iov_len < room ? from[i].iov_len : room;

        memcpy(out + len, from[i].iov_base, part);
        len += part;
    }
    return (struct iovec){out, len};
}

tvc_io tvc_tls_send(tvc_conn *conn, const struct iovec *from, int count, size_t *ret_len)
{
    struct iovec piece = gather(conn, from, count);

    ERR_clear_error();

    int result = SSL_write_ex(conn->tls, piece.iov_base, piece.iov_len, ret_len);

    if (result == 1)
        return TVC_IO_SOME;

    tvc_io io = io_of(conn->tls, result);

    return io == TVC_IO_END ? TVC_IO_FAILED : io;
}

tvc_io tvc_tls_receive(tvc_conn *conn, void *to, size_t size, size_t *ret_len)
{
    ERR_clear_error();

    int result = SSL_read_ex(conn->tls, to, size, ret_len);

    return result == 1 ? TVC_IO_SOME : io_of(conn->tls, result);
}

bool tvc_tls_is_quiet(tvc_conn *conn)
{
    char byte;
    size_t len;

    ERR_clear_error();

    int result = SSL_peek_ex(conn->tls, &byte, 1, &len);

    return result != 1 && io_of(conn->tls, result) == TVC_IO_READ;
}
