/*
 * How long a committer waits to batch more writes before it writes a group.
 *
 * Clients that write one thing after the other follow the answers of a group
 * with their next writes within microseconds.  A committer that starts at once
 * with whatever is there takes only the half of them that did not get their
 * answer just now, so that two half groups alternate and every write waits for
 * two syncs of the disk instead of one.  On a disk with slow syncs it pays to
 * wait a part of a sync's time for the others: with 16 clients, that measured
 * 1.4 times the writes per second where a sync took 1 ms and 1.6 times where it
 * took 3 ms.  On a fast disk it does not pay, and the committer never waits.
 *
 * Shared storage is waited for with more patience, and tried again sooner: an operation there
 * costs each of its machines about a millisecond of CPU, whatever it holds.  With 64 clients
 * that measured 59 us of CPU in the cluster for a row instead of 85, and more writes per second.
 *
 * It learns from what happened: a lone client never waits, and when the others
 * did not come the committer does not wait for a while.  Nothing here is about
 * correctness.
 */
#ifndef TV_STORE_COMMIT_GATHER_H
#define TV_STORE_COMMIT_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** All zeros at the start but for the first.  Belongs to one committer. */
typedef struct tv_gather {
    bool is_shared;     /* the storage: see above */
    size_t last_count;  /* writes in the last group */
    int64_t commit_ns;  /* moving average of the time that a group takes */
    int groups_to_skip; /* do not wait for this many groups */
} tv_gather;

/** How many writes to wait for when `queued` are there; never less than 1. */
size_t tv_gather_wanted(const tv_gather *gather, size_t queued);

/** The longest wait for more writes. */
int64_t tv_gather_patience_ns(const tv_gather *gather);

/** Learn from a group: how many were wanted, how many came, how long it took to commit. */
void tv_gather_learn(tv_gather *gather, size_t wanted, size_t count, int64_t commit_ns);

#endif
