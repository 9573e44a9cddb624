/*
 * Columns of ten minutes out of those of a minute, and of an hour out of those: each table's on the
 * newest of its axes, with fewer buckets.
 */
#ifndef TV_INSIGHT_TRAFFIC_LAYERS_H
#define TV_INSIGHT_TRAFFIC_LAYERS_H

#include "insight/traffic/store.h"

/** Tables that are gone are left out. */
typedef struct tv_fold_filter {
    bool (*is_dropped)(void *ctx, tv_slice account, int64_t table_id); /* or NULL */
    void *ctx;
} tv_fold_filter;

/**
 * Make the columns that are due after a column of a minute was added; also those that an earlier
 * start did not come to.  `before` is the minute of the column before it, or the same.
 */
tv_err tv_layers_fold(tv_traffic_store *store, uint32_t before, uint32_t minute,
                      const tv_fold_filter *filter) TV_WARN_UNUSED;

#endif
