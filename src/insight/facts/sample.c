/* Samples, row by row.  (n) refers to sample.h. */
#include "insight/facts/sample.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/random.h"
#include "store/engine/key.h"

static char *copy(tv_slice bytes)
{
    char *to = tv_malloc(bytes.len + 1);

    if (bytes.len)
        memcpy(to, bytes.data, bytes.len);
    return to;
}

/* --- keys (1) --- */

static uint64_t next_random(tv_sample *sample)
{
    uint64_t x = sample->random += UINT64_C(0x9E3779B97F4A7C15);

    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static int compare_chances(const void *a, const void *b)
{
    uint64_t x = ((const tv_sample_key *)a)->chance, y = ((const tv_sample_key *)b)->chance;

    return (x > y) - (x < y);
}

/* Sort them, and leave those that there is room for. */
static void cut_keys(tv_sample *sample)
{
    size_t left = 0, bytes = 0;

    qsort(sample->keys, sample->key_count, sizeof *sample->keys, compare_chances);
    while (left < sample->key_count && left < sample->key_max &&
           bytes + sample->keys[left].len <= TV_SAMPLE_KEY_BYTES_MAX)
        bytes += sample->keys[left++].len;
    if (left == sample->key_count)
        return;

    sample->has_all = false;
    sample->reach = sample->keys[left].chance;
    while (sample->key_count > left)
        free(sample->keys[--sample->key_count].key);
}

static void add_key(tv_sample *sample, tv_slice key, uint64_t bytes)
{
    uint64_t chance = next_random(sample);

    if (chance >= sample->reach)
        return;

    sample->keys[sample->key_count++] = (tv_sample_key){chance, bytes, copy(key), key.len};
    if (sample->key_count == 2 * sample->key_max)
        cut_keys(sample);
}

/* --- partitions (2) --- */

/* The one that goes first: few entities, and of two that are alike the later one. */
static size_t least_partition(const tv_sample *sample)
{
    size_t least = 0;

    for (size_t i = 1; i < sample->partition_count; i++) {
        if (sample->partitions[i].entities <= sample->partitions[least].entities)
            least = i;
    }
    return least;
}

/* The partition at hand is over.  Those that are kept are in the order of their keys. */
static void end_partition(tv_sample *sample)
{
    tv_sample_partition item = {.len = sample->partition.len,
                                .entities = sample->partition_rows,
                                .bytes = sample->partition_row_bytes};

    if (item.entities == 0)
        return;

    sample->partition_total++;
    if (item.entities <= sample->partition_floor)
        return;
    while (sample->partition_count == sample->partition_max ||
           sample->partition_bytes + item.len > TV_SAMPLE_PARTITION_BYTES_MAX) {
        size_t at = least_partition(sample);
        tv_sample_partition *least = &sample->partitions[at];

        if (sample->partition_count == 0 || least->entities >= item.entities) {
            sample->partition_floor = item.entities;
            return;
        }
        sample->partition_floor = least->entities;
        sample->partition_bytes -= least->len;
        free(least->key);
        sample->partition_count--;
        memmove(least, least + 1, (sample->partition_count - at) * sizeof *least);
    }
    item.key = copy(tv_buf_slice(&sample->partition));
    sample->partition_bytes += item.len;
    sample->partitions[sample->partition_count++] = item;
}

static void add_to_partition(tv_sample *sample, tv_slice key, uint64_t bytes)
{
    tv_slice partition_key = tv_key_before_mark(key);

    if (sample->partition_rows == 0 ||
        !tv_slice_eq(tv_buf_slice(&sample->partition), partition_key)) {
        end_partition(sample);
        tv_buf_reset(&sample->partition);
        tv_buf_add(&sample->partition, partition_key);
        sample->partition_rows = sample->partition_row_bytes = 0;
    }
    sample->partition_rows++;
    sample->partition_row_bytes += bytes;
}

const tv_sample_partition *tv_sample_find_partition(const tv_sample *sample, tv_slice partition_key)
{
    size_t low = 0, high = sample->partition_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const tv_sample_partition *partition = &sample->partitions[middle];
        int order = tv_slice_cmp((tv_slice){partition->key, partition->len}, partition_key);

        if (order == 0)
            return partition;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* --- the largest entities --- */

static void add_largest(tv_sample *sample, tv_slice key, uint64_t bytes)
{
    size_t at = sample->largest_count;

    if (at == TV_FACTS_LARGEST_MAX) {
        if (bytes <= sample->largest[at - 1].bytes)
            return;
        free(sample->largest[--at].key);
    } else {
        sample->largest_count++;
    }
    for (; at > 0 && sample->largest[at - 1].bytes < bytes; at--)
        sample->largest[at] = sample->largest[at - 1];
    sample->largest[at] = (tv_sample_key){0, bytes, copy(key), key.len};
}

/* --- all of it --- */

tv_sample *tv_sample_new(const tv_sample_options *options)
{
    tv_sample *sample = tv_calloc(1, sizeof *sample);

    atomic_store(&sample->refs, 1);
    sample->id = tv_random_u64();
    sample->random = options->seed;
    sample->key_max = options->key_max;
    sample->partition_max = options->partition_max;
    sample->sums = tv_calloc(options->committer_count + 1, sizeof *sample->sums);
    sample->keys = malloc(2 * sample->key_max * sizeof *sample->keys);
    sample->partitions = malloc(sample->partition_max * sizeof *sample->partitions);
    if (sample->keys == NULL || sample->partitions == NULL) {
        tv_sample_unref(sample);
        return NULL;
    }
    sample->reach = UINT64_MAX;
    sample->has_all = true;
    return sample;
}

void tv_sample_add(tv_sample *sample, tv_slice key, uint64_t bytes, uint64_t billed)
{
    sample->entities++;
    sample->bytes += bytes;
    sample->billed += billed;
    add_key(sample, key, bytes);
    add_to_partition(sample, key, bytes);
    add_largest(sample, key, bytes);
}

/* Give back what an array does not need; without memory to move it, it stays. */
static void *shrink(void *array, size_t count, size_t size)
{
    void *smaller = realloc(array, (count + 1) * size);

    return smaller ? smaller : array;
}

void tv_sample_finish(tv_sample *sample)
{
    cut_keys(sample);
    end_partition(sample);
    tv_buf_done(&sample->partition);
    sample->keys = shrink(sample->keys, sample->key_count, sizeof *sample->keys);
    sample->partitions =
        shrink(sample->partitions, sample->partition_count, sizeof *sample->partitions);
}

tv_sample *tv_sample_ref(tv_sample *sample)
{
    atomic_fetch_add(&sample->refs, 1);
    return sample;
}

void tv_sample_unref(tv_sample *sample)
{
    if (sample == NULL || atomic_fetch_sub(&sample->refs, 1) > 1)
        return;

    for (size_t i = 0; i < sample->key_count; i++)
        free(sample->keys[i].key);
    for (size_t i = 0; i < sample->partition_count; i++)
        free(sample->partitions[i].key);
    for (size_t i = 0; i < sample->largest_count; i++)
        free(sample->largest[i].key);
    tv_buf_done(&sample->partition);
    free(sample->sums);
    free(sample->keys);
    free(sample->partitions);
    free(sample);
}

/* --- extremes --- */

void tv_extremes_note(tv_extremes *extremes, tv_extreme_kind kind, uint64_t value, tv_slice name)
{
    tv_extreme *extreme = &extremes->list[kind];

    if (value <= extreme->value && extreme->name)
        return;

    free(extreme->name);
    *extreme = (tv_extreme){value, copy(name), name.len};
}

void tv_extremes_join(tv_extremes *extremes, const tv_extremes *more)
{
    for (int i = 0; i < TV_EXTREME_KINDS; i++) {
        const tv_extreme *extreme = &more->list[i];

        if (extreme->name)
            tv_extremes_note(extremes, (tv_extreme_kind)i, extreme->value,
                             (tv_slice){extreme->name, extreme->len});
    }
    if (more->long_strings > extremes->long_strings)
        extremes->long_strings = more->long_strings;
    if (more->long_binaries > extremes->long_binaries)
        extremes->long_binaries = more->long_binaries;
}

void tv_extremes_done(tv_extremes *extremes)
{
    for (int i = 0; i < TV_EXTREME_KINDS; i++)
        free(extremes->list[i].name);
}
