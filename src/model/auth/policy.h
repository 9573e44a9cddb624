/*
 * Stored access policies: what a service SAS can refer to by name (si).  A table,
 * a queue and a container have up to five.
 */
#ifndef TV_MODEL_AUTH_POLICY_H
#define TV_MODEL_AUTH_POLICY_H

#include "base/arena.h"
#include "base/err.h"

enum { TV_POLICIES_MAX = 5, TV_POLICY_ID_UNITS_MAX = 64 };

/** One policy.  Fields that it leaves to the token have data == NULL. */
typedef struct tv_access_policy {
    tv_slice id;
    tv_slice start, expiry; /* ISO 8601, seven digits of fraction: "2026-01-02T00:00:00.0000000Z" */
    tv_slice permission;    /* letters, as in `sp` */
} tv_access_policy;

typedef struct tv_access_policies {
    tv_access_policy list[TV_POLICIES_MAX];
    size_t count;
} tv_access_policies;

#endif
