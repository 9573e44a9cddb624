/*
 * What each operation needs, and which keys an identity may touch.
 */
#ifndef TV_TABLE_ACCESS_H
#define TV_TABLE_ACCESS_H

#include "auth/identity.h"
#include "odata/plan.h"
#include "table/op.h"

/**
 * Whether the endpoint that was called serves the operation: the secondary is
 * read-only, and only it has stats.
 */
tv_err tv_access_check_endpoint(const tv_table_op *op) TV_WARN_UNUSED;

/**
 * Whether the identity may do this operation.  For an operation on one entity,
 * call tv_access_check_key too, when its keys are known.  A batch needs nothing
 * by itself: its parts are checked one by one.
 */
tv_err tv_access_check(const tv_identity *identity, const tv_table_op *op) TV_WARN_UNUSED;

/** TV_ERR_AUTHORIZATION_FAILURE when the keys lie outside of the identity's limits. */
tv_err tv_access_check_key(const tv_identity *identity, tv_slice partition_key,
                           tv_slice row_key) TV_WARN_UNUSED;

/**
 * Cut a plan down to the identity's limits.  Whatever the filter or a
 * continuation token say, no row outside is read.
 */
void tv_access_clip(const tv_identity *identity, tv_arena *arena, tv_slice table_prefix,
                    tv_plan *plan);

#endif
