/*
 * Which partitions of a range are used: a sample of them, by the rows that were read and written
 * there.  The leader cuts a hot range by it.
 *
 * Any thread.
 */
#ifndef TV_STORE_ENGINE_RADOS_SAMPLES_H
#define TV_STORE_ENGINE_RADOS_SAMPLES_H

#include <pthread.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"

/** So many a window; longer partitions are not sampled. */
enum { TV_SAMPLES_MAX = 64, TV_SAMPLE_BYTES_MAX = 512, TV_SAMPLE_WINDOW_MS = 60 * 1000 };

typedef struct tv_sample_set {
    char *partitions[TV_SAMPLES_MAX]; /* each as good as any other: equal weights */
    size_t lens[TV_SAMPLES_MAX];
    size_t count;
    uint64_t rows; /* that they were chosen from */
} tv_sample_set;

typedef struct tv_samples {
    pthread_mutex_t lock;
    tv_sample_set now, last; /* this window and the one before */
    int64_t began_ms;        /* by the monotonic clock */
    uint64_t random;
} tv_samples;

void tv_samples_init(tv_samples *samples, uint64_t seed);
void tv_samples_done(tv_samples *samples);

/** An operation had `rows` rows, one of them, any, with this key. */
void tv_samples_add(tv_samples *samples, tv_slice key, uint64_t rows, int64_t now_ms);

/** The partitions of this window, or of the last while this one has few, in the arena. */
size_t tv_samples_read(tv_samples *samples, tv_arena *arena, int64_t now_ms,
                       tv_slice ret_partitions[TV_SAMPLES_MAX]);

#endif
