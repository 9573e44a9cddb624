/*
 * Where Storage Analytics writes: the container $logs and the tables of metrics of an account,
 * made when they are first needed, by the same changes as a client's.  So what is written is
 * durable, and what several nodes write does not collide: a log blob is put only under a name
 * that no blob has, a row is changed only if it is still the one that was read.
 *
 * A store belongs to one thread, which waits for its writes.
 */
#ifndef TV_SERVER_ANALYTICS_STORE_H
#define TV_SERVER_ANALYTICS_STORE_H

#include "base/metadata.h"
#include "server/analytics/counts.h"
#include "services/blob/service.h"
#include "services/table/service.h"
#include "store/commit/waiter.h"

typedef struct tv_analytics_store {
    tv_engine *engine;
    tv_catalog *tables, *containers;
    tv_blob_service *blobs;
    tv_waiter waiter;
} tv_analytics_store;

void tv_analytics_store_init(tv_analytics_store *store, tv_pipeline *pipeline,
                             tv_table_service *tables, tv_blob_service *blobs);
void tv_analytics_store_done(tv_analytics_store *store);

/** $logs, or a table of metrics, counted for the caller; TV_ERR_NOT_FOUND. */
tv_err tv_analytics_store_find(tv_analytics_store *store, tv_service_kind service, tv_slice account,
                               tv_slice name, tv_container **ret_container) TV_WARN_UNUSED;

/** The same, made if it is not there. */
tv_err tv_analytics_store_make(tv_analytics_store *store, tv_service_kind service, tv_slice account,
                               tv_slice name, tv_container **ret_container) TV_WARN_UNUSED;

/* --- logs --- */

/** A log blob: at most TV_ANALYTICS_LOG_BYTES_MAX of lines. */
enum { TV_ANALYTICS_LOG_BYTES_MAX = 8 * 65536 };

/** The least number that no blob of the folder ("table/2026/01/02/0300/") has, nor any after it. */
tv_err tv_analytics_store_next_number(tv_analytics_store *store, tv_container *logs,
                                      tv_slice folder, int *ret_number) TV_WARN_UNUSED;

/** Put a blob of that name, which must be new: TV_ERR_BLOB_EXISTS. */
tv_err tv_analytics_store_put(tv_analytics_store *store, tv_container *logs, tv_slice name,
                              tv_slice lines, const tv_metadata *metadata) TV_WARN_UNUSED;

/** Delete one; TV_OK, too, when it is not there. */
tv_err tv_analytics_store_delete(tv_analytics_store *store, tv_container *logs,
                                 tv_slice name) TV_WARN_UNUSED;

/* --- rows --- */

/** Counts to add to the row of this RowKey. */
typedef struct tv_analytics_row {
    tv_slice row_key;
    const tv_analytics_counts *counts;
} tv_analytics_row;

/** Add to rows of one partition, all of them or none; those that are not there are made. */
tv_err tv_analytics_store_count(tv_analytics_store *store, tv_container *table,
                                tv_slice partition_key, const tv_analytics_row *rows,
                                size_t count) TV_WARN_UNUSED;

/** Insert a row of these properties, or replace it. */
tv_err tv_analytics_store_set(tv_analytics_store *store, tv_container *table,
                              tv_slice partition_key, tv_slice row_key,
                              const tv_entity_properties *properties) TV_WARN_UNUSED;

/** Whether there is such a row. */
tv_err tv_analytics_store_has(tv_analytics_store *store, tv_container *table,
                              tv_slice partition_key, tv_slice row_key,
                              bool *ret_has) TV_WARN_UNUSED;

/**
 * Delete the rows whose PartitionKey is before `end`, up to some hundred of them: *ret_is_done
 * is false when there may be more.
 */
tv_err tv_analytics_store_delete_before(tv_analytics_store *store, tv_container *table,
                                        tv_slice end, bool *ret_is_done) TV_WARN_UNUSED;

#endif
