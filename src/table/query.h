/*
 * Reading pages: entities of a table or of one partition, and names of tables.
 * Both scan a snapshot, on a worker thread, and stop after 1,000 rows, 5
 * seconds or 4 MiB, with a token that names the next row to return.
 */
#ifndef TV_TABLE_QUERY_H
#define TV_TABLE_QUERY_H

#include "table/catalog.h"
#include "table/op.h"

enum { TV_PAGE_ROWS_MAX = 1000, TV_PAGE_BYTES_MAX = 4 * 1024 * 1024 };
#define TV_PAGE_NS_MAX INT64_C(5000000000)

/** The options of a query, out of its URL. */
typedef struct tv_query {
    size_t top;         /* 1 to 1,000 */
    bool has_partition; /* $filter=PartitionKey eq '…' */
    tv_slice partition_key;
    tv_slice next_partition; /* continuation: where to begin; data is NULL without */
    tv_slice next_row;
    tv_slice next_table;
} tv_query;

/**
 * Read $top, $filter and the continuation parameters.  Filters other than
 * PartitionKey eq '…' are TV_ERR_NOT_IMPLEMENTED for now.
 */
tv_err tv_query_parse(tv_arena *arena, const tv_request *req, const tv_table_op *op,
                      tv_query *ret_query) TV_WARN_UNUSED;

/** Where the next page begins; data is NULL on the last page. */
typedef struct tv_continuation {
    tv_slice next_partition, next_row; /* entities */
    tv_slice next_table;               /* tables */
} tv_continuation;

/**
 * Append a page of entities as JSON.  May wait for the disk.
 * TV_ERR_TABLE_NOT_FOUND when the table was dropped meanwhile.
 */
tv_err tv_query_entities(tv_engine *engine, const tv_table *table, const tv_table_op *op,
                         const tv_query *query, tv_arena *arena, tv_buf *out,
                         tv_continuation *ret_next) TV_WARN_UNUSED;

/** Append a page of table names as JSON.  May wait for the disk. */
tv_err tv_query_tables(tv_engine *engine, const tv_table_op *op, const tv_query *query,
                       tv_arena *arena, tv_buf *out, tv_continuation *ret_next) TV_WARN_UNUSED;

#endif
