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
 * keeps this true: a group whose instant would break it writes the row anew, in
 * the same batch, which is about once a second while there are writes
 * (tv_txn_keep_time).
 *
 * A shared engine has no such row: there each range of the storage remembers the
 * latest instant that was written to it, and refuses earlier ones, so instants grow
 * in each range, whatever the clocks of the nodes say (tv_instant_follow).
 */
#ifndef TV_ENGINE_INSTANT_H
#define TV_ENGINE_INSTANT_H

#include <stdint.h>

#include "base/clock.h"
#include "engine/engine.h"

/** How far instants may run ahead of what the store remembers. */
#define TV_INSTANT_STEP TV_TICKS_PER_SECOND

/**
 * By how much at most instants run ahead of the clock, after which time by half of it, and by how
 * much more than twice as far once they are refused again: see tv_instant_follow.
 */
#define TV_INSTANT_LEAD_MAX (5 * TV_TICKS_PER_SECOND)
#define TV_INSTANT_LEAD_HALF (30 * TV_TICKS_PER_SECOND)
#define TV_INSTANT_LEAD_STEP (TV_TICKS_PER_SECOND / 20)

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
 * another node has written there at `instant`: that node's clock is ahead of ours, or it is nearer,
 * and has overtaken our batch on its way.  So instants run ahead by as much from now on, or each of
 * our writes there would be refused.  By steps, because one batch that was held up says little, and
 * ever less, because nobody tells when it is not needed any more.  Any thread.
 */
void tv_instant_follow(int64_t instant, int64_t sent);

/**
 * Go on from where the store's last writer was; at the start, before any write.
 * When the wall clock is behind that, the steady clock starts from there.
 */
tv_err tv_instant_load(tv_engine *engine) TV_WARN_UNUSED;

/** Take the row TV_KEY_TIME apart: 0 for one that is not believed; TV_ERR_CORRUPT. */
tv_err tv_instant_parse(tv_slice value, int64_t *ret_instant) TV_WARN_UNUSED;

#endif
