/*
 * What one node of a cluster does for all, while it leads: each chore has a name, an
 * interval and a thread of its own, so that a long one keeps no other waiting.  Chores that
 * have threads already (the garbage collections) ask `lead` themselves.
 */
#ifndef TV_SERVER_CLUSTER_CHORES_H
#define TV_SERVER_CLUSTER_CHORES_H

#include "base/background.h"
#include "base/err.h"
#include "base/lead.h"

typedef struct tv_chore {
    const char *name; /* for logs and the thread: shorter than TV_THREAD_NAME_SIZE */
    int interval_ms;
    bool on_every_node; /* not a chore of the leader alone */
    /** Waits as it likes, and returns soon once `thread` is told to stop. */
    tv_err (*run)(void *ctx, const tv_background *thread);
    void *ctx;
} tv_chore;

typedef struct tv_chores tv_chores;

/** Start all of them; `list` is copied, what it points to and `lead` outlive them. */
tv_chores *tv_chores_start(const tv_lead *lead, const tv_chore *list, size_t count);

/** Run a chore soon instead of when its time has come.  Any thread. */
void tv_chores_hurry(tv_chores *chores, const char *name);

/** Stop all of them; they can still be hurried.  Accepts NULL. */
void tv_chores_stop(tv_chores *chores);
void tv_chores_free(tv_chores *chores); /* the same, and free; accepts NULL */

#endif
