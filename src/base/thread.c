/* What threads tell the system about themselves. */
#include "base/thread.h"

#include <sys/resource.h>

enum { NICE_OF_LONG_WORK = 10 };

void tv_thread_give_way(void)
{
    /* On Linux 0 is the calling thread, not its process.  Where it cannot be had, nothing is lost. */
    (void)setpriority(PRIO_PROCESS, 0, NICE_OF_LONG_WORK);
}
