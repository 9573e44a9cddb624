/*
 * Streams over libuv.
 *
 * Writing tries the socket first and queues only what it does not take, so a
 * response that fits the socket's buffer costs one system call and no memory.
 * There is at most one uv_write at a time.
 */
#include "wire/net/stream.h"

#include <limits.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* How much is encrypted ahead of the socket. */
enum { SEAL_BYTES_MAX = 64 * 1024 };

static tv_stream_result pump(tv_stream *stream);

/*
 * libuv reads a socket up to 32 times in one go.  Without a buffer it leaves it, says
 * UV_ENOBUFS, and the socket is ready again in the next round.
 */
static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    tv_stream *stream = handle->data;

    if (stream->brings_much && !tv_loop_may_read(stream->loop, &stream->turn))
        *ret_buf = uv_buf_init(NULL, 0);
    else
        *ret_buf = tv_loop_scratch(stream->loop);
}

/* A stream that fills the buffer has more to bring, and takes turns from now on. */
static void note_read(tv_stream *stream, size_t count, size_t room)
{
    if (stream->brings_much)
        tv_loop_has_read(stream->loop, count);
    stream->brings_much = count == room;
}

/*
 * Decrypt what has come in and pass it on.  All of it, even if the receiver has
 * turned reading off meanwhile: OpenSSL's own buffer would raise no event later.
 */
static void read_sealed(tv_stream *stream, tv_slice bytes)
{
    uv_buf_t scratch = tv_loop_scratch(stream->loop);
    tv_tls_result result = TV_TLS_DATA;

    tv_tls_session_feed(stream->tls, bytes);
    while (result == TV_TLS_DATA && !stream->is_closing) {
        size_t len = 0;

        result = tv_tls_session_read(stream->tls, scratch.base, scratch.len, &len);
        if (result == TV_TLS_DATA)
            stream->events->on_data(stream, (tv_slice){scratch.base, len});
    }
    if (stream->is_closing)
        return;

    /* The handshake, an alert or an answer to a key update may want to go out. */
    bool is_lost = !stream->is_writing && pump(stream) == TV_STREAM_FAILED;

    if (is_lost || result == TV_TLS_FAILED)
        stream->events->on_end(stream, true);
    else if (result == TV_TLS_END)
        stream->events->on_end(stream, false);
}

/* A TLS client begins with a handshake record, and no HTTP request begins with that byte. */
static void recognize(tv_stream *stream, char first)
{
    enum { TLS_HANDSHAKE = 0x16 };

    stream->is_known = true;
    if (stream->tls && first != TLS_HANDSHAKE) {
        tv_tls_session_free(stream->tls);
        stream->tls = NULL;
    }
}

static void on_read(uv_stream_t *handle, ssize_t count, const uv_buf_t *buf)
{
    tv_stream *stream = handle->data;

    if (count == 0 || count == UV_ENOBUFS || stream->is_closing)
        return;

    if (count > 0)
        note_read(stream, (size_t)count, buf->len);
    if (count > 0 && !stream->is_known)
        recognize(stream, buf->base[0]);
    if (count < 0)
        stream->events->on_end(stream, count != UV_EOF);
    else if (stream->tls)
        read_sealed(stream, (tv_slice){buf->base, (size_t)count});
    else
        stream->events->on_data(stream, (tv_slice){buf->base, (size_t)count});
}

static void on_write(uv_write_t *write, int status)
{
    tv_stream *stream = write->data;

    stream->is_writing = false;
    if (stream->is_closing)
        return;

    tv_stream_result result = status < 0 ? TV_STREAM_FAILED : pump(stream);

    if (result == TV_STREAM_FAILED) {
        stream->events->on_end(stream, true);
    } else if (result == TV_STREAM_DONE && stream->is_draining) {
        stream->is_draining = false;
        stream->events->on_drained(stream);
    }
}

static void on_close(uv_handle_t *handle)
{
    tv_stream *stream = handle->data;

    tv_tls_session_free(stream->tls);
    tv_buf_done(&stream->sealed);
    stream->events->on_closed(stream);
}

static uv_buf_t uv_buf_of(tv_slice bytes)
{
    tv_assert(bytes.len <= INT_MAX);
    return uv_buf_init((char *)bytes.data, (unsigned)bytes.len);
}

/* Hand over as much as the socket takes and cut that off the slices. */
static tv_stream_result try_write(tv_stream *stream, tv_slice *first, tv_slice *second)
{
    uv_buf_t bufs[2] = {uv_buf_of(*first), uv_buf_of(*second)};
    int count = uv_try_write((uv_stream_t *)&stream->tcp, bufs, second->len ? 2 : 1);

    if (count < 0 && count != UV_EAGAIN)
        return TV_STREAM_FAILED;

    size_t sent = count > 0 ? (size_t)count : 0;
    size_t of_first = sent < first->len ? sent : first->len;

    *first = tv_slice_skip(*first, of_first);
    *second = tv_slice_skip(*second, sent - of_first);
    return first->len + second->len ? TV_STREAM_LATER : TV_STREAM_DONE;
}

static tv_stream_result queue_write(tv_stream *stream, tv_slice first, tv_slice second)
{
    uv_buf_t bufs[2] = {uv_buf_of(first), uv_buf_of(second)};

    tv_assert(!stream->is_writing);
    if (uv_write(&stream->write, (uv_stream_t *)&stream->tcp, bufs, 2, on_write) != 0)
        return TV_STREAM_FAILED;

    stream->is_writing = true;
    return TV_STREAM_LATER;
}

