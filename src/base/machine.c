/* The memory of the machine and of its control group (a container's), in both versions of those. */
#include "base/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* The number in a file of one line; UINT64_MAX when there is none, as in "max". */
static uint64_t number_in(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned long long number;
    bool has_number = file && fscanf(file, "%llu", &number) == 1;

    if (file)
        fclose(file);
    return has_number ? number : UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t tv_machine_memory(void)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;

    bytes = least(bytes, number_in("/sys/fs/cgroup/memory.max"));
    bytes = least(bytes, number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        bytes = least(bytes, limit.rlim_cur);
    return bytes;
}

size_t tv_machine_memory_share(void)
{
    const uint64_t min = UINT64_C(64) << 20, max = UINT64_C(1) << 30;
    uint64_t bytes = tv_machine_memory() / 8;

    return (size_t)(bytes < min ? min : least(bytes, max));
}
