/*
 * Leases on blobs and containers: the service's state machine, free of storage.
 *
 *     available -- acquire --> leased -- time --> expired
 *         ^                      | break             | break
 *         |                      v                   v
 *      release               breaking -- time --> broken
 *
 * A lease is stored as it was last changed; which state that means depends on
 * the time.  An expired or broken lease keeps its id, by which it can be renewed
 * (expired only) or released, until the blob is changed or leased again.
 *
 * All functions are pure.  Where the service words an error differently for a
 * container, tv_lease_error_for_container gives that wording.
 */
#ifndef TV_SERVICES_BLOB_STORE_LEASE_H
#define TV_SERVICES_BLOB_STORE_LEASE_H

#include <stdint.h>

#include "base/err.h"
#include "base/guid.h"

typedef enum tv_lease_state {
    TV_LEASE_AVAILABLE,
    TV_LEASE_LEASED,
    TV_LEASE_EXPIRED,
    TV_LEASE_BREAKING,
    TV_LEASE_BROKEN,
} tv_lease_state;

enum { TV_LEASE_SECONDS_MIN = 15, TV_LEASE_SECONDS_MAX = 60 };
#define TV_LEASE_INFINITE (-1)
/** No x-ms-lease-break-period was sent. */
#define TV_LEASE_NO_PERIOD (-1)

/** All zeros is no lease. */
typedef struct tv_lease {
    tv_lease_state state; /* as stored: never EXPIRED, which LEASED becomes with time */
    tv_guid id;
    int32_t duration_s; /* of LEASED: 15..60 or TV_LEASE_INFINITE; else 0 */
    int64_t until;      /* ticks: end of LEASED (unless infinite) or BREAKING */
} tv_lease;

typedef enum tv_lease_action {
    TV_LEASE_ACQUIRE,
    TV_LEASE_RENEW,
    TV_LEASE_CHANGE,
    TV_LEASE_RELEASE,
    TV_LEASE_BREAK,
} tv_lease_action;

/** A lease operation, its values already checked for their ranges. */
typedef struct tv_lease_request {
    tv_lease_action action;
    tv_guid id;             /* renew, change, release */
    tv_guid proposed;       /* acquire (a new one when the client sent none), change */
    bool has_proposed;      /* acquire: the client sent it */
    int32_t duration_s;     /* acquire: 15..60 or TV_LEASE_INFINITE */
    int32_t break_period_s; /* break: 0..60 or TV_LEASE_NO_PERIOD */
} tv_lease_request;

/** The state at the instant `now`. */
tv_lease_state tv_lease_state_at(const tv_lease *lease, int64_t now);

/** x-ms-lease-state ("available" …) and x-ms-lease-status ("locked", "unlocked"). */
tv_slice tv_lease_state_text(tv_lease_state state);
tv_slice tv_lease_status_text(tv_lease_state state);

/**
 * Apply a lease operation.  *ret_seconds is the x-ms-lease-time of a break, else
 * 0.  Errors are the service's own (409), and then `lease` is untouched.
 */
tv_err tv_lease_apply(tv_lease *lease, const tv_lease_request *request, int64_t now,
                      int32_t *ret_seconds) TV_WARN_UNUSED;

/**
 * May an operation that comes with the lease id `id` (NULL for none) write, or
 * read?  A container counts as written only when it is deleted.  Errors are the
 * service's own (412).
 */
tv_err tv_lease_check_write(const tv_lease *lease, const tv_guid *id, int64_t now) TV_WARN_UNUSED;
tv_err tv_lease_check_read(const tv_lease *lease, const tv_guid *id, int64_t now) TV_WARN_UNUSED;

/** After a change to the blob: a lease that no longer locks is forgotten. */
void tv_lease_note_write(tv_lease *lease, int64_t now);

/** The same mistake made with a container. */
tv_err tv_lease_error_for_container(tv_err err);

#endif
