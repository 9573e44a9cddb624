/*
 * A lock that a child of fork() can do without: it has one thread, which only frees and closes,
 * and the lock may be held forever by a thread that it does not have.
 */
#ifndef TVC_NET_LOCK_H
#define TVC_NET_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

typedef struct tvc_lock {
    pthread_mutex_t mutex;
    pid_t process; /* that made it */
} tvc_lock;

static inline bool tvc_lock_init(tvc_lock *lock)
{
    lock->process = getpid();
    return pthread_mutex_init(&lock->mutex, NULL) == 0;
}

static inline void tvc_lock_done(tvc_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

static inline void tvc_lock_take(tvc_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
}

static inline void tvc_lock_give(tvc_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

/** The same for what a child may do, too: whether the lock was taken. */
static inline bool tvc_lock_take_unless_child(tvc_lock *lock)
{
    if (lock->process != getpid())
        return false;
    pthread_mutex_lock(&lock->mutex);
    return true;
}

#endif
