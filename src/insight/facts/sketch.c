/* Sketches, change by change.  (n) refers to sketch.h. */
#include "insight/facts/sketch.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "store/engine/key.h"

/* --- hashes --- */

static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t tv_sketch_hash(uint64_t seed, tv_slice bytes)
{
    const uint64_t k0 = UINT64_C(0x9E3779B97F4A7C15), k1 = UINT64_C(0xD6E8FEB86659FD93);
    uint64_t hash = seed ^ fold(bytes.len + k0, k1);
    const char *at = bytes.data;
    size_t left = bytes.len;

    for (; left >= 16; left -= 16, at += 16) {
        uint64_t word[2];

        memcpy(word, at, 16);
        hash = fold(word[0] ^ k0 ^ hash, word[1] ^ k1 ^ seed);
    }
    if (left) {
        uint64_t word[2] = {0};

        memcpy(word, at, left);
        hash = fold(word[0] ^ k0 ^ hash, word[1] ^ k1 ^ seed);
    }
    return fold(hash ^ k1, hash + k0) ^ fold(hash ^ seed, k1);
}

tv_slice tv_sketch_partition_of(tv_slice key)
{
    return tv_key_before_mark(key);
}

static char *copy(tv_slice bytes)
{
    char *to = tv_malloc(bytes.len ? bytes.len : 1);

    memcpy(to, bytes.data, bytes.len);
    return to;
}

static tv_slice slice_of(const tv_sketch_key *item)
{
    return (tv_slice){item->key, item->len};
}

/* --- the sample (1) --- */

