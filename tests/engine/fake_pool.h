/*
 * A pool in memory (pool/pool.h), with faults: the cluster under the
 * tests of everything that is written over a pool.  Several clients share one
 * cluster, as nodes do, so that several engines run in one process.
 *
 * Operations run in one of three ways.
 *
 *   By themselves (the default): at once, on the thread that asks.
 *
 *   In threads (`is_threaded`): a thread of the cluster's carries operations out
 *   and answers them, in an order that the seed decides; only operations of one
 *   client on one object keep theirs.
 *
 *   Among actors (fake_run): functions that have threads, of which just one runs at a
 *   time.  At each operation, before it takes effect and before its answer, the seed
 *   decides who goes on.  So a run is the same every time, whatever the machine does,
 *   and a seed that fails can be looked into.  Nothing but the pool may make an
 *   actor wait for another.
 *
 * A client that is dead or shut out: none of its operations takes effect any more,
 * and all are answered TV_ERR_STOPPED, also one that took effect just before.
 *
 * The fake asserts what pool.h asks of its callers.
 */
#ifndef TV_TESTS_ENGINE_FAKE_POOL_H
#define TV_TESTS_ENGINE_FAKE_POOL_H

#include "store/pool/pool.h"

typedef struct fake_cluster fake_cluster;

/** All zeros: no faults, operations run by themselves. */
typedef struct fake_options {
    uint64_t seed;
    bool is_threaded;
    bool has_short_pages; /* a page may end before it has its rows, as those of large rows do */
    bool drops_notices;   /* half of the notifications get lost */
} fake_options;

fake_cluster *fake_cluster_new(const fake_options *options);

/** After all clients have been closed. */
void fake_cluster_free(fake_cluster *cluster);

/** One more client. */
tv_pool *fake_client_new(fake_cluster *cluster);

/* --- among actors --- */

typedef struct fake_actor {
    void (*run)(void *ctx);
    void *ctx;
} fake_actor;

/**
 * Run all of them to their ends.  Meanwhile the wall clock (base/clock.h) is a fake one, which
 * goes on with every operation and by as much as somebody pauses.
 */
void fake_run(fake_cluster *cluster, const fake_actor *actors, size_t count);

/** Let another actor go on, if the seed says so; outside of fake_run nothing. */
void fake_yield(fake_cluster *cluster);

/** A number of the cluster's seed: for actors. */
uint64_t fake_random(fake_cluster *cluster, uint64_t below);

/* --- faults: any thread --- */

/** The client dies now. */
void fake_client_kill(tv_pool *client);

/**
 * The client dies at its nth change from now (1 is the next): before the change takes effect or
 * just after.  0: it does not.
 */
void fake_client_kill_at(tv_pool *client, uint64_t nth, bool is_after);

bool fake_client_is_out(tv_pool *client);

/** Changes that a client has asked for since it was made. */
uint64_t fake_client_change_count(tv_pool *client);

/** Refuse the nth change from now (1 is the next) and as many as make `count`, with `err`. */
void fake_refuse_changes(fake_cluster *cluster, uint64_t nth, uint64_t count, tv_err err);

/** Fail every read until called with TV_OK. */
void fake_fail_reads(fake_cluster *cluster, tv_err err);

/**
 * While on, nothing is answered: what has a deadline meets it, as the monotonic clock jumps
 * there, and has not taken effect; the rest waits for the end of it.  Not among threads or actors.
 */
void fake_set_silent(fake_cluster *cluster, bool on);

/** While on, no object can be made (TV_ERR_DISK_FULL); those that are there still take rows. */
void fake_set_full(fake_cluster *cluster, bool on);

/** What clients are told of the room that is left. */
void fake_set_space(fake_cluster *cluster, uint64_t bytes, uint64_t free_bytes);

/** How many OSDs clients are told of; 3 at first. */
void fake_set_osd_count(fake_cluster *cluster, size_t count);

/** Let the time pass by which locks end.  A pause among actors does that too. */
void fake_pass_ms(fake_cluster *cluster, int64_t ms);

/**
 * Called before each change takes effect, with the client that asked; a test can stop the world
 * there by calling other clients.  Not among threads.
 */
void fake_on_change(fake_cluster *cluster,
                    void (*fn)(void *ctx, tv_pool *client, const tv_pool_change *change),
                    void *ctx);

/* --- a look at everything, for tests --- */

/** "name=value name=value " of all rows of an object, "-" when there is none.  In the arena. */
tv_slice fake_rows_text(fake_cluster *cluster, const char *object, tv_arena *arena);

size_t fake_object_count(fake_cluster *cluster, const char *prefix);

#endif
