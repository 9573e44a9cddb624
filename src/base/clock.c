/* The two clocks. */
#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

static _Atomic int64_t fake_ticks;

void tv_clock_set_fake_ticks(int64_t ticks)
{
    atomic_store(&fake_ticks, ticks);
}

int64_t tv_clock_ticks(void)
{
    int64_t fake = atomic_load_explicit(&fake_ticks, memory_order_relaxed);
    struct timespec now;

    if (fake)
        return fake;

    clock_gettime(CLOCK_REALTIME, &now);
    return TV_TICKS_UNIX_EPOCH + (int64_t)now.tv_sec * TV_TICKS_PER_SECOND + now.tv_nsec / 100;
}

int64_t tv_clock_mono_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
