/*
 * What requests to tables take of their account's scalability targets, in units: entities of
 * up to 1 KiB, by the service's formula (tv_entity_cost).
 *
 *     insert, replace, merge, upsert   the entity as stored
 *     delete, a read that finds none   1
 *     a transaction                    the sum of its operations
 *     a point read                     the entity
 *     a page of a query                the entities returned, each in its partition; at least 1
 *     what fails with 404, 409, 412    1
 *
 * Writes are charged when they are let in, and corrected when the result is known; reads
 * are let in while there is room, and charged afterwards.  An account without targets has
 * no bill, and nothing is computed for it.
 */
#ifndef TV_SERVICES_TABLE_UNITS_H
#define TV_SERVICES_TABLE_UNITS_H

#include "services/service/call.h"

/** Partitions of one page that are charged themselves; the rest is charged to the account. */
enum { TV_TABLE_BILL_PARTITIONS_MAX = 64 };

/** What a request is charged.  In its arena; NULL without targets. */
typedef struct tv_table_bill {
    uint64_t partition; /* hash of the one that it was let in for; 0 when there is none */
    uint64_t charged;   /* when it was let in */
    uint64_t units;     /* of all that a page has returned */
    size_t count;       /* of partitions that it has returned something of */
    struct {
        uint64_t hash, units;
    } partitions[TV_TABLE_BILL_PARTITIONS_MAX];
} tv_table_bill;

/** Let the write of t->changes in, and charge it.  TV_ERR_THROTTLED. */
tv_err tv_table_admit_write(tv_call *call) TV_WARN_UNUSED;

/** Let the read of a row in.  TV_ERR_THROTTLED. */
tv_err tv_table_admit_read(tv_call *call, tv_slice row_key) TV_WARN_UNUSED;

/** Let a page of the planned query in, which notes on the bill what it returns. */
tv_err tv_table_admit_query(tv_call *call) TV_WARN_UNUSED;

/** A page returns this row. */
void tv_table_bill_add(tv_table_bill *bill, tv_slice key, tv_slice partition_key, tv_slice row_key,
                       tv_slice value);

/** See tv_service_spec.charge_rest. */
void tv_table_charge_rest(tv_call *call);

#endif
