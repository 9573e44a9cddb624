/* The pairing heap. */
#include "client/op/timers.h"

#include <stddef.h>

/* Make one of two heaps; NULL is the empty one.  Neither has siblings. */
static tvc_timer *merge(tvc_timer *a, tvc_timer *b)
{
    if (a == NULL || b == NULL)
        return a ? a : b;

    if (b->at_ns < a->at_ns) {
        tvc_timer *later = a;

        a = b;
        b = later;
    }
    b->previous = a;
    b->next = a->child;
    if (a->child)
        a->child->previous = b;
    a->child = b;
    return a;
}

/* Make one heap of a row of siblings: in pairs, and those from the last to the first. */
static tvc_timer *merge_row(tvc_timer *row)
{
    tvc_timer *pairs = NULL, *whole = NULL;

    while (row) {
        tvc_timer *a = row, *b = a->next;

        row = b ? b->next : NULL;
        a->next = a->previous = NULL;
        if (b)
            b->next = b->previous = NULL;
        a = merge(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        tvc_timer *rest = pairs->next;

        pairs->next = NULL;
        whole = merge(whole, pairs);
        pairs = rest;
    }
    return whole;
}

void tvc_timers_remove(tvc_timers *timers, tvc_timer *timer)
{
    if (!timer->is_set)
        return;

    tvc_timer *children = merge_row(timer->child);

    if (timer == timers->first) {
        timers->first = children;
    } else {
        if (timer->previous->child == timer)
            timer->previous->child = timer->next;
        else
            timer->previous->next = timer->next;
        if (timer->next)
            timer->next->previous = timer->previous;
        timers->first = merge(timers->first, children);
    }
    *timer = (tvc_timer){0};
}

void tvc_timers_set(tvc_timers *timers, tvc_timer *timer, int64_t at_ns)
{
    if (timer->is_set && timer->at_ns == at_ns)
        return;

    tvc_timers_remove(timers, timer);
    timer->at_ns = at_ns;
    timer->is_set = true;
    timers->first = merge(timers->first, timer);
}
