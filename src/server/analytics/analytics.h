/*
 * Storage Analytics: logs of requests in the container $logs, and hourly and minutely metrics in
 * the tables $Metrics…, as the service properties of an account ask for them.  README.md in this
 * folder has the way of a request, and what holds.
 */
#ifndef TV_SERVER_ANALYTICS_ANALYTICS_H
#define TV_SERVER_ANALYTICS_ANALYTICS_H

#include "base/lead.h"
#include "services/blob/service.h"
#include "services/table/service.h"

typedef struct tv_analytics tv_analytics;

typedef struct tv_analytics_options {
    tv_table_service *tables;
    tv_service *queues;
    tv_blob_service *blobs;
    tv_pipeline *pipeline;
    const tv_lead
        *lead;    /* who deletes what is old and measures capacity; NULL: there is no other */
    int flush_ms; /* what is gathered is written at least so often; 0 for a minute */
} tv_analytics_options;

/** Start it: the services, all filled in, outlive it, and tell it of their requests. */
tv_analytics *tv_analytics_new(const tv_analytics_options *options);

/** Write what has been gathered, and stop.  No request may be under way.  Accepts NULL. */
void tv_analytics_free(tv_analytics *analytics);

/** Append its metrics in Prometheus' text format. */
void tv_analytics_write_metrics(void *analytics, tv_buf *out);

#endif
