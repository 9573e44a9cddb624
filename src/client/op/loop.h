/*
 * The client's own thread, which drives started operations, and the queue of those that are done.
 *
 *  (1) An operation is the loop's from its start until the loop publishes it: under the lock its
 *      place changes, and the loop does not touch it any more.
 *  (2) Other threads reach it there only by mail, which is posted at most once at a time.
 *  (3) Descriptors stay in the epoll set, edge-triggered, as long as their connection lives.  An
 *      edge that nobody waited for makes the next wait arm its descriptor again.
 *  (4) Threads are woken only when they sleep.
 */
#ifndef TVC_OP_LOOP_H
#define TVC_OP_LOOP_H

#include <sys/types.h>

#include "client/client.h"
#include "client/op/op.h"
#include "client/op/state.h"

enum { TVC_LOOP_BUCKETS = 1024 };

/** The operations that wait for descriptors with the same remainder. */
typedef struct tvc_bucket {
    tavola_op *first;
    uint64_t watch; /* of descriptors that are armed; changed when one has missed an edge */
} tvc_bucket;

typedef struct tvc_ops {
    tavola_op *first, *last;
} tvc_ops;

typedef struct tvc_loop {
    pthread_t thread;
    pid_t pid; /* in another process, after a fork, there is no such thread */
    int epoll_fd, wake_fd;
    tv_mailbox mailbox;
    _Atomic bool is_sleeping;
    _Atomic bool is_stopping;

    /* Of its thread. */
    tvc_timers timers;
    tvc_ops under_way;
    tvc_ops finished; /* in this round */
    uint64_t watch_last;
    tvc_bucket buckets[TVC_LOOP_BUCKETS];

    /* The completion queue.  The lock is never held over a step or a callback. */
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    tvc_ops queue;
    size_t queue_count;
    size_t started_count; /* and not published */
    unsigned poller_count;
    int queue_fd;       /* -1: nobody has asked for it */
    bool is_fd_written; /* it is readable */
    bool is_closed;
} tvc_loop;

/** The client's loop, made now if need be; NULL when that fails. */
tvc_loop *tvc_loop_get(tavola_client *client);

/** Whether this is the process that made the loop. */
bool tvc_loop_is_here(const tvc_loop *loop);

/** Let the loop look at an operation soon.  Any thread. */
void tvc_loop_mail(tvc_loop *loop, tavola_op *op);

/**
 * The application closes its client: end what is under way with CANCELLED, stop the thread, call
 * `done` for all that were not polled.  Nothing can be started afterwards.
 */
void tvc_loop_close(tavola_client *client);

/** When nothing refers to the client any more.  NULL is fine. */
void tvc_loop_free(tvc_loop *loop);

void tvc_ops_add(tvc_ops *ops, tavola_op *op);
void tvc_ops_remove(tvc_ops *ops, tavola_op *op);

/* ---- completion.c ---- */

/** Hand over all that are finished; those whose mail is still on its way stay.  Loop only. */
void tvc_loop_publish(tvc_loop *loop);

/** Call `done` of up to `count` operations in the queue; how many there were. */
int tvc_loop_call_back(tvc_loop *loop, size_t count);

/** Free an operation that is not the loop's. */
void tvc_op_release(tavola_op *op);

#endif
