#include "insight/traffic/adapt.h"

#include <stdlib.h>

#include "base/assert.h"
#include "store/engine/key.h"

static const double decay = 0.8, threshold_min = 8;

enum {
    CUT_BYTES_MIN = TV_LIVE_KEY_BYTES_MAX - 5, /* of a key that may have been cut */
    SETTLED_STEPS = 3,                         /* before a bucket may be merged */
    SPLIT_KEYS_MIN = 4,                        /* of a sample that is split at */
};

static tv_slice slice_of(const tv_live_key *key)
{
    return (tv_slice){key->bytes, key->len};
}

/* Bytes of the last character of a text that are there; and how many it should have. */
static size_t last_character(tv_slice text, size_t *ret_want)
{
    size_t have = 1;
    unsigned char lead;

    while (have < text.len && have < 4 &&
           ((unsigned char)text.data[text.len - have] & 0xc0) == 0x80)
        have++;
    lead = (unsigned char)text.data[text.len - have];
    *ret_want = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : 3;
    return have;
}

/* A key, or its beginning.  One that was cut does not end within a character, or between two
 * surrogates, so that it can be shown. */
static tv_live_key key_of(tv_slice key)
{
    tv_live_key kept = {0};

    if (key.len >= TV_LIVE_KEY_BYTES_MAX) {
        size_t have, want;

        key.len = TV_LIVE_KEY_BYTES_MAX;
        have = last_character(key, &want);
        if (have < want)
            key.len -= have;
        /* ED A0 to ED AF is the first of a pair. */
        if ((unsigned char)key.data[key.len - 3] == 0xed &&
            ((unsigned char)key.data[key.len - 2] & 0xf0) == 0xa0)
            key.len -= 3;
    }
    kept.len = (uint8_t)key.len;
    tv_slice_put(kept.bytes, key);
    return kept;
}

/* The end of the bucket that a key has for itself: behind it; behind all that begin with it, if it
 * may have been cut. */
static tv_live_key end_of(const tv_live_key *key)
{
    tv_live_key end = *key;

    tv_assert(end.len <= TV_LIVE_KEY_BYTES_MAX);
    end.bytes[end.len++] = key->len >= CUT_BYTES_MIN ? '\xff' : TV_KEY_MARK;
    return end;
}

void tv_live_init(tv_live *live, tv_live_pool *pool)
{
    tv_assert(pool->buckets_left > 0);
    pool->buckets_left--;
    *live = (tv_live){
        .buckets = tv_calloc(1, sizeof *live->buckets), .count = 1, .threshold = threshold_min};
}

static void drop_sample(tv_live_bucket *bucket, tv_live_pool *pool)
{
    if (bucket->sample)
        pool->samples_left++;
    free(bucket->sample);
    bucket->sample = NULL;
}

void tv_live_done(tv_live *live, tv_live_pool *pool)
{
    for (size_t i = 0; i < live->count; i++)
        drop_sample(&live->buckets[i], pool);
    pool->buckets_left += live->count;
    free(live->buckets);
    *live = (tv_live){0};
}

