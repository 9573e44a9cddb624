/*
 * Numbers that are asked for over a window: the last hour, or all since a mark.  Sums only grow,
 * so a window is what they are now minus what they were when it began; a greatest value is kept
 * for each part of the hour, and for each mark.
 *
 * The hour is cut into slots of ten minutes: the live window is between 50 and 60 minutes long,
 * and everything while the object is younger.  One thread at a time.
 */
#ifndef TV_INSIGHT_WATCH_TALLY_H
#define TV_INSIGHT_WATCH_TALLY_H

#include <stddef.h>
#include <stdint.h>

enum {
    TV_TALLY_SLOTS = 6,
    TV_TALLY_SLOT_S = 600,
    TV_TALLY_MARKS = 8,
    TV_TALLY_LIVE = -1, /* in place of a mark: the last hour */
};

typedef struct tv_tally {
    int sum_count, max_count;
    /* sums, maxima since ever; then for each slot the sums when it began and the maxima in it. */
    uint64_t *numbers;
    uint64_t *marks[TV_TALLY_MARKS]; /* likewise, or NULL: the mark is older than this */
} tv_tally;

void tv_tally_init(tv_tally *tally, int sum_count, int max_count);
/** Accepts all zeros. */
void tv_tally_done(tv_tally *tally);

static inline void tv_tally_add(tv_tally *tally, int sum, uint64_t count)
{
    tally->numbers[sum] += count;
}

/** A greatest value: it becomes `value` if that is more. */
static inline void tv_raise(uint64_t *max, uint64_t value)
{
    if (*max < value)
        *max = value;
}

/** `slot` is the number of the slot at hand, counted from the start of time. */
void tv_tally_raise(tv_tally *tally, int64_t slot, int max, uint64_t value);

/** Slot number `slot` begins.  Every slot is begun, or at least the last TV_TALLY_SLOTS. */
void tv_tally_begin_slot(tv_tally *tally, int64_t slot);

/** Mark number `mark` (below TV_TALLY_MARKS) begins, in place of an older one with the number. */
void tv_tally_mark(tv_tally *tally, int mark);

/** A sum, and a greatest value, over the window of a mark or TV_TALLY_LIVE. */
uint64_t tv_tally_sum(const tv_tally *tally, int64_t slot, int mark, int sum);
uint64_t tv_tally_max(const tv_tally *tally, int64_t slot, int mark, int max);

/** What it takes beyond its own struct. */
size_t tv_tally_bytes(const tv_tally *tally);

#endif
