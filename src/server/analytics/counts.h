/*
 * What is counted of requests over an hour or a minute, and the row of a table of metrics that
 * it becomes.  A row can be read back, added to and written again, so several nodes, or one
 * after a restart, can count into the same row.  Pure functions.
 */
#ifndef TV_SERVER_ANALYTICS_COUNTS_H
#define TV_SERVER_ANALYTICS_COUNTS_H

#include "model/entity/entity.h"
#include "server/analytics/outcome.h"

typedef struct tv_analytics_counts {
    int64_t ingress, egress;     /* bytes, heads included */
    int64_t total_us, server_us; /* of those that succeeded, together */
    int64_t requests[TV_ANALYTICS_RESULTS][TV_ANALYTICS_AUTHS];
} tv_analytics_counts;

/** One request. */
typedef struct tv_analytics_request {
    tv_analytics_result result;
    tv_analytics_auth auth;
    int64_t ingress, egress, total_us, server_us;
} tv_analytics_request;

void tv_analytics_count(tv_analytics_counts *counts, const tv_analytics_request *request);
void tv_analytics_counts_add(tv_analytics_counts *counts, const tv_analytics_counts *more);
int64_t tv_analytics_counts_requests(const tv_analytics_counts *counts);

/** The columns of a row, in the arena. */
tv_entity_properties tv_analytics_counts_encode(tv_arena *arena, const tv_analytics_counts *counts);

/**
 * Of a row as it is stored.  What it does not have counts as 0: the row may be of another
 * program.  TV_ERR_CORRUPT when it is not an entity.
 */
tv_err tv_analytics_counts_decode(tv_slice row, tv_analytics_counts *ret_counts) TV_WARN_UNUSED;

#endif
