/* A deadline for each thread. */
#include "base/deadline.h"

#include "base/clock.h"

static _Thread_local int64_t deadline_ns;

int64_t tv_deadline_set(int64_t until_ns)
{
    int64_t before = deadline_ns;

    deadline_ns = until_ns;
    return before;
}

int64_t tv_deadline(void)
{
    return deadline_ns;
}

bool tv_deadline_is_over(void)
{
    return deadline_ns && tv_clock_mono_ns() >= deadline_ns;
}
