/*
 * The options of a query, out of its URL: $top, $filter and where to go on.
 */
#ifndef TV_SERVICES_TABLE_QUERY_H
#define TV_SERVICES_TABLE_QUERY_H

#include "model/odata/filter.h"
#include "services/table/command.h"

typedef struct tv_table_query {
    size_t top; /* 0 to 1,000; the filter of 0 passes nothing */
    tv_slice filter_text;
    tv_filter *filter;       /* NULL while a long one waits for tv_table_query_complete */
    tv_slice next_partition; /* continuation: where to begin; data is NULL without */
    tv_slice next_row;
    tv_slice next_table;
    bool has_top;      /* $top was given */
    bool is_explained; /* x-tavola-explain: show the plan, do not run it */
} tv_table_query;

/** Read the options of Query Entities or Query Tables.  The errors are those of their parts. */
tv_err tv_table_query_parse(tv_arena *arena, const tv_request *req, const tv_table_command *command,
                            tv_table_query *ret_query, tv_error_info *reterr_info) TV_WARN_UNUSED;

/**
 * A longer filter is not parsed by tv_table_query_parse: that can take a millisecond, too
 * long for a network thread when many clients send such filters.
 */
enum { TV_TABLE_QUERY_SHORT_FILTER_BYTES = 2048 };

/** Parse a filter that was left: when query->filter is NULL.  As tv_filter_parse.  Any thread. */
tv_err tv_table_query_complete(tv_arena *arena, tv_table_query *query,
                               tv_error_info *reterr_info) TV_WARN_UNUSED;

/** Whether a request asks for its plan instead of its result. */
bool tv_table_query_is_explained(const tv_request *req);

/** Where the next page begins; data is NULL on the last page.  Tokens, ready for the header. */
typedef struct tv_table_continuation {
    tv_slice next_partition, next_row; /* entities */
    tv_slice next_table;               /* tables */
} tv_table_continuation;

#endif
