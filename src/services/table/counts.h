/* What the catalogue keeps with every table, for service.c, observe.c and facts.c. */
#ifndef TV_SERVICES_TABLE_COUNTS_H
#define TV_SERVICES_TABLE_COUNTS_H

#include "insight/facts/cost.h"
#include "insight/watch/watch.h"
#include "model/odata/plan.h"

typedef struct tv_table_counts {
    _Atomic uint64_t plans[TV_PLAN_KINDS];    /* queries by kind, since the start */
    _Atomic uint64_t examined[TV_PLAN_KINDS]; /* entities that they have read */
    /* The widest that the facts were told of: properties, cost, bytes of a value. */
    _Atomic uint64_t widest[3];
    _Atomic uint32_t watch_number; /* of tv_watch_table; 0 until it is asked for */
    _Atomic(tv_watch *) watch;     /* that the number is of */
    tv_query_cost cost;            /* of its queries */
} tv_table_counts;

#endif
