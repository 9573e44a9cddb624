/* What the parts of pattern.h share: the slots that are judged, and what they find in them. */
#ifndef TV_INSIGHT_TRAFFIC_JUDGED_H
#define TV_INSIGHT_TRAFFIC_JUDGED_H

#include "insight/traffic/pattern.h"

/** Sums of several measures: bits of them. */
typedef unsigned tv_measure_mask;

#define TV_MASK_OF(measure) (1u << (measure))
#define TV_MASK_REQUESTS                                                                           \
    (TV_MASK_OF(TV_MEASURE_READS) | TV_MASK_OF(TV_MEASURE_WRITES) | TV_MASK_OF(TV_MEASURE_DELETES))

/** A slot with more than a trace of what is judged. */
typedef struct tv_judged_slot {
    const tv_piece *piece;
    size_t first, end; /* its buckets that have keys of the input */
    uint64_t total;
} tv_judged_slot;

typedef struct tv_judged {
    const tv_pattern_input *input;
    tv_measure_mask mask;
    tv_judged_slot *slots;
    size_t count;
    uint64_t total;
} tv_judged;

/** The slots that have more than a fiftieth of what the fullest one has; they are in the arena. */
tv_judged tv_judged_of(const tv_pattern_input *input, tv_measure_mask mask, tv_arena *arena);

static inline uint64_t tv_judged_cell(const tv_judged *judged, const tv_judged_slot *slot,
                                      size_t bucket)
{
    const tv_counts *counts = &slot->piece->counts[bucket];
    uint64_t sum = 0;

    for (int k = 0; k < TV_MEASURES; k++)
        sum += judged->mask >> k & 1 ? counts->by[k] : 0;
    return sum;
}

/** Enough of both to say something about it. */
static inline bool tv_judged_has_enough(size_t slots, uint64_t total)
{
    return slots >= TV_PATTERN_SLOTS_MIN && total >= TV_PATTERN_COUNT_MIN;
}

/** A pattern from judged slot `first` to `last`, both included. */
tv_pattern tv_judged_pattern(const tv_judged *judged, tv_pattern_kind kind, size_t first,
                             size_t last);

void tv_pattern_bound_set(tv_pattern_bound *bound, tv_slice text);

/* --- shares --- */

/** Who has most of a slot.  `name` has no data when there is nobody. */
typedef struct tv_share_top {
    tv_slice name;
    uint64_t own;
    uint64_t edge; /* what is its own, or another's */
    double count; /* of those that share the slot, at least */
} tv_share_top;

/** The partitions and keys of a measure. */
typedef struct tv_shares {
    const tv_judged *judged;
    tv_share_top *partitions, *keys; /* of each slot: PartitionKeys; keys that have a bucket */
    double partition_count;          /* of all slots, at least */
    tv_slice largest;                /* PartitionKey */
    double largest_share, largest_share_max; /* of all slots: what it has, what any may have */
    bool is_at_least;                        /* it may have more */
} tv_shares;

tv_shares tv_shares_of(const tv_judged *judged, tv_arena *arena);

/** A hot line, of an entity if that explains it.  False when there is none. */
bool tv_shares_find_hot(const tv_shares *shares, tv_pattern *ret_pattern);

/** Even or uneven; false when it is neither, or not known yet. */
bool tv_shares_find_even(const tv_shares *shares, tv_pattern *ret_pattern);

/** From PartitionKey to behind all of its keys. */
void tv_pattern_set_partition(tv_pattern *pattern, tv_slice partition);

/* --- frontier --- */

/** Rising or falling, of inserts. */
bool tv_frontier_find(const tv_judged *judged, const tv_shares *shares, tv_pattern *ret_pattern);

#endif
