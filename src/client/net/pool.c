/* Connections that are kept, and the line of those who wait for one. */
#include "client/net/pool.h"

#include "base/assert.h"
#include "base/clock.h"

enum waiter_state {
    APART,   /* not in line */
    IN_LINE, /* waits */
    CALLED,  /* may go on: with waiter->conn, or with the right to make one */
};

bool tvc_pool_init(tvc_pool *pool, size_t count_max)
{
    pool->count_max = count_max;
    return tvc_lock_init(&pool->lock);
}

void tvc_pool_done(tvc_pool *pool)
{
    tv_assert(pool->first == NULL);
    while (pool->newest) {
        tvc_conn *conn = pool->newest;

        pool->newest = conn->older;
        tvc_conn_free(conn);
    }
    tvc_lock_done(&pool->lock);
}

/* ---- the idle ones ---- */

static void push_idle(tvc_pool *pool, tvc_conn *conn)
{
    conn->newer = NULL;
    conn->older = pool->newest;
    if (pool->newest)
        pool->newest->newer = conn;
    else
        pool->oldest = conn;
    pool->newest = conn;
}

static void unlink_idle(tvc_pool *pool, tvc_conn *conn)
{
    if (conn->newer)
        conn->newer->older = conn->older;
    else
        pool->newest = conn->older;
    if (conn->older)
        conn->older->newer = conn->newer;
    else
        pool->oldest = conn->newer;
    conn->newer = conn->older = NULL;
}

/* Take out one that has been idle for too long; NULL when there is none. */
static tvc_conn *expire(tvc_pool *pool, int64_t now_ns)
{
    tvc_conn *conn = pool->oldest;

    if (conn == NULL || now_ns - conn->idle_since_ns < TVC_IDLE_MAX_MS * INT64_C(1000000))
        return NULL;
    unlink_idle(pool, conn);
    pool->count--;
    return conn;
}

/* ---- the line ---- */

static void enter(tvc_pool *pool, tvc_pool_waiter *waiter)
{
    waiter->state = IN_LINE;
    waiter->next = NULL;
    waiter->previous = pool->last;
    if (pool->last)
        pool->last->next = waiter;
    else
        pool->first = waiter;
    pool->last = waiter;
}

static void unlink_waiter(tvc_pool *pool, tvc_pool_waiter *waiter)
{
    if (waiter->previous)
        waiter->previous->next = waiter->next;
    else
        pool->first = waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
    else
        pool->last = waiter->previous;
    waiter->previous = waiter->next = NULL;
    waiter->state = APART;
}

/* Let the first in line go on, with a connection or without.  False when nobody waits. */
static bool call_first(tvc_pool *pool, tvc_conn *conn)
{
    tvc_pool_waiter *waiter = pool->first;

    if (waiter == NULL)
        return false;
    unlink_waiter(pool, waiter);
    waiter->state = CALLED;
    waiter->conn = conn;
    if (waiter->waker) /* with the lock held: the waiter cannot go away */
        waiter->waker->wake(waiter->waker);
    return true;
}

/* One connection less, or one that was to be made is not. */
static void free_place(tvc_pool *pool)
{
    if (!call_first(pool, NULL))
        pool->count--;
}

/* ---- taking and giving ---- */

/* What the waiter gets now, with the lock held: whether it may go on, and with what. */
static bool take_locked(tvc_pool *pool, tvc_pool_waiter *waiter, tvc_conn **ret_conn)
{
    *ret_conn = NULL;
    if (waiter->state == IN_LINE)
        return false;
    if (waiter->state == CALLED) {
        *ret_conn = waiter->conn;
        waiter->conn = NULL;
        waiter->state = APART;
        return true;
    }
    if (pool->newest) {
        *ret_conn = pool->newest;
        unlink_idle(pool, pool->newest);
        return true;
    }
    if (pool->count < pool->count_max) {
        pool->count++;
        return true;
    }
    enter(pool, waiter);
    return false;
}

tvc_take tvc_pool_take(tvc_pool *pool, tvc_endpoint *endpoint, tvc_pool_waiter *waiter,
                       tvc_waker *waker, tvc_conn **ret_conn)
{
    tvc_conn *conn;

    tvc_lock_take(&pool->lock);
    waiter->waker = waker;
    bool may_go_on = take_locked(pool, waiter, &conn);
    tvc_lock_give(&pool->lock);
    if (!may_go_on)
        return TVC_TAKE_WAIT;

    if (conn == NULL)
        conn = tvc_conn_new(endpoint);
    if (conn == NULL) {
        tvc_lock_take(&pool->lock);
        free_place(pool);
        tvc_lock_give(&pool->lock);
        return TVC_TAKE_NO_MEMORY;
    }
    *ret_conn = conn;
    return TVC_TAKEN;
}

void tvc_pool_give(tvc_pool *pool, tvc_conn *conn)
{
    int64_t now_ns = tv_clock_mono_ns();
    tvc_conn *expired = NULL;

    conn->was_used = true;
    conn->idle_since_ns = now_ns;
    tvc_lock_take(&pool->lock);
    if (!call_first(pool, conn)) {
        push_idle(pool, conn);
        expired = expire(pool, now_ns); /* one at a time: as many go as come */
    }
    tvc_lock_give(&pool->lock);
    tvc_conn_free(expired);
}

void tvc_pool_drop(tvc_pool *pool, tvc_conn *conn)
{
    tvc_conn_free(conn);
    if (tvc_lock_take_unless_child(&pool->lock)) {
        free_place(pool);
        tvc_lock_give(&pool->lock);
    }
}

void tvc_pool_leave(tvc_pool *pool, tvc_pool_waiter *waiter)
{
    if (!tvc_lock_take_unless_child(&pool->lock)) {
        if (waiter->state == IN_LINE)
            unlink_waiter(pool, waiter);
        tvc_conn_free(waiter->conn);
        waiter->conn = NULL;
        return;
    }

    tvc_conn *conn = waiter->conn;
    bool has_place = waiter->state == CALLED && conn == NULL;

    if (waiter->state == IN_LINE)
        unlink_waiter(pool, waiter);
    waiter->conn = NULL;
    waiter->state = APART;
    if (has_place)
        free_place(pool);
    tvc_lock_give(&pool->lock);
    if (conn)
        tvc_pool_give(pool, conn);
}
