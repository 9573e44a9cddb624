/*
 * A network thread: one libuv loop, one mailbox through which other threads
 * hand it finished work, and a hook at the end of every round in which what the
 * round produced is handed on as one piece (see commit/pipeline.h).
 */
#ifndef TV_NET_LOOP_H
#define TV_NET_LOOP_H

#include <uv.h>

#include "base/mailbox.h"

typedef struct tv_loop tv_loop;

/** `index` counts the server's loops from 0. */
tv_loop *tv_loop_new(int index);
void tv_loop_free(tv_loop *loop); /* after tv_loop_join; accepts NULL */

uv_loop_t *tv_loop_uv(tv_loop *loop);
int tv_loop_index(const tv_loop *loop);

/** Letters posted here are delivered on the loop's thread.  Posting is for any thread. */
tv_mailbox *tv_loop_mailbox(tv_loop *loop);

/** Call `fn(ctx)` at the end of every round that had events.  Before tv_loop_start. */
void tv_loop_at_round_end(tv_loop *loop, void (*fn)(void *ctx), void *ctx);

/** Run the loop on a thread of its own, until tv_loop_stop and no handle is active. */
void tv_loop_start(tv_loop *loop);

/** Close the loop's own handles; it ends when the listeners and connections on it are gone.  Any
 * thread. */
void tv_loop_stop(tv_loop *loop);
void tv_loop_join(tv_loop *loop);

#endif
