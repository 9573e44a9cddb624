/*
 * The answer of an HTTP server, read from bytes as they come: head, then body.  Knows no sockets,
 * so that it can be fuzzed.  What two programs could read differently is refused.
 */
#ifndef TVC_NET_READER_H
#define TVC_NET_READER_H

#include "client/net/exchange.h"
#include "wire/http/chunked.h"

enum {
    TVC_HEADERS_MAX = 256,
    TVC_INTERIM_MAX = 16, /* answers 1xx before the final one */
};

typedef enum tvc_read {
    TVC_READ_MORE,   /* so far so good */
    TVC_READ_WHOLE,  /* the response is complete */
    TVC_READ_FAILED, /* reader->err and why */
} tvc_read;

typedef struct tvc_reader {
    tvc_response *response; /* where it goes; the reader frees nothing */
    const tvc_sink *sink;   /* or NULL: all bodies go into the response */
    bool is_head;

    bool has_head;   /* of the final answer: its status and headers are in the response */
    bool keep_alive; /* with has_head: the server lets the connection live */
    bool to_sink;    /* with has_head: this body is passed on */

    tavola_err err; /* PROTOCOL, NETWORK (it ended too early), NO_MEMORY, CANCELLED (the sink) */
    const char *why;

    /* Private. */
    int part;
    size_t line, seen;  /* of the head: where its last line begins, how much was looked at */
    size_t line_count;  /* complete lines */
    int interim_count;  /* answers 1xx that were skipped */
    uint64_t left;      /* of a body whose length is known */
    size_t body_size;   /* room in response->body, without the NUL */
    tv_chunked chunked; /* of a body in chunks */
} tvc_reader;

/** Begin.  The response is all zeros. */
void tvc_reader_init(tvc_reader *reader, tvc_response *response, bool is_head,
                     const tvc_sink *sink);

/**
 * Take what can be used off the front of `input`.  What is left with MORE is the beginning of a
 * head: call again with the same bytes and more after them.  What is left with WHOLE does not
 * belong to the answer.
 */
tvc_read tvc_reader_take(tvc_reader *reader, tv_slice *input);

/**
 * Where the next bytes can be put without a detour, and how many; NULL when they have to go
 * through tvc_reader_take.
 */
char *tvc_reader_space(const tvc_reader *reader, size_t *ret_size);

/** `len` bytes have been put there. */
tvc_read tvc_reader_add(tvc_reader *reader, size_t len);

/** The connection has ended in an orderly way. */
tvc_read tvc_reader_end(tvc_reader *reader);

#endif
