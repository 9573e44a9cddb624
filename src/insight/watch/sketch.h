/*
 * The keys that take most of a table's traffic, found among any number of keys with room for a
 * few: Space-Saving.  A key that is not there takes the place of the lightest, and its count:
 * so counts are too high by at most that (`error`), never too low, and a key with more than
 * 1/TV_WATCH_SKETCH_KEYS of the traffic is certainly there.  Every minute counts and errors are
 * halved, so that recent traffic decides who stays; what is told about a key is in its tally.
 *
 * One thread at a time.
 */
#ifndef TV_INSIGHT_WATCH_SKETCH_H
#define TV_INSIGHT_WATCH_SKETCH_H

#include "insight/watch/sheet.h"
#include "insight/watch/tally.h"

enum { TV_WATCH_SKETCH_KEYS = 32 };

typedef enum tv_heavy_sum {
    TV_HEAVY_UNITS,
    TV_HEAVY_READS,
    TV_HEAVY_WRITES,
    TV_HEAVY_THROTTLED,
    TV_HEAVY_SCANS, /* partition scans of it */
    TV_HEAVY_SUMS,
} tv_heavy_sum;

typedef enum tv_heavy_max {
    TV_HEAVY_PEAK,      /* units in 10 s */
    TV_HEAVY_SUSTAINED, /* in three such slots in a row */
    TV_HEAVY_SCANNED_MAX,
    TV_HEAVY_MAXIMA,
} tv_heavy_max;

/** Units by slots of 10 s: the one at hand and the two before. */
typedef struct tv_rate_slots {
    int64_t slot;
    uint64_t units[3];
} tv_rate_slots;

/** Count units at a time; slots that end raise the two maxima of the tally. */
void tv_rate_slots_add(tv_rate_slots *slots, tv_tally *tally, int peak, int64_t time_ns,
                       uint64_t units);
/** The slot at hand has ended if `time_ns` is later, or counts as it is. */
void tv_rate_slots_settle(tv_rate_slots *slots, tv_tally *tally, int peak, int64_t time_ns);

typedef struct tv_heavy {
    uint64_t hash; /* of the key */
    double count, error;
    tv_kept_key key;
    tv_tally tally;
    tv_rate_slots slots;
    double seen; /* weight of samples, and its variance for the error of what is sampled */
    double variance;
    int64_t first_ns, last_ns;
    int64_t first_throttled_ns;
    double rate_at_throttle;
} tv_heavy;

typedef struct tv_watch_sketch {
    tv_heavy *list; /* NULL until there is one */
    size_t count, size;
} tv_watch_sketch;

void tv_watch_sketch_done(tv_watch_sketch *sketch);

/**
 * The entry of a key, whose count is raised; it is made, or takes the place of another when there
 * are `count_max` (at most TV_WATCH_SKETCH_KEYS).
 */
tv_heavy *tv_watch_sketch_add(tv_watch_sketch *sketch, size_t count_max, uint64_t hash,
                              const tv_kept_key *key, double weight, int64_t time_ns);
void tv_watch_sketch_halve(tv_watch_sketch *sketch);

/** Where slots of TV_TALLY_SLOT_S and of 10 s are counted from. */
static inline int64_t tv_tally_slot_of(int64_t time_ns)
{
    return time_ns / INT64_C(1000000000) / TV_TALLY_SLOT_S;
}

/** Where the live window begins while this slot is at hand. */
static inline int64_t tv_tally_begin_ns(int64_t slot)
{
    return (slot + 1 - TV_TALLY_SLOTS) * TV_TALLY_SLOT_S * INT64_C(1000000000);
}

#endif
