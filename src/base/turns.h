/*
 * A pool of threads for work that takes long: queries and lists.  A task is done
 * in slices of a few milliseconds, and between two slices others have their turn:
 * the accounts one after the other, and of an account its tasks, so that no
 * client waits longer for many clients of another account than for one.  A
 * connection has one request at a time, so the tasks of an account are its
 * connections.
 *
 * Of an account, tasks that have not run yet and tasks that have run alternate: a
 * short query does not wait for all the long ones before it.  One account never
 * has all threads, so that a slice that takes long (a disk that does not answer,
 * a long run of deleted rows) leaves a thread to the others.
 *
 * A task ends when its work is done, or when it is told that it must: because its
 * client has gone, or because the server stops.  Then it goes back, as a message,
 * to the mailbox of the thread that asked.  A task has its first turn in any case:
 * a client that has only ended its side of the connection looks as if it had gone,
 * and what it asks for is mostly short.
 */
#ifndef TV_BASE_TURNS_H
#define TV_BASE_TURNS_H

#include <stdatomic.h>

#include "base/clock.h"
#include "base/mailbox.h"
#include "base/slice.h"
#include "base/thread.h"

typedef struct tv_turns tv_turns;

/** One slice of a task, for its function to look at. */
typedef struct tv_turn {
    int64_t end_ns; /* by the monotonic clock */
    bool must_end;  /* this is the last one: finish with what there is */
    unsigned work;  /* since the clock was last looked at */
} tv_turn;

enum { TV_TURN_WORK_MAX = 16 };

typedef struct tv_task {
    tv_mail mail; /* its `deliver` is called on the asker's thread when the task is done */
    /**
     * Work until the task is done (true) or the turn is over (false: it is called
     * again, perhaps on another thread).  With must_end it returns true.
     */
    bool (*run)(struct tv_task *task, tv_turn *turn);
    tv_mailbox *reply_to;
    tv_slice account;           /* whose turn it takes, may be empty; outlives the task */
    const atomic_bool *is_gone; /* nobody waits for it any more; may be NULL */
    bool has_run;               /* for tv_turns alone */
} tv_task;

/**
 * `tasks_max` tasks may wait or be under way; an account may have no more of them
 * than it leaves free for the others.
 */
tv_turns *tv_turns_new(int thread_count, size_t tasks_max);

/** From now on every task gets one last, short turn.  Any thread. */
void tv_turns_finish(tv_turns *turns);

/** Finish all submitted tasks, then end the threads.  Accepts NULL. */
void tv_turns_free(tv_turns *turns);

/**
 * Queue a task; false when its account, or all together, have too many already.
 * The caller keeps its memory alive until `deliver`.  Any thread.
 */
bool tv_turns_submit(tv_turns *turns, tv_task *task) __attribute__((warn_unused_result));

typedef struct tv_turns_counts {
    size_t waiting; /* for their next turn, the first included */
    size_t running;
    uint64_t turns, cancelled, refused; /* since the start */
} tv_turns_counts;

tv_turns_counts tv_turns_read_counts(tv_turns *turns);

/**
 * Whether a turn is over, `work` more having been done: 1 is about a row that was
 * looked at.  The clock is read now and then: a row costs hardly more than the call.
 */
static inline bool tv_turn_is_over(tv_turn *turn, unsigned work)
{
    tv_thread_step(TV_STEP_SMALL);
    turn->work += work;
    if (turn->work < TV_TURN_WORK_MAX)
        return turn->must_end;

    turn->work = 0;
    return turn->must_end || tv_clock_mono_ns() >= turn->end_ns;
}

/** A turn without end, for work that is not shared with anybody. */
static inline tv_turn tv_turn_endless(void)
{
    return (tv_turn){.end_ns = INT64_MAX};
}

#endif
