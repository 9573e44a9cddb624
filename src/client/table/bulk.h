/*
 * Bulk writes, as tavola_delete_where uses them beside the application.
 */
#ifndef TVC_TABLE_BULK_H
#define TVC_TABLE_BULK_H

#include "client/table/table.h"

/**
 * Like tavola_bulk_open.  `call`, if there is one, gives its options to the requests, and gets the
 * outcome of the last that failed; it outlives the bulk.
 */
tavola_err tvc_bulk_open(tavola_table *table, uint32_t in_flight_max, tavola_bulk_fn failed,
                         void *user, tavola_call *call, tavola_bulk **ret_bulk);

#endif
