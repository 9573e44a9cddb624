/* What a load has taken: how long, the CPU time of this process, its largest size. */
#ifndef BENCH_CLIENT_USAGE_H
#define BENCH_CLIENT_USAGE_H

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

typedef struct usage_span {
    double began_s, began_cpu_s;
} usage_span;

static inline double usage_seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static inline double usage_cpu_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage_seconds_of(usage.ru_utime) + usage_seconds_of(usage.ru_stime);
}

static inline double usage_now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Of this program alone: what getrusage says begins with the size of whoever started it. */
static inline long usage_peak_kb(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[200];
    long peak = 0;

    while (status && fgets(line, sizeof line, status) != NULL) {
        if (sscanf(line, "VmHWM: %ld", &peak) == 1)
            break;
    }
    if (status)
        fclose(status);
    return peak;
}

static inline void usage_begin(usage_span *span)
{
    span->began_s = usage_now_s();
    span->began_cpu_s = usage_cpu_s();
}

/* One line of JSON. */
static inline void usage_report(const usage_span *span, uint64_t count)
{
    printf("{\"count\": %" PRIu64 ", \"seconds\": %.6f, \"cpu_s\": %.6f, \"rss_kb\": %ld}\n", count,
           usage_now_s() - span->began_s, usage_cpu_s() - span->began_cpu_s, usage_peak_kb());
}

#endif
