/*
 * Chunked request bodies, decoded without a copy and without memory: each call
 * returns the next run of body bytes inside the input.  Extensions and trailers
 * are skipped within a bound; nothing here uses them.
 */
#ifndef TV_WIRE_HTTP_CHUNKED_H
#define TV_WIRE_HTTP_CHUNKED_H

#include <stdint.h>

#include "base/err.h"

/** Where in a body the decoder is; all zeros before its first byte. */
typedef struct tv_chunked {
    int state;
    int digit_count;      /* of the chunk size being read */
    uint64_t left;        /* bytes of this chunk still to come */
    size_t trailing;      /* bytes in the current trailer line */
    size_t discard_bytes; /* extensions and trailers so far, in the whole body */
} tv_chunked;

/** What a whole body may spend on extensions and trailers. */
enum { TV_CHUNKED_DISCARD_MAX = 16 * 1024 };

/**
 * Take bytes off the front of `input` until some of them are body: those are
 * `ret_data`, which is empty when the input ran out first or the body ended.
 * Call it until the input is empty or `ret_is_done`; what follows the body stays
 * in the input.  TV_ERR_BAD_REQUEST for anything that is not exactly the format.
 */
tv_err tv_chunked_decode(tv_chunked *chunked, tv_slice *input, tv_slice *ret_data,
                         bool *ret_is_done) TV_WARN_UNUSED;

#endif
