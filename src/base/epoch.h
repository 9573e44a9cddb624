/*
 * How one thread uses what another one replaces, without a lock.
 *
 * The user enters before it loads the pointer and leaves when it needs it no more.  The other one
 * publishes the new object, looks where the user is, and may have the old one to itself as soon as
 * the user has left that place: epochs and pointers are written and read in one order that all
 * threads agree on, so who is seen outside will find the new object when it comes back.
 */
#ifndef TV_BASE_EPOCH_H
#define TV_BASE_EPOCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** Of one user, who alone enters and leaves; odd while it is inside. */
typedef struct tv_epoch {
    _Alignas(64) _Atomic uint64_t number;
} tv_epoch;

/** Not nested.  Pointers are loaded with memory_order_seq_cst, and stored likewise. */
static inline void tv_epoch_enter(tv_epoch *epoch)
{
    atomic_store(&epoch->number, atomic_load_explicit(&epoch->number, memory_order_relaxed) + 1);
}

static inline void tv_epoch_leave(tv_epoch *epoch)
{
    atomic_store_explicit(&epoch->number,
                          atomic_load_explicit(&epoch->number, memory_order_relaxed) + 1,
                          memory_order_release);
}

/** Where the user is, after something was replaced. */
static inline uint64_t tv_epoch_look(const tv_epoch *epoch)
{
    return atomic_load(&epoch->number);
}

/** Whether it has been outside since it was at `then`. */
static inline bool tv_epoch_has_left(const tv_epoch *epoch, uint64_t then)
{
    return then % 2 == 0 || atomic_load(&epoch->number) != then;
}

#endif
