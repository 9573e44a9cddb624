/*
 * The connections of an endpoint: those that are idle, the newest first, and a bound on all of
 * them.  Who comes when there are as many as allowed waits in line.  Any thread.
 */
#ifndef TVC_NET_POOL_H
#define TVC_NET_POOL_H

#include "client/net/conn.h"
#include "client/net/lock.h"

typedef struct tvc_pool {
    tvc_lock lock;
    size_t count, count_max;   /* connections, idle ones and those about to be made included */
    tvc_conn *newest, *oldest; /* idle */
    tvc_pool_waiter *first, *last;
} tvc_pool;

enum { TVC_IDLE_MAX_MS = 60 * 1000 };

typedef enum tvc_take {
    TVC_TAKEN,
    TVC_TAKE_WAIT, /* the waiter is in line; ask again when it is woken */
    TVC_TAKE_NO_MEMORY,
} tvc_take;

bool tvc_pool_init(tvc_pool *pool, size_t count_max);

/** Closes the idle ones.  No other may be in use, and nobody waits. */
void tvc_pool_done(tvc_pool *pool);

/**
 * A connection, open or new, for whoever asks with this waiter, which is all zeros at first.  With
 * WAIT the waker is called when it is its turn.
 */
tvc_take tvc_pool_take(tvc_pool *pool, tvc_endpoint *endpoint, tvc_pool_waiter *waiter,
                       tvc_waker *waker, tvc_conn **ret_conn);

/** Give an open connection back. */
void tvc_pool_give(tvc_pool *pool, tvc_conn *conn);

/** Close a connection for good. */
void tvc_pool_drop(tvc_pool *pool, tvc_conn *conn);

/** Get out of the line, also with what was given in the meantime. */
void tvc_pool_leave(tvc_pool *pool, tvc_pool_waiter *waiter);

#endif
