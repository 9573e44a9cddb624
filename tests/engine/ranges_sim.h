/*
 * Clients, changes of ranges and deaths on a pool in memory, in an order that a seed decides.
 *
 * Writers, readers and a scanner work as nodes do: by a map that may be old, with the epoch of the
 * range in every operation.  Others split, merge, fence, drop, clean and recover all the time, and
 * die in the middle of it, before or after any operation; or they sleep there, and go on when
 * others have long finished what they began.
 *
 * What must hold, whatever happens:
 *
 *  - a row has what was last written to it, for each next writer and every reader that begins
 *    after the acknowledgement (nothing lost, nothing stale);
 *  - a scan meets every row that is there all the time, in order and once;
 *  - rows that two writers change one after the other have growing stamps, although the writers'
 *    clocks differ; by the one clock of a range or the other;
 *  - after a fence nobody writes to a dropped table any more, and its rows are gone after a drop;
 *  - when all have ended, there is no intent, no lock, no stray object and no leftover row.
 */
#ifndef TV_TESTS_ENGINE_RANGES_SIM_H
#define TV_TESTS_ENGINE_RANGES_SIM_H

#include <stdbool.h>
#include <stdint.h>

/** How much of each, summed over runs: a test checks that it has tested something. */
typedef struct sim_counts {
    uint64_t writes, refused_writes, reads, scans, splits, merges, fences, drops, kills, recoveries;
} sim_counts;

/** What to do more of. */
typedef enum sim_focus {
    SIM_EVERYTHING,
    SIM_COUNTERS,
    SIM_TABLES,
    SIM_CLEANING,
    SIM_FOCUSES
} sim_focus;

extern const char *const sim_focus_names[SIM_FOCUSES];

/** What went wrong, "" for nothing.  The same seed and focus make the same run. */
const char *sim_run(uint64_t seed, sim_focus focus, sim_counts *counts);

#endif
