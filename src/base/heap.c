/* glibc's heap. */
#include "base/heap.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

enum { LOOK_MS = 5000 };

#ifdef __GLIBC__

/* Resident bytes that are private to this process; 0 when the system does not say. */
static size_t resident(void)
{
    unsigned long pages = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (file == NULL)
        return 0;
    if (fscanf(file, "%*u %lu %lu", &pages, &shared) != 2)
        pages = shared = 0;
    fclose(file);
    return (pages - shared) * (size_t)sysconf(_SC_PAGESIZE);
}

size_t tv_heap_kept(void)
{
    struct mallinfo2 info = mallinfo2();
    size_t used = info.uordblks + info.hblkhd, is_there = resident();

    /* What is allocated but was never touched is not resident, so this is an underestimate. */
    return is_there > used ? is_there - used : 0;
}

void tv_heap_give_back(void)
{
    if (tv_heap_kept() > TV_HEAP_KEPT_BYTES_MAX)
        malloc_trim(0);
}

#else

size_t tv_heap_kept(void)
{
    return 0;
}

void tv_heap_give_back(void)
{
}

#endif

static void run(tv_background *keeper, void *ctx)
{
    (void)ctx;
    while (tv_background_sleep(keeper, LOOK_MS))
        tv_heap_give_back();
}

void tv_heap_keeper_start(tv_background *keeper)
{
    tv_background_start(
        keeper, &(tv_background_options){.name = "tv-heap", .gives_way = true, .run = run});
}
