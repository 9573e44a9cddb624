/*
 * What an identity may do, in addition to the row of an operation: the parts of
 * a batch, and keys.
 */
#ifndef TV_SERVICES_TABLE_ACCESS_H
#define TV_SERVICES_TABLE_ACCESS_H

#include "model/auth/identity.h"
#include "model/odata/plan.h"
#include "services/table/command.h"

/**
 * Whether the identity may do what a part of a batch asks for, by the row of
 * its operation; call tv_table_access_check_key too.  For requests flow.c
 * checks the row.
 */
tv_err tv_table_access_check(const tv_identity *identity,
                             const tv_table_command *command) TV_WARN_UNUSED;

/** TV_ERR_AUTHORIZATION_FAILURE when the keys are outside of the identity's limits. */
tv_err tv_table_access_check_key(const tv_identity *identity, tv_slice partition_key,
                                 tv_slice row_key) TV_WARN_UNUSED;

/**
 * Cut a plan down to the identity's limits.  Whatever the filter or a
 * continuation token says, no row outside is read.
 */
void tv_table_access_clip(const tv_identity *identity, tv_arena *arena, tv_slice table_prefix,
                          tv_plan *plan);

#endif
