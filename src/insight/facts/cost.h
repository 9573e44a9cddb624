/*
 * What reading a table costs, learnt from the pages that its queries made: nanoseconds for a range,
 * for an entity examined, for a byte of the answer; and how many bytes an entity of an answer has.
 *
 * Each number is a moving mean.  A page tells only what they cost together, so each is moved by its
 * part of what was expected: pages of many kinds tell them apart.  Any thread may note a page at
 * any time; of two at once one may get lost.
 */
#ifndef TV_INSIGHT_FACTS_COST_H
#define TV_INSIGHT_FACTS_COST_H

#include <stdatomic.h>
#include <stdint.h>

/** All zeros: nothing is known yet, and constants of a fast machine stand in for it. */
typedef struct tv_query_cost {
    _Atomic double range_ns, row_ns, byte_ns;
    _Atomic double entity_bytes; /* of an answer; 0: none was written yet */
} tv_query_cost;

/** A page: what was done for it, and how long its thread worked on it. */
typedef struct tv_query_work {
    double ranges, examined, returned, bytes;
} tv_query_work;

void tv_query_cost_note(tv_query_cost *cost, const tv_query_work *work, double ns);

/** How long such work takes. */
double tv_query_cost_ns(const tv_query_cost *cost, const tv_query_work *work);

#endif
