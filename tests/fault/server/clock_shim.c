/*
 * Preloaded into a server under test: its wall clock is off by as many seconds
 * as the first eight bytes of the file TAVOLA_TEST_CLOCK say, at any moment.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static volatile int64_t *offset_s;

__attribute__((constructor)) static void map_offset(void)
{
    const char *path = getenv("TAVOLA_TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY) : -1;
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset_s, PROT_READ, MAP_SHARED, fd, 0);

    if (map != MAP_FAILED)
        offset_s = map;
}

int clock_gettime(clockid_t id, struct timespec *ret_time)
{
    static int (*next)(clockid_t, struct timespec *);

    if (next == NULL)
        next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");

    int result = next(id, ret_time);

    if (result == 0 && id == CLOCK_REALTIME && offset_s)
        ret_time->tv_sec += *offset_s;
    return result;
}
