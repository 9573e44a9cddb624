/* Moving means of what pages cost. */
#include "insight/facts/cost.h"

#include <math.h>

#include "base/assert.h"

#define RANGE_NS 20000.0 /* a seek, and all that every page needs */
#define ROW_NS 600.0     /* bench/RESULTS.md */
#define BYTE_NS 1.0
#define WEIGHT (1.0 / 16) /* of a page */
#define FACTOR_MAX 8.0    /* that one page may be off by: its thread may have waited for a core */

typedef struct rates {
    double range_ns, row_ns, byte_ns;
} rates;

static double known(const _Atomic double *value, double otherwise)
{
    double v = atomic_load_explicit(value, memory_order_relaxed);

    return v > 0 ? v : otherwise;
}

static rates rates_of(const tv_query_cost *cost)
{
    return (rates){.range_ns = known(&cost->range_ns, RANGE_NS),
                   .row_ns = known(&cost->row_ns, ROW_NS),
                   .byte_ns = known(&cost->byte_ns, BYTE_NS)};
}

double tv_query_cost_ns(const tv_query_cost *cost, const tv_query_work *work)
{
    rates r = rates_of(cost);

    return work->ranges * r.range_ns + work->examined * r.row_ns + work->bytes * r.byte_ns;
}

static void move(_Atomic double *value, double old, double share, double factor)
{
    atomic_store_explicit(value, old * (1 + WEIGHT * share * (factor - 1)), memory_order_relaxed);
}

void tv_query_cost_note(tv_query_cost *cost, const tv_query_work *work, double ns)
{
    double expected = tv_query_cost_ns(cost, work);
    rates r = rates_of(cost);

    tv_assert(work->ranges > 0 && expected > 0);

    double factor = fmin(fmax(ns / expected, 1 / FACTOR_MAX), FACTOR_MAX);

    move(&cost->range_ns, r.range_ns, work->ranges * r.range_ns / expected, factor);
    move(&cost->row_ns, r.row_ns, work->examined * r.row_ns / expected, factor);
    move(&cost->byte_ns, r.byte_ns, work->bytes * r.byte_ns / expected, factor);
    if (work->returned > 0) {
        double bytes = work->bytes / work->returned, old = known(&cost->entity_bytes, bytes);

        atomic_store_explicit(&cost->entity_bytes, old + WEIGHT * (bytes - old),
                              memory_order_relaxed);
    }
}
