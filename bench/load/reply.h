/*
 * A reply as a load needs it: its status and the beginning of its body.  Bodies
 * of any length are read through and dropped, so a download costs the client
 * little compared with the copy out of the kernel.
 */
#ifndef LOAD_REPLY_H
#define LOAD_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct reply {
    enum {
        REPLY_STATUS,
        REPLY_HEADER,
        REPLY_BODY,
        REPLY_CHUNK_SIZE,
        REPLY_CHUNK,
        REPLY_CHUNK_END,
        REPLY_TRAILER,
        REPLY_DONE,
        REPLY_BROKEN,
    } state;
    int status;
    bool is_chunked, has_length;
    uint64_t left;       /* bytes to come of the body, or of its chunk */
    uint64_t body_bytes; /* seen so far */
    size_t line_length;  /* of what has come of a line */
    size_t text_length;
    char line[4096];
    char text[4096]; /* the beginning of the body, ends with NUL */
} reply;

/** Make it ready for the next reply of a connection. */
void reply_init(reply *r);

/**
 * Take what the server sent.  The state is REPLY_DONE after the last byte of a
 * reply, and REPLY_BROKEN after bytes that make no sense or come after it.
 */
void reply_feed(reply *r, const char *data, size_t length);

#endif
