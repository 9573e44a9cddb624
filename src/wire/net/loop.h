/*
 * A network thread: one libuv loop, one mailbox through which other threads
 * hand it finished work, and a hook at the end of every round in which what the
 * round produced is handed on as one piece (see commit/pipeline.h).
 */
#ifndef TV_WIRE_NET_LOOP_H
#define TV_WIRE_NET_LOOP_H

#include <uv.h>

#include "base/mailbox.h"

typedef struct tv_loop tv_loop;

/** `index` counts the server's loops from 0. */
tv_loop *tv_loop_new(int index);

/**
 * After tv_loop_join, and after every other thread that posts messages here
 * has ended.  Messages still in the mailbox are delivered.  Accepts NULL.
 */
void tv_loop_free(tv_loop *loop);

uv_loop_t *tv_loop_uv(tv_loop *loop);
int tv_loop_index(const tv_loop *loop);

/** Messages posted here are delivered on the loop's thread.  Posting is for any thread. */
tv_mailbox *tv_loop_mailbox(tv_loop *loop);

/**
 * Call `fn(ctx)` at the end of every round, that is before the loop waits
 * again: whatever callbacks and messages have produced is handed on by then.
 * Before tv_loop_start.
 */
void tv_loop_at_round_end(tv_loop *loop, void (*fn)(void *ctx), void *ctx);

/**
 * Keep the loop running after tv_loop_stop although no handle of it is active,
 * because somebody still waits for a message.  Every hold needs its release.
 * On the loop's thread, or before tv_loop_start.
 */
void tv_loop_hold(tv_loop *loop);
void tv_loop_release(tv_loop *loop);

/** 64 KiB for a read callback to use until it returns; shared by all streams of the loop. */
uv_buf_t tv_loop_scratch(tv_loop *loop);

/**
 * Streams that bring a lot (bodies of megabytes) take turns: together they read a few
 * hundred KiB in one round, so that a short request waits for no more than that,
 * however many of them there are.  A stream that had a turn waits until all the
 * others that have something had theirs.  All zeros is a stream that had none.
 */
typedef struct tv_read_turn {
    uint64_t cycle, round; /* of the last one; the loop's own numbers begin with 1 */
} tv_read_turn;

/** Whether it may read up to a scratch buffer's length now.  If not, the next round asks again. */
bool tv_loop_may_read(tv_loop *loop, tv_read_turn *turn);

/** `count` bytes were read by a stream that takes turns. */
void tv_loop_has_read(tv_loop *loop, size_t count);

/**
 * Now, in milliseconds of the monotonic clock; the same during one round.  Deadlines of
 * connections are compared with it.  On the loop's thread.
 */
uint64_t tv_loop_now_ms(const tv_loop *loop);

/** For tests: let that clock jump forward.  On the loop's thread. */
void tv_loop_skip_ms(tv_loop *loop, uint64_t ms);

/** Where the layer above keeps what its objects on this loop share; NULL at first. */
void **tv_loop_shared(tv_loop *loop);

/** Run the loop on a thread of its own, until tv_loop_stop and nothing holds it. */
void tv_loop_start(tv_loop *loop);

/** Let the loop end when the listeners and connections on it are gone.  Any thread. */
void tv_loop_stop(tv_loop *loop);
void tv_loop_join(tv_loop *loop);

#endif