/* Send the ciphertext that there is.  What the socket does not take moves to `sealed`. */
static tv_stream_result flush_sealed(tv_stream *stream)
{
    tv_slice left = tv_tls_session_output(stream->tls), none = TV_NONE;

    if (left.len == 0)
        return TV_STREAM_DONE;

    tv_stream_result result = try_write(stream, &left, &none);

    if (result == TV_STREAM_LATER) {
        stream->sealed.len = 0;
        tv_buf_add(&stream->sealed, left);
        result = queue_write(stream, tv_buf_slice(&stream->sealed), TV_NONE);
    }
    tv_tls_session_output_clear(stream->tls);
    return result;
}

/* Encrypt the front of the plaintext; a head and what follows it leave in one write. */
static bool seal(tv_stream *stream)
{
    size_t room = SEAL_BYTES_MAX;

    for (int i = 0; i < 2; i++) {
        tv_slice *next = &stream->out[i];
        size_t count = next->len < room ? next->len : room;

        if (!tv_tls_session_write(stream->tls, tv_slice_take(*next, count)))
            return false;
        *next = tv_slice_skip(*next, count);
        room -= count;
    }
    return true;
}

/* TLS: encrypt and send, a piece at a time, until all is out or the socket is full. */
static tv_stream_result pump(tv_stream *stream)
{
    if (stream->tls == NULL)
        return TV_STREAM_DONE;

    for (;;) {
        tv_stream_result result = flush_sealed(stream);

        if (result != TV_STREAM_DONE)
            return result;
        if (stream->out[0].len + stream->out[1].len == 0)
            break;
        if (!seal(stream))
            return TV_STREAM_FAILED;
    }
    tv_buf_done(&stream->sealed);
    return TV_STREAM_DONE;
}

bool tv_stream_accept(tv_stream *stream, tv_loop *loop, uv_stream_t *server, tv_tls *tls,
                      const tv_stream_events *events)
{
    *stream = (tv_stream){.loop = loop, .events = events};
    tv_assert(uv_tcp_init(tv_loop_uv(loop), &stream->tcp) == 0);
    stream->tcp.data = stream;
    stream->write.data = stream;
    if (tls)
        stream->tls = tv_tls_session_new(tls);
    if (uv_accept(server, (uv_stream_t *)&stream->tcp) != 0) {
        tv_stream_close(stream);
        return false;
    }
    uv_tcp_nodelay(&stream->tcp, 1);
    return true;
}

void tv_stream_read_start(tv_stream *stream)
{
    if (!stream->is_closing)
        uv_read_start((uv_stream_t *)&stream->tcp, on_alloc, on_read);
}

void tv_stream_read_stop(tv_stream *stream)
{
    uv_read_stop((uv_stream_t *)&stream->tcp);
}

tv_stream_result tv_stream_write(tv_stream *stream, tv_slice first, tv_slice second)
{
    tv_stream_result result;

    tv_assert(!stream->is_closing && !stream->is_draining);
    if (stream->tls) {
        stream->out[0] = first;
        stream->out[1] = second;
        result = stream->is_writing ? TV_STREAM_LATER : pump(stream);
    } else {
        result = try_write(stream, &first, &second);
        if (result == TV_STREAM_LATER)
            result = queue_write(stream, first, second);
    }
    stream->is_draining = result == TV_STREAM_LATER;
    return result;
}

size_t tv_stream_unsent(const tv_stream *stream)
{
    int in_kernel = 0;
    uv_os_fd_t fd;

    if (uv_fileno((const uv_handle_t *)&stream->tcp, &fd) != 0 ||
        ioctl(fd, SIOCOUTQ, &in_kernel) != 0)
        in_kernel = 0;
    return uv_stream_get_write_queue_size((const uv_stream_t *)&stream->tcp) + stream->out[0].len +
           stream->out[1].len + (size_t)in_kernel;
}

tv_stream_peer_state tv_stream_peer(const tv_stream *stream)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    uv_os_fd_t fd;

    if (uv_fileno((const uv_handle_t *)&stream->tcp, &fd) != 0 ||
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_state == TCP_CLOSE)
        return TV_STREAM_PEER_GONE;

    bool is_open = info.tcpi_state == TCP_ESTABLISHED || info.tcpi_state == TCP_FIN_WAIT1 ||
                   info.tcpi_state == TCP_FIN_WAIT2;

    return is_open ? TV_STREAM_PEER_SENDS : TV_STREAM_PEER_ENDED;
}

void tv_stream_shutdown(tv_stream *stream)
{
    int fd;

    tv_assert(!stream->is_closing && !stream->is_draining);
    if (stream->tls) {
        tv_tls_session_end(stream->tls);
        if (!stream->is_writing)
            flush_sealed(stream);
    }
    /* Nothing is queued, so this need not wait its turn as uv_shutdown does. */
    if (!stream->is_writing && uv_fileno((uv_handle_t *)&stream->tcp, &fd) == 0)
        shutdown(fd, SHUT_WR);
}

void tv_stream_close(tv_stream *stream)
{
    if (stream->is_closing)
        return;

    /* A goodbye to a client that has not sent anything wrong; it may get lost. */
    if (stream->tls && !stream->is_writing) {
        tv_tls_session_end(stream->tls);
        flush_sealed(stream);
    }
    stream->is_closing = true;
    uv_close((uv_handle_t *)&stream->tcp, on_close);
}
