/*
 * How tests wait: for what they want to see, never for a time.  The limit is a minute, because a
 * machine with much else to do is slow; so it fails only for what never comes.
 */
#ifndef TV_TESTS_UNIT_WAIT_H
#define TV_TESTS_UNIT_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "check.h"

enum { WAIT_S_MAX = 60 };

/* By the system's clock, which no test can skip. */
static inline int64_t wait_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t wait_end_ns(void)
{
    return wait_now_ns() + (int64_t)WAIT_S_MAX * 1000000000;
}

/* Before a loop looks again.  False when it has looked for long enough. */
static inline bool wait_a_little(int64_t end_ns)
{
    nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    return wait_now_ns() < end_ns;
}

/* The condition is computed again and again; it is looked at once more after the last wait. */
#define WAIT_UNTIL(condition)                                                                      \
    do {                                                                                           \
        int64_t wait_end_ = wait_end_ns();                                                         \
        bool may_wait_ = true;                                                                     \
        while (!(condition)) {                                                                     \
            if (!may_wait_)                                                                        \
                CHECK_FAIL("not true after a minute: %s", #condition);                             \
            may_wait_ = wait_a_little(wait_end_);                                                  \
        }                                                                                          \
    } while (0)

#endif
