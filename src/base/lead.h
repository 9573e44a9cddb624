/*
 * Whether this node is the one that does what only one of a cluster's nodes should do:
 * collecting garbage, moving data.  Nothing may rest on it: for a moment two nodes can
 * believe that they are the one.  A server that has its store for itself always is.
 */
#ifndef TV_BASE_LEAD_H
#define TV_BASE_LEAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct tv_lead {
    atomic_bool is_leader;
} tv_lead;

/** NULL: there are no other nodes.  Any thread. */
static inline bool tv_lead_is_here(const tv_lead *lead)
{
    return lead == NULL || atomic_load_explicit(&lead->is_leader, memory_order_acquire);
}

#endif
