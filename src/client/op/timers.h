/*
 * When waiting operations have to be looked at in any case.  A pairing heap of timers that are
 * embedded in what they belong to, so that setting one never fails.  Most are deadlines that are
 * set in their order and removed before they are due: both cost next to nothing.
 */
#ifndef TVC_OP_TIMERS_H
#define TVC_OP_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

/** All zeros is a timer that is not set. */
typedef struct tvc_timer {
    int64_t at_ns;
    struct tvc_timer *child;    /* the first of those that are not due before it */
    struct tvc_timer *next;     /* its next sibling */
    struct tvc_timer *previous; /* the sibling before it, or its parent */
    bool is_set;
} tvc_timer;

/** All zeros is empty. */
typedef struct tvc_timers {
    tvc_timer *first; /* the next one that is due, or NULL */
} tvc_timers;

/** Set a timer, also one that is set already. */
void tvc_timers_set(tvc_timers *timers, tvc_timer *timer, int64_t at_ns);

/** Nothing when it is not set. */
void tvc_timers_remove(tvc_timers *timers, tvc_timer *timer);

#endif
