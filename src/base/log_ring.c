/* See log_ring.h. */
#include "base/log_ring.h"

#include "base/assert.h"

uint64_t tv_log_ring_first(const tv_log_ring *ring)
{
    return ring->count - ring->kept + 1;
}

tv_slice tv_log_ring_at(const tv_log_ring *ring, uint64_t number, int *ret_level)
{
    size_t slot = (size_t)((number - 1) % TV_LOG_RING_LINES);

    tv_assert(number >= tv_log_ring_first(ring) && number <= ring->count);
    *ret_level = ring->lines[slot].level;
    return (tv_slice){ring->bytes + ring->lines[slot].at, ring->lines[slot].len};
}

/* Let go of the oldest lines that lie between `begin` and `end` of the bytes. */
static void make_room(tv_log_ring *ring, size_t begin, size_t end)
{
    while (ring->kept) {
        size_t slot = (size_t)((tv_log_ring_first(ring) - 1) % TV_LOG_RING_LINES);
        size_t at = ring->lines[slot].at, len = ring->lines[slot].len;

        if (ring->kept < TV_LOG_RING_LINES && (at >= end || at + len <= begin))
            return;
        ring->kept--;
    }
}

/* A line lies in one piece: what is left at the end of the bytes is left out when it does not fit.
 * The lines that lie there are the oldest, and go with it. */
void tv_log_ring_add(tv_log_ring *ring, int level, tv_slice line)
{
    size_t slot = (size_t)(ring->count % TV_LOG_RING_LINES);

    tv_assert(line.len <= TV_LOG_LINE_BYTES_MAX);
    if (ring->end + line.len > TV_LOG_RING_BYTES) {
        make_room(ring, ring->end, TV_LOG_RING_BYTES);
        ring->end = 0;
    }
    make_room(ring, ring->end, ring->end + line.len);
    memcpy(ring->bytes + ring->end, line.data, line.len);
    ring->lines[slot].at = (uint32_t)ring->end;
    ring->lines[slot].len = (uint16_t)line.len;
    ring->lines[slot].level = (uint8_t)level;
    ring->end += line.len;
    ring->count++;
    ring->kept++;
}
