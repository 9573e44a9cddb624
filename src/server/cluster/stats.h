/*
 * What each node does on each range, told to all: the object tv.stats.<incarnation> has a row for
 * each range that the node has used, named by the range's object.  The counts only grow, so that
 * a reader takes the difference of two looks, and missing one does no harm.
 */
#ifndef TV_SERVER_CLUSTER_STATS_H
#define TV_SERVER_CLUSTER_STATS_H

#include "store/engine/rados/map.h"

#define TV_STATS_OBJECT "tv.stats."

/** A node's use of a range since the node began. */
typedef struct tv_stats_row {
    tv_slice object; /* of the range */
    uint64_t read_keys, read_bytes, write_ops, write_rows, write_bytes, write_ns;
    int64_t rows_more;    /* rows that came, less those that went */
    tv_slice *partitions; /* samples */
    size_t partition_count;
} tv_stats_row;

/** Write this node's row for each range of the map that it has used, in place of those before. */
tv_err tv_stats_publish(tv_pool *pool, tv_slice incarnation, tv_maps *maps,
                        int64_t now_ms) TV_WARN_UNUSED;

/** The rows of a node, in the arena; none when it has not written any. */
tv_err tv_stats_load(tv_pool *pool, tv_slice incarnation, tv_arena *arena, tv_stats_row **ret_rows,
                     size_t *ret_count) TV_WARN_UNUSED;

/** A node is gone. */
tv_err tv_stats_remove(tv_pool *pool, tv_slice incarnation) TV_WARN_UNUSED;

/* For tests: a row's value, and back. */
tv_slice tv_stats_encode(tv_arena *arena, const tv_stats_row *row);
tv_err tv_stats_decode(tv_arena *arena, tv_slice object, tv_slice value,
                       tv_stats_row *ret_row) TV_WARN_UNUSED;

#endif
