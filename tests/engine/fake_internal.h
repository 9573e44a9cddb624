/*
 * What the files of the pool in memory share: fake_objects.c has its objects and what changes and
 * reads do to them, fake_faults.c who runs next and what goes wrong, fake_pool.c the operations of
 * a pool over both.
 */
#ifndef TV_TESTS_ENGINE_FAKE_INTERNAL_H
#define TV_TESTS_ENGINE_FAKE_INTERNAL_H

#include <pthread.h>

#include "base/buf.h"
#include "fake_pool.h"
#include "store/engine/memory/tree.h"

enum { ACTORS_MAX = 64 };

/* An object.  Rows and attributes are trees: a look at them is one view. */
typedef struct object {
    char name[TV_POOL_NAME_MAX + 1];
    tv_tree *rows, *attrs;
    tv_buf data;
    char holder[TV_POOL_NAME_MAX + 1]; /* of its lock, "" for nobody */
    int64_t held_until_ms;
} object;

typedef struct client client;

typedef struct watch {
    client *client;
    char object[TV_POOL_NAME_MAX + 1];
    void (*fn)(void *ctx);
    void *ctx;
    struct watch *next;
} watch;

/* A client on the list of an object; it may be gone. */
typedef struct listed {
    char object[TV_POOL_NAME_MAX + 1], address[32];
    struct listed *next;
} listed;

/* Something for the cluster's thread to do: one of the three. */
typedef struct task {
    client *client;
    const char *object;
    tv_pool_change *change;
    tv_pool_read *read;
    watch *notice;
    bool is_carried_out;
    struct task *next;
} task;

struct client {
    tv_pool base;
    fake_cluster *cluster;
    char address[32];
    bool is_out;
    uint64_t change_count;
    uint64_t kill_at; /* the change, counted from the first; 0: none */
    bool kill_is_after;
    client *next;
};

struct fake_cluster {
    fake_options options;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* tasks, turns */
    uint64_t random;
    tv_tree *objects; /* name -> the address of an object */
    client *clients;
    watch *watches;
    listed *listed;
    int client_count;
    int64_t now_ms;
    tv_pool_space space;
    size_t osd_count;

    uint64_t refuse_after, refuse_count;
    tv_err refuse_err, read_err;
    bool is_full;
    bool is_silent;
    task *held; /* meanwhile, newest first */
    void (*on_change)(void *ctx, tv_pool *client, const tv_pool_change *change);
    void *on_change_ctx;

    pthread_t thread; /* if is_threaded */
    task *tasks;      /* oldest first */
    client *served;   /* whose function the thread runs now */
    bool is_stopping;

    bool is_live[ACTORS_MAX]; /* actors that have not ended */
    size_t actor_count, turn;
    int64_t ticks;
};

static inline client *of(tv_pool *pool)
{
    return (client *)pool;
}

/* --- fake_objects.c: with the lock held --- */

/** NULL when there is none. */
object *fake_object_find(fake_cluster *cluster, const char *name);
object *fake_object_find_or_make(fake_cluster *cluster, const char *name);
void fake_object_free(object *gone);

/** Assert what pool.h asks of a change.  Needs no lock. */
void fake_check_steps(const tv_pool_change *change);
/** All of a change or, when a condition does not hold, nothing. */
tv_err fake_apply(fake_cluster *cluster, tv_pool_change *change);
tv_err fake_look(fake_cluster *cluster, tv_pool_read *read);

/* --- fake_faults.c --- */

/** A number by the seed, with the lock held. */
uint64_t fake_next_random(fake_cluster *cluster, uint64_t below);
/** Whether the thread that asks is an actor. */
bool fake_is_actor(void);

#endif
