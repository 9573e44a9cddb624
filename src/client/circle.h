/*
 * Continuations that lead back.  A list goes on as long as the service names a next page; one that
 * sends us round in a circle would keep us for ever.
 */
#ifndef TVC_CIRCLE_H
#define TVC_CIRCLE_H

#include "client/memory.h"

#define TVC_LEADS_BACK "the service's continuations lead back to where we were"

/** All zeros at the beginning of a list. */
typedef struct tvc_circle {
    char *kept; /* a continuation that was seen, or NULL */
    uint64_t left, span;
} tvc_circle;

/**
 * Show it each continuation.  True when the list goes round in a circle: at once if a page leads to
 * itself, else after a few times the pages that lead into the circle and around it.
 * Without memory it notices later, or not at all.
 */
bool tvc_circle_closes(tvc_circle *circle, tv_slice continuation);
void tvc_circle_done(tvc_circle *circle);

#endif
