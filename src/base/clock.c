/* The clocks. */
#include "base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum { NS_PER_TICK = 100, NS_PER_SECOND = 1000000000 };

/*
 * The steady clock is the monotonic one and an offset: the greatest difference
 * that was ever seen between the wall clock and the monotonic one.  Both are
 * slewed alike, so that it changes only when the wall clock is set.
 */
static _Atomic int64_t offset_ticks = INT64_MIN;

static _Atomic int64_t fake_ticks, fake_mono_ns, skipped_ns;
static _Atomic int64_t fake_offset_ticks = INT64_MIN;
static int64_t shift_ticks;

void tv_clock_set_fake_ticks(int64_t ticks)
{
    atomic_store(&fake_ticks, ticks);
    if (ticks == 0)
        atomic_store(&fake_offset_ticks, INT64_MIN);
}

void tv_clock_pass_fake_ns(int64_t ns)
{
    atomic_fetch_add(&fake_mono_ns, ns);
}

void tv_clock_skip_ns(int64_t ns)
{
    atomic_fetch_add(&skipped_ns, ns);
}

struct timespec tv_clock_system_time(int64_t mono_ns)
{
    int64_t skipped = atomic_load_explicit(&skipped_ns, memory_order_relaxed);
    int64_t system_ns = mono_ns > skipped ? mono_ns - skipped : 0;

    return (struct timespec){.tv_sec = system_ns / NS_PER_SECOND,
                             .tv_nsec = system_ns % NS_PER_SECOND};
}

void tv_clock_shift(int64_t ticks)
{
    shift_ticks = ticks;
}

int64_t tv_clock_ticks(void)
{
    int64_t fake = atomic_load_explicit(&fake_ticks, memory_order_relaxed);
    struct timespec now;

    if (fake)
        return fake;

    clock_gettime(CLOCK_REALTIME, &now);
    return TV_TICKS_UNIX_EPOCH + (int64_t)now.tv_sec * TV_TICKS_PER_SECOND + now.tv_nsec / 100 +
           shift_ticks;
}

int64_t tv_clock_mono_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec +
           atomic_load_explicit(&skipped_ns, memory_order_relaxed);
}

int64_t tv_clock_boot_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec +
           atomic_load_explicit(&skipped_ns, memory_order_relaxed);
}

/* The monotonic clock that goes with the wall clock in use, and where its offset is. */
static int64_t mono_ticks(_Atomic int64_t **ret_offset)
{
    bool is_fake = atomic_load_explicit(&fake_ticks, memory_order_relaxed) != 0;

    *ret_offset = is_fake ? &fake_offset_ticks : &offset_ticks;
    return (is_fake ? atomic_load(&fake_mono_ns) : tv_clock_mono_ns()) / NS_PER_TICK;
}

static int64_t raise_offset(_Atomic int64_t *offset, int64_t least)
{
    int64_t now = atomic_load_explicit(offset, memory_order_relaxed);

    while (now < least && !atomic_compare_exchange_weak(offset, &now, least))
        ;
    return now < least ? least : now;
}

int64_t tv_clock_steady_ticks(void)
{
    /* In this order: time that passes between the two makes the difference less, never more. */
    int64_t wall = tv_clock_ticks();
    _Atomic int64_t *offset;
    int64_t mono = mono_ticks(&offset);

    if (wall <= TV_CLOCK_WALL_MAX)
        return mono + raise_offset(offset, wall - mono);
    if (atomic_load(offset) == INT64_MIN)
        raise_offset(offset, TV_CLOCK_WALL_MAX - mono);
    return mono + atomic_load(offset);
}

void tv_clock_raise(int64_t ticks)
{
    _Atomic int64_t *offset;
    int64_t mono = mono_ticks(&offset);

    raise_offset(offset, ticks - mono);
}

int64_t tv_clock_lead_ticks(void)
{
    int64_t steady = tv_clock_steady_ticks(), lead = steady - tv_clock_ticks();

    return lead > 0 ? lead : 0;
}
