/* What threads tell the system about themselves. */
#ifndef TV_BASE_THREAD_H
#define TV_BASE_THREAD_H

/**
 * Let the calling thread give way to those that answer clients and commit their
 * writes: on a machine whose cores are all busy it gets about a tenth of what they
 * get, and when it has a core for itself nothing changes.  For work that takes
 * long (scans, plans, digests, clean-up), so that a short request does not queue
 * for a core behind it.
 *
 * Such a thread may lose its core at any moment.  What it shares with a thread that
 * answers clients is therefore held without system calls, or needs no lock at all.
 */
void tv_thread_give_way(void);

/** Steps of long work, for tv_thread_step: about a row or a piece, and a tenth of a millisecond. */
enum { TV_STEP_SMALL = 1, TV_STEP_LARGE = 8 };

/**
 * A step of long work is done.  A thread that gives way
 * then offers its core to the others, four times in a millisecond at most: by itself the
 * system takes a core away only when a thread wakes up that has not had more than its
 * share, or with its tick, which comes every 1 to 10 ms.  Threads that do not give way,
 * and those that find the cores free, lose nothing.  Never with a lock held.
 */
void tv_thread_step(unsigned step);

/**
 * For threads that do many short things: take a core for a fraction of a millisecond
 * instead of three, and so get it sooner.  Without it, a thread that has used its
 * share waits until another has used up a whole slice.
 */
void tv_thread_take_short_slices(void);

#endif
