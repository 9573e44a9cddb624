/* How large a range is, and where it could be cut: a look at all of its rows. */
#ifndef TV_CLUSTER_MEASURE_H
#define TV_CLUSTER_MEASURE_H

#include "cluster/policy.h"
#include "engine/rados/route.h"

typedef struct tv_measure {
    uint64_t rows, bytes;
    tv_policy_boundary *boundaries; /* beginnings of partitions but the first: some of them */
    size_t boundary_count;
} tv_measure;

/**
 * Look at the rows from the range's start to `end` ("": no end).  Boundaries and last partition
 * in the arena.  TV_ERR_CONFLICT: the range has changed meanwhile.
 */
tv_err tv_measure_range(tv_pool *pool, const tv_route *route, tv_slice end, tv_arena *arena,
                        tv_measure *ret_measure) TV_WARN_UNUSED;

#endif
