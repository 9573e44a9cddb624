/*
 * How a table's traffic is shared between its partitions and keys.
 *
 * A bucket that lies between two bounds of one partition is that partition's.  One that lies
 * across partitions may belong to any of those at its ends: so a partition has at least what lies
 * inside of it, and at most what its edges have in addition.  Bounds are cut around partitions
 * that have much (adapt.h), so both are close where it matters.
 */
#include "insight/traffic/judged.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "insight/advice/shares.h"
#include "store/engine/key.h"

static const char behind_prefix = '\xff';

/* A partition in one slot. */
typedef struct part {
    tv_slice name;
    size_t slot;
    uint64_t inside, edge;
} part;

typedef struct parts {
    part *list;
    size_t count, size;
    tv_arena *arena;
} parts;

static bool ends_behind(tv_slice bound)
{
    return bound.len && bound.data[bound.len - 1] == behind_prefix;
}

static bool has_mark(tv_slice bound)
{
    return tv_slice_find(bound, TV_KEY_MARK) < bound.len;
}

/* The partition that keys from this bound on are of, first of all; without data when it is not
 * known: the bound is the first of all, or behind one. */
static tv_slice partition_from(tv_slice bound)
{
    tv_slice name = tv_key_before_mark(bound);
    bool is_behind = ends_behind(bound) && bound.len <= name.len + 2;

    return bound.len == 0 || is_behind ? TV_NONE : name;
}

/* Whether all keys of a bucket are of the partition that it begins with. */
static bool is_inside(tv_slice low, tv_slice high)
{
    tv_slice name = partition_from(low);

    if (low.len == 0) /* the empty PartitionKey is the first of all */
        return high.data[0] == TV_KEY_MARK;
    if (name.data == NULL || high.len <= name.len || !tv_slice_starts_with(high, name))
        return false;
    /* A PartitionKey that was cut stands for all that begin with it. */
    return high.data[name.len] == TV_KEY_MARK ||
           (!has_mark(low) && high.len == name.len + 1 && ends_behind(high));
}

static part *part_of(parts *all, size_t slot, tv_slice name)
{
    part *last = all->count ? &all->list[all->count - 1] : NULL;

    if (last && last->slot == slot && tv_slice_eq(last->name, name))
        return last;
    tv_arena_grow(all->arena, &all->list, all->count, &all->size, 256);
    all->list[all->count] = (part){.name = name, .slot = slot};
    return &all->list[all->count++];
}

/* A bucket's part of its slot, for those it can be of. */
static void add_bucket(parts *all, size_t slot, const tv_axis *axis, size_t bucket, uint64_t own)
{
    tv_slice low = axis->bounds[bucket];
    tv_slice high = bucket + 1 < axis->count ? axis->bounds[bucket + 1] : TV_NONE;
    tv_slice name = partition_from(low);

    if (high.data && is_inside(low, high)) {
        part_of(all, slot, tv_key_before_mark(low))->inside += own;
        return;
    }
    if (name.data)
        part_of(all, slot, name)->edge += own;
    if (high.data && has_mark(high))
        part_of(all, slot, tv_key_before_mark(high))->edge += own;
    else if (name.data == NULL)
        part_of(all, slot, low)->edge += own; /* others, of which one may have all of it */
}

/* How many there are at least: those that have a hundredth of the slot, and for each hundredth that
 * the small ones have together one of them. */
static double at_least(size_t large, size_t small, uint64_t small_sum, uint64_t total)
{
    return (double)large + fmin((double)small, floor(100 * (double)small_sum / (double)total));
}

/* Leave out what is less than a hundredth of the slot. */
static tv_share_top end_slot(parts *all, size_t first, uint64_t total)
{
    tv_share_top top = {.name = TV_NONE};
    size_t kept = first, small = 0;
    uint64_t small_sum = 0;

    for (size_t i = first; i < all->count; i++) {
        const part *each = &all->list[i];
        uint64_t most = each->inside + each->edge;

        if (each->inside > top.own) {
            top.name = each->name;
            top.own = each->inside;
            top.edge = each->edge;
        }
        if (most * 100 >= total) {
            all->list[kept++] = *each;
        } else {
            small++;
            small_sum += most;
        }
    }
    all->count = kept;
    top.count = at_least(kept - first, small, small_sum, total);
    return top;
}