static size_t find(const tv_live *live, tv_slice key)
{
    size_t low = 0, high = live->count;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (tv_slice_cmp(slice_of(&live->buckets[middle].bound), key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static uint64_t draw(tv_live_pool *pool)
{
    pool->random ^= pool->random << 13;
    pool->random ^= pool->random >> 7;
    pool->random ^= pool->random << 17;
    return pool->random;
}

void tv_live_add_key(tv_live *live, tv_live_pool *pool, tv_slice key, unsigned weight)
{
    tv_live_bucket *bucket = &live->buckets[find(live, key)];

    if (bucket->sample == NULL) {
        bool is_wanted = live->count < TV_LIVE_FEW || bucket->weight > live->threshold / 2;

        if (!is_wanted || pool->samples_left == 0)
            return;
        pool->samples_left--;
        bucket->sample = tv_calloc(1, sizeof *bucket->sample);
    }

    tv_live_sample *sample = bucket->sample;
    uint64_t place = TV_LIVE_SAMPLE_KEYS;

    sample->seen += weight;
    if (sample->count < TV_LIVE_SAMPLE_KEYS)
        place = sample->count++;
    else if (draw(pool) % sample->seen < (uint64_t)TV_LIVE_SAMPLE_KEYS * weight)
        place = draw(pool) % TV_LIVE_SAMPLE_KEYS;
    if (place < TV_LIVE_SAMPLE_KEYS)
        sample->keys[place] = key_of(key);
}

void tv_live_weigh(tv_live *live, const tv_counts *counts, size_t buckets_max)
{
    live->weight_sum = 0;
    for (size_t i = 0; i < live->count; i++) {
        tv_live_bucket *bucket = &live->buckets[i];

        bucket->weight = decay * bucket->weight + tv_counts_weight(&counts[i]);
        bucket->age++;
        if (bucket->sample)
            bucket->sample->seen /= 2;
        live->weight_sum += bucket->weight;
    }
    live->threshold = live->weight_sum / (0.5 * (double)buckets_max);
    if (live->threshold < threshold_min)
        live->threshold = threshold_min;
}

/* The right of two neighbours goes into the left; it is not removed from the row. */
static void join(tv_live_bucket *left, tv_live_bucket *right, tv_live_pool *pool)
{
    left->weight += right->weight;
    if (right->age < left->age)
        left->age = right->age;
    drop_sample(left, pool);
    drop_sample(right, pool);
    pool->buckets_left++;
}

static bool may_merge(const tv_live_bucket *left, const tv_live_bucket *right)
{
    return left->age > SETTLED_STEPS && right->age > SETTLED_STEPS;
}

bool tv_live_merge(tv_live *live, tv_live_pool *pool)
{
    size_t kept = 0, before = live->count;

    for (size_t i = 1; i < before; i++) {
        tv_live_bucket *left = &live->buckets[kept], *right = &live->buckets[i];

        if (may_merge(left, right) && left->weight + right->weight < live->threshold / 4)
            join(left, right, pool);
        else
            live->buckets[++kept] = *right;
    }
    live->count = kept + 1;
    return live->count != before;
}

bool tv_live_lightest(const tv_live *live, size_t *ret_left, double *ret_weight)
{
    bool is_found = false;

    for (size_t i = 0; i + 1 < live->count; i++) {
        double weight = live->buckets[i].weight + live->buckets[i + 1].weight;

        if (!may_merge(&live->buckets[i], &live->buckets[i + 1]) ||
            (is_found && weight >= *ret_weight))
            continue;
        *ret_left = i;
        *ret_weight = weight;
        is_found = true;
    }
    return is_found;
}

void tv_live_merge_at(tv_live *live, tv_live_pool *pool, size_t left)
{
    join(&live->buckets[left], &live->buckets[left + 1], pool);
    memmove(&live->buckets[left + 1], &live->buckets[left + 2],
            (live->count - left - 2) * sizeof live->buckets[0]);
    live->count--;
}

static int compare_keys(const void *a, const void *b)
{
    return tv_slice_cmp(slice_of(a), slice_of(b));
}

/* The PartitionKey of a sampled key; without data when it was cut before it ended. */
static tv_slice partition_of(const tv_live_key *key)
{
    size_t end = tv_slice_find(slice_of(key), TV_KEY_MARK);

    return end < key->len ? (tv_slice){key->bytes, end} : TV_NONE;
}

static bool is_same_partition(const tv_live_key *a, const tv_live_key *b)
{
    tv_slice partition = partition_of(a);

    return partition.data && partition_of(b).data && tv_slice_eq(partition, partition_of(b));
}

static bool is_same_key(const tv_live_key *a, const tv_live_key *b)
{
    return compare_keys(a, b) == 0;
}

/* Of sorted keys, one of those that are the same most often; NULL when they are no quarter. */
static const tv_live_key *most_of(const tv_live_key *keys, size_t count,
                                  bool (*is_same)(const tv_live_key *, const tv_live_key *))
{
    const tv_live_key *best = NULL;
    size_t run = 1, run_max = 1;

    for (size_t i = 1; i < count; i++) {
        run = is_same(&keys[i - 1], &keys[i]) ? run + 1 : 1;
        if (run > run_max) {
            run_max = run;
            best = &keys[i];
        }
    }
    return run_max * 4 >= count ? best : NULL;
}

static size_t cut_around_key(const tv_live_key *key, tv_live_key ret_cuts[2])
{
    ret_cuts[0] = *key;
    ret_cuts[1] = end_of(key);
    return 2;
}

/* From the PartitionKey to behind all keys that begin with it and a mark. */
static size_t cut_around_partition(const tv_live_key *key, tv_live_key ret_cuts[2])
{
    tv_slice partition = partition_of(key);

    if (partition.data == NULL || partition.len + 2 > TV_LIVE_BOUND_BYTES_MAX)
        return 0;
    ret_cuts[0] = ret_cuts[1] = (tv_live_key){.len = (uint8_t)partition.len};
    tv_slice_put(ret_cuts[0].bytes, partition);
    char *end = tv_slice_put(ret_cuts[1].bytes, partition);
    *end++ = TV_KEY_MARK;
    *end = '\xff';
    ret_cuts[1].len += 2;
    return 2;
}

static size_t cut_evenly(const tv_live_key *keys, size_t count, size_t parts,
                         tv_live_key ret_cuts[TV_LIVE_PARTS_MAX])
{
    size_t distinct = 1, cut_count = 0;

    for (size_t i = 1; i < count; i++)
        distinct += !is_same_key(&keys[i - 1], &keys[i]);
    if (parts > distinct)
        parts = distinct;
    for (size_t i = 1; i < parts; i++)
        ret_cuts[cut_count++] = keys[i * count / parts];
    return cut_count;
}

/* Leave those that lie inside a bucket, each once.  `high` is the next one's bound or NULL. */
static size_t keep_inside(const tv_live_bucket *bucket, const tv_live_key *high, tv_live_key *cuts,
                          size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        const tv_live_key *before = kept ? &cuts[kept - 1] : &bucket->bound;

        if (compare_keys(before, &cuts[i]) < 0 &&
            (high == NULL || compare_keys(&cuts[i], high) < 0))
            cuts[kept++] = cuts[i];
    }
    return kept;
}

/* New bounds inside a bucket, ascending: around a key, or around a partition, that is a quarter of
 * the sorted sample, or of equal parts. */
static size_t choose_cuts(const tv_live_bucket *bucket, const tv_live_key *high, double threshold,
                          tv_live_key ret_cuts[TV_LIVE_PARTS_MAX])
{
    const tv_live_key *keys = bucket->sample->keys, *most;
    size_t count = bucket->sample->count, kept = 0, parts = TV_LIVE_PARTS_MAX;

    if ((most = most_of(keys, count, is_same_key)))
        return keep_inside(bucket, high, ret_cuts, cut_around_key(most, ret_cuts));
    if ((most = most_of(keys, count, is_same_partition)))
        kept = keep_inside(bucket, high, ret_cuts, cut_around_partition(most, ret_cuts));
    if (kept)
        return kept;
    if (bucket->weight / threshold + 1 < (double)parts)
        parts = (size_t)(bucket->weight / threshold) + 1;
    return keep_inside(bucket, high, ret_cuts, cut_evenly(keys, count, parts, ret_cuts));
}

/* Put `count` cuts behind bucket `at`; the parts share its weight as they share its sample, and
 * begin new. */
static void cut_bucket(tv_live *live, tv_live_pool *pool, size_t at, const tv_live_key *cuts,
                       size_t count)
{
    const tv_live_sample *sample = live->buckets[at].sample;
    double each = live->buckets[at].weight / (double)sample->count;
    size_t keys = 0;

    live->buckets = tv_realloc(live->buckets, (live->count + count) * sizeof live->buckets[0]);
    memmove(&live->buckets[at + 1 + count], &live->buckets[at + 1],
            (live->count - at - 1) * sizeof live->buckets[0]);
    for (size_t i = 0; i <= count; i++) {
        size_t before = keys;
        tv_live_bucket *part = &live->buckets[at + i];

        while (keys < sample->count &&
               (i == count || compare_keys(&sample->keys[keys], &cuts[i]) < 0))
            keys++;
        if (i > 0)
            *part = (tv_live_bucket){.bound = cuts[i - 1]};
        part->weight = each * (double)(keys - before);
        part->age = 0;
    }
    drop_sample(&live->buckets[at], pool);
    live->count += count;
    pool->buckets_left -= count;
}

static bool is_too_heavy(const tv_live *live, const tv_live_bucket *bucket)
{
    return bucket->weight > live->threshold && bucket->sample &&
           bucket->sample->count >= SPLIT_KEYS_MIN;
}

size_t tv_live_wants(const tv_live *live)
{
    size_t wanted = 0;

    for (size_t i = 0; i < live->count; i++)
        wanted += is_too_heavy(live, &live->buckets[i]);
    return wanted;
}

/* The heaviest bucket that is too heavy; SIZE_MAX for none. */
static size_t heaviest(const tv_live *live)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < live->count; i++) {
        if (is_too_heavy(live, &live->buckets[i]) &&
            (best == SIZE_MAX || live->buckets[i].weight > live->buckets[best].weight))
            best = i;
    }
    return best;
}

