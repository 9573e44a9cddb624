/*
 * The message of the inter-partition secondary index pattern: which primary is about to change, and
 * where copies of it may be.  A JSON array of strings, in ASCII:
 *
 *     ["tavola.inter-partition/1", table, PartitionKey, RowKey, prefix, value, prefix, value...]
 */
#ifndef TVC_PATTERNS_INTER_MESSAGE_H
#define TVC_PATTERNS_INTER_MESSAGE_H

#include "client/names.h"
#include "client/patterns/inter_copies.h"

/** NULL: no memory. */
char *tvc_inter_message(const tvc_spots *spots);

/**
 * Read one: *ret_items holds the keys, spots->partition_key and row_key point into it.  INVALID
 * when it is not a message for these indexes.
 */
tavola_err tvc_inter_message_read(const char *message, const tavola_indexed *indexed,
                                  tavola_call *call, tavola_names **ret_items,
                                  tvc_spots *ret_spots);

#endif
