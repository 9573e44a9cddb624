/*
 * The transport of a connection: bytes in and out of a TCP socket, encrypted or
 * not.  What is above sees no difference.  A stream is embedded in its
 * connection and lives on one loop; nothing here is for another thread.
 */
#ifndef TV_WIRE_NET_STREAM_H
#define TV_WIRE_NET_STREAM_H

#include "base/buf.h"
#include "wire/net/loop.h"
#include "wire/net/tls.h"

typedef struct tv_stream tv_stream;

/** What a stream tells the connection.  Each call may close the stream. */
typedef struct tv_stream_events {
    /** Bytes from the peer, valid during the call; never none. */
    void (*on_data)(tv_stream *stream, tv_slice bytes);

    /** Nothing more will come: the peer has finished sending, or (`is_broken`) is gone. */
    void (*on_end)(tv_stream *stream, bool is_broken);

    /** A write that returned TV_STREAM_LATER has gone out. */
    void (*on_drained)(tv_stream *stream);

    /** The last call, after tv_stream_close: the stream's memory may go. */
    void (*on_closed)(tv_stream *stream);
} tv_stream_events;

struct tv_stream {
    uv_tcp_t tcp;
    uv_write_t write;
    tv_loop *loop;
    const tv_stream_events *events;
    tv_tls_session *tls; /* NULL when plain */
    tv_read_turn turn;   /* when it brings a lot */
    bool brings_much;    /* its last read filled the buffer */
    bool is_known;       /* the first byte has told whether it is TLS */
    tv_slice out[2];     /* TLS: plaintext that is not encrypted yet */
    tv_buf sealed;       /* TLS: ciphertext that `write` is writing */
    bool is_writing;     /* `write` is under way */
    bool is_draining;    /* on_drained is owed */
    bool is_closing;
};

/**
 * Take the connection that waits at `server`.  `tls` is NULL for a plain one;
 * with it the client may speak either, and its first byte decides.
 * False when it has gone already; then the stream is closing.  Reading is off.
 */
bool tv_stream_accept(tv_stream *stream, tv_loop *loop, uv_stream_t *server, tv_tls *tls,
                      const tv_stream_events *events);

/** Whether the client speaks TLS; known when the first data has come. */
static inline bool tv_stream_is_tls(const tv_stream *stream)
{
    return stream->tls != NULL;
}

/** Turn reading on and off.  After off, at most what was already read still comes. */
void tv_stream_read_start(tv_stream *stream);
void tv_stream_read_stop(tv_stream *stream);

typedef enum tv_stream_result {
    TV_STREAM_DONE,   /* handed to the kernel */
    TV_STREAM_LATER,  /* on_drained comes; until then the bytes stay where they are */
    TV_STREAM_FAILED, /* the peer is gone; close */
} tv_stream_result;

/** Write two runs of bytes as one.  Not while an earlier write is under way. */
tv_stream_result tv_stream_write(tv_stream *stream, tv_slice first, tv_slice second);

/**
 * Bytes of the write under way, and of what went before it, that the peer has
 * not got yet, be they here or with the kernel.  Falls as the peer reads, where
 * the kernel itself wakes us only when much of its buffer is free.
 */
size_t tv_stream_unsent(const tv_stream *stream);

typedef enum tv_stream_peer_state {
    TV_STREAM_PEER_SENDS, /* or is silent */
    TV_STREAM_PEER_ENDED, /* it has finished sending, or closed its socket */
    TV_STREAM_PEER_GONE,  /* the connection is broken */
} tv_stream_peer_state;

/** What the kernel knows of the peer, also while reading is off. */
tv_stream_peer_state tv_stream_peer(const tv_stream *stream);

/** Tell the peer that no more will come.  Not while a write is under way. */
void tv_stream_shutdown(tv_stream *stream);

/** Close.  No event but on_closed comes after it.  May be called again. */
void tv_stream_close(tv_stream *stream);

#endif