bool tv_live_split(tv_live *live, tv_live_pool *pool, size_t buckets_max)
{
    bool is_split = false;

    /* A part has no sample, nor has what cannot be split (one key): each is looked at once. */
    for (;;) {
        tv_live_key cuts[TV_LIVE_PARTS_MAX];
        size_t at = heaviest(live), room = buckets_max - live->count;

        if (at == SIZE_MAX || live->count >= buckets_max || pool->buckets_left == 0)
            return is_split;

        const tv_live_key *high = at + 1 < live->count ? &live->buckets[at + 1].bound : NULL;
        tv_live_sample *sample = live->buckets[at].sample;

        qsort(sample->keys, sample->count, sizeof sample->keys[0], compare_keys);

        size_t count = choose_cuts(&live->buckets[at], high, live->threshold, cuts);

        if (room > pool->buckets_left)
            room = pool->buckets_left;
        if (count > room)
            count = room;
        if (count == 0) {
            drop_sample(&live->buckets[at], pool);
            continue;
        }
        cut_bucket(live, pool, at, cuts, count);
        is_split = true;
    }
}

tv_axis *tv_live_axis(const tv_live *live)
{
    tv_slice *bounds = tv_malloc(live->count * sizeof *bounds);

    for (size_t i = 0; i < live->count; i++)
        bounds[i] = slice_of(&live->buckets[i].bound);

    tv_axis *axis = tv_axis_new(bounds, live->count);

    free(bounds);
    return axis;
}