/* The heaviest bucket of one key; of those that weigh about the same the one of the slot before. */
static tv_share_top top_key(const tv_judged *judged, const tv_judged_slot *slot, tv_slice before)
{
    const tv_axis *axis = slot->piece->axis;
    tv_share_top top = {.name = TV_NONE};
    uint64_t best = 0, small_sum = 0;
    size_t large = 0, small = 0;

    for (size_t i = slot->first; i < slot->end; i++) {
        uint64_t own = tv_judged_cell(judged, slot, i), weight = own;
        bool is_one_key = tv_axis_is_one_key(axis, i);

        if (before.data && tv_slice_eq(axis->bounds[i], before))
            weight = 2 * own;
        if (own * 100 >= slot->total) {
            large += is_one_key ? 1 : 2;
        } else if (own) {
            small++;
            small_sum += own;
        }
        if (is_one_key && weight > best) {
            top.name = axis->bounds[i];
            top.own = own;
            best = weight;
        }
    }
    top.count = at_least(large, small, small_sum, slot->total);
    return top;
}

static int compare_parts(const void *a, const void *b)
{
    return tv_slice_cmp(((const part *)a)->name, ((const part *)b)->name);
}

/* Whether what is not known changes a number of whole percents. */
static bool may_be_more(double own, double edge, double total)
{
    return round(100 * (own + edge) / total) > round(100 * own / total);
}

/* The largest of all slots together. */
static void add_up(tv_shares *shares, parts *all)
{
    double total = (double)shares->judged->total, large = 0;

    if (all->count)
        qsort(all->list, all->count, sizeof *all->list, compare_parts);
    for (size_t i = 0, next; i < all->count; i = next) {
        double inside = 0, edge = 0;

        for (next = i; next < all->count && tv_slice_eq(all->list[next].name, all->list[i].name);
             next++) {
            inside += (double)all->list[next].inside;
            edge += (double)all->list[next].edge;
        }
        if (inside / total > shares->largest_share) {
            shares->largest_share = inside / total;
            shares->largest = all->list[i].name;
            shares->is_at_least = may_be_more(inside, edge, total);
        }
        if ((inside + edge) / total > shares->largest_share_max)
            shares->largest_share_max = (inside + edge) / total;
        large += inside + edge >= 0.01 * total;
    }
    shares->partition_count = fmax(shares->partition_count, large);
    if (shares->largest_share_max > 1)
        shares->largest_share_max = 1;
}

tv_shares tv_shares_of(const tv_judged *judged, tv_arena *arena)
{
    tv_shares shares = {.judged = judged};
    parts all = {.arena = arena};

    shares.partitions = tv_arena_alloc(arena, (judged->count + 1) * sizeof *shares.partitions);
    shares.keys = tv_arena_alloc(arena, (judged->count + 1) * sizeof *shares.keys);
    for (size_t s = 0; s < judged->count; s++) {
        const tv_judged_slot *slot = &judged->slots[s];
        size_t first = all.count;

        for (size_t i = slot->first; i < slot->end; i++) {
            uint64_t own = tv_judged_cell(judged, slot, i);

            if (own)
                add_bucket(&all, s, slot->piece->axis, i, own);
        }
        shares.partitions[s] = end_slot(&all, first, slot->total);
        shares.partition_count = fmax(shares.partition_count, shares.partitions[s].count);
        shares.keys[s] = top_key(judged, slot, s ? shares.keys[s - 1].name : TV_NONE);
    }
    add_up(&shares, &all);
    return shares;
}

/* Slots in a row in which the same has much. */
typedef struct run {
    size_t first, last;
    double own, edge, total, count;
} run;

