/* What the programs that measure librados share: clocks, the end at an error, the pool. */
#ifndef TV_BENCH_RADOS_MEASURE_H
#define TV_BENCH_RADOS_MEASURE_H

#include <rados/librados.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static inline double now_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/** Of this process. */
static inline double cpu_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/** End if a call of librados has failed. */
static inline void check(const char *doing, int result)
{
    if (result >= 0)
        return;
    fprintf(stderr, "%s: %s\n", doing, strerror(-result));
    exit(1);
}

/** A number from 1 to `max`, or the end. */
static inline int number(const char *text, int max)
{
    int found = atoi(text);

    if (found < 1 || found > max) {
        fprintf(stderr, "'%s' is not from 1 to %d\n", text, max);
        exit(2);
    }
    return found;
}

static inline int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/** Open the pool that the program's first words CONF USER POOL name. */
static inline void open_pool(char **argv, rados_t *ret_cluster, rados_ioctx_t *ret_pool)
{
    check("create", rados_create(ret_cluster, argv[2]));
    check(argv[1], rados_conf_read_file(*ret_cluster, argv[1]));
    check("connect", rados_connect(*ret_cluster));
    check(argv[3], rados_ioctx_create(*ret_cluster, argv[3], ret_pool));
}

/** A new object with the epochs under which it is written and read. */
static inline void make_object(rados_ioctx_t pool, const char *object, const char *epoch)
{
    rados_write_op_t op = rados_create_write_op();

    rados_remove(pool, object);
    rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
    rados_write_op_setxattr(op, "wep", epoch, strlen(epoch));
    rados_write_op_setxattr(op, "rep", epoch, strlen(epoch));
    check(object, rados_write_op_operate2(op, pool, object, NULL, 0));
    rados_release_write_op(op);
}

#endif
