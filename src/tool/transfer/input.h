/*
 * The bytes of a file or of standard input, as UTF-8, with their place.
 *
 * UTF-8 with and without a byte order mark is taken as it is, UTF-16 (by its mark, or by the zeros
 * beside ASCII at the beginning) is converted.  Half of a surrogate pair becomes a byte that is not
 * UTF-8, so that the line that has it is refused like any other that is not valid text.
 */
#ifndef XFER_INPUT_H
#define XFER_INPUT_H

#include <stdbool.h>

#include "digest.h"

enum { XFER_RECORD_BYTES_MAX = 16 << 20 }; /* of one line, row or object: memory is bounded */

typedef enum xfer_encoding {
    XFER_UTF8,
    XFER_UTF16LE,
    XFER_UTF16BE,
} xfer_encoding;

/** A place between two records. */
typedef struct xfer_place {
    uint64_t offset; /* UTF-8 bytes before it, the byte order mark apart */
    uint64_t line;   /* the number of the line that begins there, or goes on; the first is 1 */
} xfer_place;

typedef struct xfer_input {
    int fd;
    xfer_encoding encoding;
    char *data; /* what was read and is not consumed: [begin, end) */
    size_t begin, end, size;
    char raw[1 << 16]; /* UTF-16 on its way */
    size_t raw_len;
    uint64_t raw_bytes; /* read from the file, for progress */
    xfer_place place;   /* of begin */
    xfer_digest digest; /* of all before it */
    bool is_end;        /* of the file: nothing follows `end` */
    int error;          /* errno of a read that failed; EINTR: it was stopped */
} xfer_input;

/**
 * Look at the first bytes.  Takes the descriptor over.  NULL, or why it cannot be text: compressed
 * data, UTF-32, a failed read.
 */
const char *xfer_input_open(xfer_input *input, int fd);
void xfer_input_close(xfer_input *input);

/** Read more behind `end`; false at the end, after an error and when too much is there already. */
bool xfer_input_more(xfer_input *input);

/** Go on by `len` bytes that are there. */
void xfer_input_consume(xfer_input *input, size_t len);

/** Consume all up to an offset; false when the file ends before it. */
bool xfer_input_skip_to(xfer_input *input, uint64_t offset);

#endif