/* From a slot on, as long as the one that has most of it has 0.6 of `least` or more. */
static run run_from(const tv_shares *shares, const tv_share_top *tops, double least, size_t first)
{
    const tv_judged *judged = shares->judged;
    run r = {.first = first, .last = first};

    for (size_t i = first; i < judged->count && tops[first].name.data; i++) {
        double own = (double)tops[i].own, total = (double)judged->slots[i].total;

        if (tops[i].name.data == NULL || !tv_slice_eq(tops[i].name, tops[first].name) ||
            own < 0.6 * least * total)
            break;
        r.own += own;
        r.edge += (double)tops[i].edge;
        r.total += total;
        r.count = fmax(r.count, tops[i].count);
        r.last = i;
    }
    return r;
}

/* The heaviest run of slots in which the same has `least`, and three times the mean of the others,
 * or nearly all, where it `has_others` that have nothing. */
static bool find_run(const tv_shares *shares, const tv_share_top *tops, double least,
                     bool has_others, run *ret_run)
{
    bool is_found = false;
    run r;

    for (size_t i = 0; i < shares->judged->count; i = r.last + 1) {
        r = run_from(shares, tops, least, i);
        if (!tv_judged_has_enough(r.last - i + 1, (uint64_t)r.total) ||
            !tv_share_is_hot(r.own / r.total, least, r.count, has_others) ||
            (is_found && r.own <= ret_run->own))
            continue;
        *ret_run = r;
        is_found = true;
    }
    return is_found;
}

void tv_pattern_set_partition(tv_pattern *pattern, tv_slice partition)
{
    char *end;

    tv_pattern_bound_set(&pattern->low, partition);
    pattern->high = pattern->low;
    end = pattern->high.bytes + pattern->high.len;
    *end++ = TV_KEY_MARK;
    *end = behind_prefix;
    pattern->high.len += 2;
}

bool tv_shares_find_hot(const tv_shares *shares, tv_pattern *ret_pattern)
{
    run partition, key;
    bool has_partition =
        find_run(shares, shares->partitions, TV_SHARE_OF_PARTITION, false, &partition);
    bool has_key = find_run(shares, shares->keys, TV_SHARE_OF_ENTITY, true, &key);
    tv_slice name;

    if (has_key && (!has_partition || key.own >= 0.8 * partition.own)) {
        name = shares->keys[key.first].name;
        *ret_pattern = tv_judged_pattern(shares->judged, TV_PATTERN_HOT_LINE, key.first, key.last);
        tv_pattern_bound_set(&ret_pattern->low, name);
        ret_pattern->high = ret_pattern->low;
        ret_pattern->high.bytes[ret_pattern->high.len++] = TV_KEY_MARK;
        ret_pattern->is_one_key = true;
        ret_pattern->share = key.own / key.total;
        return true;
    }
    if (!has_partition)
        return false;
    *ret_pattern =
        tv_judged_pattern(shares->judged, TV_PATTERN_HOT_LINE, partition.first, partition.last);
    tv_pattern_set_partition(ret_pattern, shares->partitions[partition.first].name);
    ret_pattern->share = partition.own / partition.total;
    ret_pattern->is_at_least = may_be_more(partition.own, partition.edge, partition.total);
    return true;
}

bool tv_shares_find_even(const tv_shares *shares, tv_pattern *ret_pattern)
{
    const tv_judged *judged = shares->judged;
    double least = shares->largest_share, most = shares->largest_share_max;
    bool is_alone = shares->partition_count < 2;
    bool is_uneven = is_alone ? least >= TV_SHARE_OF_PARTITION
                              : tv_share_is_hot(least, TV_SHARE_OF_PARTITION / 2,
                                                shares->partition_count, false);

    if (!tv_judged_has_enough(judged->count, judged->total))
        return false;
    /* What may have much, or not. */
    if (!is_uneven &&
        (is_alone || tv_share_is_hot(most, TV_SHARE_OF_PARTITION, shares->partition_count, false)))
        return false;
    *ret_pattern = tv_judged_pattern(judged, is_uneven ? TV_PATTERN_UNEVEN : TV_PATTERN_EVEN, 0,
                                     judged->count - 1);
    ret_pattern->share = is_uneven ? least : most;
    ret_pattern->is_at_least = is_uneven && shares->is_at_least;
    if (is_uneven)
        tv_pattern_set_partition(ret_pattern, shares->largest);
    return true;
}
