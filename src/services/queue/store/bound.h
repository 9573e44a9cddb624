/*
 * The bound of an index: what is known in memory of where its live rows begin.
 *
 * The front of a busy queue's index is a long run of deleted rows.  The engine
 * has to walk over all of them to find the first live one, and does so again
 * for every get, until it gets round to dropping them.  So each queue
 * remembers a place below which there is nothing to find, and starts there.
 *
 * The promise: no live row of the index, as the engine holds it or will hold it
 * once what is being written is durable, lies below `bound`.  (A row is live
 * when its message has neither been deleted, nor cleared, nor expired.)
 *
 * Two things threaten it: functions that insert rows, and functions that have
 * learned a higher bound from rows that are not durable yet, for a group can
 * fail as a whole and its functions can run again.  Hence the rules:
 *
 *  (1) A function that inserts a row lowers `bound` and `candidate` to it, when
 *      it runs.  That it may fail later does no harm: a lower bound is a bound.
 *  (2) A function that has walked the index keeps what it learned as
 *      `candidate`, with the instant of its group, which no other group or
 *      attempt shares.
 *  (3) A walk in the same group may start at the candidate: it sees the same
 *      rows, with what the functions between have written, and those have
 *      obeyed (1); one that failed and was undone left nothing.
 *  (4) `bound` is raised to the candidate when the walk's write has settled,
 *      that is, when its group is durable; and only if the candidate is still
 *      of that group.  Then the engine holds what the walk saw, changed only by
 *      later functions of this group or of groups after it, which have obeyed
 *      (1).  A newer candidate, of a group that has run since and may yet fail,
 *      proves nothing about this one, so the bound stays.
 *  (5) A group whose outcome is unknown settles nothing: what it learned is not
 *      used, and what it inserted has lowered the bound.
 *
 * A queue has one committer, so functions and settlements do not overlap; peeks
 * read from other threads, and therefore there is a lock, held for a few
 * instructions and never together with another.
 *
 * None of this holds when others write to the same storage.  There the bounds are
 * part of the counts, the row that every function reads and that is compared when
 * its group is written:
 *
 *  (6) A function that inserts a row below the stored bound lowers it to the row.
 *  (7) A walk may raise it to what it learned.  Then the counts are written, and the
 *      group is refused if they have changed since they were read; so nobody can have
 *      put a row below the new bound that the walk has not met, because
 *  (8) a function that could do that changes the counts: a put takes a number, and an
 *      update that moves a message to an earlier place notes its instant.  An insert that
 *      takes a message to a later place needs no such care.  Either the walk has met
 *      the place where it was, and read the message's state, which is compared as
 *      well; or that place, and all the more the new one, is after the walk's end.
 *      (Or the walk has passed by it because it had expired; then it has for all.)
 *  (9) Raising it costs a write, so it is done when rows enough have gone since the
 *      last time, or when it is old.  `gone` counts those of this node; it is a hint.
 */
#ifndef TV_SERVICES_QUEUE_STORE_BOUND_H
#define TV_SERVICES_QUEUE_STORE_BOUND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "services/queue/store/row.h"

typedef struct tv_queue_bound {
    pthread_mutex_t lock;
    tv_queue_place bound;
    tv_queue_place candidate;
    int64_t group;   /* the instant of the group that the candidate is of; 0 when there is none */
    atomic_int gone; /* rows that functions have removed from the index: (9) */
} tv_queue_bound;

/** (9): so many rows that a walk must pass over are worth a write. */
enum { TV_QUEUE_BOUND_ROWS_MIN = 64 };

/** Nothing is known yet. */
void tv_queue_bound_init(tv_queue_bound *bound);
void tv_queue_bound_done(tv_queue_bound *bound);

/** For readers of the engine: start here.  Any thread. */
tv_queue_place tv_queue_bound_read(tv_queue_bound *bound);

/** For functions of the group `group`: start here. */
tv_queue_place tv_queue_bound_start(tv_queue_bound *bound, int64_t group);

/** A function of `group` found that no live row is below `place`. */
void tv_queue_bound_learn(tv_queue_bound *bound, int64_t group, tv_queue_place place);

/** A function inserts a row at `place`. */
void tv_queue_bound_lower(tv_queue_bound *bound, tv_queue_place place);

/** A write of `group` that has learned something is durable. */
void tv_queue_bound_settle(tv_queue_bound *bound, int64_t group);

#endif
