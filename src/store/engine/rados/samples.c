/* A reservoir, weighted by rows: every row of the window is as likely to be in it as any other. */
#include "store/engine/rados/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "store/engine/key.h"

enum { FEW = TV_SAMPLES_MAX / 4 };

void tv_samples_init(tv_samples *samples, uint64_t seed)
{
    *samples = (tv_samples){.random = seed | 1};
    tv_assert(pthread_mutex_init(&samples->lock, NULL) == 0);
}

static void clear(tv_sample_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->partitions[i]);
    set->count = 0;
    set->rows = 0;
}

void tv_samples_done(tv_samples *samples)
{
    clear(&samples->now);
    clear(&samples->last);
    pthread_mutex_destroy(&samples->lock);
}

/* xorshift64*: as good as a sample needs. */
static uint64_t next_random(tv_samples *samples)
{
    samples->random ^= samples->random >> 12;
    samples->random ^= samples->random << 25;
    samples->random ^= samples->random >> 27;
    return samples->random * UINT64_C(2685821657736338717) >> 11;
}

/* With the lock held. */
static void turn_window(tv_samples *samples, int64_t now_ms)
{
    if (now_ms - samples->began_ms < TV_SAMPLE_WINDOW_MS)
        return;
    clear(&samples->last);
    samples->last = samples->now;
    samples->now = (tv_sample_set){.count = 0};
    samples->began_ms = now_ms;
}

static void put(tv_sample_set *set, size_t slot, tv_slice partition)
{
    char *copy = tv_malloc(partition.len + 1);

    memcpy(copy, partition.data, partition.len);
    if (slot == set->count)
        set->count++;
    else
        free(set->partitions[slot]);
    set->partitions[slot] = copy;
    set->lens[slot] = partition.len;
}

void tv_samples_add(tv_samples *samples, tv_slice key, uint64_t rows, int64_t now_ms)
{
    tv_slice partition = tv_key_partition_of(key);
    tv_sample_set *set = &samples->now;

    if (rows == 0 || partition.len == 0 || partition.len > TV_SAMPLE_BYTES_MAX)
        return;
    pthread_mutex_lock(&samples->lock);
    turn_window(samples, now_ms);
    set->rows += rows;
    if (set->count < TV_SAMPLES_MAX)
        put(set, set->count, partition);
    else if (next_random(samples) % set->rows < rows * TV_SAMPLES_MAX)
        put(set, next_random(samples) % TV_SAMPLES_MAX, partition);
    pthread_mutex_unlock(&samples->lock);
}

size_t tv_samples_read(tv_samples *samples, tv_arena *arena, int64_t now_ms,
                       tv_slice ret_partitions[TV_SAMPLES_MAX])
{
    const tv_sample_set *set = &samples->now;
    size_t count;

    pthread_mutex_lock(&samples->lock);
    turn_window(samples, now_ms);
    if (set->count < FEW && samples->last.count > set->count)
        set = &samples->last;
    count = set->count;
    for (size_t i = 0; i < count; i++)
        ret_partitions[i] = tv_arena_dup(arena, (tv_slice){set->partitions[i], set->lens[i]});
    pthread_mutex_unlock(&samples->lock);
    return count;
}
