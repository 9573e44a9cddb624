/*
 * The last lines of the log, in memory of a fixed size: GET /log shows them.  The oldest give way
 * to new ones, by bytes and by number.  Lines are numbered from 1 on, without gaps, so that
 * who has seen some can ask for those after, and knows what it has missed.
 *
 * No locks: log.c has one ring and guards it.
 */
#ifndef TV_BASE_LOG_RING_H
#define TV_BASE_LOG_RING_H

#include <stdint.h>

#include "base/slice.h"

enum {
    TV_LOG_RING_BYTES = 256 * 1024,
    TV_LOG_RING_LINES = 2048,
    TV_LOG_LINE_BYTES_MAX = 2048, /* with its end */
};

/** Zero is an empty ring. */
typedef struct tv_log_ring {
    uint64_t count; /* lines that were ever added */
    size_t kept;    /* of these; they are the latest */
    size_t end;     /* in `bytes`, of the latest */
    struct {
        uint32_t at;
        uint16_t len;
        uint8_t level;
    } lines[TV_LOG_RING_LINES]; /* number n is at (n - 1) % TV_LOG_RING_LINES */
    char bytes[TV_LOG_RING_BYTES];
} tv_log_ring;

/** A line without its end, of at most TV_LOG_LINE_BYTES_MAX bytes. */
void tv_log_ring_add(tv_log_ring *ring, int level, tv_slice line);

/** The number of the oldest line that is kept; count + 1 when there is none. */
uint64_t tv_log_ring_first(const tv_log_ring *ring);

/** A line that is kept; valid until the next is added. */
tv_slice tv_log_ring_at(const tv_log_ring *ring, uint64_t number, int *ret_level);

#endif
