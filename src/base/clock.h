/*
 * Time.  Instants that clients see are ticks: 100 ns since 0001-01-01 UTC, the
 * unit of .NET, which the service's timestamps and ETags are made of.  Spans
 * are measured with the monotonic clock, in nanoseconds.
 */
#ifndef TV_BASE_CLOCK_H
#define TV_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define TV_TICKS_PER_SECOND INT64_C(10000000)
/** Ticks of 1970-01-01. */
#define TV_TICKS_UNIX_EPOCH INT64_C(621355968000000000)
/** First and last instant that an Edm.DateTime can hold: 1601-01-01 and the end of 9999. */
#define TV_TICKS_MIN INT64_C(504911232000000000)
#define TV_TICKS_MAX INT64_C(3155378975999999999)

/** The end of the year 2999: what a wall clock says beyond it is wrong, and followed by nothing
 * that is stored.  That leaves centuries up to what rows can hold. */
#define TV_CLOCK_WALL_MAX INT64_C(946392768000000000)

/** Now, by the wall clock, which may step back.  Any thread. */
int64_t tv_clock_ticks(void);

/** Ticks as milliseconds since 1970, and now in them. */
static inline int64_t tv_ticks_unix_ms(int64_t ticks)
{
    return (ticks - TV_TICKS_UNIX_EPOCH) / (TV_TICKS_PER_SECOND / 1000);
}

static inline int64_t tv_clock_unix_ms(void)
{
    return tv_ticks_unix_ms(tv_clock_ticks());
}

/** Nanoseconds of the monotonic clock.  Any thread. */
int64_t tv_clock_mono_ns(void);

/** The same, but it goes on while the machine is suspended.  Any thread. */
int64_t tv_clock_boot_ns(void);

/**
 * Now, by the wall clock while that goes forward.  When it is set back this one
 * goes on at the pace of the monotonic clock, so that spans keep their length:
 * it stays ahead until the wall clock is set forward again.  Nor is it followed
 * beyond TV_CLOCK_WALL_MAX; only who knows no other time begins there.  For all that
 * is compared with stored times.  Any thread.
 */
int64_t tv_clock_steady_ticks(void);

/** Let tv_clock_steady_ticks go on from `ticks` if it is behind.  Any thread. */
void tv_clock_raise(int64_t ticks);

/** How far tv_clock_steady_ticks is ahead of the wall clock, at least 0.  Any thread. */
int64_t tv_clock_lead_ticks(void);

/**
 * For tests: make tv_clock_ticks return `ticks` until called with 0.  Until then
 * the steady clock knows no other times than these, and the monotonic clock
 * advances only by what tv_clock_pass_fake_ns adds.
 */
void tv_clock_set_fake_ticks(int64_t ticks);
void tv_clock_pass_fake_ns(int64_t ns);

/**
 * For tests: the monotonic clock jumps forward, and that of the boot with it, so that spans are
 * longer than they took.  A wait that has begun does not end earlier: wake it.
 */
void tv_clock_skip_ns(int64_t ns);

/**
 * A time of the monotonic clock as the system has it, whatever tests have let it jump: for
 * pthread_cond_timedwait on a condition that waits by CLOCK_MONOTONIC.  One that has come long ago
 * is the system's first.
 */
struct timespec tv_clock_system_time(int64_t mono_ns);

/** For tests: let this machine's wall clock be off by so much; before any thread asks for it. */
void tv_clock_shift(int64_t ticks);

#endif
