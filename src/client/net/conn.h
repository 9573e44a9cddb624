/*
 * One connection to an endpoint: how it is opened, and bytes both ways.  Belongs to one exchange
 * at a time, or lies idle in the pool.
 */
#ifndef TVC_NET_CONN_H
#define TVC_NET_CONN_H

#include <sys/uio.h>

#include "client/net/exchange.h"
#include "client/net/reader.h"

enum {
    TVC_CONN_IN_BYTES = 16 * 1024,   /* of the buffer of received bytes; more for long heads */
    TVC_CONN_SINK_BYTES = 64 * 1024, /* of the same, for long bodies that are passed on */
    TVC_CONN_OUT_BYTES = 32 * 1024,  /* of the buffer for what cannot be sent from where it lies */
};

/** What to wait for. */
typedef struct tvc_pending {
    tvc_wait wait;
    int fd;
    int64_t until_ns; /* INT64_MAX: no time of its own */
} tvc_pending;

/** How reading or writing went. */
typedef enum tvc_io {
    TVC_IO_SOME,  /* some bytes */
    TVC_IO_READ,  /* not before it is readable */
    TVC_IO_WRITE, /* not before it is writable */
    TVC_IO_END,   /* reading: an orderly end */
    TVC_IO_FAILED,
} tvc_io;

typedef enum tvc_open {
    TVC_OPEN_DONE,
    TVC_OPEN_PENDING,
    TVC_OPEN_FAILED, /* conn->err and why */
} tvc_open;

typedef struct tvc_conn {
    struct tvc_conn *newer, *older; /* in the pool, while it is idle */
    tvc_endpoint *endpoint;
    int fd;                      /* -1: none */
    uint64_t watch;              /* of this descriptor, for whoever waits: tvc_exchange_watch */
    bool is_open;                /* a request can be sent */
    bool was_used;               /* for an exchange before this one */
    int64_t idle_since_ns;       /* in the pool */
    uint64_t bytes_out;          /* what the system took for sending, ever */
    struct ssl_st *tls;          /* NULL: plain, or not yet */
    struct tvc_opening *opening; /* while it is being opened */
    tavola_err err;              /* of opening it */
    const char *why;
    bool is_refused; /* by us: its certificate is not that of whom we wanted */

    char *in; /* received and not yet used: in[in_start, in_end) */
    size_t in_size, in_start, in_end;
    char *out; /* TVC_CONN_OUT_BYTES, or NULL as long as nobody needs it */
    tvc_reader reader;
} tvc_conn;

/** NULL when there is no memory.  Not open yet. */
tvc_conn *tvc_conn_new(tvc_endpoint *endpoint);

/** Close and free; NULL is fine. */
void tvc_conn_free(tvc_conn *conn);

/** Close it; it can be opened again. */
void tvc_conn_close(tvc_conn *conn);

/** Open it, as far as that goes without waiting. */
tvc_open tvc_conn_open(tvc_conn *conn, tvc_waker *waker, tvc_pending *ret_pending);

/** Whether an idle connection has ended, or has bytes that nobody asked for. */
bool tvc_conn_is_stale(tvc_conn *conn);

/** Send from some places in one row; SOME may be less than all. */
tvc_io tvc_conn_send(tvc_conn *conn, const struct iovec *from, int count, size_t *ret_len);

/** The buffer `out`, made if need be; NULL when there is no memory. */
char *tvc_conn_out(tvc_conn *conn);

/**
 * Receive into the reader: once, or what is there already.  MORE with *ret_io SOME: call again.
 * WHOLE and FAILED are the reader's, FAILED also when the connection broke.
 */
tvc_read tvc_conn_read(tvc_conn *conn, tvc_io *ret_io);

/** Whether received bytes are left that belong to no answer. */
static inline bool tvc_conn_has_rest(const tvc_conn *conn)
{
    return conn->in_end > conn->in_start;
}

#endif