/* The first place whose hash is not less. */
static size_t sample_find(const tv_sketch *sketch, uint64_t hash)
{
    size_t low = 0, high = sketch->sample_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (sketch->sample[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The place of a key; sample_count when it is not there. */
static size_t sample_find_key(const tv_sketch *sketch, uint64_t hash, tv_slice key)
{
    for (size_t i = sample_find(sketch, hash);
         i < sketch->sample_count && sketch->sample[i].hash == hash; i++) {
        if (tv_slice_eq(slice_of(&sketch->sample[i]), key))
            return i;
    }
    return sketch->sample_count;
}

/* Take the keys with the greatest hash out; those with the same one go together. */
static void sample_drop_last(tv_sketch *sketch)
{
    uint64_t hash = sketch->sample[sketch->sample_count - 1].hash;

    while (sketch->sample_count && sketch->sample[sketch->sample_count - 1].hash == hash) {
        sketch->sample_count--;
        sketch->sample_bytes -= sketch->sample[sketch->sample_count].len;
        free(sketch->sample[sketch->sample_count].key);
    }
    sketch->sample_reach = hash ? hash - 1 : 0;
}

/* While the sample has every key, what it says of a partition is exact. */
static void promote_all(tv_sketch *sketch);

static void sample_fit(tv_sketch *sketch)
{
    bool has_too_many = sketch->sample_count > sketch->sample_max ||
                        sketch->sample_bytes > TV_SKETCH_SAMPLE_BYTES_MAX;

    if (has_too_many && tv_sketch_has_all(sketch))
        promote_all(sketch);
    while (sketch->sample_count > 0 && (sketch->sample_count > sketch->sample_max ||
                                        sketch->sample_bytes > TV_SKETCH_SAMPLE_BYTES_MAX))
        sample_drop_last(sketch);
}

static void sample_add(tv_sketch *sketch, uint64_t hash, tv_slice key, uint64_t bytes)
{
    size_t at = sample_find(sketch, hash);

    memmove(sketch->sample + at + 1, sketch->sample + at,
            (sketch->sample_count - at) * sizeof *sketch->sample);
    sketch->sample[at] = (tv_sketch_key){hash, bytes, copy(key), key.len};
    sketch->sample_count++;
    sketch->sample_bytes += key.len;
    sample_fit(sketch);
}

static void sample_remove(tv_sketch *sketch, uint64_t hash, tv_slice key)
{
    size_t at = sample_find_key(sketch, hash, key);

    if (at == sketch->sample_count)
        return;

    sketch->sample_bytes -= sketch->sample[at].len;
    free(sketch->sample[at].key);
    sketch->sample_count--;
    memmove(sketch->sample + at, sketch->sample + at + 1,
            (sketch->sample_count - at) * sizeof *sketch->sample);
}

/* Room for one more than the most, which goes at once. */
static tv_sketch_key *sample_room(tv_sketch_key *old, size_t sample_max)
{
    return tv_realloc(old, (sample_max + 1) * sizeof *old);
}

void tv_sketch_limit_sample(tv_sketch *sketch, size_t sample_max)
{
    if (sample_max == sketch->sample_max)
        return;

    size_t old_max = sketch->sample_max;

    if (sample_max > old_max)
        sketch->sample = sample_room(sketch->sample, sample_max);
    sketch->sample_max = sample_max;
    sample_fit(sketch);
    if (sample_max < old_max)
        sketch->sample = sample_room(sketch->sample, sample_max);
}

/* --- partitions (3) --- */

static tv_sketch_partition *find_partition(tv_sketch *sketch, uint64_t hash, tv_slice key)
{
    if (sketch->partitions == NULL)
        return NULL;

    for (size_t i = hash % TV_SKETCH_PARTITION_SLOTS; sketch->partitions[i].key;
         i = (i + 1) % TV_SKETCH_PARTITION_SLOTS) {
        tv_sketch_partition *partition = &sketch->partitions[i];

        if (partition->hash == hash && tv_slice_eq((tv_slice){partition->key, partition->len}, key))
            return partition;
    }
    return NULL;
}

tv_sketch_partition *tv_sketch_find_partition(tv_sketch *sketch, tv_slice partition_key)
{
    return find_partition(sketch, tv_sketch_hash(sketch->seed, partition_key), partition_key);
}

static void place_partition(tv_sketch *sketch, tv_sketch_partition item)
{
    size_t i = item.hash % TV_SKETCH_PARTITION_SLOTS;

    while (sketch->partitions[i].key)
        i = (i + 1) % TV_SKETCH_PARTITION_SLOTS;
    sketch->partitions[i] = item;
}

bool tv_sketch_add_partition(tv_sketch *sketch, tv_slice partition_key, uint64_t entities,
                             uint64_t bytes)
{
    tv_assert(tv_sketch_find_partition(sketch, partition_key) == NULL);
    if (sketch->partition_count == TV_FACTS_PARTITIONS_MAX ||
        sketch->partition_bytes + partition_key.len > TV_SKETCH_PARTITION_BYTES_MAX)
        return false;

    if (sketch->partitions == NULL)
        sketch->partitions = tv_calloc(TV_SKETCH_PARTITION_SLOTS, sizeof *sketch->partitions);
    sketch->partition_count++;
    sketch->partition_bytes += partition_key.len;
    place_partition(sketch,
                    (tv_sketch_partition){.hash = tv_sketch_hash(sketch->seed, partition_key),
                                          .key = copy(partition_key),
                                          .len = partition_key.len,
                                          .entities = entities,
                                          .bytes = bytes});
    return true;
}

void tv_sketch_remove_partition(tv_sketch *sketch, tv_slice partition_key)
{
    tv_sketch_partition *gone = tv_sketch_find_partition(sketch, partition_key);
    tv_sketch_partition old[TV_SKETCH_PARTITION_SLOTS];

    if (gone == NULL)
        return;

    sketch->partition_count--;
    sketch->partition_bytes -= gone->len;
    free(gone->key);
    gone->key = NULL;
    memcpy(old, sketch->partitions, sizeof old);
    memset(sketch->partitions, 0, sizeof old);
    for (size_t i = 0; i < TV_SKETCH_PARTITION_SLOTS; i++) {
        if (old[i].key)
            place_partition(sketch, old[i]);
    }
}

void tv_sketch_clear_partitions(tv_sketch *sketch)
{
    for (size_t i = 0; sketch->partitions && i < TV_SKETCH_PARTITION_SLOTS; i++)
        free(sketch->partitions[i].key);
    free(sketch->partitions);
    sketch->partitions = NULL;
    sketch->partition_count = sketch->partition_bytes = 0;
}

static int compare_keys(const void *a, const void *b)
{
    const tv_sketch_key *key_a = a, *key_b = b;

    return tv_slice_cmp(slice_of(key_a), slice_of(key_b));
}

static void promote_all(tv_sketch *sketch)
{
    size_t count = sketch->sample_count;
    tv_sketch_key *sorted = tv_malloc(count * sizeof *sorted);

    memcpy(sorted, sketch->sample, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (size_t begin = 0, end; begin < count; begin = end) {
        tv_slice partition_key = tv_sketch_partition_of(slice_of(&sorted[begin]));
        uint64_t bytes = 0;

        for (end = begin; end < count && tv_slice_eq(tv_sketch_partition_of(slice_of(&sorted[end])),
                                                     partition_key);
             end++)
            bytes += sorted[end].bytes;
        if (end - begin < TV_SKETCH_PROMOTED ||
            tv_sketch_find_partition(sketch, partition_key) != NULL)
            continue;

        if (!tv_sketch_add_partition(sketch, partition_key, end - begin, bytes))
            break;
    }
    free(sorted);
}

/* --- the largest (2) --- */

static void largest_remove(tv_sketch *sketch, tv_slice key)
{
    for (size_t i = 0; i < sketch->largest_count; i++) {
        if (!tv_slice_eq(slice_of(&sketch->largest[i]), key))
            continue;

        free(sketch->largest[i].key);
        sketch->largest_count--;
        memmove(sketch->largest + i, sketch->largest + i + 1,
                (sketch->largest_count - i) * sizeof *sketch->largest);
        return;
    }
}

static void largest_add(tv_sketch *sketch, tv_slice key, uint64_t bytes)
{
    size_t at = sketch->largest_count;

    if (sketch->largest_count == TV_FACTS_LARGEST_MAX) {
        tv_sketch_key *least = &sketch->largest[TV_FACTS_LARGEST_MAX - 1];

        if (bytes <= least->bytes) {
            sketch->largest_floor = bytes > sketch->largest_floor ? bytes : sketch->largest_floor;
            return;
        }
        sketch->largest_floor = least->bytes;
        free(least->key);
        sketch->largest_count--;
        at--;
    }
    while (at > 0 && sketch->largest[at - 1].bytes < bytes)
        at--;
    memmove(sketch->largest + at + 1, sketch->largest + at,
            (sketch->largest_count - at) * sizeof *sketch->largest);
    sketch->largest[at] = (tv_sketch_key){0, bytes, copy(key), key.len};
    sketch->largest_count++;
}

/* --- all of it --- */

tv_sketch *tv_sketch_new(uint64_t seed, size_t sample_max)
{
    tv_sketch *sketch = tv_calloc(1, sizeof *sketch);

    sketch->seed = seed;
    sketch->sample_max = sample_max;
    sketch->sample = sample_room(NULL, sample_max);
    sketch->sample_reach = UINT64_MAX;
    return sketch;
}

void tv_sketch_free(tv_sketch *sketch)
{
    if (sketch == NULL)
        return;

    for (size_t i = 0; i < sketch->sample_count; i++)
        free(sketch->sample[i].key);
    tv_sketch_clear_partitions(sketch);
    for (size_t i = 0; i < sketch->largest_count; i++)
        free(sketch->largest[i].key);
    for (size_t i = 0; i < TV_EXTREME_KINDS; i++)
        free(sketch->extremes[i].name);
    free(sketch->sample);
    free(sketch);
}

static void add_to_partition(tv_sketch *sketch, uint64_t hash, tv_slice partition_key,
                             uint64_t entities, uint64_t bytes)
{
    tv_sketch_partition *partition =
        sketch->partition_count ? find_partition(sketch, hash, partition_key) : NULL;

    if (partition) {
        partition->entities += entities;
        partition->bytes += bytes;
    }
}

void tv_sketch_created(tv_sketch *sketch, tv_slice key, uint64_t bytes)
{
    tv_slice partition_key = tv_sketch_partition_of(key);
    uint64_t partition_hash = tv_sketch_hash(sketch->seed, partition_key);
    uint64_t hash = tv_sketch_hash(sketch->seed, key);

    sketch->created++;
    tv_distinct_add(&sketch->partition_keys, partition_hash);
    add_to_partition(sketch, partition_hash, partition_key, 1, bytes);
    if (hash <= sketch->sample_reach)
        sample_add(sketch, hash, key, bytes);
    if (bytes > sketch->largest_floor)
        largest_add(sketch, key, bytes);
}

void tv_sketch_deleted(tv_sketch *sketch, tv_slice key, uint64_t bytes)
{
    uint64_t hash = tv_sketch_hash(sketch->seed, key);

    sketch->deleted++;
    if (sketch->partition_count) {
        tv_slice partition_key = tv_sketch_partition_of(key);

        add_to_partition(sketch, tv_sketch_hash(sketch->seed, partition_key), partition_key,
                         (uint64_t)-1, -bytes);
    }
    if (hash <= sketch->sample_reach)
        sample_remove(sketch, hash, key);
    if (bytes >= sketch->largest_floor)
        largest_remove(sketch, key);
}

void tv_sketch_replaced(tv_sketch *sketch, tv_slice key, uint64_t old_bytes, uint64_t bytes)
{
    if (old_bytes == bytes)
        return;

    if (sketch->partition_count) {
        tv_slice partition_key = tv_sketch_partition_of(key);

        add_to_partition(sketch, tv_sketch_hash(sketch->seed, partition_key), partition_key, 0,
                         bytes - old_bytes);
    }

    uint64_t hash = tv_sketch_hash(sketch->seed, key);
    size_t at =
        hash <= sketch->sample_reach ? sample_find_key(sketch, hash, key) : sketch->sample_count;

    if (at < sketch->sample_count)
        sketch->sample[at].bytes = bytes;
    if (old_bytes >= sketch->largest_floor)
        largest_remove(sketch, key);
    if (bytes > sketch->largest_floor)
        largest_add(sketch, key, bytes);
}

void tv_sketch_emptied(tv_sketch *sketch)
{
    tv_assert(sketch->sample_count == 0 && sketch->largest_count == 0);
    sketch->sample_reach = UINT64_MAX;
    sketch->largest_floor = 0;
    sketch->created = sketch->deleted = 0;
    memset(&sketch->partition_keys, 0, sizeof sketch->partition_keys);
    tv_sketch_clear_partitions(sketch);
}

void tv_sketch_note_extreme(tv_sketch *sketch, tv_sketch_extreme_kind kind, uint64_t value,
                            tv_slice name)
{
    tv_sketch_extreme *extreme = &sketch->extremes[kind];

    if (value <= extreme->value && extreme->name)
        return;

    free(extreme->name);
    *extreme = (tv_sketch_extreme){value, copy(name), name.len};
}

void tv_sketch_keep_extremes(tv_sketch *sketch, const tv_sketch *old)
{
    for (int i = 0; i < TV_EXTREME_KINDS; i++) {
        const tv_sketch_extreme *extreme = &old->extremes[i];

        if (extreme->name)
            tv_sketch_note_extreme(sketch, (tv_sketch_extreme_kind)i, extreme->value,
                                   (tv_slice){extreme->name, extreme->len});
    }
    sketch->long_strings = old->long_strings;
    sketch->long_binaries = old->long_binaries;
}
