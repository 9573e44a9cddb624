/*
 * Entity group transactions: a multipart body becomes operations on one
 * partition, and their outcome becomes a multipart reply.
 */
#ifndef TV_SERVICES_TABLE_BATCH_H
#define TV_SERVICES_TABLE_BATCH_H

#include "services/table/change.h"

enum { TV_TABLE_BATCH_OPS_MAX = 100 };

typedef struct tv_table_batch {
    tv_table_command *commands;
    size_t count;       /* 0 for a changeset without operations, whose `commands` is NULL */
    bool is_query;      /* one bare GET, without a changeset */
    size_t failed;      /* index of the operation that is wrong */
    bool is_part_error; /* an error belongs to operation `failed`, not to the whole request */
} tv_table_batch;

/**
 * Parse and check a batch to the extent possible without the store: at most 100
 * operations, all legal, on one table and partition, each entity once.  On an
 * error `is_part_error` tells whether it is answered inside a 202 reply.
 */
tv_err tv_table_batch_parse(tv_arena *arena, const tv_request *req, const tv_endpoint *endpoint,
                            tv_table_batch *ret_batch, tv_error_info *reterr_info) TV_WARN_UNUSED;

#endif
