/* How large a range is, and where it could be cut: a look at all of its rows. */
#ifndef TV_SERVER_CLUSTER_MEASURE_H
#define TV_SERVER_CLUSTER_MEASURE_H

#include "server/cluster/growth.h"
#include "store/engine/rados/route.h"

/**
 * Look at the rows from the range's start to `end` ("": no end).  All of the shape is
 * in the arena.  TV_ERR_CONFLICT: the range has changed meanwhile.
 */
tv_err tv_measure_range(tv_pool *pool, const tv_route *route, tv_slice end, tv_arena *arena,
                        tv_range_shape *ret_shape) TV_WARN_UNUSED;

#endif
