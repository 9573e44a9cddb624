/* What threads tell the system about themselves. */
#include "base/thread.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    NICE_OF_LONG_WORK = 10,
    SLICE_NS_OF_SHORT_WORK = 200 * 1000, /* Linux has 2.8 ms, and takes no less than 0.1 */
    SLICE_NS_OF_LONG_WORK = 250 * 1000,
    STEPS_PER_LOOK = TV_STEP_LARGE, /* at the clock */
};

static _Thread_local bool gives_way;
static _Thread_local unsigned steps;
static _Thread_local int64_t yield_ns; /* when the core is given up next */

/* What sched_setattr(2) takes; Debian's C library has no declaration of it. */
struct sched_attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns; /* the slice of an ordinary thread, since Linux 6.12 */
    uint64_t deadline_ns, period_ns;
};

void tv_thread_give_way(void)
{
    struct sched_attributes attributes = {
        .size = sizeof attributes, .nice = NICE_OF_LONG_WORK, .runtime_ns = SLICE_NS_OF_LONG_WORK};

    /* On Linux 0 is the calling thread, not its process.  Without it nothing is lost.
     */
    if (syscall(SYS_sched_setattr, 0, &attributes, 0) != 0)
        (void)setpriority(PRIO_PROCESS, 0, NICE_OF_LONG_WORK);
    gives_way = true;
}

/* A thread that yields loses the rest of its slice, so it has a short one. */
void tv_thread_step(unsigned step)
{
    steps += step;
    if (!gives_way || steps < STEPS_PER_LOOK)
        return;

    steps = 0;
    if (tv_clock_mono_ns() < yield_ns)
        return;

    (void)sched_yield();
    yield_ns = tv_clock_mono_ns() + SLICE_NS_OF_LONG_WORK;
}

void tv_thread_take_short_slices(void)
{
    int nice = getpriority(PRIO_PROCESS, 0); /* which the operator may have chosen */
    struct sched_attributes attributes = {
        .size = sizeof attributes, .nice = nice, .runtime_ns = SLICE_NS_OF_SHORT_WORK};

    (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}
