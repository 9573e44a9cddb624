/*
 * Instants: the one concept of now for everything that is stored or compared
 * with what is stored.
 *
 * Every group of writes has an instant of its own (tv_txn_now), and instants
 * only grow: within the process, whatever the wall clock does, because they
 * follow tv_clock_steady_ticks; and from one start to the next, because the
 * store remembers about the latest of them.  Reads outside the groups ask
 * tv_instant_now, which is never behind a group.
 *
 * What the store remembers is the row TV_KEY_TIME: an instant, in decimal.  No
 * row of the store was written at TV_INSTANT_STEP or more after it.  A committer
 * keeps this true: a group whose instant would break it writes the row again, in
 * the same batch, which is about once a second while there are writes
 * (tv_txn_keep_time).
 *
 * A shared engine has no such row: there each range of the storage remembers the
 * latest instant that was written to it, and refuses earlier ones, so instants grow
 * in each range, whatever the clocks of the nodes say (tv_instant_follow).  Batches whose
 * rows each have an instant of their own may be a little late (tv_txn_declare_late): there instants
 * grow for each row, and in the range they are never TV_INSTANT_AHEAD_MAX behind.  So may those
 * that keep in a row what their order goes by (tv_txn_declare_guarded): queues, blobs, catalogues.
 */
#ifndef TV_STORE_ENGINE_INSTANT_H
#define TV_STORE_ENGINE_INSTANT_H

#include <stdint.h>

#include "base/clock.h"
#include "store/engine/engine.h"

/** How far instants may run ahead of what the store remembers. */
#define TV_INSTANT_STEP TV_TICKS_PER_SECOND

/** How far behind the latest that a range remembers a batch may be that may be late. */
#define TV_INSTANT_LATE_MAX (TV_TICKS_PER_SECOND / 4 * 3)
/** How far ahead of it such batches may be before one of them makes the range remember its own. */
#define TV_INSTANT_LATE_RAISE (TV_TICKS_PER_SECOND / 4)
/**
 * An instant in a row that is so far ahead of a batch, or more, is followed by nobody: the storage
 * takes no such batch, and it runs again with a later one; or the row is damaged.
 */
#define TV_INSTANT_AHEAD_MAX (TV_INSTANT_LATE_MAX + TV_INSTANT_LATE_RAISE)

/** How far instants run ahead of the clock at most, for others' sake: see tv_instant_follow. */
#define TV_INSTANT_LEAD_MAX (5 * TV_TICKS_PER_SECOND)
/** After which time by half of it. */
#define TV_INSTANT_LEAD_HALF (240 * TV_TICKS_PER_SECOND)
/** By how much more after a refusal, unless so many came in a row. */
#define TV_INSTANT_LEAD_STEP (TV_TICKS_PER_SECOND / 40000)
enum { TV_INSTANT_IN_ROW = 5 };

/**
 * A store that remembers a later instant, one after the year 3169, was written by a clock that was
 * wrong, when such clocks were followed (TV_CLOCK_WALL_MAX): that instant is not believed.  What
 * is stored has limits of its own, all beyond this one: the ETags of blobs, for one, end in 3654.
 */
#define TV_INSTANT_MAX INT64_C(1000000000000000000)

/** Now: at least the latest instant that was given out.  Any thread. */
int64_t tv_instant_now(void);

/** An instant later than all before it.  Any thread. */
int64_t tv_instant_next(void);

/** Let all further instants be later than this one.  Any thread. */
void tv_instant_pass(int64_t instant);

/**
 * The same, for an engine whose storage has refused a batch whose first instant was `sent`, because
 * another node has written there at `instant`; `in_row`: how many batches in a row it has refused
 * for that, with this one.  Any thread.
 *
 * Of two nodes that are as quick as each other, one overtakes the other now and then: that says
 * next to nothing, and who ran ahead by all that was missing would now overtake the other, which
 * then did the same, on and on.  So a refusal is worth a step of TV_INSTANT_LEAD_STEP, which adds
 * up where a clock is behind by a little.  Where TV_INSTANT_IN_ROW come in a row the clock is far
 * behind, or the node far away, and instants run ahead by what is missing.  Ever less, because
 * nobody tells when it is not needed any more.
 *
 * Besides, instants go on from `instant` with the clock, and come back to it at half its pace:
 * nodes that have met one from the future and went on by single ticks would meet on each of them.
 */
void tv_instant_follow(int64_t instant, int64_t sent, unsigned in_row);

/** How far instants are ahead of the clock because of that.  Any thread. */
int64_t tv_instant_lead(void);

/**
 * Go on from where the store's last writer was; at the start, before any write.
 * When the wall clock is behind that, the steady clock starts from there.
 */
tv_err tv_instant_load(tv_engine *engine) TV_WARN_UNUSED;

/** Take the row TV_KEY_TIME apart: 0 for one that is not believed; TV_ERR_CORRUPT. */
tv_err tv_instant_parse(tv_slice value, int64_t *ret_instant) TV_WARN_UNUSED;

#endif
